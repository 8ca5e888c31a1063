"""Which server a client gets, of which era, and the way between them."""

__all__ = ()
