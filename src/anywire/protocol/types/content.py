"""The blocks a result is made of.

Specification: MCP `server/tools#tool-result`, 2024-11-05 to 2025-11-25.
"""

from __future__ import annotations

import base64
import re
from typing import TypeAlias

import msgspec

__all__ = ("ContentBlock", "ImageContent", "TextContent")

_DATA_URI = re.compile(r"data:(image/[\w.+-]+);base64,([A-Za-z0-9+/=\s]*)\Z")


class TextContent(msgspec.Struct, frozen=True, tag_field="type", tag="text"):
    """A block of text."""

    text: str


class ImageContent(msgspec.Struct, frozen=True, tag_field="type", tag="image", rename="camel"):
    """A picture: `data` in base64, `mime_type` such as `image/png`."""

    data: str
    mime_type: str

    @classmethod
    def from_bytes(cls, data: bytes, mime_type: str = "image/png") -> ImageContent:
        """Make a block of a picture's bytes."""
        return cls(base64.b64encode(data).decode("ascii"), mime_type)

    @classmethod
    def from_data_uri(cls, uri: str) -> ImageContent | None:
        """Make a block of a `data:image/…;base64,…` URI; None for any other URI."""
        found = _DATA_URI.match(uri)
        return None if found is None else cls("".join(found.group(2).split()), found.group(1))


#: A block that a server writes.
ContentBlock: TypeAlias = TextContent | ImageContent
