"""What the server and one client know by a name of its own, and whose it is.

A task, or a visit to an address, outlives the request that began it: what is said of it later goes
to the client whose it is, and to no other.

Specification: MCP `client/elicitation#url`, `basic/utilities/tasks`, 2025-11-25.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable
from typing import Final, Literal, TypeAlias

import msgspec
from msgspec import Raw

from anywire.bridge.sharing.client import Client
from anywire.protocol.types.envelope import RELATED_TASK_KEY
from anywire.protocol.types.error_data import McpErrorCode
from anywire.wire.message import ErrorResponse, Message, Notification, Request, Response, id_key
from anywire.wire.splice import get_member
from anywire.wire.value import decode_value

__all__ = ("NamedThings", "Thing", "named_in", "task_of")

#: A kind and a name.
Thing: TypeAlias = tuple[Literal["task", "visit"], bytes]

_VISIT: Final = "elicitationId"
_TASK: Final = "taskId"


class NamedThings:
    """Whose the things are; of the oldest that is forgotten where there are too many."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._owners: OrderedDict[Thing, Hashable] = OrderedDict()

    def __len__(self) -> int:
        return len(self._owners)

    def note(self, client: Client, message: Message) -> None:
        """Remember what a message to a client gives a name to."""
        for thing in _given_in(message):
            self._owners[thing] = client.owner
            self._owners.move_to_end(thing)
            if len(self._owners) > self._most:
                self._owners.popitem(last=False)

    def is_anothers(self, client: Client, thing: Thing) -> bool:
        """Say whether a thing is known to be of somebody else."""
        return thing in self._owners and self._owners[thing] != client.owner

    def __contains__(self, thing: Thing) -> bool:
        return thing in self._owners

    def owner(self, thing: Thing) -> Hashable:
        """Return whose it is; it must be known."""
        return self._owners[thing]


def task_of(params: bytes | None) -> Thing | None:
    """Return the task that the params of a `tasks/…` request name."""
    return _thing("task", get_member(params or b"", _TASK))


def named_in(message: Request | Notification) -> Thing | None:
    """Return the thing that a message of the server belongs to."""
    params = message.params or b""
    if message.method == "notifications/elicitation/complete":
        return _thing("visit", get_member(params, _VISIT))
    if message.method == "notifications/tasks/status":
        return task_of(params)
    if b"related-task" not in params:
        return None
    return task_of(get_member(get_member(params, "_meta") or b"", RELATED_TASK_KEY))


def _given_in(message: Message) -> list[Thing]:
    """Return the things that a message begins: a task as a result, a visit as a question or as an error."""
    things: list[Thing | None] = []
    match message:
        case Response() if b'"taskId"' in message.result:
            things.append(task_of(get_member(message.result, "task")))
        case Request(method="elicitation/create"):
            things.append(_thing("visit", get_member(message.params or b"", _VISIT)))
        case ErrorResponse() if b'"elicitationId"' in message.error:
            things += _visits(message)
        case _:
            pass
    return [thing for thing in things if thing is not None]


def _visits(error: ErrorResponse) -> list[Thing | None]:
    detail = error.detail()
    if detail.code != McpErrorCode.UrlElicitationRequired or isinstance(detail.data, msgspec.UnsetType):
        return []
    try:
        asked = decode_value(get_member(bytes(detail.data), "elicitations") or b"[]", list[Raw])
    except msgspec.MsgspecError:
        return []
    return [_thing("visit", get_member(bytes(each), _VISIT)) for each in asked]


def _thing(kind: Literal["task", "visit"], name: bytes | None) -> Thing | None:
    return None if name is None else (kind, id_key(name))
