"""Prompts: what a server lists, what a client gets.

Specification: MCP `server/prompts`, all revisions.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
from msgspec import UNSET, UnsetType

from anywire.protocol.types.annotations import Role
from anywire.protocol.types.caching import CacheableResult
from anywire.protocol.types.content import ReadContent, read_content
from anywire.protocol.types.icons import Icon
from anywire.protocol.types.input_required import RetriableParams
from anywire.protocol.types.metadata import Result, WithMeta
from anywire.protocol.types.reading import Item, Received, settle

__all__ = (
    "GetPromptParams",
    "GetPromptResult",
    "ListPromptsResult",
    "Prompt",
    "PromptArgument",
    "PromptMessage",
)


class PromptArgument(msgspec.Struct, frozen=True, omit_defaults=True, rename="camel"):
    """An argument that a prompt takes."""

    name: str
    title: str | UnsetType = UNSET
    description: str | UnsetType = UNSET
    required: bool | UnsetType = UNSET


class Prompt(WithMeta, frozen=True):
    """One prompt as a server lists it."""

    name: str
    title: str | UnsetType = UNSET
    description: str | UnsetType = UNSET
    arguments: list[PromptArgument] | UnsetType = UNSET
    icons: list[Icon] | UnsetType = UNSET


class PromptMessage(Received, frozen=True):
    """A message of a prompt; its content may be an `UnknownContent`."""

    role: Role
    content: ReadContent

    def __post_init__(self) -> None:
        settle(self, "content", read_content)


class ListPromptsResult(CacheableResult, frozen=True):
    """One page of prompts; each stays raw JSON until it is asked for, so that a bad one spoils no other."""

    prompts: Sequence[Item[Prompt]]
    next_cursor: str | UnsetType = UNSET


class GetPromptParams(RetriableParams, frozen=True):
    """The params of `prompts/get`; all arguments are strings."""

    name: str
    arguments: dict[str, str] | UnsetType = UNSET


class GetPromptResult(Result, frozen=True):
    """The result of `prompts/get`; each message is raw JSON until it is asked for."""

    messages: Sequence[Item[PromptMessage]]
    description: str | UnsetType = UNSET
