"""A server over HTTP, examined."""

__all__ = ()
