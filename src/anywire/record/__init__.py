"""What went over a wire: written down, read, compared, played again."""

__all__ = ()
