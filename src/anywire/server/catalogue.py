"""What a server offers: the one door to its tools, resources, prompts and completions.

Each list is kept as the raw results of its pages, made when they are first asked for.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Mapping
from enum import Enum
from typing import Any

import msgspec
from msgspec import UNSET

from anywire.errors import ConfigError
from anywire.protocol.types.initialize import (
    PromptsCapability,
    ResourcesCapability,
    ServerCapabilities,
    ToolsCapability,
)
from anywire.server.completing import RegisteredCompletion, choices
from anywire.server.prompt import RegisteredPrompt
from anywire.server.resource import Reading, RegisteredResource, RegisteredTemplate
from anywire.server.signature import Signature
from anywire.server.tool import RegisteredTool
from anywire.wire.codec import encode_value

__all__ = ("Catalogue", "CursorUnknown", "Offer")


class Offer(Enum):
    """A list that a server has; the value is its member in the result."""

    TOOLS = "tools"
    RESOURCES = "resources"
    TEMPLATES = "resourceTemplates"
    PROMPTS = "prompts"

    @property
    def changed(self) -> str:
        """The notification that tells that the list has changed."""
        name = "resources" if self is Offer.TEMPLATES else self.value
        return f"notifications/{name}/list_changed"


class CursorUnknown(ValueError):
    """There is no page that begins there, perhaps no more."""


class Catalogue:
    """The tables.  `on_changed` is called with each list that has changed."""

    def __init__(self, page_size: int | None, on_changed: Callable[[Offer], None]) -> None:
        self._page_size = page_size
        self._on_changed = on_changed
        self._tools: dict[str, RegisteredTool] = {}
        #: The tools by name.
        self.tools: Mapping[str, RegisteredTool] = self._tools
        self._resources: dict[str, RegisteredResource] = {}
        self._templates: dict[str, RegisteredTemplate] = {}
        self._prompts: dict[str, RegisteredPrompt] = {}
        self._completions: dict[tuple[str, str], RegisteredCompletion] = {}
        self._tables: dict[Offer, dict[str, Any]] = {
            Offer.TOOLS: self._tools,
            Offer.RESOURCES: self._resources,
            Offer.TEMPLATES: self._templates,
            Offer.PROMPTS: self._prompts,
        }
        self._pages: dict[Offer, dict[str | None, bytes]] = {}
        self._ever: set[Offer] = {Offer.TOOLS}

    def __repr__(self) -> str:
        counts = {"tools": len(self._tools)} | {
            o.value: len(table) for o, table in self._tables.items() if table
        }
        return ", ".join(f"{count} {kind}" for kind, count in counts.items())

    @property
    def prompts(self) -> Mapping[str, RegisteredPrompt]:
        """The prompts by name."""
        return self._prompts

    @property
    def resources(self) -> Mapping[str, RegisteredResource]:
        """The resources by URI."""
        return self._resources

    @property
    def templates(self) -> Mapping[str, RegisteredTemplate]:
        """The resource templates, by themselves."""
        return self._templates

    @property
    def capabilities(self) -> ServerCapabilities:
        """What the server can do; a kind of thing that was ever offered stays declared."""
        resources = bool({Offer.RESOURCES, Offer.TEMPLATES} & self._ever)
        completes = bool(self._completions) or Offer.PROMPTS in self._ever or Offer.TEMPLATES in self._ever
        return ServerCapabilities(
            tools=ToolsCapability(list_changed=True),
            logging={},
            prompts=PromptsCapability(list_changed=True) if Offer.PROMPTS in self._ever else UNSET,
            resources=ResourcesCapability(subscribe=True, list_changed=True) if resources else UNSET,
            completions={} if completes else UNSET,
        )

    # Changing.

    def add(self, item: RegisteredTool | RegisteredResource | RegisteredTemplate | RegisteredPrompt) -> None:
        """Offer something.  Raises `ConfigError` for a name that is taken."""
        offer, key = _place(item)
        if key in self._tables[offer]:
            raise ConfigError(f"there is a {_kind(offer)} {key!r} already")
        self._tables[offer][key] = item
        self._changed(offer)

    def remove(self, offer: Offer, key: str) -> None:
        """Offer something no more.  Raises `ConfigError` for what is not there."""
        if self._tables[offer].pop(key, None) is None:
            raise ConfigError(f"there is no {_kind(offer)} {key!r}")
        self._changed(offer)

    def add_completion(self, completion: RegisteredCompletion) -> None:
        """Complete an argument.  Raises `ConfigError` for one that is completed already."""
        key = (completion.of, completion.argument)
        if key in self._completions:
            raise ConfigError(f"there is a completion of {key[1]!r} of {key[0]!r} already")
        self._completions[key] = completion

    def _changed(self, offer: Offer) -> None:
        self._ever.add(offer)
        self._pages.pop(offer, None)
        self._on_changed(offer)

    # Looking up.

    def read(self, uri: str) -> tuple[Reading, dict[str, str]] | None:
        """Find what serves a URI, with the values of a template's variables; None: nothing does."""
        resource = self._resources.get(uri)
        if resource is not None:
            return resource.reading(), {}
        readings = (template.reading(uri) for template in self._templates.values())
        return next((found for found in readings if found is not None), None)

    def completion(self, of: str, argument: str) -> RegisteredCompletion | None:
        """Find what completes an argument of a prompt or of a template."""
        return self._completions.get((of, argument))

    def choices(self, of: str, argument: str) -> list[str] | None:
        """Return the values that an argument may have by its type; None for an unknown prompt or template."""
        signature = self._signature(of)
        return None if signature is None else choices(signature.schema, argument)

    def _signature(self, of: str) -> Signature | None:
        known = self._prompts.get(of) or self._templates.get(of) or self._resources.get(of)
        return None if known is None else known.handler.signature

    # Listing.

    def page(self, offer: Offer, cursor: str | None) -> bytes:
        """Return the raw result for one page of a list.  Raises `CursorUnknown`."""
        after = None if cursor is None else self._read_cursor(offer, cursor)
        pages = self._pages.setdefault(offer, {})
        page = pages.get(after)
        if page is None:
            page = pages[after] = self._make_page(offer, after)
        return page

    def _read_cursor(self, offer: Offer, cursor: str) -> str:
        """Return the item after which a page begins; each has one cursor, and without pages none has."""
        key = _read_cursor(cursor)
        if self._page_size is None or key not in self._tables[offer] or _write_cursor(key) != cursor:
            raise CursorUnknown(f"no page of {offer.value} begins with this cursor")
        return key

    def _make_page(self, offer: Offer, after: str | None) -> bytes:
        table = self._tables[offer]
        keys = list(table)
        start = 0 if after is None else keys.index(after) + 1
        end = len(keys) if self._page_size is None else start + self._page_size
        result: dict[str, object] = {offer.value: [table[key].listing for key in keys[start:end]]}
        if end < len(keys):
            result["nextCursor"] = _write_cursor(keys[end - 1])
        return encode_value(result)


def _place(item: msgspec.Struct) -> tuple[Offer, str]:
    match item:
        case RegisteredTool(listing=listing):
            return Offer.TOOLS, listing.name
        case RegisteredResource(listing=listing):
            return Offer.RESOURCES, listing.uri
        case RegisteredTemplate(listing=listing):
            return Offer.TEMPLATES, listing.uri_template
        case RegisteredPrompt(listing=listing):
            return Offer.PROMPTS, listing.name
        case _:
            raise TypeError(f"{item!r} cannot be offered")


def _kind(offer: Offer) -> str:
    return "resource template" if offer is Offer.TEMPLATES else offer.value.removesuffix("s")


def _write_cursor(key: str) -> str:
    return base64.urlsafe_b64encode(key.encode()).decode("ascii")


def _read_cursor(cursor: str) -> str:
    try:
        return base64.urlsafe_b64decode(cursor.encode()).decode()
    except (binascii.Error, UnicodeError):
        raise CursorUnknown("this cursor is none of ours") from None
