"""What is completed: an argument of a prompt, or a variable of a resource template."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

from msgspec import UNSET

from anywire.protocol.types.completion import (
    CompleteParams,
    CompletionArgument,
    CompletionContext,
    PromptReference,
    ResourceTemplateReference,
)
from anywire.protocol.types.prompts import Prompt
from anywire.protocol.types.resources import ResourceTemplate
from anywire.wire.codec import encode_value

__all__ = ("Completable", "complete_params")

#: A prompt or a resource template: as it was listed, by name or URI template, or by reference.
Completable: TypeAlias = Prompt | ResourceTemplate | PromptReference | ResourceTemplateReference | str


def complete_params(of: Completable, argument: str, value: str, arguments: Mapping[str, str] | None) -> bytes:
    """Return the raw params of `completion/complete`."""
    context = CompletionContext(dict(arguments)) if arguments else UNSET
    return encode_value(CompleteParams(_reference(of), CompletionArgument(argument, value), context))


def _reference(of: Completable) -> PromptReference | ResourceTemplateReference:
    match of:
        case PromptReference() | ResourceTemplateReference():
            return of
        case Prompt():
            return PromptReference(of.name)
        case ResourceTemplate():
            return ResourceTemplateReference(of.uri_template)
        case str():
            # A name of a prompt may hold anything, but looks like no URI.
            is_uri = "://" in of or "{" in of
            return ResourceTemplateReference(of) if is_uri else PromptReference(of)
