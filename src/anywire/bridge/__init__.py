"""Any transport to any transport."""

__all__ = ()
