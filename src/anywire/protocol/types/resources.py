"""Resources: what a server lists, what a client reads.

Specification: MCP `server/resources`, all revisions.
"""

from __future__ import annotations

import base64
from collections.abc import Sequence
from typing import TypeAlias

import msgspec
from msgspec import UNSET, Raw, UnsetType

from anywire.protocol.types.annotations import Annotations
from anywire.protocol.types.caching import CacheableResult
from anywire.protocol.types.icons import Icon
from anywire.protocol.types.input_required import RetriableParams
from anywire.protocol.types.metadata import NotificationParams, RequestParams, WithMeta
from anywire.protocol.types.reading import Item, ItemFault, read

__all__ = (
    "BlobResourceContents",
    "ListResourceTemplatesResult",
    "ListResourcesResult",
    "ReadResourceParams",
    "ReadResourceResult",
    "Resource",
    "ResourceContents",
    "ResourceTemplate",
    "ResourceUpdatedParams",
    "SubscribeParams",
    "TextResourceContents",
    "read_contents",
    "read_resource_contents",
)


class Resource(WithMeta, frozen=True):
    """One resource as a server lists it; `size` is in bytes."""

    uri: str
    name: str
    title: str | UnsetType = UNSET
    description: str | UnsetType = UNSET
    mime_type: str | UnsetType = UNSET
    size: int | UnsetType = UNSET
    annotations: Annotations | UnsetType = UNSET
    icons: list[Icon] | UnsetType = UNSET


class ResourceTemplate(WithMeta, frozen=True):
    """Resources whose URIs are made of a template (RFC 6570)."""

    uri_template: str
    name: str
    title: str | UnsetType = UNSET
    description: str | UnsetType = UNSET
    mime_type: str | UnsetType = UNSET
    annotations: Annotations | UnsetType = UNSET
    icons: list[Icon] | UnsetType = UNSET


class TextResourceContents(WithMeta, frozen=True):
    """What a resource holds, as text."""

    uri: str
    text: str
    mime_type: str | UnsetType = UNSET


class BlobResourceContents(WithMeta, frozen=True):
    """What a resource holds, as bytes: `blob` is base64."""

    uri: str
    blob: str
    mime_type: str | UnsetType = UNSET

    @classmethod
    def from_bytes(cls, uri: str, data: bytes, mime_type: str | UnsetType = UNSET) -> BlobResourceContents:
        """Make the contents of bytes."""
        return cls(uri, base64.b64encode(data).decode("ascii"), mime_type)

    @property
    def data(self) -> bytes:
        """The bytes.  Raises `ValueError` for what is not base64."""
        return base64.b64decode(self.blob)


#: What a resource holds.
ResourceContents: TypeAlias = TextResourceContents | BlobResourceContents


class ListResourcesResult(CacheableResult, frozen=True):
    """One page of resources; each stays raw JSON until it is asked for, so that a bad one spoils no other."""

    resources: Sequence[Item[Resource]]
    next_cursor: str | UnsetType = UNSET


class ListResourceTemplatesResult(CacheableResult, frozen=True):
    """One page of resource templates; each stays raw JSON until it is asked for."""

    resource_templates: Sequence[Item[ResourceTemplate]]
    next_cursor: str | UnsetType = UNSET


class ReadResourceParams(RetriableParams, frozen=True):
    """The params of `resources/read`."""

    uri: str


class ReadResourceResult(CacheableResult, frozen=True):
    """The result of `resources/read`: one or more contents, each raw JSON until it is asked for."""

    contents: Sequence[Item[ResourceContents]]


class SubscribeParams(RequestParams, frozen=True):
    """The params of `resources/subscribe` and of `resources/unsubscribe`, until 2025-11-25."""

    uri: str


class ResourceUpdatedParams(NotificationParams, frozen=True):
    """The params of `notifications/resources/updated`; the URI may be of a part of what was subscribed to."""

    uri: str


class _Kind(msgspec.Struct):
    blob: Raw | UnsetType = UNSET


def read_contents(raw: bytes | Raw) -> ResourceContents:
    """Read what a resource holds: text, or bytes where there is a `blob`.

    Raises `msgspec.MsgspecError` for what is neither.
    """
    return read(raw, TextResourceContents if read(raw, _Kind).blob is UNSET else BlobResourceContents)


def read_resource_contents(
    contents: Sequence[Item[ResourceContents]],
) -> tuple[list[ResourceContents], list[ItemFault]]:
    """Read the contents of a result one by one: those that can be used, and those that cannot."""
    good: list[ResourceContents] = []
    faults: list[ItemFault] = []
    for item in contents:
        try:
            good.append(read_contents(item) if isinstance(item, Raw) else item)
        except msgspec.MsgspecError as error:
            faults.append(ItemFault(bytes(item) if isinstance(item, Raw) else item.raw, str(error)))
    return good, faults
