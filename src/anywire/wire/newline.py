"""One JSON text per line: the framing that MCP specifies for stdio.

Only the byte 0x0A ends a line.  U+2028, U+0085, form feeds and lone carriage returns are content.
A carriage return before the line feed, blank lines, and a byte order mark before a message are
tolerated; what is written has none of them.  A last line without its line feed counts: a cut
message cannot be mistaken for a whole one, as a JSON object is not valid before its last brace.

Specification: MCP `basic/transports#stdio`, all revisions.
"""

from __future__ import annotations

from collections.abc import Mapping

from anywire.wire.codec import body, decode
from anywire.wire.framing import Frame, Oversized
from anywire.wire.limits import DEFAULT_LIMITS, Limits
from anywire.wire.message import (
    NULL_ID,
    Batch,
    ErrorResponse,
    Fault,
    FaultKind,
    Message,
    Notification,
    Request,
    Response,
)

__all__ = ("NewlineFramer", "parse_message_line", "serialize_message")

_BOM = b"\xef\xbb\xbf"
_SPACE = b" \t\r\n"
_BRACE_OPEN, _BRACE_CLOSE = b"{}"
_LF, _CR = b"\n\r"
_LONG = 1024
_LARGE = 256 * 1024


class NewlineFramer:
    """Cuts a stream into lines.  See `anywire.wire.framing.Framer` for the contract.

    `offset` is that of the first byte to come, where others took what stood before it.
    """

    def __init__(self, limits: Limits = DEFAULT_LIMITS, offset: int = 0) -> None:
        self._limits = limits
        self._pending = bytearray()
        self._oversized: Oversized | None = None
        self._offset = offset  # of the line that is pending, in the stream

    def feed(self, chunk: bytes) -> list[Frame | Fault]:
        """Take the next bytes; return the lines they completed."""
        out: list[Frame | Fault] = []
        lines = _split(chunk)
        rest = lines.pop()
        left = len(chunk) - len(rest)
        if lines and (self._pending or self._oversized is not None):
            left -= len(lines[0]) + 1
            self._complete(lines.pop(0), out)
        if left <= self._limits.message_bytes and _are_usual(lines):
            out += lines
            self._offset += left
        else:
            for line in lines:
                self._take_line(line, out)
        if rest:
            self._keep(rest, out)
        return out

    def _take_line(self, line: bytes, out: list[Frame | Fault]) -> None:
        if len(line) <= self._limits.message_bytes:
            self._unusual(line, out)
        else:
            self._complete(line, out)

    def end(self) -> list[Frame | Fault]:
        """The stream has ended: return the last line if it lacked its line feed."""
        out: list[Frame | Fault] = []
        if self._oversized is not None:
            out += self._oversized.end(cut=True)
            self._oversized = None
        else:
            self._complete(b"", out)
        return out

    def frame(self, body: bytes) -> bytes:
        """Return the body as one line.

        A newline inside valid JSON is white space between two tokens, never content, so that a body
        written over several lines loses nothing but those newlines.
        """
        if _LF in body or _CR in body:  # a byte is found several times as fast as a string of one
            body = body.translate(None, b"\r\n")
        return body + b"\n"

    def join(self, bodies: list[bytes]) -> tuple[bytes, ...]:
        """Return the bodies as a line each; those that are lines already are looked at all at once."""
        if len(bodies) == 1:
            body = bodies[0]
            is_large = len(body) >= _LARGE and _LF not in body and _CR not in body
            return (body, b"\n") if is_large else (self.frame(body),)
        lines = b"\n".join((*bodies, b""))
        if lines.count(b"\n") == len(bodies) and _CR not in lines:
            return (lines,)
        return (b"".join(map(self.frame, bodies)),)

    def _keep(self, data: bytes, out: list[Frame | Fault]) -> None:
        if self._oversized is None:
            self._pending += data
            if len(self._pending) <= self._limits.message_bytes:
                return
            reason = f"Invalid Request: the message exceeds {self._limits.message_bytes} bytes"
            self._oversized = Oversized(self._limits, reason, self._offset)
            data = bytes(self._pending)
            self._pending = bytearray()
        self._offset += len(data)
        out += self._oversized.add(data)

    def _complete(self, data: bytes, out: list[Frame | Fault]) -> None:
        """End the line that was begun by earlier chunks, or is too long."""
        self._keep(data, out)
        if self._oversized is not None:
            out += self._oversized.end()
            self._oversized = None
            self._offset += 1
            return
        line = bytes(self._pending)
        self._pending = bytearray()
        self._unusual(line, out)

    def _unusual(self, line: bytes, out: list[Frame | Fault]) -> None:
        start = self._offset
        self._offset += len(line) + 1
        frame = line.strip(_SPACE)
        if frame.startswith(_BOM):
            frame = frame[len(_BOM) :].strip(_SPACE)
        if frame[:15].lower() == b"content-length:":
            reason = "Parse error: a header-framed message in a newline-framed stream"
            excerpt = frame[: self._limits.excerpt_bytes]
            out.append(Fault(FaultKind.FRAMING_CHANGED, reason, None, False, excerpt, len(frame), start))
        elif frame:
            out.append(frame)


def _are_usual(lines: list[bytes]) -> bool:
    """Say whether nothing needs to be done to any of these lines; a look at the two ends of each tells."""
    for line in lines:  # noqa: SIM110 a loop of its own is quicker than `all`
        if not line or line[0] != _BRACE_OPEN or line[-1] != _BRACE_CLOSE:
            return False
    return True


def _split(chunk: bytes) -> list[bytes]:
    """Split at line feeds.  Long lines are searched for, which is faster than to look at each byte."""
    end = chunk.find(b"\n")
    if 0 <= end < _LONG:
        return chunk.split(b"\n")
    lines: list[bytes] = []
    start = 0
    while end >= 0:
        lines.append(chunk[start:end])
        start = end + 1
        end = chunk.find(b"\n", start)
    lines.append(chunk[start:])
    return lines


def parse_message_line(line: bytes | str, limits: Limits = DEFAULT_LIMITS) -> Request | Notification | Fault:
    """Parse one line into a request or a notification; a failure is a value.

    Trailing line feeds and carriage returns are stripped.  Anything else that is JSON (a response,
    an array, a number) is an invalid request; `Fault.is_reply` tells which of them must not be
    answered.  Lone surrogates in a `str` are refused, as UTF-8 has no bytes for them.
    """
    try:
        frame = line.encode() if isinstance(line, str) else line
    except UnicodeEncodeError as error:
        reason = f"Parse error: not valid Unicode at character {error.start}"
        return Fault(FaultKind.PARSE_ERROR, reason, position=error.start)
    message: Message | Batch | Fault = decode(frame.rstrip(b"\r\n"), limits)
    if isinstance(message, Request | Notification | Fault):
        return message
    return _no_request(message, frame[: limits.excerpt_bytes], len(frame))


def _no_request(message: Response | ErrorResponse | Batch, excerpt: bytes, size: int) -> Fault:
    if isinstance(message, Batch):
        reason, id = "a message is a JSON object", None
        is_reply = all(map(_is_reply, message.items))
    else:
        reason, id, is_reply = "a response where a request belongs", message.id, True
    reason = f"Invalid Request: {reason}"
    return Fault(FaultKind.INVALID_REQUEST, reason, None if id == NULL_ID else id, is_reply, excerpt, size)


def _is_reply(item: Message | Fault) -> bool:
    return item.is_reply if isinstance(item, Fault) else isinstance(item, Response | ErrorResponse)


def serialize_message(message: Message | Mapping[str, object]) -> bytes:
    """Write a message, or plain JSON data in the shape of one, as exactly one line with its line feed."""
    return NewlineFramer().frame(body(message))
