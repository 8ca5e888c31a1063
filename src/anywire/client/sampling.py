"""`sampling/createMessage`: the server asks the program's model.

Specification: MCP `client/sampling`; several blocks, and tools, since 2025-11-25.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import TypeAlias, cast

import msgspec
from msgspec import UNSET

from anywire.client.asked import Asked
from anywire.client.callback import Callback
from anywire.errors import ConfigError, Refusal
from anywire.protocol.features import Feature, has
from anywire.protocol.types.content import AnyContent, TextContent, ToolUseContent, UnknownContent
from anywire.protocol.types.error_data import McpErrorCode
from anywire.protocol.types.initialize import SamplingCapability
from anywire.protocol.types.reading import read
from anywire.protocol.types.sampling import CreateMessageParams, CreateMessageResult
from anywire.wire.codec import decode_value, encode_value
from anywire.wire.message import JsonRpcErrorCode

__all__ = ("OnSample", "Sampled", "Sampling")

#: What a model said: a whole result, a text, a block or several; None: the user did not want it asked.
Sampled: TypeAlias = CreateMessageResult | str | AnyContent | Sequence[AnyContent] | None

#: Asks a model.  It may take a second parameter, an `Asked`.
OnSample: TypeAlias = (
    Callable[[CreateMessageParams], Sampled | Awaitable[Sampled]]
    | Callable[[CreateMessageParams, Asked], Sampled | Awaitable[Sampled]]
)

_UNKNOWN_MODEL = "unknown"


class Sampling:
    """Answers with what `on_sample` makes of the params."""

    def __init__(self, callback: Callback, capability: SamplingCapability) -> None:
        self._callback = callback
        self._capability = capability

    async def answer(self, asked: Asked) -> bytes:
        """Return the raw result.  Raises a `Refusal`, or whatever the program raised."""
        try:
            params = read(asked.params, CreateMessageParams)
        except msgspec.MsgspecError as error:
            raise Refusal(JsonRpcErrorCode.InvalidParams, f"Invalid params: {error}") from error
        wants_tools = params.tools is not UNSET or params.tool_choice is not UNSET
        if wants_tools and self._capability.tools is UNSET:
            reason = "Invalid params: this client did not declare sampling.tools"
            raise Refusal(JsonRpcErrorCode.InvalidParams, reason)
        sampled = await self._callback.call(asked, params)
        if sampled is None:
            raise Refusal(McpErrorCode.UserRejected, "User rejected sampling request")
        several = has(Feature.SAMPLING_TOOLS, asked.revision)
        return _checked(_result(sampled), self._callback.name, several)


def _result(sampled: object) -> CreateMessageResult:
    if isinstance(sampled, CreateMessageResult):
        return sampled
    content = cast("AnyContent", TextContent(sampled) if isinstance(sampled, str) else sampled)
    uses_tool = any(isinstance(block, ToolUseContent) for block in _blocks(content))
    return CreateMessageResult("assistant", content, _UNKNOWN_MODEL, "toolUse" if uses_tool else "endTurn")


def _blocks(content: AnyContent | Sequence[AnyContent]) -> Sequence[AnyContent]:
    return content if isinstance(content, Sequence) else [content]


def _checked(result: CreateMessageResult, name: str, several: bool) -> bytes:
    """Write a result.  Raises `ConfigError` for one that the server could not read."""
    content = result.content
    if isinstance(content, Sequence) and not several and len(content) == 1:
        result = msgspec.structs.replace(result, content=content[0])  # as older revisions have it
    raw = encode_value(result)
    try:
        written = decode_value(raw, CreateMessageResult).content
    except msgspec.MsgspecError as error:
        raise ConfigError(f"{name} returned what is no message of a model: {error}") from error
    if isinstance(written, Sequence) and not several:
        raise ConfigError(f"{name} returned {len(written)} blocks; this revision has room for one")
    for block in _blocks(written):
        # Unless the program itself made a block of a kind that is not known here.
        if isinstance(block, UnknownContent) and block not in _blocks(content):
            raise ConfigError(f"{name} returned what is no block of content: {block.raw[:200]!r}")
    return raw
