"""A transport in front of another, which passes everything on."""

from __future__ import annotations

from collections.abc import Callable

from anywire.bridge.pressure import Filling, Holding
from anywire.transport.contract import Callbacks, Transport, ignore
from anywire.wire.message import Batch, Message

__all__ = ("Layer",)


class Layer:
    """Passes everything on to another transport and from it.  See `transport.contract.Transport`.

    What is to be done otherwise is overridden.
    """

    def __init__(self, inner: Transport) -> None:
        self._inner = inner
        #: What this wire is called in errors.
        self.name: str = getattr(inner, "name", "the server")

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self._inner!r}>"

    @property
    def callbacks(self) -> Callbacks:
        """The callbacks of the transport."""
        return self._inner.callbacks

    @callbacks.setter
    def callbacks(self, callbacks: Callbacks) -> None:
        self._inner.callbacks = callbacks

    @property
    def closed(self) -> bool:
        """Whether the transport has ended."""
        return self._inner.closed

    async def start(self) -> None:
        """Open the wire."""
        await self._inner.start()

    def post(self, message: Message | Batch, related: bytes | None = None) -> None:
        """Send without waiting for room."""
        self._inner.post(message, related)

    async def send(self, message: Message | Batch, related: bytes | None = None) -> None:
        """Send, and wait until there is room for the next message."""
        await self._inner.send(message, related)

    async def close(self) -> None:
        """End the wire."""
        await self._inner.close()

    # Back-pressure, as far as the transport has it.

    @property
    def on_full(self) -> Callable[[], None]:
        """What is called when too much waits to be written."""
        return self._inner.on_full if isinstance(self._inner, Filling) else ignore

    @on_full.setter
    def on_full(self, callback: Callable[[], None]) -> None:
        if isinstance(self._inner, Filling):
            self._inner.on_full = callback

    @property
    def on_room(self) -> Callable[[], None]:
        """What is called when there is room again."""
        return self._inner.on_room if isinstance(self._inner, Filling) else ignore

    @on_room.setter
    def on_room(self, callback: Callable[[], None]) -> None:
        if isinstance(self._inner, Filling):
            self._inner.on_room = callback

    def hold_reading(self, reason: str) -> None:
        """Stop receiving, where that can be."""
        if isinstance(self._inner, Holding):
            self._inner.hold_reading(reason)

    def release_reading(self, reason: str) -> None:
        """That reason holds no longer."""
        if isinstance(self._inner, Holding):
            self._inner.release_reading(reason)
