"""Which framing is this?  The first bytes of a peer decide, and the answer holds for good."""

from __future__ import annotations

from anywire.wire.content_length import ContentLengthFramer
from anywire.wire.framing import Frame, Framer, Framing
from anywire.wire.limits import DEFAULT_LIMITS, Limits
from anywire.wire.message import Fault
from anywire.wire.newline import NewlineFramer

__all__ = ("DetectingFramer", "detect_framing", "new_framer")

_LEADING = b" \t\r\n\xef\xbb\xbf"
_PREFIX = b"content-"


def detect_framing(data: bytes) -> Framing | None:
    """Return the framing that these first bytes of a stream show, None while they show none.

    A stream that begins with a `Content-…` header is header-framed; anything else, noise included,
    is a stream of lines.
    """
    start = data.lstrip(_LEADING)[: len(_PREFIX)].lower()
    if start == _PREFIX:
        return Framing.HEADERS
    if not start or _PREFIX.startswith(start):
        return None
    return Framing.NEWLINE


def new_framer(framing: Framing, limits: Limits = DEFAULT_LIMITS, offset: int = 0) -> Framer:
    """Return a framer for that framing; `offset` is that of the first byte to come, in the stream."""
    return (NewlineFramer if framing is Framing.NEWLINE else ContentLengthFramer)(limits, offset)


class DetectingFramer:
    """A framer that learns its framing from the first bytes it is fed, and keeps it both ways.

    Whoever uses it says nothing before `framing` is known; what is framed before that all the same
    goes out newline-framed, as MCP specifies.
    """

    def __init__(self, limits: Limits = DEFAULT_LIMITS) -> None:
        self._limits = limits
        self._first = b""
        self._offset = 0  # of the first byte that is no white space
        self._framer: Framer | None = None
        #: The framing that was found, None until then.
        self.framing: Framing | None = None

    def feed(self, chunk: bytes) -> list[Frame | Fault]:
        """Take the next bytes; return what they completed."""
        if self._framer is not None:
            return self._framer.feed(chunk)
        begun = self._first + chunk
        self._first = begun.lstrip(_LEADING)
        self._offset += len(begun) - len(self._first)
        self.framing = detect_framing(self._first)
        if self.framing is None:
            return []
        return self._settle(self.framing).feed(self._first)

    def end(self) -> list[Frame | Fault]:
        """Take the end of the stream."""
        if self._framer is None:
            self.framing = Framing.NEWLINE
            framer = self._settle(self.framing)
            return framer.feed(self._first) + framer.end() if self._first else []
        return self._framer.end()

    def frame(self, body: bytes) -> bytes:
        """Return the bytes that carry this body."""
        return (self._framer or NewlineFramer(self._limits)).frame(body)

    def join(self, bodies: list[bytes]) -> tuple[bytes, ...]:
        """Return what carries these bodies."""
        return (self._framer or NewlineFramer(self._limits)).join(bodies)

    def _settle(self, framing: Framing) -> Framer:
        self._framer = new_framer(framing, self._limits, self._offset)
        return self._framer
