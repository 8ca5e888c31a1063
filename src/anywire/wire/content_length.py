r"""Messages behind `Content-Length` headers, as editors' language servers frame them.

No MCP revision specifies this; hosts and servers built on editor libraries speak it all the same.

Reading: the length counts bytes.  Header names are matched whatever their case, other headers are
allowed, lines may end in LF alone.  A block of headers without a usable length is skipped up to its
blank line.  Text before a `Content-Length:`, such as the rest of a body whose length counted
characters, costs that message and no other.

Writing: one header, and a body of ASCII (`\u00e9` for é), so that peers which count characters or
UTF-16 units instead of bytes come to the same length.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

import msgspec

from anywire.wire.codec import body as message_body
from anywire.wire.codec import decode, fault_from_excerpt
from anywire.wire.framing import Frame, Oversized
from anywire.wire.limits import DEFAULT_LIMITS, Limits
from anywire.wire.message import Batch, Fault, FaultKind, Message

__all__ = ("ContentLengthFramer", "ParsedMessages", "encode_message", "escape_non_ascii", "parse_messages")

_BLANK_LINE = re.compile(rb"\n\r?\n")
_LENGTH_AT_LINE = re.compile(rb"^[ \t]*content-length[ \t]*:([^\r\n]*)", re.IGNORECASE | re.MULTILINE)
_LENGTH_ANYWHERE = re.compile(rb"content-length[ \t]*:([^\r\n]*)", re.IGNORECASE)
_LENGTH_NAME = re.compile(rb"content-length", re.IGNORECASE)
_NON_ASCII = re.compile("[^\x00-\x7f]+")
_LEADING_SPACE = re.compile(rb"(?:[ \t\r\n]|\xef\xbb\xbf)*+")  # byte order marks included
_MAX_DIGITS = 15


class ContentLengthFramer:
    """Cuts a stream into header-framed bodies.  See `anywire.wire.framing.Framer` for the contract.

    `offset` is that of the first byte to come, where others took what stood before it.
    """

    def __init__(self, limits: Limits = DEFAULT_LIMITS, offset: int = 0) -> None:
        self._limits = limits
        self._buffer = bytearray()
        self._offset = offset  # of the buffer's first byte, in the stream
        self._begun = offset  # of the message or the headers that are being read
        self._searched = 0  # how much of the buffer is known to hold no blank line
        self._body: int | None = None  # the length of the body that is awaited
        self._oversized: Oversized | None = None
        self._skip_left = 0  # what is still to come of the oversized body
        self._resync = False  # looking for the next length after a block without end

    @property
    def begun(self) -> int:
        """Where in the stream the message begins, headers included, of which the end has not come yet."""
        return self._begun

    def feed(self, chunk: bytes) -> list[Frame | Fault]:
        """Take the next bytes; return the bodies they completed."""
        out: list[Frame | Fault] = []
        self._buffer += chunk
        while self._step(out):
            pass
        return out

    def end(self) -> list[Frame | Fault]:
        """The stream has ended: a message that was begun is cut."""
        out: list[Frame | Fault] = []
        rest = bytes(self._buffer)
        if self._oversized is not None:
            out += self._oversized.end(cut=True)
        elif self._body is not None or (rest and not self._resync):
            missing = f" after {len(rest)} of {self._body} bytes" if self._body is not None else ""
            reason = f"Parse error: the stream ended inside a message{missing}"
            out.append(self._cut(FaultKind.TRUNCATED, reason, rest, b""))
        self._buffer.clear()
        self._body = self._oversized = None
        return out

    def frame(self, body: bytes) -> bytes:
        """Return the body behind its header, in ASCII."""
        if not body.isascii():
            body = escape_non_ascii(body)
        return b"Content-Length: %d\r\n\r\n%b" % (len(body), body)

    def join(self, bodies: list[bytes]) -> tuple[bytes, ...]:
        """Return the bodies, each behind its header."""
        return (b"".join(map(self.frame, bodies)),)

    def _step(self, out: list[Frame | Fault]) -> bool:
        """Take one thing from the buffer; say whether there may be another."""
        if self._oversized is not None:
            return self._skip_body(self._oversized, out)
        if self._body is not None:
            return self._take_body(self._body, out)
        if self._resync:
            return self._find_name()
        return self._take_header(out)

    def _drop(self, count: int) -> None:
        del self._buffer[:count]
        self._offset += count
        self._searched = 0

    def _skip_body(self, oversized: Oversized, out: list[Frame | Fault]) -> bool:
        taken = bytes(self._buffer[: self._skip_left])
        self._drop(len(taken))
        self._skip_left -= len(taken)
        out += oversized.add(taken)
        if self._skip_left:
            return False
        out += oversized.end()
        self._oversized = None
        return True

    def _take_body(self, length: int, out: list[Frame | Fault]) -> bool:
        if len(self._buffer) < length:
            return False
        with memoryview(self._buffer) as view:
            out.append(bytes(view[:length]))
        self._drop(length)
        self._body = None
        return True

    def _take_header(self, out: list[Frame | Fault]) -> bool:
        blank = _LEADING_SPACE.match(self._buffer)
        if blank is not None and blank.end():
            self._drop(blank.end())
        self._begun = self._offset
        if self._buffer.startswith((b"{", b"[")) and self._take_line(out):
            return True
        limit = self._limits.header_bytes
        found = _BLANK_LINE.search(self._buffer, max(self._searched - 2, 0), limit)
        if found is None:
            self._searched = len(self._buffer)
            if self._searched < limit:
                return False
            self._fault(FaultKind.BAD_HEADER, f"no end of the headers within {limit} bytes", limit, out)
            self._drop(limit)
            self._resync = True
            return True
        block = bytes(self._buffer[: found.end()])
        length, trouble = _length_of(block)
        if trouble:
            kind = FaultKind.BAD_HEADER if length is None else FaultKind.STRAY
            self._fault(kind, trouble, len(block), out)
        self._drop(len(block))
        if length is not None:
            self._expect(length)
        return True

    def _expect(self, length: int) -> None:
        if length <= self._limits.message_bytes:
            self._body = length
            return
        limit = self._limits.message_bytes
        reason = f"Invalid Request: the message of {length} bytes exceeds {limit} bytes"
        self._oversized, self._skip_left = Oversized(self._limits, reason, self._begun), length

    def _take_line(self, out: list[Frame | Fault]) -> bool:
        """Refuse a line of JSON that stands where headers belong; say whether there was one."""
        end = self._buffer.find(b"\n", 0, self._limits.header_bytes)
        if end < 0:
            return False
        line = bytes(self._buffer[: end + 1])
        if _LENGTH_NAME.search(line) and not line.rstrip().endswith((b"}", b"]")):
            return False  # the rest of a body, and the header that comes after it
        reason = "Parse error: a newline-framed message in a header-framed stream"
        out.append(self._cut(FaultKind.FRAMING_CHANGED, reason, line, line))
        self._drop(len(line))
        return True

    def _find_name(self) -> bool:
        """Drop what stands before the next name of a length, or the beginning of such a name."""
        found = _LENGTH_NAME.search(self._buffer)
        self._drop(found.start() if found else max(len(self._buffer) - len("content-lengt"), 0))
        self._begun = self._offset
        self._resync = found is None
        return found is not None

    def _fault(self, kind: FaultKind, reason: str, size: int, out: list[Frame | Fault]) -> None:
        """Report the first bytes of the buffer, which are no message but stand where one belongs."""
        data = bytes(self._buffer[: min(size, self._limits.excerpt_bytes)])
        out.append(Fault(kind, f"Parse error: {reason}", None, False, data, size, self._offset))

    def _cut(self, kind: FaultKind, reason: str, text: bytes, end: bytes) -> Fault:
        """Report a message that cannot be taken, with what can be read of it."""
        excerpt = self._limits.excerpt_bytes
        return fault_from_excerpt(kind, reason, text[:excerpt], end[-excerpt:], len(text), self._offset)


def _length_of(block: bytes) -> tuple[int | None, str]:
    """Read the length from a block of headers: the length or None, and what is wrong with it."""
    values = [value.strip() for value in _LENGTH_AT_LINE.findall(block)]
    stray = ""
    if not values:
        values = [value.strip() for value in _LENGTH_ANYWHERE.findall(block)][-1:]
        stray = "text that belongs to no message before a header" if values else ""
    if not values:
        return None, "headers without a Content-Length"
    if len(set(values)) > 1:
        return None, "two Content-Length headers that differ"
    if not values[0].isdigit() or len(values[0]) > _MAX_DIGITS:
        return None, f"Content-Length {values[0][:40].decode('ascii', 'replace')!r} is not a length"
    return int(values[0]), stray


def escape_non_ascii(body: bytes) -> bytes:
    r"""Write each character beyond ASCII in a JSON text (UTF-8) as `\uXXXX`; nothing else changes.

    Outside ASCII there is nothing in JSON but the contents of strings, so this needs no parser.
    Bytes that are not UTF-8 read as U+FFFD.
    """
    return _NON_ASCII.sub(_escape, body.decode("utf-8", "replace")).encode("ascii")


def _escape(found: re.Match[str]) -> str:
    units = found.group().encode("utf-16-be").hex()
    return "".join(f"\\u{units[at : at + 4]}" for at in range(0, len(units), 4))


class ParsedMessages(msgspec.Struct, frozen=True):
    """What `parse_messages` found.

    `messages` in order, `remaining` the bytes that complete none, `faults` what was skipped.
    """

    messages: list[Message | Batch]
    remaining: bytes
    faults: list[Fault]


def parse_messages(buffer: bytes, limits: Limits = DEFAULT_LIMITS) -> ParsedMessages:
    """Take all complete messages from the start of a buffer.  Never raises.

    A partial header or body stays whole in `remaining`: put the next bytes behind it and call
    again.  For a stream, `ContentLengthFramer` does the same without reading anything twice.
    """
    framer = ContentLengthFramer(limits)
    messages: list[Message | Batch] = []
    faults: list[Fault] = []
    for frame in framer.feed(buffer):
        message = frame if isinstance(frame, Fault) else decode(frame, limits)
        if not isinstance(message, Fault):
            messages.append(message)
        elif message is not frame or message.position < framer.begun:
            faults.append(message)  # one of a message that is in `remaining` will come again
    return ParsedMessages(messages, buffer[framer.begun :], faults)


def encode_message(message: Message | Mapping[str, object]) -> bytes:
    """Write a message, or plain JSON data in the shape of one, behind its `Content-Length` header."""
    return ContentLengthFramer().frame(message_body(message))
