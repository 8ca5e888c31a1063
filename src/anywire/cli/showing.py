"""A recorded conversation, for people: a line for each thing, with what it answers and how long that took."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Final

import msgspec

from anywire.cli.output import visible_line
from anywire.protocol.methods import Direction
from anywire.record.entry import Entry, Event, Unreadable
from anywire.record.exchange import Exchange
from anywire.record.story import Told
from anywire.wire.message import ErrorResponse, Fault, Notification, Request, Response
from anywire.wire.splice import drop_members, get_member

__all__ = ("Line", "Shower", "unanswered", "unreadable")

_ARROWS: Final = {Direction.TO_SERVER.value: "→", Direction.TO_CLIENT.value: "←"}
_SENDERS: Final = {Direction.TO_SERVER.value: "the client", Direction.TO_CLIENT.value: "the server"}
_INDENT: Final = 11
# No line of a terminal shows more of a value.
_MOST_BYTES: Final = 4_000


class Line(msgspec.Struct, frozen=True):
    """A line: what it says, a value that may be shortened, and how it is meant."""

    text: str
    value: str = ""
    style: str = ""


class Shower:
    """Makes lines of what is told, in its order; `full` leaves nothing out of the values."""

    def __init__(self, *, full: bool = False) -> None:
        self._full = full
        self._open: set[tuple[int, int]] = set()
        self._latest = (0, 0)
        self._began = 0.0

    def told(self, told: Told) -> Iterator[Line]:
        """Return the lines of a thing that happened; of several sessions at once, each says of which it is.

        Times are counted from the beginning of the first of those that are open.
        """
        session, key = told.session, (told.session.run, told.session.number)
        if key not in self._open:
            self._began = self._began if self._open else session.began
            began = datetime.fromtimestamp(session.began, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
            yield Line(f"session {session.number}: {visible_line(session.server)}, {began}", style="bold")
            self._open.add(key)
            self._latest = key
        tag = f"[{session.number}]" if len(self._open) > 1 or key != self._latest else ""
        line = self._line(told)
        yield Line(f"{tag}{line.text}", line.value, line.style)
        yield from unanswered(told.left)
        if told.entry.event == Event.CLOSED and not told.entry.call:
            self._open.discard(key)

    def _line(self, told: Told) -> Line:
        start = f"{told.entry.seconds - self._began:9.3f}  {_ARROWS.get(told.entry.direction, '·')}"
        size = f", {_size(told.entry)}  "
        match told.message:
            case Request():
                assert told.about is not None
                return self._request(told.message, told.about, start, size)
            case Response() | ErrorResponse():
                return self._reply(told.message, told, start, size)
            case Notification():
                return self._notification(told.message, told, start, size)
            case Fault():
                return Line(f"{start} no message{size}", _text(told.message.data), "red")
            case _:
                return _event(told, start)

    def _request(self, request: Request, about: Exchange, start: str, size: str) -> Line:
        which = f", round {about.round} of the call in line {about.first.line}" if about.first else ""
        return Line(f"{start} {_name(about)}{which}{size}", self._params(request.params), "cyan")

    def _reply(self, reply: Response | ErrorResponse, told: Told, start: str, size: str) -> Line:
        value = reply.result if isinstance(reply, Response) else reply.error
        if told.about is None:
            id = "none" if reply.id is None else _text(reply.id)
            return Line(f"{start} a reply ({id}) that answers nothing here{size}", _text(value), "red")
        name, seconds = _name(told.about), told.entry.seconds
        after = f"after {_duration(seconds - told.about.asked)}"
        if told.about.first is not None and not told.asks:
            after += f", {told.about.round} rounds in {_duration(seconds - told.about.began)}"
        if isinstance(reply, ErrorResponse):
            detail = reply.detail()
            data = b"" if isinstance(detail.data, msgspec.UnsetType) else bytes(detail.data)
            said = f"{visible_line(detail.message)} {_text(data)}".strip()
            return Line(f"{start} {name}: error {detail.code} {after}{size}", said, "red")
        what, style = "input required" if told.asks else "result", ""
        if get_member(reply.result, "isError") == b"true":
            what, style = "result that is an error", "red"
        return Line(f"{start} {name}: {what} {after}{size}", self._params(reply.result), style)

    def _notification(self, message: Notification, told: Told, start: str, size: str) -> Line:
        value = self._params(message.params)
        if told.about is None:
            return Line(f"{start} {visible_line(message.method)}{size}", value)
        what = visible_line(message.method.removeprefix("notifications/"))
        after = _duration(told.entry.seconds - told.about.asked)
        return Line(f"{start} {_name(told.about)}: {what} after {after}{size}", value, "dim")

    def _params(self, params: bytes | None) -> str:
        """Show params; what the protocol itself says in them is left out, unless all is wanted."""
        if params is None:
            return ""
        shown = params if self._full else drop_members(params, "_meta")
        return "" if shown == b"{}" else _text(shown if self._full else shown[:_MOST_BYTES])


def unanswered(exchanges: Sequence[Exchange]) -> Iterator[Line]:
    """Return a line for each request that was never answered."""
    for exchange in exchanges:
        who = _SENDERS[exchange.direction.value]
        yield Line(
            f"{'':{_INDENT}}! {_name(exchange)} of {who} was never answered (line {exchange.line})",
            style="yellow",
        )


def unreadable(line: Unreadable) -> Line:
    """Return a line for one that cannot be read."""
    what = "is cut" if line.cut else "cannot be read"
    return Line(f"{'':{_INDENT}}! line {line.line} {what}: {visible_line(line.reason)}", style="red")


def _event(told: Told, start: str) -> Line:
    entry = told.entry
    reason = f": {visible_line(entry.reason)}" if entry.reason else ""
    match entry.event:
        case Event.OPENED:
            return Line(f"{start} opened")
        case Event.REFUSED:
            return Line(f"{start} could not be opened{reason}", style="red")
        case Event.NOISE:
            return Line(f"{start} no message{reason}  ", visible_line(entry.text), "red")
        case Event.FAILED if told.about is not None:
            after = _duration(entry.seconds - told.about.asked)
            return Line(f"{start} {_name(told.about)}: sent in vain, after {after}{reason}", style="red")
        case Event.ENDED:
            return Line(f"{start} {_SENDERS.get(entry.direction, 'the peer')} sends no more")
        case Event.CLOSED:
            by = "closed by the other side" if entry.by_peer else "closed"
            if entry.by_peer and entry.direction in _SENDERS:
                by = f"closed by {_SENDERS[entry.direction]}"
            return Line(f"{start} {by}{reason}", style="red" if reason else "")
        case _:
            text = f": {visible_line(entry.text)}" if entry.text else ""
            what = visible_line(entry.event or "a line of an unknown kind")
            return Line(f"{start} {what}{text}{reason}", style="red")


# Words.


def _name(exchange: Exchange) -> str:
    subject = f" {visible_line(exchange.subject)}" if exchange.subject else ""
    return f"{visible_line(exchange.method)}{subject} ({_text(exchange.id)})"


def _text(raw: bytes) -> str:
    return visible_line(raw.decode("utf-8", "backslashreplace"))


def _size(entry: Entry) -> str:
    count = len(entry.raw)
    if count < 10_000:
        return f"{count:,} B"
    return f"{count / 1000:,.0f} kB" if count < 10_000_000 else f"{count / 1_000_000:,.0f} MB"


def _duration(seconds: float) -> str:
    seconds = max(seconds, 0.0)
    if seconds < 1:
        return f"{seconds * 1000:.{1 if seconds < 0.01 else 0}f} ms"
    return f"{seconds:.1f} s" if seconds < 100 else f"{seconds / 60:.1f} min"
