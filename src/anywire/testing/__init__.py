"""Tools for testing what is built on anywire; shipped with it."""

__all__ = ()
