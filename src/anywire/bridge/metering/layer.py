"""A meter around a transport to a server: everything passes, and is counted."""

from __future__ import annotations

import time
from collections.abc import Callable

from anywire.bridge.metering.conversation import MeteredConversation
from anywire.bridge.metering.meter import ServerMeter
from anywire.bridge.noise import writes_stdout
from anywire.errors import AnywireError, TransportError
from anywire.transport.contract import Transport
from anywire.transport.layer import Layer
from anywire.wire.message import Batch, Fault, Message

__all__ = ("MeterLayer",)


class MeterLayer(Layer):
    """Feeds a meter.  It stands right around the raw transport, below whatever translates or shares it.

    `clock` gives the time, in seconds, as the meter's owner does.
    """

    def __init__(
        self, inner: Transport, meter: ServerMeter, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        super().__init__(inner)
        self._clock = clock
        self._conversation = MeteredConversation(meter, is_child=writes_stdout(inner))
        self._closing = False

    async def start(self) -> None:
        """Open the wire."""
        self._conversation.starting(self._clock())
        try:
            await self._inner.start()
        except AnywireError as error:
            self._conversation.lost(error, self._clock())
            raise
        except BaseException:
            self._conversation.ended(self._clock())
            raise
        self._conversation.started(self._clock())

    def post(self, message: Message | Batch, related: bytes | None = None) -> None:
        """Send without waiting for room."""
        self._conversation.sent(message, self._clock())
        try:
            self._inner.post(message, related)
        except TransportError:
            self._conversation.unsent(message)
            raise

    async def send(self, message: Message | Batch, related: bytes | None = None) -> None:
        """Send, and wait until there is room for the next message."""
        self._conversation.sent(message, self._clock())
        try:
            await self._inner.send(message, related)
        except TransportError:
            self._conversation.unsent(message)
            raise

    async def close(self) -> None:
        """End the wire."""
        self._closing = True
        try:
            await self._inner.close()
        finally:
            self._conversation.ended(self._clock())

    def _tell(self, message: Message | Batch) -> None:
        self._conversation.received(message, self._clock())
        self.callbacks.on_message(message)

    def _tell_error(self, error: Fault | AnywireError) -> None:
        self._conversation.fault(error, self._clock())
        self.callbacks.on_error(error)

    def _tell_failed(self, id: bytes, error: AnywireError) -> None:
        self._conversation.failed(id, error, self._clock())
        self.callbacks.on_failed(id, error)

    def _tell_reopened(self) -> None:
        self._conversation.reopened()
        self.callbacks.on_reopened()

    def _tell_close(self, error: AnywireError | None) -> None:
        if self._closing:
            self._conversation.ended(self._clock())
        else:
            self._conversation.lost(error, self._clock())
        self.callbacks.on_close(error)
