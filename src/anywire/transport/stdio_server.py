"""The serving end of stdio: this process's own stdin and stdout.

The framing is the client's: the first bytes decide, and it holds in both directions.  Reading stops
while too much waits to be written, so that a client which does not read cannot make us grow.

Specification: MCP `basic/transports#stdio`.
"""

from __future__ import annotations

import asyncio
from typing import Final

from anywire.errors import AnywireError, TransportBroken
from anywire.transport.contract import Accept, call_back
from anywire.transport.posix_fds import FdReader, FdWriter
from anywire.transport.stdio_claim import StdioClaim, claim_stdio
from anywire.transport.stream import StreamTransport
from anywire.wire.detect import DetectingFramer, new_framer
from anywire.wire.framing import Framing
from anywire.wire.limits import DEFAULT_LIMITS, Limits

__all__ = ("StdioListener", "StdioServerTransport")


# Messages that are handed on before the loop, and with it the handlers, get a turn.
_TURN: Final = 64
# How often it is looked whether a client that does not read is still there.
_LOOK_SECONDS: Final = 0.5
_CLIENT_FULL: Final = "the client does not read"


class StdioServerTransport(StreamTransport):
    """Serves the one client at the other end of two descriptors; owns them from `start()` on."""

    def __init__(
        self, read_fd: int, write_fd: int, *, framing: Framing | None = None, limits: Limits = DEFAULT_LIMITS
    ) -> None:
        framer = DetectingFramer(limits) if framing is None else new_framer(framing, limits)
        super().__init__("stdio", framer, limits)
        self._fds = (read_fd, write_fd)
        self._reader: FdReader | None = None
        self._fd_writer: FdWriter | None = None
        self._ending: asyncio.Task[None] | None = None
        self._broken: AnywireError | None = None
        self._loss_reported = False
        self._turn = _TURN
        self._patience: asyncio.Task[None] | None = None
        self.on_full = self._client_does_not_read
        self.on_room = lambda: self.release_reading(_CLIENT_FULL)

    async def start(self) -> None:
        """Begin to read."""
        read_fd, write_fd = self._fds
        self._fd_writer = FdWriter(
            write_fd, self._limits.write_low_bytes, self.room_again, self._output_broken
        )
        self.attach(self._fd_writer)
        self._reader = FdReader(read_fd, self.receive, self.receive_end)
        self._reader.resume()

    async def close(self) -> None:
        """Write what was sent (bounded), then close both descriptors.

        A caller that is cancelled meanwhile leaves the ending under way.
        """
        self._closing = True
        if self._fd_writer is None or self._reader is None:
            self.fire_close(None)
            return
        if self._ending is None:
            end = self._end(self._reader, self._fd_writer)
            self._ending = asyncio.get_running_loop().create_task(end)
        await asyncio.shield(self._ending)

    async def _end(self, reader: FdReader, writer: FdWriter) -> None:
        # The input stays open until the output has been written: a client that sees us close it early
        # might take us for dead and not read the rest.
        reader.pause()
        self.flush()
        lost = not await writer.drain(self._limits.shutdown_seconds)
        if lost and self._broken is None:
            reason = f"{self.name}: {writer.buffered} bytes of replies were not read in time"
            self._broken = TransportBroken(reason)
        if self._patience is not None:
            self._patience.cancel()
        reader.close()
        writer.close()
        self._report_loss(writer)
        self.fire_close(self._broken if writer.lost else None)

    @property
    def broken(self) -> AnywireError | None:
        """Why replies could not be written, None while they can."""
        return self._broken

    def pause_reading(self) -> None:
        """Stop reading stdin."""
        if self._reader is not None:
            self._reader.pause()

    def resume_reading(self) -> None:
        """Read stdin again."""
        if self._reader is not None:
            self._reader.resume()

    def _client_does_not_read(self) -> None:
        self.hold_reading(_CLIENT_FULL)
        if self._patience is None or self._patience.done():
            self._patience = asyncio.get_running_loop().create_task(self._wait_for_reader())

    async def _wait_for_reader(self) -> None:
        """While reading is held its end would go unseen: a client that has left is not waited for.

        One that is there and does not read is waited for without bound, as long as it is there.
        """
        assert self._fd_writer is not None
        assert self._reader is not None
        waited, buffered = 0.0, self._fd_writer.buffered
        while self._fd_writer.buffered > self._limits.write_low_bytes and not self._closing:
            await asyncio.sleep(_LOOK_SECONDS)
            stuck = self._fd_writer.buffered >= buffered and self._reader.hung_up()
            waited, buffered = (waited + _LOOK_SECONDS if stuck else 0.0), self._fd_writer.buffered
            if waited >= self._limits.drain_seconds:
                self._fd_writer.give_up("the client has left without reading its replies")
                return

    def _output_broken(self, error: OSError) -> None:
        self._broken = TransportBroken(f"{self.name}: replies cannot be written: {error}")
        # Not from here: this may be inside a callback that was just about to write.
        asyncio.get_running_loop().call_soon(self._finish_without_output)

    def _finish_without_output(self) -> None:
        """Nobody reads: handle what the client had sent before it left, then end."""
        if self._reader is None or self._fd_writer is None or self._closing:
            return
        self._report_loss(self._fd_writer)
        self._reader.finish(self._limits.write_high_bytes)

    def _report_loss(self, writer: FdWriter) -> None:
        """Report once that replies are lost; a client that leaves when all is said is no error."""
        if self._broken is not None and writer.lost and not self._loss_reported:
            self._loss_reported = True
            call_back(self.callbacks.on_error, self._broken)


class StdioListener:
    """Accepts the one conversation that a process has on its own stdio."""

    def __init__(
        self,
        claim: StdioClaim | None = None,
        *,
        framing: Framing | None = None,
        limits: Limits = DEFAULT_LIMITS,
    ) -> None:
        self._claim = claim or claim_stdio()
        self._framing = framing
        self._limits = limits
        self._transport: StdioServerTransport | None = None

    def open(self) -> StdioServerTransport:
        """Take the descriptors and return the transport, not started."""
        read_fd, write_fd = self._claim.take()
        self._transport = StdioServerTransport(read_fd, write_fd, framing=self._framing, limits=self._limits)
        return self._transport

    async def serve(self, accept: Accept) -> None:
        """Hand over the one conversation."""
        accept(self.open())

    async def close(self) -> None:
        """End the conversation."""
        if self._transport is not None:
            await self._transport.close()
