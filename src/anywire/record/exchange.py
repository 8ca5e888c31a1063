"""A request of a recording, and what became of it."""

from __future__ import annotations

from typing import Final

import msgspec
from msgspec import UNSET, Raw, UnsetType

from anywire.protocol.methods import Direction
from anywire.record.entry import Entry, directions
from anywire.wire.message import Request
from anywire.wire.value import decode_value

__all__ = ("Exchange", "begin", "other", "subject_of")

_MOST_SUBJECT: Final = 1_000


class Exchange(msgspec.Struct, eq=False):
    """A request and what became of it, as far as it has been read.

    `subject` is the name, or the URI, of what is called, got or read, as JSON has it; `round` counts those
    of one call, `first` is the request that began it.
    """

    server: str
    method: str
    subject: str
    id: bytes
    direction: Direction
    line: int
    asked: float
    round: int = 1
    first: Exchange | None = None
    cancelled: bool = False

    @property
    def began(self) -> float:
        """When the call began, in seconds of the epoch."""
        return self.asked if self.first is None else self.first.asked


class _Subject(msgspec.Struct):
    name: Raw | UnsetType = UNSET
    uri: Raw | UnsetType = UNSET


_subject = msgspec.json.Decoder(_Subject)


def begin(entry: Entry, request: Request) -> Exchange:
    """Return the exchange that a request begins."""
    direction = directions.get(entry.direction, Direction.TO_SERVER)
    subject = subject_of(request.params)
    return Exchange(entry.server, request.method, subject, request.id, direction, entry.line, entry.seconds)


def subject_of(params: bytes | None) -> str:
    """Return the `name`, else the `uri`, of params: the text of its JSON, without its quotes."""
    if params is None:
        return ""
    try:
        found = decode_value(params, _Subject, _subject)
    except msgspec.MsgspecError:
        return ""
    for each in found.name, found.uri:
        raw = b"" if isinstance(each, UnsetType) else bytes(each)
        if raw[:1] == b'"':
            return raw[1:-1][:_MOST_SUBJECT].decode("utf-8", "replace")
    return ""


def other(direction: Direction) -> Direction:
    """Return the way back."""
    return Direction.TO_CLIENT if direction is Direction.TO_SERVER else Direction.TO_SERVER
