"""What of a server its clients may see and use."""

__all__ = ()
