"""What both sides of a conversation do: ask, wait, and be told."""

__all__ = ()
