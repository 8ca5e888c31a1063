"""What a framing is: the contract that `newline` and `content_length` fulfil.

A framer is a push parser.  It is fed chunks as they come and returns what they complete; how the
stream was cut makes no difference.  Its time is linear in the input and its memory is bounded by
`Limits.message_bytes`: of a message beyond that it keeps the two ends, to find whose it was.
"""

from __future__ import annotations

from enum import Enum
from typing import Protocol, TypeAlias

from anywire.wire.codec import fault_from_excerpt
from anywire.wire.limits import Limits
from anywire.wire.message import Fault, FaultKind

__all__ = ("Frame", "Framer", "Framing", "Oversized")

#: The bytes of one message, without what frames them.
Frame: TypeAlias = bytes


class Framing(Enum):
    """The ways to tell where a message ends on a stream of bytes."""

    #: One JSON text per line; what MCP specifies for stdio.
    NEWLINE = "newline"
    #: `Content-Length` headers before each JSON text, as editors' language servers do it.
    HEADERS = "headers"


class Framer(Protocol):
    """Cuts a stream of bytes into frames, and frames bodies for the way out."""

    def feed(self, chunk: bytes) -> list[Frame | Fault]:
        """Take the next bytes of the stream; return what they completed, in order.  Never raises."""
        ...

    def end(self) -> list[Frame | Fault]:
        """Take the end of the stream; return what was still pending.  Never raises."""
        ...

    def frame(self, body: bytes) -> bytes:
        """Return the bytes that carry this body (valid JSON, UTF-8) on the wire."""
        ...

    def join(self, bodies: list[bytes]) -> tuple[bytes, ...]:
        """Return what carries these bodies, one after the other: `frame` of each, in few pieces.

        A large body is a piece of its own, where it goes out as it is: it is not copied.
        """
        ...


class Oversized:
    """A message that is being skipped because it is too large; keeps its two ends.

    The call that the message belonged to should fail at once, so the fault comes out as soon as the
    first bytes tell the id, and otherwise when the message ends.
    """

    def __init__(self, limits: Limits, reason: str, position: int = -1) -> None:
        self._excerpt = limits.excerpt_bytes
        self._reason = reason
        self._position = position  # of the message, in the stream
        self._head = bytearray()
        self._tail = b""
        self._size = 0
        self._head_read = False
        self._reported = False

    def add(self, data: bytes) -> list[Frame | Fault]:
        """Skip these bytes; return the fault when they made it known."""
        self._size += len(data)
        room = self._excerpt - len(self._head)
        if room > 0:
            self._head += data[:room]
        self._tail = (self._tail + data[-self._excerpt :])[-self._excerpt :]
        if self._head_read or len(self._head) < self._excerpt:
            return []
        self._head_read = True
        fault = self._fault(b"", 0)
        if fault.id is None:
            return []
        self._reported = True
        return [fault]

    def end(self, cut: bool = False) -> list[Frame | Fault]:
        """The message has ended: return its fault unless it came out before.

        `cut`: its own end never came, so that an id among its last bytes may be anybody's.
        """
        if self._reported:
            return []
        return [self._fault(b"" if cut else self._tail, self._size)]

    def _fault(self, tail: bytes, size: int) -> Fault:
        head = bytes(self._head)
        return fault_from_excerpt(FaultKind.TOO_LARGE, self._reason, head, tail, size, self._position)
