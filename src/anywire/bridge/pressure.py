"""Back-pressure from one end of a bridge to the other.

Neither end may make the bridge grow: while one of them does not read, the other is not read from.
The calling end of the whole chain never stops reading, so this cannot lock.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Hashable

from anywire.transport.contract import Filling, Holding

__all__ = ("Coupling", "Fullness")

_CLIENT = "the client does not read"
_SERVER = "the server does not read"


class Coupling:
    """Lets the client's end and whatever is behind it at the time hold each other, as far as they can."""

    def __init__(self, client: object) -> None:
        self._client = client
        self._server: object = None
        self._full = False
        if isinstance(client, Filling):
            client.on_full = _both(client.on_full, self._client_full)
            client.on_room = _both(client.on_room, self._client_room)

    def attach(self, server: object) -> None:
        """Begin with a transport that has been started."""
        self._server = server
        client = self._client
        if isinstance(server, Filling) and isinstance(client, Holding):
            server.on_full = _both(server.on_full, lambda: client.hold_reading(_SERVER))
            server.on_room = _both(server.on_room, lambda: client.release_reading(_SERVER))
        if self._full:
            self._client_full()

    def detach(self) -> None:
        """The transport behind is lost: it holds nobody any more."""
        self._server = None
        if isinstance(self._client, Holding):
            self._client.release_reading(_SERVER)

    def _client_full(self) -> None:
        self._full = True
        if isinstance(self._server, Holding):
            self._server.hold_reading(_CLIENT)

    def _client_room(self) -> None:
        self._full = False
        if isinstance(self._server, Holding):
            self._server.release_reading(_CLIENT)


class Fullness:
    """Which of several wires behind one transport are full: while any of them is, that is."""

    def __init__(self, transport: Filling) -> None:
        self._transport = transport
        self._full: set[Hashable] = set()
        #: Set while none is; the transport sets it when it ends, so that nobody waits.
        self.room = asyncio.Event()
        self.room.set()

    def filled(self, wire: Hashable, full: bool) -> None:
        """Too much waits to be sent on one of them, or no longer; the transport tells when that matters."""
        before = bool(self._full)
        (self._full.add if full else self._full.discard)(wire)
        if self._full and not before:
            self.room.clear()
            self._transport.on_full()
        elif before and not self._full:
            self.room.set()
            self._transport.on_room()


def _both(first: Callable[[], None], second: Callable[[], None]) -> Callable[[], None]:
    def call() -> None:
        first()
        second()

    return call
