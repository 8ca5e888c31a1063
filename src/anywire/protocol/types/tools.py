"""Tools: what a server lists, what a client calls, what comes back.

Specification: MCP `server/tools`, all revisions; annotations since 2025-03-26, structured content since
2025-06-18, icons since 2025-11-25.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import msgspec
from msgspec import UNSET, Raw, UnsetType

from anywire.protocol.types.caching import CacheableResult
from anywire.protocol.types.content import ReadContent, read_content
from anywire.protocol.types.icons import Icon
from anywire.protocol.types.input_required import RetriableParams
from anywire.protocol.types.metadata import Result, WithMeta
from anywire.protocol.types.reading import Item, read, settle
from anywire.wire.value import encode_value

__all__ = (
    "CallToolParams",
    "CallToolResult",
    "ListToolsResult",
    "Tool",
    "ToolAnnotations",
    "ToolExecution",
    "ToolResultMessage",
)


class ToolAnnotations(msgspec.Struct, frozen=True, omit_defaults=True, rename="camel"):
    """Hints about what a tool does; never to be relied on unless the server is trusted.

    An absent hint means the careful one: not read-only, destructive, not idempotent, an open world.
    """

    title: str | UnsetType = UNSET
    read_only_hint: bool | UnsetType = UNSET
    destructive_hint: bool | UnsetType = UNSET
    idempotent_hint: bool | UnsetType = UNSET
    open_world_hint: bool | UnsetType = UNSET


class ToolExecution(msgspec.Struct, frozen=True, omit_defaults=True, rename="camel"):
    """How a tool may be called, in 2025-11-25: as a task or not."""

    task_support: Literal["forbidden", "optional", "required"] | UnsetType = UNSET


class Tool(WithMeta, frozen=True):
    """One tool as a server lists it; the schemas and `annotations` are plain JSON data."""

    name: str
    input_schema: dict[str, Any]
    description: str | UnsetType = UNSET
    title: str | UnsetType = UNSET
    annotations: dict[str, Any] | UnsetType = UNSET
    output_schema: dict[str, Any] | UnsetType = UNSET
    icons: list[Icon] | UnsetType = UNSET
    execution: ToolExecution | UnsetType = UNSET

    @property
    def hints(self) -> ToolAnnotations:
        """The annotations that are known here, typed; one that cannot be used is left out."""
        known = {} if isinstance(self.annotations, UnsetType) else self.annotations
        return read(encode_value(known), ToolAnnotations)


class ListToolsResult(CacheableResult, frozen=True):
    """One page of tools; each stays raw JSON until it is asked for, so that a bad one spoils no other."""

    tools: Sequence[Item[Tool]] = msgspec.field(default_factory=list[Raw])
    next_cursor: str | UnsetType = UNSET


class CallToolParams(RetriableParams, frozen=True):
    """A call as it comes in: the arguments stay raw until the tool is known."""

    name: str = ""
    arguments: Raw = Raw(b"{}")
    task: dict[str, Any] | UnsetType = UNSET


class CallToolResult(Result, frozen=True):
    """What a call gave; `structured_content` is an object until 2025-11-25 and any JSON since."""

    content: Sequence[ReadContent]
    is_error: bool | UnsetType = UNSET
    structured_content: Any = UNSET

    def __post_init__(self) -> None:
        settle(self, "content", read_content)


class ToolResultMessage(msgspec.Struct, frozen=True, rename="camel"):
    """What a call gave, as it comes in: blocks stay raw, since a newer peer may send unknown kinds."""

    content: list[Raw] = msgspec.field(default_factory=list[Raw])
    is_error: bool = False
    structured_content: Raw | UnsetType = UNSET
