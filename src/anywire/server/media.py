"""Blocks of bytes and of images, and blocks that fit into an older revision.

Specification: MCP `server/tools#tool-result`; audio since 2025-03-26, resource links since 2025-06-18.
"""

from __future__ import annotations

import io
from typing import Any, Final

from msgspec import UNSET, UnsetType

from anywire.protocol.features import Feature, has
from anywire.protocol.types.content import (
    AudioContent,
    ContentBlock,
    EmbeddedResource,
    ImageContent,
    ResourceLink,
    TextContent,
)
from anywire.protocol.types.resources import BlobResourceContents

__all__ = ("block_of_bytes", "block_of_image", "fit_block", "is_image", "media_type")

# How files of these kinds begin.
_SIGNATURES: Final = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
    (b"BM", "image/bmp"),
    (b"OggS", "audio/ogg"),
    (b"fLaC", "audio/flac"),
    (b"ID3", "audio/mpeg"),
    (b"\xff\xfb", "audio/mpeg"),
    (b"%PDF-", "application/pdf"),
)
# What stands at the 8th byte of a RIFF file.
_RIFF: Final = {b"WEBP": "image/webp", b"WAVE": "audio/wav"}


def media_type(data: bytes) -> str:
    """Tell the media type of a file by how it begins; `application/octet-stream` for an unknown one."""
    if data[:4] == b"RIFF":
        return _RIFF.get(data[8:12], "application/octet-stream")
    found = (kind for start, kind in _SIGNATURES if data.startswith(start))
    return next(found, "application/octet-stream")


def block_of_bytes(data: bytes) -> ContentBlock:
    """Return the block for bytes: an image, a sound, or a resource that holds them."""
    kind = media_type(data)
    if kind.startswith("image/"):
        return ImageContent.from_bytes(data, kind)
    if kind.startswith("audio/"):
        return AudioContent.from_bytes(data, kind)
    return EmbeddedResource(BlobResourceContents.from_bytes("anywire:bytes", data, kind))


def is_image(value: object) -> bool:
    """Say whether this is an image of Pillow's, which is not imported for it."""
    kinds = type(value).__mro__
    return any(kind.__module__ == "PIL.Image" and kind.__name__ == "Image" for kind in kinds)


def block_of_image(image: Any) -> ImageContent:
    """Return the block for an image of Pillow's: a PNG, or a JPEG where it came from one."""
    file = io.BytesIO()
    kind = "JPEG" if image.format == "JPEG" else "PNG"
    image.save(file, format=kind)
    return ImageContent.from_bytes(file.getvalue(), f"image/{kind.lower()}")


def fit_block(block: ContentBlock, revision: str | None) -> ContentBlock:
    """Return a block that says the same in a conversation of that revision; nothing of it is lost."""
    if isinstance(block, AudioContent) and not has(Feature.AUDIO, revision):
        held = BlobResourceContents("anywire:audio", block.data, block.mime_type)
        return EmbeddedResource(held, annotations=block.annotations)
    if isinstance(block, ResourceLink) and not has(Feature.RESOURCE_LINKS, revision):
        return TextContent(_spell(block))
    return block


def _spell(link: ResourceLink) -> str:
    title = link.name if isinstance(link.title, UnsetType) else link.title
    description = "" if link.description is UNSET else f"\n{link.description}"
    return f"{title}: {link.uri}{description}"
