"""A transport that is open before anybody listens: what comes meanwhile is kept for whoever will."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Final

from anywire.errors import AnywireError, ConnectFailed
from anywire.transport.contract import Holding, Transport, call_back
from anywire.transport.layer import Layer
from anywire.wire.message import Batch, Fault, Message

__all__ = ("Opened",)

#: So much is kept; then the transport is not read from, if it can be held.
_KEPT: Final = 100
_REASON: Final = "nobody listens yet"


class Opened(Layer):
    """Passes everything on, from `start()` on; `lost` hears of the end until somebody else listens."""

    def __init__(self, inner: Transport, lost: Callable[[AnywireError | None], None]) -> None:
        super().__init__(inner)
        self._kept: list[Callable[[], None]] = []
        self.callbacks.on_message = self._keep_message
        self.callbacks.on_error = self._keep_error
        self.callbacks.on_close = lost

    async def open(self) -> None:
        """Open the wire.  Raises what that raises."""
        await self._inner.start()

    async def start(self) -> None:
        """Hand on what has come, to who listens by now.  Raises `ConnectFailed` where the wire has ended."""
        if self.closed:
            raise ConnectFailed(f"{self.name} has ended")
        kept, self._kept = self._kept, []
        for tell in kept:
            tell()
        if isinstance(self._inner, Holding):
            self._inner.release_reading(_REASON)

    def _keep_message(self, message: Message | Batch) -> None:
        self._keep(partial(self._tell, message))

    def _keep_error(self, error: Fault | AnywireError) -> None:
        self._keep(partial(self._tell_error, error))

    def _keep(self, tell: Callable[[], None]) -> None:
        if len(self._kept) < _KEPT:
            self._kept.append(partial(call_back, tell))
        if len(self._kept) == _KEPT and isinstance(self._inner, Holding):
            self._inner.hold_reading(_REASON)
