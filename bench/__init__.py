"""Measures anywire next to other implementations of MCP, and next to what nobody can be quicker than."""
