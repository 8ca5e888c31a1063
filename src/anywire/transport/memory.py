"""Two transports in one process, back to back.

Messages are handed over as they are, without bytes in between, in order, from the event loop.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from functools import partial
from typing import Generic, TypeVar

from anywire.errors import ConnectFailed
from anywire.transport.contract import (
    Accept,
    Callbacks,
    Transport,
    call_back,
    ignore,
    loop_here,
    refuse_when_closed,
)
from anywire.wire.limits import DEFAULT_LIMITS, Limits
from anywire.wire.message import Batch, Message

__all__ = ("MemoryListener", "MemoryTransport", "PairListener", "memory_pair")

C = TypeVar("C", bound=Transport)
S = TypeVar("S", bound=Transport)


class MemoryTransport:
    """One end of a pair.  See `anywire.transport.contract.Transport`."""

    def __init__(self, name: str = "memory", limits: Limits = DEFAULT_LIMITS) -> None:
        self.callbacks = Callbacks()
        self.name = name
        self.other: MemoryTransport | None = None
        #: Called once when this end starts: where the other end is given to whoever serves it.
        self.on_start: Callable[[], None] = ignore
        self._inbox: deque[Message | Batch] = deque()
        self._high = limits.requests_in_flight
        self._room = asyncio.Event()
        self._room.set()
        self._scheduled = False
        self._started = False
        self._loop: asyncio.AbstractEventLoop | None = None
        self._closed = False
        self._sends_no_more = False
        self._ended = False
        self._close_fired = asyncio.Event()

    @property
    def closed(self) -> bool:
        """True once `close()` was called."""
        return self._closed

    async def start(self) -> None:
        """Receive what was sent meanwhile, and go on receiving."""
        self._loop = asyncio.get_running_loop()
        self._started = True
        self.on_start()
        self._schedule()

    def post(self, message: Message | Batch, related: bytes | None = None) -> None:
        """Hand a message to the other end.

        Raises `LocalProtocolError` in another thread than that of the event loop.
        """
        refuse_when_closed(self._closed or self._sends_no_more, self.name)
        assert self.other is not None
        self.other.take(message)

    async def send(self, message: Message | Batch, related: bytes | None = None) -> None:
        """Hand a message over, and wait while the other end has too many."""
        self.post(message, related)
        assert self.other is not None
        await self.other.room()

    def take(self, message: Message | Batch) -> None:
        """Receive a message from the other end; dropped after the end, as a pipe would.

        Raises `LocalProtocolError` in another thread than that of the event loop, once it is started.
        """
        if self._closed:
            return
        self._refuse_elsewhere()
        self._inbox.append(message)
        if len(self._inbox) > self._high:
            self._room.clear()
        self._schedule()

    async def room(self) -> None:
        """Wait until the inbox has room."""
        await self._room.wait()

    def end_sending(self) -> None:
        """Send no more, and go on receiving: the other end hears the end of this direction."""
        if not self._sends_no_more:
            assert self.other is not None
            self.other.end()
            self._sends_no_more = True

    async def close(self) -> None:
        """End both directions: what was sent is delivered, then the other end hears the end."""
        if not self._closed:
            self._refuse_elsewhere()
            self.end_sending()
            self._closed = True
            self._inbox.clear()
            self._room.set()
            # Not from here: this may be inside another callback.
            asyncio.get_running_loop().call_soon(self._fire_close)
        await self._close_fired.wait()

    def end(self) -> None:
        """The other end sends no more; whoever of it waits for room need not."""
        self._refuse_elsewhere()
        self._ended = True
        self._room.set()
        self._schedule()

    def _refuse_elsewhere(self) -> None:
        if self._started:
            loop_here(self._loop, self.name)

    def _fire_close(self) -> None:
        call_back(self.callbacks.on_close, None)
        self._close_fired.set()

    def _schedule(self) -> None:
        if self._started and not self._scheduled and (self._inbox or self._ended):
            loop_here(self._loop, self.name).call_soon(self._deliver)
            self._scheduled = True

    def _deliver(self) -> None:
        self._scheduled = False
        for _ in range(len(self._inbox)):
            if not self._inbox:
                break  # closed by a callback
            call_back(self.callbacks.on_message, self._inbox.popleft())
        self._room.set()
        if self._inbox:
            self._schedule()
        elif self._ended and not self._closed:
            self._ended = False
            call_back(self.callbacks.on_end)


def memory_pair(limits: Limits = DEFAULT_LIMITS) -> tuple[MemoryTransport, MemoryTransport]:
    """Return two transports that are each other's peer: the client's end and the server's."""
    client, server = MemoryTransport("memory (client)", limits), MemoryTransport("memory (server)", limits)
    client.other, server.other = server, client
    return client, server


class PairListener(Generic[C, S]):
    """Accepts conversations from within the process, any number of them.

    `make_pair` gives the two ends of a new one: the client's and the server's.
    """

    def __init__(self, make_pair: Callable[[], tuple[C, S]]) -> None:
        self._make_pair = make_pair
        self._accept: Accept | None = None
        self._closed = asyncio.Event()
        self._accepted: list[S] = []

    def connect(self) -> C:
        """Open a conversation and return the client's end.  Raises `ConnectFailed` when nobody serves."""
        return self._open(self._make_pair)

    def _open(self, make_pair: Callable[[], tuple[C, S]]) -> C:
        if self._accept is None or self._closed.is_set():
            raise ConnectFailed("nobody serves this listener")
        client, server = make_pair()
        self._accepted = [each for each in self._accepted if not each.closed] + [server]
        self._accept(server)
        return client

    async def serve(self, accept: Accept) -> None:
        """Hand each conversation to `accept` until `close()`."""
        self._accept = accept
        await self._closed.wait()

    async def close(self) -> None:
        """Accept no more, end what was accepted."""
        self._closed.set()
        for transport in self._accepted:
            await transport.close()


class MemoryListener(PairListener[MemoryTransport, MemoryTransport]):
    """Accepts conversations over `memory_pair`."""

    def __init__(self, limits: Limits = DEFAULT_LIMITS) -> None:
        super().__init__(partial(memory_pair, limits))
