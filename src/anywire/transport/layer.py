"""A transport in front of another, which passes everything on."""

from __future__ import annotations

from collections.abc import MutableMapping, Sequence
from functools import partial
from typing import Any, TypeAlias

from anywire.errors import AnywireError
from anywire.protocol.http.mirrored import Mirror
from anywire.transport.contract import Callbacks, Detachable, Filling, Holding, Transport, Troubled
from anywire.wire.message import Batch, Fault, Message

__all__ = ("Layer", "Mirrors", "pass_on_pressure")

#: The arguments that headers repeat, by the name of the tool.
Mirrors: TypeAlias = MutableMapping[str, Sequence[Mirror]]


class Layer:
    """Passes everything on to another transport and from it.  See `transport.contract.Transport`.

    What is to be done otherwise is overridden.  Whoever listens may be replaced at any time.  What only
    some transports have (a child, `mirrors`, `trouble`) is found on this one where it is on the other.
    """

    def __init__(self, inner: Transport) -> None:
        self.callbacks = Callbacks()
        #: What this wire is called in errors.
        self.name: str = getattr(inner, "name", "the server")
        self._inner = inner
        pass_on_pressure(inner, self)
        # Of its own, where there is one: from Python 3.12 on `isinstance` does not ask `__getattr__`.
        if isinstance(inner, Detachable):
            self.detach = inner.detach
        if isinstance(inner, Troubled):
            self.trouble = inner.trouble
        inner.callbacks.on_message = self._tell
        inner.callbacks.on_error = self._tell_error
        inner.callbacks.on_failed = self._tell_failed
        inner.callbacks.on_reopened = self._tell_reopened
        inner.callbacks.on_end = self._tell_end
        inner.callbacks.on_close = self._tell_close

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self._inner!r}>"

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 whatever the other one has
        if name.startswith("_"):  # ours, before there is another
            raise AttributeError(name)
        return getattr(self._inner, name)

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


def pass_on_pressure(inner: object, outer: Any) -> None:  # noqa: ANN401 whatever wraps it
    """Let what wraps a transport hold and fill as that does, as far as it does either."""
    if isinstance(inner, Holding):
        outer.hold_reading, outer.release_reading = inner.hold_reading, inner.release_reading
    if isinstance(inner, Filling):
        outer.on_full, outer.on_room = inner.on_full, inner.on_room
        # Looked up when they are called: who is listening to them may change.
        inner.on_full, inner.on_room = partial(_call, outer, "on_full"), partial(_call, outer, "on_room")


def _call(owner: object, name: str) -> None:
    getattr(owner, name)()
