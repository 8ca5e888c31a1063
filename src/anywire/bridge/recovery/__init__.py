"""What a bridge does about a server that is lost: what is owed, what was set, who takes over."""

__all__ = ()
