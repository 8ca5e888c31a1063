"""What a session does for each method of its client's, one file a feature."""

__all__ = ()
