"""Typed params and results, one file a feature."""

__all__ = ()
