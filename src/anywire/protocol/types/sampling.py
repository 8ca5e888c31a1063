"""Asking the client's model.

Specification: MCP `client/sampling`, all revisions; tools since 2025-11-25; in 2026-07-28 only inside a
result that requires input.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import msgspec
from msgspec import UNSET, Raw, UnsetType

from anywire.protocol.types.annotations import Role
from anywire.protocol.types.content import AnyContent, read_block_or_blocks
from anywire.protocol.types.metadata import RequestParams, WithMeta
from anywire.protocol.types.reading import read, settle
from anywire.protocol.types.tools import Tool

__all__ = (
    "CreateMessageParams",
    "CreateMessageResult",
    "ModelHint",
    "ModelPreferences",
    "SamplingMessage",
    "ToolChoice",
)

if TYPE_CHECKING:
    _BlockOrBlocks: TypeAlias = AnyContent | Sequence[AnyContent]
    _ReadMessages: TypeAlias = "Sequence[SamplingMessage]"
    _ReadTools: TypeAlias = Sequence[Tool]
else:
    _BlockOrBlocks = Raw
    _ReadMessages = Sequence[Raw]
    _ReadTools = Sequence[Raw]


class SamplingMessage(WithMeta, frozen=True):
    """A message to a model: one block, or since 2025-11-25 several."""

    role: Role
    content: _BlockOrBlocks

    def __post_init__(self) -> None:
        settle(self, "content", read_block_or_blocks)


class ModelHint(msgspec.Struct, frozen=True, omit_defaults=True, rename="camel"):
    """Part of the name of a model that would do."""

    name: str | UnsetType = UNSET


class ModelPreferences(msgspec.Struct, frozen=True, omit_defaults=True, rename="camel"):
    """Which model is wanted: hints in order, and how much cost, speed and wits matter, from 0 to 1."""

    hints: list[ModelHint] | UnsetType = UNSET
    cost_priority: int | float | UnsetType = UNSET
    speed_priority: int | float | UnsetType = UNSET
    intelligence_priority: int | float | UnsetType = UNSET


class ToolChoice(msgspec.Struct, frozen=True, omit_defaults=True, rename="camel"):
    """Whether the model may use tools (`auto`, as when absent), must (`required`) or must not (`none`)."""

    mode: Literal["auto", "required", "none"] | UnsetType = UNSET


class CreateMessageParams(RequestParams, frozen=True):
    """The params of `sampling/createMessage`; a message or a tool that cannot be read spoils them all."""

    messages: _ReadMessages
    max_tokens: int
    model_preferences: ModelPreferences | UnsetType = UNSET
    system_prompt: str | UnsetType = UNSET
    include_context: Literal["none", "thisServer", "allServers"] | UnsetType = UNSET
    temperature: int | float | UnsetType = UNSET
    stop_sequences: list[str] | UnsetType = UNSET
    metadata: dict[str, Any] | UnsetType = UNSET
    tools: _ReadTools | UnsetType = UNSET
    tool_choice: ToolChoice | UnsetType = UNSET
    task: dict[str, Any] | UnsetType = UNSET

    def __post_init__(self) -> None:
        settle(self, "messages", lambda raw: read(raw, SamplingMessage))
        settle(self, "tools", lambda raw: read(raw, Tool))


class CreateMessageResult(WithMeta, frozen=True):
    """What the model said: `stop_reason` such as `endTurn`, `stopSequence`, `maxTokens`, `toolUse`."""

    role: Role
    content: _BlockOrBlocks
    model: str
    stop_reason: str | UnsetType = UNSET

    def __post_init__(self) -> None:
        settle(self, "content", read_block_or_blocks)
