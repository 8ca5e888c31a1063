"""The lists of a server: all of their pages, and of each what can be read."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from typing import Final, Generic, TypeVar

import msgspec
from msgspec import UNSET

from anywire.errors import RemoteProtocolError
from anywire.protocol.types.pagination import PageWalk
from anywire.protocol.types.prompts import ListPromptsResult, Prompt
from anywire.protocol.types.reading import read, read_items
from anywire.protocol.types.resources import (
    ListResourcesResult,
    ListResourceTemplatesResult,
    Resource,
    ResourceTemplate,
)
from anywire.protocol.types.tools import ListToolsResult, Tool
from anywire.wire.codec import encode_value

__all__ = ("PROMPTS", "RESOURCES", "RESOURCE_TEMPLATES", "TOOLS", "Listing", "read_all")

_log = logging.getLogger("anywire.client")

T = TypeVar("T", bound=msgspec.Struct)


class Listing(msgspec.Struct, Generic[T], frozen=True):
    """A list: how it is asked for, which member of the result it is, and what it holds."""

    method: str
    result: type[ListToolsResult | ListResourcesResult | ListResourceTemplatesResult | ListPromptsResult]
    member: str
    item: type[T]
    noun: str


TOOLS: Final = Listing("tools/list", ListToolsResult, "tools", Tool, "a tool")
RESOURCES: Final = Listing("resources/list", ListResourcesResult, "resources", Resource, "a resource")
RESOURCE_TEMPLATES: Final = Listing(
    "resources/templates/list",
    ListResourceTemplatesResult,
    "resource_templates",
    ResourceTemplate,
    "a resource template",
)
PROMPTS: Final = Listing("prompts/list", ListPromptsResult, "prompts", Prompt, "a prompt")


async def read_all(
    listing: Listing[T], ask: Callable[[str, bytes | None], Awaitable[bytes]], name: str
) -> list[T]:
    """Ask the server `name` for a list, page by page, until there is no other or one comes again.

    An item that cannot be read is left out and logged.  Raises `RemoteProtocolError` for what is no page.
    """
    items: list[T] = []
    walk = PageWalk()
    while True:
        params = None if walk.cursor is UNSET else encode_value({"cursor": walk.cursor})
        raw = await ask(listing.method, params)
        try:
            page = read(raw, listing.result)
        except msgspec.MsgspecError as error:
            raise RemoteProtocolError(f"{name}: the server's answer cannot be read: {error}") from error
        good, faults = read_items(getattr(page, listing.member), listing.item)
        items += good
        for fault in faults:
            _log.warning(
                "%s: %s that cannot be used: %s: %s", name, listing.noun, fault.reason, fault.raw[:200]
            )
        if not walk.advance(page.next_cursor):
            return items
