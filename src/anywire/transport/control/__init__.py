"""MCP inside the control channel of a coding agent: servers in the process of the program that embeds it."""
