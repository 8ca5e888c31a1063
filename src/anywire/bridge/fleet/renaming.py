"""Names and URIs of one server in what it says, and of all in what it is told: one place for each method.

A name is changed where it stands and nothing else is: members that nobody here knows, big integers and the
order of keys stay as they came.

Specification: MCP `server/tools`, `server/prompts`, `server/resources`, `server/utilities/*`,
`client/sampling`, 2024-11-05 to 2025-11-25; MCP Apps (`ui.resourceUri` of a tool), and
`openai/outputTemplate`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Final, TypeAlias

import msgspec

from anywire.bridge.fleet.names import Found, Label, Names, Unlisted, text_of
from anywire.protocol.rewriting import (
    repeats,
    replaced,
    with_error,
    with_member,
    with_params,
    with_result,
)
from anywire.wire.message import ErrorResponse, Notification, Request, Response, id_token
from anywire.wire.scan import scan_array
from anywire.wire.splice import get_member, set_member

__all__ = (
    "IDENTITIES",
    "ITEMS",
    "LISTS",
    "Addressed",
    "Ambiguous",
    "address",
    "named_error",
    "named_item",
    "named_notification",
    "named_question",
    "named_result",
)

#: The lists, with the member of the result that has the items.
ITEMS: Final[Mapping[str, str]] = {
    "tools/list": "tools",
    "prompts/list": "prompts",
    "resources/list": "resources",
    "resources/templates/list": "resourceTemplates",
}

#: ... and the member of an item that tells it from the others.
IDENTITIES: Final[Mapping[str, str]] = {
    "tools/list": "name",
    "prompts/list": "name",
    "resources/list": "uri",
    "resources/templates/list": "uriTemplate",
}

#: The lists that a notification is about.
LISTS: Final[Mapping[str, tuple[str, ...]]] = {
    "notifications/tools/list_changed": ("tools/list",),
    "notifications/prompts/list_changed": ("prompts/list",),
    "notifications/resources/list_changed": ("resources/list", "resources/templates/list"),
}

_NAMED: Final = frozenset({"tools/call", "prompts/get"})
_LOCATED: Final = frozenset({"resources/read", "resources/subscribe", "resources/unsubscribe"})
_VIEWS: Final = (b"esourceUri", b"outputTemplate")
#: A letter of a name may be written as one of these.
_ESCAPED: Final = (b"\\u00",)
#: What is not there need not be looked for.
_MARKS: Final = (b'uri"', *_ESCAPED)


class Addressed(msgspec.Struct, frozen=True):
    """A request as the server gets it whose thing it is about; `uri` is that of a resource, raw."""

    label: Label
    request: Request
    uri: bytes | None = None


class Ambiguous(msgspec.Struct, frozen=True):
    """A request of which two readers could take two different names; the member that is there twice."""

    member: str


#: Where a request goes; None: to nobody, since no server has what it names.
Address: TypeAlias = Addressed | Unlisted | Ambiguous | None


# What a client asks.


def address(names: Names, request: Request) -> Address:
    """Find out whose thing a request is about."""
    if request.method in _NAMED:
        member, find = "name", names.find_name
    elif request.method in _LOCATED:
        member, find = "uri", names.find_uri
    else:
        return _address_completion(names, request)
    params = request.params or b""
    if _may_repeat(params, member) and repeats(params, member):
        return Ambiguous(member)
    name = get_member(params, member) or b""
    found = find(name)
    if not isinstance(found, Found):
        return found
    located = found.raw if member == "uri" else None
    renamed = with_params(request, replaced(params, member, name, found.raw))
    return Addressed(found.label, renamed, located)


def _may_repeat(params: bytes, member: str) -> bool:
    """Say whether a member could be there twice: most params are spared a closer look."""
    return params.count(b'"%b"' % member.encode()) > 1 or any(mark in params for mark in _ESCAPED)


def _address_completion(names: Names, request: Request) -> Address:
    """See `address`: a completion refers to a prompt, or to a template of URIs."""
    ref = get_member(request.params or b"", "ref") or b""
    is_prompt = text_of(get_member(ref, "type")) == "ref/prompt"
    member, find = ("name", names.find_name) if is_prompt else ("uri", names.find_uri)
    if repeats(request.params, "ref") or repeats(ref, "type", member):
        return Ambiguous("ref")
    found = find(get_member(ref, member))
    if not isinstance(found, Found):
        return found
    return Addressed(found.label, with_member(request, "ref", set_member(ref, member, found.raw)))


# What a server answers.


def named_item(names: Names, label: Label, method: str, item: bytes) -> bytes | None:
    """Return an item of a server's list under its name among all; None: it has none that can be used."""
    member = IDENTITIES[method]
    named = _set(item, member, partial(names.name if member == "name" else names.uri, label))
    if named is None or method != "tools/list":
        return named
    return _with_view(names, label, named)


def _with_view(names: Names, label: Label, tool: bytes) -> bytes:
    """Rename the view that a tool has, which is said in one of three places, or in several."""
    meta = get_member(tool, "_meta")
    if meta is None or not any(mark in meta for mark in _VIEWS):
        return tool
    uri = partial(names.uri, label)
    changed = meta
    for member in ("ui/resourceUri", "openai/outputTemplate"):
        changed = _set(changed, member, uri) or changed
    ui = _set(get_member(changed, "ui") or b"", "resourceUri", uri)
    if ui is not None:
        changed = set_member(changed, "ui", ui)
    return set_member(tool, "_meta", changed)


def named_result(names: Names, label: Label, method: str, reply: Response) -> Response:
    """Return what a server answers to a request of that method with its URIs under their names among all."""
    change = _RESULTS.get(method)
    if change is None or not any(mark in reply.result for mark in _MARKS):
        return reply
    result = change(names, label, reply.result)
    return reply if result is reply.result else with_result(reply, result)


def named_error(names: Names, label: Label, method: str, reply: ErrorResponse) -> ErrorResponse:
    """Return an error of a server's, whose data may name a resource."""
    if not method.startswith("resources/"):
        return reply
    data = _set(get_member(reply.error, "data") or b"", "uri", partial(names.uri, label))
    return reply if data is None else with_error(reply, set_member(reply.error, "data", data))


# What a server says by itself.


def named_notification(names: Names, label: Label, message: Notification) -> Notification:
    """Return a notification of a server: whose log it is, or which resource has changed."""
    params = message.params or b""
    if message.method == "notifications/message":
        logger = text_of(get_member(params, "logger"))
        return with_member(message, "logger", id_token(_logger(label, logger)))
    if message.method == "notifications/resources/updated":
        updated = _set(params, "uri", partial(names.uri, label))
        return message if updated is None else with_params(message, updated)
    return message


def _logger(label: Label, own: str | None) -> str:
    return f"{label.server}/{own}" if own else label.server


def named_question(names: Names, label: Label, request: Request) -> Request:
    """Return a request of a server: what tools have answered stands in the messages of a sampling."""
    params = request.params
    if params is None or request.method != "sampling/createMessage" or _MARKS[0] not in params:
        return request
    changed = _each(params, "messages", partial(_message, names, label))
    return request if changed is params else with_params(request, changed)


# Where URIs stand.


def _set(data: bytes, member: str, rename: Callable[[bytes | None], bytes | None]) -> bytes | None:
    """Rename one member of an object; None where there is nothing to rename."""
    value = rename(get_member(data, member)) if data[:1] == b"{" else None
    return None if value is None else set_member(data, member, value)


def _each(data: bytes, member: str, change: Callable[[bytes], bytes]) -> bytes:
    """Change the items of an array that is a member of an object."""
    array = get_member(data, member)
    if array is None or array[:1] != b"[":
        return data
    items = scan_array(array, len(array))
    changed = [change(item) for item in items]
    if all(old is new for old, new in zip(items, changed, strict=True)):
        return data
    return set_member(data, member, b"[%b]" % b",".join(changed))


def _located(names: Names, label: Label, data: bytes) -> bytes:
    renamed = _set(data, "uri", partial(names.uri, label))
    return data if renamed is None else renamed


def _block(names: Names, label: Label, block: bytes) -> bytes:
    """Rename what a block of content links to, or has in it."""
    match text_of(get_member(block, "type")):
        case "resource_link":
            return _located(names, label, block)
        case "resource":
            resource = get_member(block, "resource")
            renamed = None if resource is None else _located(names, label, resource)
            return block if renamed is None or renamed is resource else set_member(block, "resource", renamed)
        case "tool_result":
            return _each(block, "content", partial(_block, names, label))
        case _:
            return block


def _message(names: Names, label: Label, message: bytes) -> bytes:
    """See `_block`; a message has one, or several."""
    content = get_member(message, "content")
    if content is None or content[:1] != b"{":
        return _each(message, "content", partial(_block, names, label))
    renamed = _block(names, label, content)
    return message if renamed is content else set_member(message, "content", renamed)


def _called(names: Names, label: Label, result: bytes) -> bytes:
    return _each(result, "content", partial(_block, names, label))


def _got(names: Names, label: Label, result: bytes) -> bytes:
    return _each(result, "messages", partial(_message, names, label))


def _read(names: Names, label: Label, result: bytes) -> bytes:
    return _each(result, "contents", partial(_located, names, label))


_RESULTS: Final[Mapping[str, Callable[[Names, Label, bytes], bytes]]] = {
    "tools/call": _called,
    "prompts/get": _got,
    "resources/read": _read,
}
