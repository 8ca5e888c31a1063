"""A transport in front of another, which passes everything on."""

from __future__ import annotations

from collections.abc import MutableMapping, Sequence
from typing import TypeAlias

from anywire.bridge.pressure import pass_on_pressure
from anywire.protocol.http.mirrored import Mirror
from anywire.transport.contract import Callbacks, Transport
from anywire.wire.message import Batch, Message

__all__ = ("Layer", "Mirrors")

#: The arguments that headers repeat, by the name of the tool.
Mirrors: TypeAlias = MutableMapping[str, Sequence[Mirror]]


class Layer:
    """Passes everything on to another transport and from it.  See `transport.contract.Transport`.

    What is to be done otherwise is overridden.
    """

    def __init__(self, inner: Transport) -> None:
        self._inner = inner
        #: What this wire is called in errors.
        self.name: str = getattr(inner, "name", "the server")
        pass_on_pressure(inner, self)

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

    @property
    def mirrors(self) -> Mirrors:
        """The arguments that headers repeat, which wires over HTTP have; others raise `AttributeError`."""
        return getattr(self._inner, "mirrors")  # noqa: B009 it is no part of the contract

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
