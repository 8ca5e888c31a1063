"""What a server offers, as it came, and what a person wants to see of it: tools, resources, prompts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final

import msgspec

from anywire.cli.parser import nearest
from anywire.cli.plain import items_of, members_of
from anywire.client.listing import PROMPTS, RESOURCE_TEMPLATES, RESOURCES, TOOLS, Listing
from anywire.errors import AnywireError, PeerError, RemoteProtocolError
from anywire.protocol.types.pagination import PageWalk
from anywire.protocol.types.reading import read
from anywire.wire.message import JsonRpcErrorCode
from anywire.wire.value import decode_value, encode_value

if TYPE_CHECKING:
    from anywire.client.client import Client

__all__ = (
    "OFFERS",
    "PROMPT_OFFER",
    "RESOURCE_OFFER",
    "TEMPLATE_OFFER",
    "TOOL_OFFER",
    "Offer",
    "find",
    "list_all",
    "list_offers",
    "note_unknown",
    "rows_of",
)

_Row = tuple[str, str, str]


class Offer(msgspec.Struct, frozen=True):
    """One kind of what a server offers."""

    listing: Listing[Any]
    #: The capability that says that there may be some.
    capability: str
    #: What it is called in JSON, and what one of them is called by.
    member: str
    key: str
    #: The head of its table, and a row of it.
    head: _Row
    row: Callable[[dict[str, Any]], _Row]


async def list_all(client: Client) -> dict[str, list[bytes]]:
    """Return all that a server offers, by the members of `OFFERS`.

    What it did not declare is not asked for, but for tools; where it does not know the question, it has
    none.  Raises its error when it answers nothing at all.
    """
    declared = members_of(_read(bytes(client.server.capabilities)))
    found: dict[str, list[bytes]] = {}
    refused: PeerError | None = None
    for offer in OFFERS:
        if offer.capability not in declared and offer is not TOOL_OFFER:
            continue
        try:
            found[offer.member] = await list_offers(client, offer)
        except PeerError as error:
            if error.code != JsonRpcErrorCode.MethodNotFound:
                raise
            refused = refused or error
    if refused is not None and not found:
        raise refused
    return {offer.member: found.get(offer.member, []) for offer in OFFERS}


async def list_offers(client: Client, offer: Offer) -> list[bytes]:
    """Return all of one kind, whatever the number of pages, each as raw JSON."""
    listing = offer.listing
    items: list[bytes] = []
    walk = PageWalk()
    while True:
        params = None if walk.cursor is msgspec.UNSET else encode_value({"cursor": walk.cursor})
        raw = await client.request(listing.method, params)
        try:
            page = read(raw, listing.result)
        except msgspec.MsgspecError as error:
            raise RemoteProtocolError(
                f"the server's answer to {listing.method} cannot be read: {error}"
            ) from error
        of_page: Sequence[Any] = getattr(page, listing.member)
        items += (bytes(item) if isinstance(item, msgspec.Raw) else item.raw for item in of_page)
        if not walk.advance(page.next_cursor):
            return items


def rows_of(offer: Offer, items: Sequence[bytes]) -> list[_Row]:
    """Return the rows of a table."""
    return [offer.row(_read(raw)) for raw in items]


def find(offer: Offer, items: Sequence[bytes], name: str) -> tuple[dict[str, Any] | None, list[str]]:
    """Return the one of that name, None where there is none, and the names of all."""
    read = [_read(raw) for raw in items]
    names = [each[offer.key] for each in read if isinstance(each.get(offer.key), str)]
    return next((each for each in read if each.get(offer.key) == name), None), names


async def note_unknown(client: Client, error: AnywireError, offer: Offer, name: str) -> None:
    """Note with an error that the server lists nothing of that name, and which may be meant."""
    try:
        found, names = find(offer, await list_offers(client, offer), name)
    except AnywireError:
        return  # the server's first error is the one that counts
    if names and found is None:
        error.add_note(f"the server lists no {offer.head[0]} {name!r}{nearest(name, names)}")


def _tool(tool: dict[str, Any]) -> _Row:
    return _text(tool.get("name")), _parameters(tool.get("inputSchema")), _purpose(tool)


def _resource(resource: dict[str, Any]) -> _Row:
    return _text(resource.get("uri")), _kind(resource), _purpose(resource, "name")


def _template(template: dict[str, Any]) -> _Row:
    return _text(template.get("uriTemplate")), _kind(template), _purpose(template, "name")


def _prompt(prompt: dict[str, Any]) -> _Row:
    arguments = [members_of(each) for each in items_of(prompt.get("arguments"))]
    needed = [_text(each.get("name")) for each in arguments if each.get("required") is True]
    others = [f"[{_text(each.get('name'))}]" for each in arguments if each.get("required") is not True]
    return _text(prompt.get("name")), " ".join(needed + others), _purpose(prompt)


TOOL_OFFER: Final = Offer(TOOLS, "tools", "tools", "name", ("tool", "parameters", "description"), _tool)
RESOURCE_OFFER: Final = Offer(
    RESOURCES, "resources", "resources", "uri", ("resource", "type", "description"), _resource
)
TEMPLATE_OFFER: Final = Offer(
    RESOURCE_TEMPLATES,
    "resources",
    "resourceTemplates",
    "uriTemplate",
    ("template", "type", "description"),
    _template,
)
PROMPT_OFFER: Final = Offer(
    PROMPTS, "prompts", "prompts", "name", ("prompt", "arguments", "description"), _prompt
)

#: The kinds, in the order in which they are shown.
OFFERS: Final = (TOOL_OFFER, RESOURCE_OFFER, TEMPLATE_OFFER, PROMPT_OFFER)


def _read(raw: bytes) -> dict[str, Any]:
    """Read an object as far as it goes: what is none has no members."""
    try:
        return decode_value(raw, dict[str, Any])
    except msgspec.MsgspecError:
        return {}


def _text(value: object) -> str:
    return value if isinstance(value, str) else encode_value(value).decode()


def _kind(resource: dict[str, Any]) -> str:
    kind = resource.get("mimeType")
    return kind if isinstance(kind, str) else ""


def _purpose(item: dict[str, Any], *others: str) -> str:
    """Return the first line of a description, or what else says what something is."""
    for member in ("description", "title", *others):
        text = item.get(member)
        if isinstance(text, str) and text.strip():
            return text.strip().splitlines()[0]
    return ""


def _parameters(schema: object) -> str:
    """Write the names of a tool's parameters as in a usage line: optional ones in brackets."""
    names = list(members_of(members_of(schema).get("properties")))
    needed = items_of(members_of(schema).get("required"))
    optional = [f"[{name}]" for name in names if name not in needed]
    return " ".join([name for name in names if name in needed] + optional)
