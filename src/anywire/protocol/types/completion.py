"""Completing what a user types as an argument of a prompt or of a resource template.

Specification: MCP `server/utilities/completion`, all revisions; `context` since 2025-06-18.
"""

from __future__ import annotations

from typing import Final

import msgspec
from msgspec import UNSET, UnsetType

from anywire.protocol.types.metadata import RequestParams, Result

__all__ = (
    "MAX_COMPLETION_VALUES",
    "CompleteParams",
    "CompleteResult",
    "Completion",
    "CompletionArgument",
    "CompletionContext",
    "PromptReference",
    "ResourceTemplateReference",
)

#: How many values one completion may have.
MAX_COMPLETION_VALUES: Final = 100


class PromptReference(
    msgspec.Struct, frozen=True, omit_defaults=True, rename="camel", tag_field="type", tag="ref/prompt"
):
    """Names a prompt."""

    name: str
    title: str | UnsetType = UNSET


class ResourceTemplateReference(
    msgspec.Struct, frozen=True, omit_defaults=True, rename="camel", tag_field="type", tag="ref/resource"
):
    """Names a resource template, or a resource."""

    uri: str


class CompletionArgument(msgspec.Struct, frozen=True, rename="camel"):
    """The argument that is being typed, and what of it is there."""

    name: str
    value: str


class CompletionContext(msgspec.Struct, frozen=True, omit_defaults=True, rename="camel"):
    """The arguments that have their values already."""

    arguments: dict[str, str] | UnsetType = UNSET


class CompleteParams(RequestParams, frozen=True):
    """The params of `completion/complete`."""

    ref: PromptReference | ResourceTemplateReference
    argument: CompletionArgument
    context: CompletionContext | UnsetType = UNSET


class Completion(msgspec.Struct, frozen=True, omit_defaults=True, rename="camel"):
    """The values to choose from: at most 100 of them, with how many there are in all."""

    values: list[str]
    total: int | UnsetType = UNSET
    has_more: bool | UnsetType = UNSET


class CompleteResult(Result, frozen=True):
    """The result of `completion/complete`."""

    completion: Completion
