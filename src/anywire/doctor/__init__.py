"""What is wrong with a server: the checks, and how each of them is made."""

__all__ = ()
