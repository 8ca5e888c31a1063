"""The params and the result of `initialize`.

Specification: MCP `basic/lifecycle#initialization`, 2024-11-05 to 2025-11-25.
"""

from __future__ import annotations

import msgspec
from msgspec import UNSET, Raw, UnsetType

__all__ = ("Implementation", "InitializeParams", "InitializeResult", "ServerCapabilities", "ToolsCapability")


class Implementation(msgspec.Struct, frozen=True, rename="camel"):
    """A program and its version.  Members beyond these are ignored; none of them may be relied on."""

    name: str = ""
    version: str = ""
    title: str | UnsetType = UNSET


class InitializeParams(msgspec.Struct, frozen=True, rename="camel"):
    """What a client says of itself; `capabilities` stays raw JSON until a feature asks for it.

    Every member may be absent or of a wrong type in what real clients send; `protocol_version` is
    therefore any value, and negotiation copes.
    """

    protocol_version: object = None
    capabilities: Raw = Raw(b"{}")
    client_info: Implementation = Implementation()


class ToolsCapability(msgspec.Struct, frozen=True, rename="camel"):
    """The server has tools; `list_changed` promises a notification when they change."""

    list_changed: bool = False


class ServerCapabilities(msgspec.Struct, frozen=True, rename="camel"):
    """What a server can do; absent members are features it does not have."""

    tools: ToolsCapability | UnsetType = UNSET
    logging: dict[str, object] | UnsetType = UNSET


class InitializeResult(msgspec.Struct, frozen=True, rename="camel"):
    """What a server says of itself; `capabilities` is raw JSON, so that nothing of it is lost."""

    protocol_version: str
    capabilities: Raw
    server_info: Implementation
    instructions: str | UnsetType = UNSET
