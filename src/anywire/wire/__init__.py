"""JSON-RPC and its framings: knows no MCP, does no I/O, never raises on what a peer sends."""

__all__ = ()
