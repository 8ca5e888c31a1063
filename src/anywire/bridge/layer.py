"""A transport in front of another, which passes everything on."""

from __future__ import annotations

from collections.abc import MutableMapping, Sequence
from typing import TypeAlias

from anywire.bridge.noise import writes_stdout
from anywire.bridge.pressure import pass_on_pressure
from anywire.errors import AnywireError
from anywire.protocol.http.mirrored import Mirror
from anywire.transport.contract import Callbacks, Transport
from anywire.transport.process import ChildProcess
from anywire.wire.message import Batch, Fault, Message

__all__ = ("Layer", "Mirrors")

#: The arguments that headers repeat, by the name of the tool.
Mirrors: TypeAlias = MutableMapping[str, Sequence[Mirror]]


class Layer:
    """Passes everything on to another transport and from it.  See `transport.contract.Transport`.

    What is to be done otherwise is overridden.  Whoever listens may be replaced at any time.
    """

    def __init__(self, inner: Transport) -> None:
        self.callbacks = Callbacks()
        #: What this wire is called in errors.
        self.name: str = getattr(inner, "name", "the server")
        self._inner = inner
        pass_on_pressure(inner, self)
        inner.callbacks.on_message = self._tell
        inner.callbacks.on_error = self._tell_error
        inner.callbacks.on_failed = self._tell_failed
        inner.callbacks.on_reopened = self._tell_reopened
        inner.callbacks.on_end = self._tell_end
        inner.callbacks.on_close = self._tell_close

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self._inner!r}>"

    @property
    def closed(self) -> bool:
        """Whether the transport has ended."""
        return self._inner.closed

    @property
    def mirrors(self) -> Mirrors:
        """The arguments that headers repeat, which wires over HTTP have; others raise `AttributeError`."""
        return getattr(self._inner, "mirrors")  # noqa: B009 it is no part of the contract

    @mirrors.setter
    def mirrors(self, mirrors: Mirrors) -> None:
        setattr(self._inner, "mirrors", mirrors)  # noqa: B010 it is no part of the contract

    @property
    def child(self) -> ChildProcess | None:
        """The process behind, which wires to one have; others raise `AttributeError`."""
        return getattr(self._inner, "child")  # noqa: B009 it is no part of the contract

    @property
    def writes_stdout(self) -> bool:
        """Whether what comes in was written on the stdout of a child."""
        return writes_stdout(self._inner)

    @property
    def related(self) -> bytes | None:
        """The raw id of the client's request that the message being handed over is about; None: not known."""
        return getattr(self._inner, "related", None)

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

    def _tell(self, message: Message | Batch) -> None:
        self.callbacks.on_message(message)

    def _tell_error(self, error: Fault | AnywireError) -> None:
        self.callbacks.on_error(error)

    def _tell_failed(self, id: bytes, error: AnywireError) -> None:
        self.callbacks.on_failed(id, error)

    def _tell_reopened(self) -> None:
        self.callbacks.on_reopened()

    def _tell_end(self) -> None:
        self.callbacks.on_end()

    def _tell_close(self, error: AnywireError | None) -> None:
        self.callbacks.on_close(error)
