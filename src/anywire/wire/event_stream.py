"""`text/event-stream`: messages as server-sent events, decoder and encoder.

Lines end in CR, LF or CRLF, however the stream is cut; a byte order mark at the start is skipped;
comments are ignored; several `data` lines are joined by line feeds; an `id` with a NUL and a `retry`
that is no number are ignored, as the standard has it.  An event with an empty `data` line carries no
message but may carry an id: that is how servers prime a stream for resumption.  An id counts when its
event is complete, or a client that resumes behind it would miss that event.

Three things go beyond the standard.  An event that the end of the stream left without its blank line
is kept when its data is a whole JSON text, and flagged: the reply is there.  One that is too large
costs itself and not the stream.  An id that no header can carry back is ignored like one with a NUL.

Specification: WHATWG HTML §9.2; MCP `basic/transports#streamable-http`.
"""

from __future__ import annotations

import re
from typing import Final

import msgspec

from anywire.errors import LocalProtocolError
from anywire.wire.codec import decode
from anywire.wire.framing import Oversized
from anywire.wire.limits import DEFAULT_LIMITS, Limits
from anywire.wire.message import Fault, FaultKind

__all__ = ("EventStreamDecoder", "ServerEvent", "encode_comment", "encode_event")

_BOM: Final = b"\xef\xbb\xbf"
_DATA: Final = b"data:"
_LF, _CR, _COLON = b"\n\r:"
# A number of milliseconds beyond which one wish to wait is like another: eleven days.
_LONGEST_RETRY: Final = 999_999_999
_NOT_IN_A_HEADER: Final = re.compile(rb"[\0-\x08\x0a-\x1f\x7f]")
_NOT_IN_A_FIELD: Final = re.compile(r"[\0-\x08\x0a-\x1f\x7f\ud800-\udfff]")
_LINE_END: Final = re.compile(r"\r\n|\r|\n")


class ServerEvent(msgspec.Struct, frozen=True):
    """One event: its `data` (UTF-8, empty for a priming event), type, and the id in force after it.

    `unterminated`: the stream ended before the blank line that would have ended the event.
    """

    data: bytes
    event: str = "message"
    id: str = ""
    unterminated: bool = False


class EventStreamDecoder:
    """Cuts a stream into events.  Linear in time.

    Memory is bounded by `Limits.message_bytes` for the data of one event and by `Limits.header_bytes`
    for any other line; a field that is longer is ignored.
    """

    def __init__(self, limits: Limits = DEFAULT_LIMITS) -> None:
        self._limits = limits
        self._line = bytearray()  # the line that has begun, as far as it is kept
        self._drained = False  # the line that has begun is too long to be kept ...
        self._is_data = False  # ... and is data of an event that is too large
        self._data = bytearray()  # of the event that has begun, each of its lines with a line feed
        self._event = b""
        self._id: str | None = None
        self._oversized: Oversized | None = None
        self._skipped = bytearray()  # of the oversized event, gathered while one chunk is taken
        self._started = False
        self._after_cr = False
        #: The id of the last event that had one, to be sent as `Last-Event-ID`; empty: none.
        self.last_event_id = ""
        #: Milliseconds to wait before reconnecting, as the server asked; None: it did not.
        self.retry: int | None = None

    def feed(self, chunk: bytes) -> list[ServerEvent | Fault]:
        """Take the next bytes of the stream; return the events they completed.  Never raises."""
        out: list[ServerEvent | Fault] = []
        *lines, rest = self._unify(chunk).split(b"\n")
        for line in lines:
            self._end_line(line, out)
        self._begin_line(rest)
        self._pass_skipped(out)
        return out

    def end(self) -> list[ServerEvent | Fault]:
        """Take the end of the stream; return a last event that lacked only its blank line.

        Of a last line that lacks its end only data counts, which shows by itself whether it is whole.
        """
        out: list[ServerEvent | Fault] = []
        if self._drained or self._line.startswith(_DATA):
            self._end_line(b"", out)
        if self._oversized is not None:
            self._end_skipping(out, cut=True)
        elif self._data and self._is_json(self._joined()):
            self.last_event_id = self.last_event_id if self._id is None else self._id
            out.append(self._event_of_data(unterminated=True))
        self._line.clear()
        self._reset()
        return out

    def _is_json(self, data: bytes) -> bool:
        message = decode(data, self._limits)
        return not (isinstance(message, Fault) and message.kind is FaultKind.PARSE_ERROR)

    # Lines.

    def _unify(self, chunk: bytes) -> bytes:
        """Write every line end as one line feed, also one that two chunks share."""
        if self._after_cr and chunk:
            self._after_cr = False
            if chunk[0] == _LF:
                chunk = chunk[1:]
        if _CR in chunk:
            self._after_cr = chunk[-1] == _CR
            chunk = chunk.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        return chunk

    def _begin_line(self, piece: bytes) -> None:
        """Take what there is of a line whose end is still to come."""
        if self._drained:
            self._drain(piece)
            return
        self._line += piece
        if not self._started and len(self._line) >= len(_BOM):
            self._started = True
            if self._line.startswith(_BOM):
                del self._line[: len(_BOM)]
        if self._line.startswith(_DATA):
            start = len(_DATA) + self._line.startswith(_DATA + b" ")
            size = len(self._line) - start
            if size and (self._oversized is not None or self._exceeds(size)):
                self._skip(self._line[start:])
                self._line.clear()
                self._drained = self._is_data = True
        elif len(self._line) > self._limits.header_bytes:
            self._line.clear()
            self._drained = True

    def _end_line(self, piece: bytes, out: list[ServerEvent | Fault]) -> None:
        """Take the last piece of a line."""
        if self._drained:
            self._drain(piece)
            self._drained = self._is_data = False
            return
        line = piece
        if self._line:
            line = bytes(self._line) + piece
            self._line.clear()
        if not self._started:
            self._started = True
            line = line.removeprefix(_BOM)
        if not line:
            self._dispatch(out)
        elif line[0] != _COLON:
            self._field(line)

    def _drain(self, piece: bytes) -> None:
        """Take more of a line that is not kept."""
        if self._is_data:
            self._skipped += piece

    def _field(self, line: bytes) -> None:
        name, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if name == b"data":
            if self._oversized is not None or self._exceeds(len(value)):
                self._skip(value)
            else:
                self._data += value
                self._data += b"\n"
        elif len(line) > self._limits.header_bytes:
            return
        elif name == b"event":
            self._event = value
        elif name == b"id" and not _NOT_IN_A_HEADER.search(value):
            self._id = value.decode("utf-8", "replace")
        elif name == b"retry" and value.isdigit():
            digits = value.lstrip(b"0") or b"0"
            self.retry = int(digits) if len(digits) <= 9 else _LONGEST_RETRY

    # Events.

    def _dispatch(self, out: list[ServerEvent | Fault]) -> None:
        if self._id is not None:
            self.last_event_id = self._id
        if self._oversized is not None:
            self._end_skipping(out)
        elif self._data:
            out.append(self._event_of_data())
        self._reset()

    def _event_of_data(self, *, unterminated: bool = False) -> ServerEvent:
        event = self._event.decode("utf-8", "replace") or "message"
        return ServerEvent(self._joined(), event, self.last_event_id, unterminated)

    def _joined(self) -> bytes:
        return bytes(memoryview(self._data)[:-1])

    def _reset(self) -> None:
        self._data = bytearray()
        self._event = b""
        self._id = None
        self._oversized = None

    # What is too large.

    def _exceeds(self, size: int) -> bool:
        """Whether so much more data makes the event too large; its lines are joined by line feeds."""
        return len(self._data) + size > self._limits.message_bytes

    def _skip(self, value: bytes | bytearray) -> None:
        """Take a line of data, or its beginning, of an event that is too large."""
        if self._oversized is None:
            reason = f"Invalid Request: the event exceeds {self._limits.message_bytes} bytes"
            self._oversized = Oversized(self._limits, reason)
            self._skipped, self._data = self._data, bytearray()
        else:
            self._skipped += b"\n"
        self._skipped += value

    def _pass_skipped(self, out: list[ServerEvent | Fault]) -> None:
        """Hand on what was gathered, at once: an event may consist of a million lines."""
        if self._oversized is not None and self._skipped:
            found = self._oversized.add(bytes(self._skipped))
            self._skipped = bytearray()
            out += [fault for fault in found if isinstance(fault, Fault)]

    def _end_skipping(self, out: list[ServerEvent | Fault], *, cut: bool = False) -> None:
        assert self._oversized is not None
        self._pass_skipped(out)
        out += [fault for fault in self._oversized.end(cut) if isinstance(fault, Fault)]


def encode_event(data: bytes, *, id: str = "", event: str = "", retry: int | None = None) -> bytes:
    """Write one event.

    `data` is a JSON text or empty; newlines in it, which are white space there, are left out.
    `retry` is in milliseconds.  Raises `LocalProtocolError` for an `id` or `event` that holds a control
    character, such as a line end, and for a negative `retry`: they would be read as something else.
    """
    if _LF in data or _CR in data:
        data = data.translate(None, b"\r\n")
    if retry is not None and retry < 0:
        raise LocalProtocolError(f"a time to wait is no negative number: {retry}")
    head = _field_line("event", event) + _field_line("id", id)
    if retry is not None:
        head += f"retry: {retry}\n"
    return b"%bdata: %b\n\n" % (head.encode(), data)


def _field_line(name: str, value: str) -> str:
    if _NOT_IN_A_FIELD.search(value):
        raise LocalProtocolError(f"{value!r} cannot be the {name} of an event")
    return f"{name}: {value}\n" if value else ""


def encode_comment(text: str = "") -> bytes:
    """Write a comment: what keeps a connection alive and means nothing to the reader.

    Each line of the text is a comment of its own.
    """
    if not text:
        return b":\n\n"
    lines = "".join(f": {line}\n" for line in _LINE_END.split(text))
    return b"%b\n" % lines.encode("utf-8", "replace")
