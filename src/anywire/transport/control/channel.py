"""What a control channel is: lines, both ways, and what carries them.

`StdioChannel` is this process's own stdio, `ChildChannel` a program that is started; for tests there is
`anywire.testing.line_wire`.  All of them share the streams of stdio-like transports, with their bounds and
their back-pressure, and hand on lines where those hand on messages.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from anywire.errors import SessionError, TransportClosed
from anywire.transport.contract import Callbacks, call_back, ignore, refuse_when_closed
from anywire.transport.stdio_claim import StdioClaim, claim_stdio
from anywire.transport.stdio_server import StdioServerTransport
from anywire.transport.stream import StreamTransport
from anywire.wire.framing import Framing
from anywire.wire.limits import DEFAULT_LIMITS, Limits

__all__ = ("Channel", "Lines", "StdioChannel")


class Channel(Protocol):
    """Lines to the other side and back.

    Of its `callbacks`, `on_error` tells of bytes that are no line, `on_end` that the other side writes no
    more, `on_close` that the channel is closed.
    """

    callbacks: Callbacks
    #: What it is called in errors.
    name: str
    #: Too much waits to be written; there is room again.
    on_full: Callable[[], None]
    on_room: Callable[[], None]

    @property
    def on_line(self) -> Callable[[bytes], None]:
        """Called with each line that has come in, without its line feed."""
        ...

    @on_line.setter
    def on_line(self, callback: Callable[[bytes], None]) -> None: ...

    @property
    def closed(self) -> bool:
        """True from the moment it began to end."""
        ...

    async def start(self) -> None:
        """Open it; nothing is received before."""
        ...

    def write_line(self, line: bytes, urgent: bool = True) -> None:
        """Write a line (JSON, UTF-8, without its line feed); one that is not urgent may wait for others.

        Raises `TransportClosed` after the end, `SessionError` before the start.
        """
        ...

    async def wait_for_room(self) -> None:
        """Return when not too much waits to be written.  Raises `TransportClosed` when it broke meanwhile."""
        ...

    def hold_reading(self, reason: str) -> None:
        """Read no more, for one of several reasons that may hold at once."""
        ...

    def release_reading(self, reason: str) -> None:
        """That reason holds no longer."""
        ...

    async def close(self) -> None:
        """Write what waits, within bounds, and free everything.  Idempotent."""
        ...


class Lines(StreamTransport):
    """Makes a channel of a stream: its frames are handed on as they are."""

    _on_line: Callable[[bytes], None] | None = None

    @property
    def on_line(self) -> Callable[[bytes], None]:
        """Called with each line, without its line feed."""
        return self._on_line or ignore

    @on_line.setter
    def on_line(self, callback: Callable[[bytes], None]) -> None:
        self._on_line = callback

    def take_frame(self, frame: bytes) -> None:
        """Hand on a line."""
        call_back(self.on_line, frame)

    def write_line(self, line: bytes, urgent: bool = True) -> None:
        """Write a line; line feeds between its tokens are left out."""
        refuse_when_closed(self._closing, self.name)
        if self._outbox is None:
            raise SessionError(f"{self.name} is not started")
        self._outbox.put(line, urgent)

    async def wait_for_room(self) -> None:
        """Return when not too much waits to be written."""
        if not self._room.is_set():
            await self._room.wait()
            if self._closing and self._closed_with is not None:
                raise TransportClosed(f"{self.name} is closed: {self._closed_with}")


class StdioChannel(Lines, StdioServerTransport):
    """The process's own stdin and stdout: for a program that was started by the other side.

    Made before anything is printed: from then on prints go to stderr.
    """

    def __init__(self, claim: StdioClaim | None = None, *, limits: Limits = DEFAULT_LIMITS) -> None:
        read_fd, write_fd = (claim or claim_stdio()).take()
        super().__init__(read_fd, write_fd, framing=Framing.NEWLINE, limits=limits)
