"""A server on stdio, examined."""

__all__ = ()
