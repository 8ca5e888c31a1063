"""Which framing does this server write?  Told from its first message, whatever it prints before.

Specification: none; MCP servers print banners, and some are built on editor libraries.
"""

from __future__ import annotations

import re

from anywire.wire.detect import new_framer
from anywire.wire.framing import Frame, Framer, Framing
from anywire.wire.limits import DEFAULT_LIMITS, Limits
from anywire.wire.message import Fault, FaultKind

__all__ = ("EvidenceFramer",)

_SPACE = b" \t\r\n\xef\xbb\xbf"
# A reply that forgot its version is one all the same, to be refused by name.
_MESSAGE = re.compile(rb'"(?:jsonrpc|id)"[ \t]*:')
# Some servers log in JSON.  What is longer than this is no log.
_LONGEST_LOG_LINE = 64 * 1024


class EvidenceFramer:
    """A framer for the calling end: skips lines of noise until something looks like a message.

    A line of JSON that has the members of a message is evidence for lines, one that begins with
    `Content-` for headers; each line before, such as a log in JSON, is a fault.  The first evidence
    holds for good.  Bodies go out in the framing that was given, which need not be the one that comes
    back.
    """

    def __init__(self, writing: Framing, limits: Limits = DEFAULT_LIMITS) -> None:
        self._limits = limits
        self._writer = new_framer(writing, limits)
        self._reader: Framer | None = None
        self._pending = bytearray()
        self._offset = 0  # of the pending bytes, in the stream
        self._searched = 0  # how much of them is known to hold no line feed
        #: The framing of what comes in, None until there is evidence.
        self.framing: Framing | None = None

    def feed(self, chunk: bytes) -> list[Frame | Fault]:
        """Take the next bytes; return what they completed."""
        if self._reader is not None:
            return self._reader.feed(chunk)
        self._pending += chunk
        out: list[Frame | Fault] = []
        while (framing := self._evidence()) is None:
            end = self._pending.find(b"\n", self._searched)
            if end < 0:
                self._searched = len(self._pending)
                return out
            self._skip_noise(end, out)
        return out + self._settle(framing)

    def end(self) -> list[Frame | Fault]:
        """Take the end of the stream; a last line of noise is a fault as well."""
        if self._reader is not None:
            return self._reader.end()
        rest = self._settle(Framing.NEWLINE)
        assert self._reader is not None
        return rest + self._reader.end()

    def frame(self, body: bytes) -> bytes:
        """Return the bytes that carry this body."""
        return self._writer.frame(body)

    def join(self, bodies: list[bytes]) -> tuple[bytes, ...]:
        """Return what carries these bodies."""
        return self._writer.join(bodies)

    def write_in(self, framing: Framing) -> None:
        """Frame the bodies to come in another framing."""
        self._writer = new_framer(framing, self._limits)

    def _evidence(self) -> Framing | None:
        start = bytes(self._pending[:64]).lstrip(_SPACE).lower()
        if start.startswith(b"content-"):
            return Framing.HEADERS
        if start.startswith((b"{", b"[{")):
            end = self._pending.find(b"\n", self._searched, _LONGEST_LOG_LINE + 1)
            if end < 0:
                return Framing.NEWLINE if len(self._pending) > _LONGEST_LOG_LINE else None
            return Framing.NEWLINE if _MESSAGE.search(self._pending, 0, end) else None
        # Noise without an end is the business of the framer that has a limit for it.
        limit = self._limits.message_bytes
        endless = len(self._pending) > limit and self._pending.find(b"\n", self._searched, limit + 1) < 0
        return Framing.NEWLINE if endless else None

    def _skip_noise(self, end: int, out: list[Frame | Fault]) -> None:
        line = bytes(self._pending[:end]).strip()
        del self._pending[: end + 1]
        if line:
            excerpt = line[: self._limits.excerpt_bytes]
            reason = "Parse error: a line that is no message"
            out.append(Fault(FaultKind.PARSE_ERROR, reason, None, False, excerpt, len(line), self._offset))
        self._offset += end + 1
        self._searched = 0

    def _settle(self, framing: Framing) -> list[Frame | Fault]:
        self.framing = framing
        self._reader = new_framer(framing, self._limits, self._offset)
        pending = bytes(self._pending)
        self._pending.clear()
        return self._reader.feed(pending)
