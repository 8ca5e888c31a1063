"""Clients: a session with the wire below and typed calls above."""

__all__ = ()
