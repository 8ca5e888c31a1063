"""Messages over a stream of bytes: what every stdio-like transport shares.

Bytes come in through `receive` and `receive_end`, go out through a `ByteWriter`; in between are a
framer, the codec and the outbox.  Who owns the bytes (this process's own stdio, a child's pipes)
is the subclass's business.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final, Protocol

from msgspec.structs import replace

from anywire.errors import AnywireError, TransportClosed
from anywire.transport.contract import Callbacks, call_back, ignore, refuse_when_closed, report_failure
from anywire.transport.outbox import Outbox
from anywire.wire.codec import decode, encode
from anywire.wire.framing import Framer
from anywire.wire.limits import Limits
from anywire.wire.message import Batch, ErrorResponse, Fault, Message, Response

__all__ = ("ByteWriter", "StreamTransport")

_REPLIES: Final = frozenset({Response, ErrorResponse})


class ByteWriter(Protocol):
    """Where the bytes go."""

    def write(self, data: bytes) -> None:
        """Write, or keep for later; never blocks, never raises.  After a failure it drops the data."""
        ...

    @property
    def buffered(self) -> int:
        """The number of bytes that wait to be written."""
        ...


class StreamTransport:
    """A transport over one stream of bytes; see `anywire.transport.contract.Transport`."""

    #: What comes from there, be it a message or not, was written on somebody's stdout.
    writes_stdout = True

    def __init__(self, name: str, framer: Framer, limits: Limits) -> None:
        self.callbacks = Callbacks()
        #: What this wire is called in errors.
        self.name = name
        self._framer = framer
        self._limits = limits
        self._writer: ByteWriter | None = None
        self._outbox: Outbox | None = None
        self._closing = False
        self._ended = False
        self._closed_with: AnywireError | None = None
        self._on_close_fired = False
        self._room = asyncio.Event()
        self._room.set()
        self._holds: set[str] = set()
        self._backlog: list[bytes | Fault] = []
        self._number = 0  # of the line or message that was handed on last
        self._behind = False  # what was read waits to be handed on, and nothing more is read
        # How many messages are handed on before handlers get a turn, None: all of a chunk.  The
        # serving end takes turns, so that answers which nobody reads stop the requests behind them.
        # Where all were answered in place there are more, until what has gathered is to be written.
        self._turn: int | None = None
        #: Called when too much waits to be written, and when there is room again.
        self.on_full: Callable[[], None] = ignore
        self.on_room: Callable[[], None] = ignore

    @property
    def closed(self) -> bool:
        """True from the moment the wire began to end."""
        return self._closing

    def attach(self, writer: ByteWriter) -> None:
        """Take the writer; called once, from `start()`."""
        self._writer = writer
        self._outbox = Outbox(self._write, self._limits, self._framer.join)

    # In.

    def receive(self, chunk: bytes) -> None:
        """Take bytes of the peer and hand on the messages they complete."""
        self._deliver(self._framer.feed(chunk))

    def receive_end(self) -> None:
        """The peer's bytes have ended: hand on what was pending, then the end."""
        if self._ended or self._on_close_fired:
            return
        self._ended = True
        self._deliver(self._framer.end())
        if not self._on_close_fired and not self._backlog:
            self.input_ended()

    def input_ended(self) -> None:
        """The input has ended and everything of it was handed on."""
        call_back(self.callbacks.on_end)

    def hold_reading(self, reason: str) -> None:
        """Stop reading, for one of several reasons that may hold at once."""
        if not self._holds and not self._behind:
            self.pause_reading()
        self._holds.add(reason)

    def release_reading(self, reason: str) -> None:
        """That reason holds no longer: read on when it was the last."""
        if reason in self._holds:
            self._holds.remove(reason)
            if self._closing or self._holds:
                return
            if self._behind:
                asyncio.get_running_loop().call_soon(self._catch_up)
            else:
                self.resume_reading()

    def pause_reading(self) -> None:
        """Stop reading; the subclass knows how."""
        raise AssertionError("a stream transport must know how to pause")

    def resume_reading(self) -> None:
        """Read again; the subclass knows how."""
        raise AssertionError("a stream transport must know how to resume")

    def _deliver(self, frames: list[bytes | Fault]) -> None:
        if self._backlog:
            self._backlog += frames
            return
        self._backlog = self._hand_on(frames)
        if self._backlog:
            if not self._holds:
                self.pause_reading()
            self._behind = True
            self._catch_up_soon()

    def _hand_on(self, frames: list[bytes | Fault]) -> list[bytes | Fault]:
        """Hand messages on; return those that have to wait for the next turn."""
        outbox, turn = self._outbox, self._turn
        assert outbox is not None, "bytes came in before start()"
        rest: list[bytes | Fault] = []
        outbox.hold()
        first = self._number + 1
        for number, frame in enumerate(frames, first):
            if self._on_close_fired:
                break  # a callback closed the wire
            if turn is not None and (number - first == turn or self._holds):
                if self._holds or outbox.gathered < number - first:
                    rest = frames[number - first :]
                    break
                turn += self._turn or 0  # all were answered in place: no handler waits for its turn
            self._number = number
            if type(frame) is Fault:
                self._tell_fault(frame)
            else:
                self.take_frame(frame)
        outbox.release()
        return rest

    def take_frame(self, frame: bytes) -> None:
        """Hand on what a frame holds: a message, for all wires but those that wrap theirs."""
        message = decode(frame, self._limits)
        try:  # as `call_back` does, without a call for each message
            if type(message) is Fault:
                self._tell_fault(message)
            else:
                self.callbacks.on_message(message)
        except Exception as error:  # noqa: BLE001 a callback's fault must not stop the wire
            report_failure(self.callbacks.on_message, error)

    def _tell_fault(self, fault: Fault) -> None:
        call_back(self.callbacks.on_error, replace(fault, number=self._number))

    def _catch_up_soon(self) -> None:
        if not self._holds:
            asyncio.get_running_loop().call_soon(self._catch_up)

    def _catch_up(self) -> None:
        """Hand on what waited, a turn's worth at a time; then read on."""
        if self._on_close_fired or not self._backlog or self._holds:
            return
        self._backlog = self._hand_on(self._backlog)
        if self._backlog:
            self._catch_up_soon()
            return
        self._behind = False
        if not self._closing and not self._holds:
            self.resume_reading()
        if self._ended and not self._on_close_fired:
            self.input_ended()

    # Out.

    def post(self, message: Message | Batch, related: bytes | None = None) -> None:
        """Send without waiting for room."""
        if self._closing:
            refuse_when_closed(True, self.name)
        assert self._outbox is not None, "post() before start()"
        self._outbox.put(encode(message), type(message) not in _REPLIES)

    async def send(self, message: Message | Batch, related: bytes | None = None) -> None:
        """Send, and wait until there is room for the next message."""
        self.post(message, related)
        if not self._room.is_set():
            await self._room.wait()
            if self._closing and self._closed_with is not None:
                raise TransportClosed(f"{self.name} is closed: {self._closed_with}")

    def _write(self, data: bytes) -> None:
        assert self._writer is not None
        self._writer.write(data)
        if self._writer.buffered > self._limits.write_high_bytes and self._room.is_set():
            self._room.clear()
            self.on_full()

    def room_again(self) -> None:
        """The writer has sunk below the low mark, or is gone: let senders go on."""
        if not self._room.is_set():
            self._room.set()
            self.on_room()

    # The end.

    def fire_close(self, error: AnywireError | None) -> None:
        """Report the end of the wire, once."""
        self._closing = True
        self._closed_with = self._closed_with or error
        self.room_again()
        if not self._on_close_fired:
            self._on_close_fired = True
            call_back(self.callbacks.on_close, error)

    def flush(self) -> None:
        """Hand everything that has gathered to the writer."""
        if self._outbox is not None:
            self._outbox.flush()
