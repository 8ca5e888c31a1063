"""Servers: a session with the wire below and typed functions above."""

from anywire.protocol.types.content import ImageContent, TextContent
from anywire.server.context import Context
from anywire.server.result import ToolOutput
from anywire.server.server import Server

__all__ = ("Context", "ImageContent", "Server", "TextContent", "ToolOutput")
