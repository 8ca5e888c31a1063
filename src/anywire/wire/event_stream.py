"""`text/event-stream`: messages as server-sent events, decoder and encoder.

Lines end in CR, LF or CRLF, however the stream is cut; a byte order mark at the start is skipped;
comments are ignored; several `data` lines are joined by line feeds; an `id` with a NUL and a `retry`
that is no number are ignored, as the standard has it.  An event with an empty `data` line carries no
message but may carry an id: that is how servers prime a stream for resumption.

Two things go beyond the standard, both for the sake of a reply that is there: an event that the end
of the stream left without its blank line is kept when its data is a whole JSON text, and flagged;
one that is too large costs itself and not the stream.

Specification: WHATWG HTML §9.2; MCP `basic/transports#streamable-http`.
"""

from __future__ import annotations

import msgspec

from anywire.wire.codec import decode
from anywire.wire.framing import Oversized
from anywire.wire.limits import DEFAULT_LIMITS, Limits
from anywire.wire.message import Fault

__all__ = ("EventStreamDecoder", "ServerEvent", "encode_comment", "encode_event")

_BOM = b"\xef\xbb\xbf"
_LF, _CR, _COLON = b"\n\r:"


class ServerEvent(msgspec.Struct, frozen=True):
    """One event: its `data` (UTF-8, empty for a priming event), type, and the id in force after it.

    `unterminated`: the stream ended before the blank line that would have ended the event.
    """

    data: bytes
    event: str = "message"
    id: str = ""
    unterminated: bool = False


class EventStreamDecoder:
    """Cuts a stream into events.  Linear in time; memory is bounded by `Limits.message_bytes`."""

    def __init__(self, limits: Limits = DEFAULT_LIMITS) -> None:
        self._limits = limits
        self._line = bytearray()
        self._data: list[bytes] = []
        self._size = 0
        self._event = b""
        self._started = False
        self._after_cr = False
        self._oversized: Oversized | None = None
        #: The id of the last event that had one, to be sent as `Last-Event-ID`; empty: none.
        self.last_event_id = ""
        #: Milliseconds to wait before reconnecting, as the server asked; None: it did not.
        self.retry: int | None = None

    def feed(self, chunk: bytes) -> list[ServerEvent | Fault]:
        """Take the next bytes of the stream; return the events they completed.  Never raises."""
        out: list[ServerEvent | Fault] = []
        *lines, rest = self._unify(chunk).split(b"\n")
        if lines and self._line:
            lines[0] = bytes(self._line) + lines[0]
            self._line.clear()
        for line in lines:
            self._end_line(line, out)
        self._keep(rest, out)
        return out

    def end(self) -> list[ServerEvent | Fault]:
        """Take the end of the stream; return a last event that lacked only its blank line."""
        out: list[ServerEvent | Fault] = []
        if self._line:
            line = bytes(self._line)
            self._line.clear()
            self._end_line(line, out)
        if self._oversized is not None:
            out += [fault for fault in self._oversized.end(cut=True) if isinstance(fault, Fault)]
        elif self._data and not isinstance(decode(data := b"\n".join(self._data), self._limits), Fault):
            out.append(ServerEvent(data, self._type(), self.last_event_id, unterminated=True))
        self._reset()
        return out

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

    def _keep(self, rest: bytes, out: list[ServerEvent | Fault]) -> None:
        if self._oversized is not None:
            self._skip(rest, out)
            return
        self._line += rest
        if self._size + len(self._line) > self._limits.message_bytes:
            self._begin_skipping(out)

    def _end_line(self, line: bytes, out: list[ServerEvent | Fault]) -> None:
        if not self._started:
            self._started = True
            line = line.removeprefix(_BOM)
        if not line:
            self._dispatch(out)
        elif self._oversized is not None:
            self._skip(line, out)
        elif line[0] != _COLON:
            self._field(line, out)

    def _field(self, line: bytes, out: list[ServerEvent | Fault]) -> None:
        name, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if name == b"data":
            self._data.append(value)
            self._size += len(value) + 1
            if self._size > self._limits.message_bytes + 1:
                self._begin_skipping(out)
        elif name == b"event":
            self._event = value
        elif name == b"id" and b"\0" not in value:
            self.last_event_id = value.decode("utf-8", "replace")
        elif name == b"retry" and value.isdigit() and len(value) <= 9:
            self.retry = int(value)

    def _dispatch(self, out: list[ServerEvent | Fault]) -> None:
        if self._oversized is not None:
            out += [fault for fault in self._oversized.end() if isinstance(fault, Fault)]
        elif self._data:
            out.append(ServerEvent(b"\n".join(self._data), self._type(), self.last_event_id))
        self._reset()

    def _begin_skipping(self, out: list[ServerEvent | Fault]) -> None:
        limit = self._limits.message_bytes
        self._oversized = Oversized(self._limits, f"Invalid Request: the event exceeds {limit} bytes", -1)
        begun = b"\n".join([*self._data, bytes(self._line).removeprefix(b"data:").removeprefix(b" ")])
        self._line.clear()
        self._data.clear()
        self._skip(begun, out)

    def _skip(self, data: bytes, out: list[ServerEvent | Fault]) -> None:
        assert self._oversized is not None
        out += [fault for fault in self._oversized.add(data) if isinstance(fault, Fault)]

    def _type(self) -> str:
        return self._event.decode("utf-8", "replace") or "message"

    def _reset(self) -> None:
        self._data = []
        self._size = 0
        self._event = b""
        self._oversized = None


def encode_event(data: bytes, *, id: str = "", event: str = "", retry: int | None = None) -> bytes:
    """Write one event.

    `data` is a JSON text or empty; newlines in it, which are white space there, are left out.  `id`
    and `event` must not contain line ends.  `retry` is in milliseconds.
    """
    if _LF in data or _CR in data:
        data = data.translate(None, b"\r\n")
    head = f"event: {event}\n" if event else ""
    if id:
        head += f"id: {id}\n"
    if retry is not None:
        head += f"retry: {retry}\n"
    return b"%bdata: %b\n\n" % (head.encode(), data)


def encode_comment(text: str = "") -> bytes:
    """Write a comment: what keeps a connection alive and means nothing to the reader."""
    return f": {text}\n\n".encode() if text else b":\n\n"
