"""A prompt: a function that writes messages.

Specification: MCP `server/prompts`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypedDict

import msgspec
from msgspec import UNSET

from anywire.protocol.revisions import MCP_LATEST_PROTOCOL_VERSION
from anywire.protocol.types.content import UnknownContent
from anywire.protocol.types.icons import Icon
from anywire.protocol.types.prompts import GetPromptResult, Prompt, PromptArgument, PromptMessage
from anywire.server.exchange import Terms
from anywire.server.handler import Handler, check_options, make_handler
from anywire.server.media import fit_block
from anywire.server.result import BLOCKS, blocks_of
from anywire.wire.codec import encode_value

__all__ = ("PromptOptions", "RegisteredPrompt", "register_prompt")


class PromptOptions(TypedDict, total=False):
    """What `@server.prompt` can be told about a prompt; see there."""

    name: str | None
    title: str | None
    description: str | None
    icons: list[Icon] | None
    meta: dict[str, Any] | None
    inline: bool


class RegisteredPrompt(msgspec.Struct, frozen=True):
    """What a server knows of one prompt."""

    listing: Prompt
    handler: Handler

    @property
    def label(self) -> str:
        """What it is called in errors."""
        return f"prompt {self.listing.name!r}"

    def encode(self, output: Any, terms: Terms) -> bytes:
        """Write what the function returned as a raw result.

        A `PromptMessage` is one; a text, a block or anything with a JSON is one of the user's; a list is
        several; a `GetPromptResult` is the whole result.
        """
        if isinstance(output, GetPromptResult):
            return encode_value(output)
        items: list[Any] = list(output) if isinstance(output, list | tuple) else [output]  # pyright: ignore[reportUnknownArgumentType] a handler's own list
        messages = [message for item in items for message in _messages(item)]
        fitting = [_fit(message, terms.revision or MCP_LATEST_PROTOCOL_VERSION) for message in messages]
        return encode_value(GetPromptResult(fitting, self.listing.description))

    def encode_failure(self, error: BaseException) -> bytes | None:
        """A prompt that cannot be written is an error of the request."""
        return None


def register_prompt(function: Callable[..., Any], options: PromptOptions) -> RegisteredPrompt:
    """Make a prompt of a function.  Raises `ConfigError` when it cannot serve as one."""
    check_options(options, PromptOptions)
    inline = options.get("inline", False)
    handler = make_handler(function, "prompt", options.get("name"), inline=inline, strict=False)
    schema = handler.signature.schema
    required = schema.get("required", ())
    arguments = [
        PromptArgument(name, description=property.get("description", UNSET), required=name in required)
        for name, property in schema.get("properties", {}).items()
    ]
    listing = Prompt(
        name=handler.name,
        title=options.get("title") or UNSET,
        description=handler.describe(options.get("description")),
        arguments=arguments or UNSET,
        icons=options.get("icons") or UNSET,
        meta=options.get("meta") or UNSET,
    )
    return RegisteredPrompt(listing, handler)


def _messages(item: Any) -> list[PromptMessage]:
    if isinstance(item, PromptMessage):
        return [item]
    return [PromptMessage("user", block) for block in blocks_of(item)]


def _fit(message: PromptMessage, revision: str | None) -> PromptMessage:
    content = message.content
    if isinstance(content, BLOCKS) and not isinstance(content, UnknownContent):
        return PromptMessage(message.role, fit_block(content, revision))
    return message
