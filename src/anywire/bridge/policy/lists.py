"""Lists without what is hidden.  Each item that stays keeps its bytes and its place.

Specification: MCP `server/tools#listing-tools` and its kin, all revisions; `server/utilities/pagination`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import msgspec

from anywire.bridge.policy.pattern import Kind
from anywire.bridge.policy.policy import Policy
from anywire.protocol.translate.shapes import decoded
from anywire.wire.splice import get_items, get_member, set_member

__all__ = ("LISTS", "Listing", "without_hidden")


class Listing(msgspec.Struct, frozen=True):
    """What a method lists: things of a kind, in a member of its result; each says its name in a member."""

    kind: Kind
    member: str
    name: str


#: What each method lists.
LISTS: Final[Mapping[str, Listing]] = {
    "tools/list": Listing(Kind.TOOL, "tools", "name"),
    "prompts/list": Listing(Kind.PROMPT, "prompts", "name"),
    "resources/list": Listing(Kind.RESOURCE, "resources", "uri"),
    "resources/templates/list": Listing(Kind.RESOURCE, "resourceTemplates", "uriTemplate"),
}


def without_hidden(result: bytes, listing: Listing, policy: Policy) -> tuple[bytes, list[str]]:
    """Return a raw result with the items that are there, and the names of the others.

    A result without that list stays as it is.  A list that is no array passes, unless only some things of its
    kind are allowed: then it is empty.
    """
    array = get_member(result, listing.member)
    if array is None:
        return result, []
    items = get_items(array)
    if items is None:
        closed = policy.allows_only_some(listing.kind)
        return (set_member(result, listing.member, b"[]") if closed else result), []
    kept: list[bytes] = []
    hidden: list[str] = []
    for item in items:
        name = decoded(get_member(item, listing.name), str)
        if policy.reason(listing.kind, name) is None:
            kept.append(item)
        else:
            hidden.append(name or "")
    if not hidden:
        return result, []
    return set_member(result, listing.member, b"[%b]" % b",".join(kept)), hidden
