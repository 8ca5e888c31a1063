"""What the MCP revisions say, as data and pure functions; does no I/O."""

__all__ = ()
