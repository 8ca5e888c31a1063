"""The blocks that results, prompts and samplings are made of.

Specification: MCP `server/tools#tool-result`, all revisions; audio since 2025-03-26, resource links since
2025-06-18, the use of tools in a sampling (`client/sampling`) since 2025-11-25.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import msgspec
from msgspec import UNSET, Raw, UnsetType

from anywire.protocol.types.annotations import Annotations
from anywire.protocol.types.metadata import WithMeta
from anywire.protocol.types.reading import read, settle
from anywire.protocol.types.resources import Resource, ResourceContents, read_contents
from anywire.wire.value import Verbatim, decode_value

__all__ = (
    "AnyContent",
    "AudioContent",
    "ContentBlock",
    "EmbeddedResource",
    "ImageContent",
    "ReadContent",
    "ResourceLink",
    "TextContent",
    "ToolResultContent",
    "ToolUseContent",
    "UnknownContent",
    "read_block_or_blocks",
    "read_content",
)

_DATA_URI = re.compile(r"data:(image/[\w.+-]+);base64,([A-Za-z0-9+/=\s]*)\Z")

if TYPE_CHECKING:
    #: A member that is raw JSON only until the struct around it is made.
    ReadContent: TypeAlias = "AnyContent"
    _ReadContents: TypeAlias = ResourceContents
else:
    ReadContent = Raw
    _ReadContents = Raw


class TextContent(WithMeta, frozen=True, tag_field="type", tag="text"):
    """A block of text."""

    text: str
    annotations: Annotations | UnsetType = UNSET


class ImageContent(WithMeta, frozen=True, tag_field="type", tag="image"):
    """A picture: `data` in base64, `mime_type` such as `image/png`."""

    data: str
    mime_type: str
    annotations: Annotations | UnsetType = UNSET

    @classmethod
    def from_bytes(cls, data: bytes, mime_type: str = "image/png") -> ImageContent:
        """Make a block of a picture's bytes."""
        return cls(base64.b64encode(data).decode("ascii"), mime_type)

    @classmethod
    def from_data_uri(cls, uri: str) -> ImageContent | None:
        """Make a block of a `data:image/…;base64,…` URI; None for any other URI."""
        found = _DATA_URI.match(uri)
        return None if found is None else cls("".join(found.group(2).split()), found.group(1))


class AudioContent(WithMeta, frozen=True, tag_field="type", tag="audio"):
    """A sound: `data` in base64, `mime_type` such as `audio/wav`."""

    data: str
    mime_type: str
    annotations: Annotations | UnsetType = UNSET

    @classmethod
    def from_bytes(cls, data: bytes, mime_type: str = "audio/wav") -> AudioContent:
        """Make a block of a sound's bytes."""
        return cls(base64.b64encode(data).decode("ascii"), mime_type)


class ResourceLink(Resource, frozen=True, tag_field="type", tag="resource_link"):
    """A resource that can be read, whether or not the server lists it."""


class EmbeddedResource(WithMeta, frozen=True, tag_field="type", tag="resource"):
    """A resource with what it holds."""

    resource: _ReadContents
    annotations: Annotations | UnsetType = UNSET

    def __post_init__(self) -> None:
        settle(self, "resource", read_contents)


class ToolUseContent(WithMeta, frozen=True, tag_field="type", tag="tool_use"):
    """A model's wish to call a tool, in a sampling."""

    id: str
    name: str
    input: dict[str, Any]


class ToolResultContent(WithMeta, frozen=True, tag_field="type", tag="tool_result"):
    """What the call of a tool gave, told to the model in a sampling."""

    tool_use_id: str
    content: Sequence[ReadContent]
    structured_content: Any = UNSET
    is_error: bool | UnsetType = UNSET

    def __post_init__(self) -> None:
        settle(self, "content", read_content)


class UnknownContent(Verbatim):
    """A block that no type here can hold: of an unknown kind, or without what its kind must have.

    It is written as it came.
    """

    __slots__ = ("type",)

    def __init__(self, type: str, raw: bytes) -> None:
        super().__init__(raw)
        #: The kind that it says it is of; empty where it says none.
        self.type = type


#: What the result of a tool and the message of a prompt carry.
ContentBlock: TypeAlias = TextContent | ImageContent | AudioContent | ResourceLink | EmbeddedResource

#: Whatever a block may turn out to be.
AnyContent: TypeAlias = ContentBlock | ToolUseContent | ToolResultContent | UnknownContent

_KINDS: Final[dict[str, type[ContentBlock | ToolUseContent | ToolResultContent]]] = {
    "text": TextContent,
    "image": ImageContent,
    "audio": AudioContent,
    "resource_link": ResourceLink,
    "resource": EmbeddedResource,
    "tool_use": ToolUseContent,
    "tool_result": ToolResultContent,
}


class _Kind(msgspec.Struct):
    type: object = ""


def read_content(raw: bytes | Raw) -> AnyContent:
    """Read a block; one that cannot be read becomes an `UnknownContent`, so that none is lost."""
    kind = ""
    try:
        told = decode_value(raw, _Kind).type
        kind = told if isinstance(told, str) else ""
        if kind in _KINDS:
            return read(raw, _KINDS[kind])
    except msgspec.MsgspecError:
        pass
    return UnknownContent(kind, bytes(raw))


def read_block_or_blocks(raw: bytes | Raw) -> AnyContent | list[AnyContent]:
    """Read a block, or a list of blocks."""
    if bytes(raw).lstrip()[:1] == b"[":
        return [read_content(item) for item in decode_value(raw, list[Raw])]
    return read_content(raw)
