"""Tools: what a server lists, what a client calls, what comes back.

Specification: MCP `server/tools`, 2024-11-05 to 2025-11-25.
"""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import UNSET, Raw, UnsetType

from anywire.protocol.types.content import ContentBlock

__all__ = ("CallToolParams", "CallToolResult", "ListToolsResult", "Tool", "ToolResultMessage")


class Tool(msgspec.Struct, frozen=True, omit_defaults=True, rename="camel"):
    """One tool as a server lists it; `input_schema` and `annotations` are plain JSON data."""

    name: str
    input_schema: dict[str, Any]
    description: str | UnsetType = UNSET
    title: str | UnsetType = UNSET
    annotations: dict[str, Any] | UnsetType = UNSET


class ListToolsResult(msgspec.Struct, frozen=True, omit_defaults=True, rename="camel"):
    """One page of tools; each stays raw JSON until it is asked for, so that a bad one spoils no other."""

    tools: list[Raw] = msgspec.field(default_factory=list[Raw])
    next_cursor: str | UnsetType = UNSET


class CallToolParams(msgspec.Struct, frozen=True):
    """A call as it comes in: the arguments stay raw until the tool is known."""

    name: str = ""
    arguments: Raw = Raw(b"{}")
    meta: Raw = msgspec.field(default=Raw(b"{}"), name="_meta")


class CallToolResult(msgspec.Struct, frozen=True, omit_defaults=True, rename="camel"):
    """What a call gave, as it goes out."""

    content: list[ContentBlock]
    is_error: bool = False


class ToolResultMessage(msgspec.Struct, frozen=True, rename="camel"):
    """What a call gave, as it comes in: blocks stay raw, since a newer peer may send unknown kinds."""

    content: list[Raw] = msgspec.field(default_factory=list[Raw])
    is_error: bool = False
    structured_content: Raw | UnsetType = UNSET
