"""What is wrong with a stdio server: the checks, and how each of them is made."""

__all__ = ()
