"""Servers: a session with the wire below and typed functions above."""

__all__ = ()
