"""What the calls of a client gave: typed where that is known, with the bytes that came."""

from __future__ import annotations

import base64
import binascii
from typing import Any

import msgspec
from msgspec import UnsetType

from anywire.protocol.types.content import AnyContent, TextContent, read_content
from anywire.protocol.types.prompts import GetPromptResult, PromptMessage
from anywire.protocol.types.reading import read
from anywire.protocol.types.resources import (
    ReadResourceResult,
    ResourceContents,
    TextResourceContents,
    read_resource_contents,
)
from anywire.protocol.types.tools import ToolResultMessage
from anywire.wire.codec import decode_value, value_reader

__all__ = ("PromptResult", "ResourceResult", "ToolResult")

_read_tool_result = value_reader(msgspec.json.Decoder(ToolResultMessage))
_read_object = value_reader(msgspec.json.Decoder(dict[str, Any]))


class ToolResult(msgspec.Struct, frozen=True):
    """The result of `tools/call`.

    `raw` is the whole result as it came, JSON in UTF-8; whatever a newer peer put into it is there.
    """

    raw: bytes
    message: ToolResultMessage

    @classmethod
    def from_raw(cls, raw: bytes) -> ToolResult:
        """Read a raw result.  Raises `msgspec.MsgspecError` for one that is not as specified."""
        return cls(raw, _read_tool_result(raw))

    @property
    def is_error(self) -> bool:
        """Whether the tool failed; its text then says why."""
        return self.message.is_error

    @property
    def text(self) -> str:
        """The text of all text blocks, one per line."""
        texts = [block.get("text") for block in self.content if block.get("type") == "text"]
        return "\n".join([text for text in texts if isinstance(text, str)])

    @property
    def content(self) -> list[dict[str, Any]]:
        """The blocks as plain JSON data, unknown kinds included; what is no object is no block."""
        return [block for raw in self.message.content if (block := _plain(raw)) is not None]

    @property
    def blocks(self) -> list[AnyContent]:
        """The blocks, typed; one of a kind that is not known here is an `UnknownContent`."""
        return [read_content(block) for block in self.message.content]

    @property
    def structured(self) -> Any:
        """The structured content as plain JSON data, None where there is none."""
        structured = self.message.structured_content
        return None if isinstance(structured, msgspec.UnsetType) else decode_value(structured, object)


class ResourceResult(msgspec.Struct, frozen=True):
    """The result of `resources/read`: what the resource holds, mostly one part.

    `raw` is the whole result as it came.
    """

    raw: bytes
    contents: list[ResourceContents]

    @classmethod
    def from_raw(cls, raw: bytes) -> ResourceResult:
        """Read a raw result.  Raises `msgspec.MsgspecError` where a part of it cannot be read."""
        contents, faults = read_resource_contents(read(raw, ReadResourceResult).contents)
        for fault in faults:
            raise msgspec.ValidationError(f"{fault.reason}: {fault.raw[:200]!r}")
        return cls(raw, contents)

    @property
    def text(self) -> str:
        """The texts, one per line; what is not text is left out."""
        return "\n".join(each.text for each in self.contents if isinstance(each, TextResourceContents))

    @property
    def data(self) -> bytes:
        """The bytes of all parts, those of texts in UTF-8.  Raises `ValueError` for what is not base64."""
        return b"".join(_bytes_of(each) for each in self.contents)


class PromptResult(msgspec.Struct, frozen=True):
    """The result of `prompts/get`.  `raw` is the whole result as it came."""

    raw: bytes
    messages: list[PromptMessage]
    description: str | None = None

    @classmethod
    def from_raw(cls, raw: bytes) -> PromptResult:
        """Read a raw result.  Raises `msgspec.MsgspecError` where a message of it cannot be read."""
        result = read(raw, GetPromptResult)
        messages = [
            each if isinstance(each, PromptMessage) else read(each, PromptMessage) for each in result.messages
        ]
        description = None if isinstance(result.description, UnsetType) else result.description
        return cls(raw, messages, description)

    @property
    def text(self) -> str:
        """The texts of all messages, one per line; what is not text is left out."""
        blocks = (message.content for message in self.messages)
        return "\n".join(block.text for block in blocks if isinstance(block, TextContent))


def _plain(block: msgspec.Raw) -> dict[str, Any] | None:
    try:
        return _read_object(block)
    except msgspec.MsgspecError:
        return None


def _bytes_of(contents: ResourceContents) -> bytes:
    if isinstance(contents, TextResourceContents):
        return contents.text.encode()
    try:
        return base64.b64decode(contents.blob)
    except binascii.Error as error:
        raise ValueError(f"the contents of {contents.uri} are not base64: {error}") from error
