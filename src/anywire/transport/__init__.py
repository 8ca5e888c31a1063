"""Thin asyncio shells that carry messages; no protocol rule inside."""

__all__ = ()
