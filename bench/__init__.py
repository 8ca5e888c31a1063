"""Measures anywire side by side with other implementations of MCP, and with what nobody can be quicker than."""
