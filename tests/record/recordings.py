"""Recordings that tests write down: who says what, a tenth of a second after the other."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from anywire.protocol.methods import Direction
from anywire.record.entry import Entry, read_entry, write_event, write_message
from anywire.record.score import Score, compose
from anywire.wire.message import Message, Notification, Request, Response

EPOCH = 1_790_000_000.0


def asks(id: int | str, method: str, **params: Any) -> dict[str, Any]:
    """A request."""
    return {"jsonrpc": "2.0", "id": id, "method": method, "params": params}


def says(method: str, **params: Any) -> dict[str, Any]:
    """A notification."""
    return {"jsonrpc": "2.0", "method": method, "params": params}


def gives(id: int | str, **result: Any) -> dict[str, Any]:
    """A result."""
    return {"jsonrpc": "2.0", "id": id, "result": result}


def line(arrow: str, said: Any, number: int, session: int = 1) -> bytes:
    """A line: `→` goes to the server, `←` to the client, `·` is an event."""
    head = b'"session":%d,"server":"srv"' % session
    if arrow == "·":
        return write_event(EPOCH + number / 10, head, said)
    direction = Direction.TO_SERVER if arrow == "→" else Direction.TO_CLIENT
    return write_message(EPOCH + number / 10, head, direction, json.dumps(said).encode())


def recording(*said: tuple[str, Any] | tuple[str, Any, int]) -> bytes:
    """A recording: arrows, what was said, and in which session if not in the first."""
    head = write_event(EPOCH, b"", {"event": "recording", "format": 1})
    return head + b"".join(line(each[0], each[1], number, *each[2:]) for number, each in enumerate(said, 1))


def entries(*said: tuple[str, Any] | tuple[str, Any, int]) -> Iterator[Entry]:
    """The entries of a recording."""
    for number, each in enumerate(recording(*said).splitlines(), 1):
        entry = read_entry(each, number)
        assert isinstance(entry, Entry), entry
        yield entry


def score(*said: tuple[str, Any]) -> Score:
    """The one conversation of a recording."""
    [found] = compose(entries(*said))
    return found


def scores(path: Path) -> list[Score]:
    """The conversations of a file."""
    read = [read_entry(each, number) for number, each in enumerate(path.read_bytes().splitlines(), 1)]
    return compose(read)


def plain(message: Message) -> Any:
    """What is said in a message, without the version."""
    match message:
        case Request():
            said = {"id": json.loads(message.id), "method": message.method}
        case Notification():
            said = {"method": message.method}
        case Response():
            return {"id": json.loads(message.id), "result": json.loads(message.result)}
        case _:
            return {"id": json.loads(message.id or b"null"), "error": json.loads(message.error)}
    return said if message.params is None else {**said, "params": json.loads(message.params)}
