"""Two stream transports in one process, with bytes in between and no descriptors.

What pipes do (framings, partial reads, a reader that is slow or away) happens here in memory and in
the same order every time.
"""

from __future__ import annotations

import asyncio
from collections import deque

from anywire.transport.stream import StreamTransport
from anywire.wire.detect import DetectingFramer, new_framer
from anywire.wire.framing import Framing
from anywire.wire.limits import DEFAULT_LIMITS, Limits

__all__ = ("ByteTransport", "byte_pair")


class ByteTransport(StreamTransport):
    """One end of a pair; made by `byte_pair`.  The contract is that of any transport.

    `serving` makes it stop reading while the other end reads too slowly, as a server does.
    """

    def __init__(self, name: str, framing: Framing | None, limits: Limits, *, serving: bool = False) -> None:
        framer = DetectingFramer(limits) if framing is None else new_framer(framing, limits)
        super().__init__(name, framer, limits)
        self.other: ByteTransport | None = None
        #: Chunks that this end has not read yet.
        self.unread: deque[bytes] = deque()
        self._unread_bytes = 0
        self._started = False
        self._paused = False
        self._scheduled = False
        self._sends_no_more = False
        self._other_ended = False
        self._end_reached = asyncio.Event()
        if serving:
            self.on_full = lambda: self.hold_reading("the other end does not read")
            self.on_room = lambda: self.release_reading("the other end does not read")

    @property
    def buffered(self) -> int:
        """The number of bytes that the other end has not read yet."""
        assert self.other is not None
        return self.other._unread_bytes

    async def start(self) -> None:
        """Read what was written meanwhile, and go on reading."""
        self.attach(self)
        self._started = True
        self._schedule()

    def write(self, data: bytes) -> None:
        """Put bytes on the wire as they are, framed or not; dropped after the end."""
        assert self.other is not None
        if not self._sends_no_more:
            self.other.take(data)

    def take(self, data: bytes) -> None:
        """Receive bytes of the other end; dropped after the end, as a pipe would."""
        if not self._closing:
            self.unread.append(data)
            self._unread_bytes += len(data)
            self._schedule()

    def end_sending(self) -> None:
        """Send no more; what the other end owes can still arrive."""
        self.flush()
        if not self._sends_no_more:
            self._sends_no_more = True
            assert self.other is not None
            self.other.take_end()

    def take_end(self) -> None:
        """Hear that the other end sends no more."""
        self._other_ended = True
        self._schedule()

    async def close(self) -> None:
        """Write what was sent, end both directions."""
        if not self._closing:
            self._closing = True
            self.end_sending()
            self.unread.clear()
            self._unread_bytes = 0
            assert self.other is not None
            self.other.room_again()
            asyncio.get_running_loop().call_soon(self._end)
        await self._end_reached.wait()

    def _end(self) -> None:
        self.fire_close(None)
        self._end_reached.set()

    def pause_reading(self) -> None:
        """Stop reading."""
        self._paused = True

    def resume_reading(self) -> None:
        """Read again."""
        self._paused = False
        self._schedule()

    def _schedule(self) -> None:
        ready = self._started and not self._paused and (self.unread or self._other_ended)
        if ready and not self._scheduled:
            self._scheduled = True
            asyncio.get_running_loop().call_soon(self._read)

    def _read(self) -> None:
        self._scheduled = False
        if self._closing or self._paused:
            return
        if self.unread:
            chunk = self.unread.popleft()
            self._unread_bytes -= len(chunk)
            self.receive(chunk)
            assert self.other is not None
            if self._unread_bytes <= self._limits.write_low_bytes:
                self.other.room_again()
            self._schedule()
        elif self._other_ended:
            self._other_ended = False
            self.receive_end()


def byte_pair(
    client: Framing | None = Framing.NEWLINE, server: Framing | None = None, limits: Limits = DEFAULT_LIMITS
) -> tuple[ByteTransport, ByteTransport]:
    """Return two transports that are each other's peer: the client's end and the server's.

    A framing of None is detected from the first bytes that come in.
    """
    one = ByteTransport("bytes (client)", client, limits)
    other = ByteTransport("bytes (server)", server, limits, serving=True)
    one.other, other.other = other, one
    return one, other
