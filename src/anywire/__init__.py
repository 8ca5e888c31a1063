"""anywire connects any MCP client to any MCP server, over any wire.

The short way: `Server` writes a server, `connect()` a client.  The long way: `anywire.wire` is
JSON-RPC and its framings without I/O, `anywire.transport` carries it.  Names are loaded when they
are first used; importing anywire alone costs next to nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from anywire._version import __version__

if TYPE_CHECKING:
    from anywire.client.client import Client
    from anywire.client.connect import connect
    from anywire.client.result import ToolResult
    from anywire.client.sync import SyncClient, connect_sync
    from anywire.errors import (
        AnywireError,
        CapabilityMissing,
        ConnectFailed,
        DeadlineExceeded,
        PeerError,
        ProcessExited,
        Refusal,
        ResourceNotFound,
        TransportError,
    )
    from anywire.protocol.types.content import ImageContent, TextContent
    from anywire.protocol.types.elicitation import ElicitResult
    from anywire.protocol.types.prompts import PromptMessage
    from anywire.protocol.types.roots import Root
    from anywire.protocol.types.sampling import CreateMessageResult
    from anywire.server.context import Context
    from anywire.server.result import ToolOutput
    from anywire.server.server import Server
    from anywire.wire.limits import Limits

__all__ = (
    "AnywireError",
    "CapabilityMissing",
    "Client",
    "ConnectFailed",
    "Context",
    "CreateMessageResult",
    "DeadlineExceeded",
    "ElicitResult",
    "ImageContent",
    "Limits",
    "PeerError",
    "ProcessExited",
    "PromptMessage",
    "Refusal",
    "ResourceNotFound",
    "Root",
    "Server",
    "SyncClient",
    "TextContent",
    "ToolOutput",
    "ToolResult",
    "TransportError",
    "__version__",
    "connect",
    "connect_sync",
)

_HOMES = {
    "AnywireError": "anywire.errors",
    "CapabilityMissing": "anywire.errors",
    "Client": "anywire.client.client",
    "ConnectFailed": "anywire.errors",
    "Context": "anywire.server.context",
    "CreateMessageResult": "anywire.protocol.types.sampling",
    "DeadlineExceeded": "anywire.errors",
    "ElicitResult": "anywire.protocol.types.elicitation",
    "ImageContent": "anywire.protocol.types.content",
    "Limits": "anywire.wire.limits",
    "PeerError": "anywire.errors",
    "ProcessExited": "anywire.errors",
    "PromptMessage": "anywire.protocol.types.prompts",
    "Refusal": "anywire.errors",
    "ResourceNotFound": "anywire.errors",
    "Root": "anywire.protocol.types.roots",
    "Server": "anywire.server.server",
    "SyncClient": "anywire.client.sync",
    "TextContent": "anywire.protocol.types.content",
    "ToolOutput": "anywire.server.result",
    "ToolResult": "anywire.client.result",
    "TransportError": "anywire.errors",
    "connect": "anywire.client.connect",
    "connect_sync": "anywire.client.sync",
}


def __getattr__(name: str) -> object:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'anywire' has no attribute {name!r}")
    return getattr(import_module(home), name)


def __dir__() -> list[str]:
    return sorted(__all__)
