"""From one era to the other: what a client of one says, made what a server of the other understands."""

__all__ = ()
