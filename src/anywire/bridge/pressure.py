"""Back-pressure from one end of a bridge to the other.

Neither end may make the bridge grow: while one of them does not read, the other is not read from.
The calling end of the whole chain never stops reading, so this cannot lock.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Protocol, runtime_checkable

from anywire.transport.contract import Holding

__all__ = ("Coupling", "Filling", "pass_on_pressure")

_CLIENT = "the client does not read"
_SERVER = "the server does not read"


@runtime_checkable
class Filling(Protocol):
    """A transport that tells when too much waits to be sent on it."""

    on_full: Callable[[], None]
    on_room: Callable[[], None]


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


def pass_on_pressure(inner: object, outer: Any) -> None:  # noqa: ANN401 whatever wraps it
    """Let what wraps a transport hold and fill as that does, as far as it does either."""
    if isinstance(inner, Holding):
        outer.hold_reading, outer.release_reading = inner.hold_reading, inner.release_reading
    if isinstance(inner, Filling):
        outer.on_full, outer.on_room = inner.on_full, inner.on_room
        # Looked up when they are called: `Coupling` puts others in their place.
        inner.on_full, inner.on_room = partial(_call, outer, "on_full"), partial(_call, outer, "on_room")


def _call(owner: object, name: str) -> None:
    getattr(owner, name)()


def _both(first: Callable[[], None], second: Callable[[], None]) -> Callable[[], None]:
    def call() -> None:
        first()
        second()

    return call
