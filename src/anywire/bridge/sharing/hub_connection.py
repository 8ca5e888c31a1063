"""One client's way to a server that it shares with others, as a transport."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Hashable
from typing import TYPE_CHECKING, Protocol, TypeAlias

from anywire.bridge.sharing.delivery import Failed, Reopened
from anywire.bridge.sharing.fair_queue import size_of
from anywire.errors import AnywireError, LimitExceeded
from anywire.transport.contract import Callbacks, call_back, ignore, refuse_when_closed
from anywire.wire.limits import Limits
from anywire.wire.message import Batch, Message

if TYPE_CHECKING:
    from anywire.bridge.sharing.hub_server import HubServer

__all__ = ("Exchange", "HubConnection")

#: What comes in on a connection.
_Incoming: TypeAlias = Message | Batch | Failed | Reopened


class Exchange(Protocol):
    """What a connection needs of its hub."""

    @property
    def name(self) -> str:
        """What the server is called in errors."""
        ...

    def opened(self, connection: HubConnection) -> None:
        """A connection is in use from now on."""
        ...

    def take(self, connection: HubConnection, message: Message | Batch) -> None:
        """A connection has something to send."""
        ...

    def gone(self, connection: HubConnection) -> None:
        """A connection is not in use any more."""
        ...


class HubConnection:
    """A conversation with the server of a hub; made by `Hub.connect`.

    See `anywire.transport.contract.Transport`.  The first message starts the server where none is
    running.  When it ends, the connection ends with the reason, which settles all that was asked on it.
    """

    def __init__(self, hub: Exchange, owner: Hashable, limits: Limits) -> None:
        self.callbacks = Callbacks()
        #: Whose it is.
        self.owner = owner
        #: Called when too much of it waits to be sent, and when there is room again.
        self.on_full: Callable[[], None] = ignore
        self.on_room: Callable[[], None] = ignore
        #: The server that it speaks to since its first message, and the key it has there.
        self.server: HubServer | None = None
        self.key = 0
        self._hub = hub
        self._limits = limits
        self._started = False
        self._closed = False
        self._reason: AnywireError | None = None
        self._over: asyncio.Event | None = None
        self._inbox: deque[_Incoming] = deque()
        self._unread = 0
        self._holds: set[str] = set()
        self._scheduled = False
        self._room = asyncio.Event()
        self._room.set()

    def __repr__(self) -> str:
        return f"<HubConnection of {self.owner!r}, {'closed' if self._closed else 'open'}>"

    @property
    def name(self) -> str:
        """What the server is called in errors."""
        return self._hub.name

    @property
    def closed(self) -> bool:
        """True from the moment `close()` was called or the server ended."""
        return self._closed

    async def start(self) -> None:
        """Be ready; the server is started with the first message that somebody sends."""
        refuse_when_closed(self._closed, self.name, self._reason)
        self._started = True
        self._hub.opened(self)
        self._schedule()

    def post(self, message: Message | Batch, related: bytes | None = None) -> None:
        """Send without waiting for room."""
        refuse_when_closed(self._closed, self.name, self._reason)
        self._hub.take(self, message)

    async def send(self, message: Message | Batch, related: bytes | None = None) -> None:
        """Send, and wait while too much of this connection waits to be sent."""
        self.post(message)
        if not self._room.is_set():
            await self._room.wait()

    # Pressure.

    def level(self, waiting: int) -> None:
        """So many bytes of it wait to be sent: hold whoever sends, let go of them, or end it."""
        if waiting > self._limits.unread_bytes:
            text = f"{self.name} does not read: more than {self._limits.unread_bytes} bytes wait for it"
            self.end(LimitExceeded(text))
        elif waiting > self._limits.write_high_bytes and self._room.is_set():
            self._room.clear()
            self.on_full()
        elif waiting <= self._limits.write_low_bytes and not self._room.is_set():
            self._room.set()
            self.on_room()

    def hold_reading(self, reason: str) -> None:
        """Receive no more, for one of several reasons that may hold at once.

        What comes meanwhile waits here, up to `Limits.unread_bytes`: the server is there for others, too.
        """
        self._holds.add(reason)

    def release_reading(self, reason: str) -> None:
        """That reason holds no longer."""
        self._holds.discard(reason)
        self._schedule()

    # In.

    def deliver(self, incoming: _Incoming) -> None:
        """Take something that came for it."""
        if self._closed:
            return
        self._inbox.append(incoming)
        self._unread += _size(incoming)
        if self._unread > self._limits.unread_bytes:
            self._inbox.clear()
            text = f"the client does not read: more than {self._limits.unread_bytes} bytes wait for it"
            self.end(LimitExceeded(text))
        self._schedule()

    def _schedule(self) -> None:
        ready = self._started and self._inbox and (self._closed or not self._holds)
        if not self._scheduled and (ready or self._closed):
            self._scheduled = True
            # Not from here: this may be inside a callback of this connection.
            asyncio.get_running_loop().call_soon(self._deliver)

    def _deliver(self) -> None:
        self._scheduled = False
        for _ in range(len(self._inbox)):
            if not self._inbox or not self._started or (self._holds and not self._closed):
                break  # a callback has closed it, or holds it
            incoming = self._inbox.popleft()
            self._unread -= _size(incoming)
            self._hand_on(incoming)
        if self._closed and not self._inbox:
            self._finish()
        else:
            self._schedule()

    def _hand_on(self, incoming: _Incoming) -> None:
        if isinstance(incoming, Failed):
            call_back(self.callbacks.on_failed, incoming.id, incoming.error)
        elif isinstance(incoming, Reopened):
            call_back(self.callbacks.on_reopened)
        else:
            call_back(self.callbacks.on_message, incoming)

    # The end.

    def end(self, error: AnywireError | None) -> None:
        """The server has ended, or the hub lets go of this connection: what has come is still handed on."""
        if self._closed:
            return
        self._closed, self._reason = True, error
        self._over = asyncio.Event()
        if not self._started:
            self._inbox.clear()
        self._hub.gone(self)
        self._release_senders()
        self._schedule()

    async def close(self) -> None:
        """Leave: what was asked is taken back, what was told still goes to the server."""
        self.end(None)
        self._inbox.clear()
        self._schedule()
        assert self._over is not None
        await self._over.wait()

    def _release_senders(self) -> None:
        if not self._room.is_set():
            self._room.set()
            self.on_room()

    def _finish(self) -> None:
        assert self._over is not None
        if not self._over.is_set():
            call_back(self.callbacks.on_close, self._reason)
            self._over.set()


def _size(incoming: _Incoming) -> int:
    return 0 if isinstance(incoming, Failed | Reopened) else size_of(incoming)
