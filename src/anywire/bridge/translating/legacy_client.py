"""A stateless server, made into one that shakes hands: a transport around the transport to it.

What `anywire.protocol.translate.legacy_client` decides is done here, on the loop's clock.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Sequence
from secrets import token_hex
from typing import Final

from anywire.errors import AnywireError, TransportClosed, TransportError
from anywire.protocol.translate.effect import Effect, Failed, Noise, ToClient, ToServer
from anywire.protocol.translate.legacy_client import LegacyClient
from anywire.transport.contract import Callbacks, Transport, call_back, refuse_when_closed
from anywire.transport.layer import Mirrors, pass_on_pressure
from anywire.wire.limits import DEFAULT_LIMITS, Limits
from anywire.wire.message import Batch, Fault, Message, Notification, Request

__all__ = ("LegacyClientTransport",)

# Over HTTP two requests have two ways, and one may be later than the other by so much.  What is behind
# `inner` may be HTTP where it does not look so: a hub has a server in common for several.
_LINGER_SECONDS: Final = 0.25


class LegacyClientTransport:
    """See `anywire.transport.contract.Transport`.  `inner` leads to a server of the stateless era.

    Who holds it speaks the handshake era: shakes hands, may be asked things, hears of changes without more
    ado.  `mirrors` is that of the transport, where it is one over HTTP.
    """

    def __init__(
        self, inner: Transport, limits: Limits = DEFAULT_LIMITS, *, mirrors: Mirrors | None = None
    ) -> None:
        self.callbacks = Callbacks()
        #: What the server is called in errors.
        self.name: str = getattr(inner, "name", "the server")
        #: The raw id of the client's request that the message being handed over is about; None: not known.
        self.related: bytes | None = None
        self._inner = inner
        self._machine = LegacyClient(
            limits,
            # Another transport may take this one's place, and late answers to this one are not for that.
            name=f"anywire-{token_hex(4)}",
            linger=_LINGER_SECONDS,
            mirrors=mirrors,
        )
        self._due: deque[ToClient | Failed | Noise | AnywireError | None] = deque()
        self._handing_over = False
        self._timer: asyncio.TimerHandle | None = None
        pass_on_pressure(inner, self)
        callbacks = inner.callbacks
        callbacks.on_message = self._received
        callbacks.on_error = self._troubled
        callbacks.on_failed = self._failed
        callbacks.on_end = self._ended
        callbacks.on_close = self._was_closed

    def __repr__(self) -> str:
        return f"<LegacyClientTransport {self.name}, {self._machine!r}>"

    @property
    def closed(self) -> bool:
        """True from the moment `close()` was called or the wire to the server ended."""
        return self._inner.closed

    async def start(self) -> None:
        """Open the wire to the server.  Raises what that raises."""
        await self._inner.start()

    # From the client.

    def post(self, message: Message | Batch, related: bytes | None = None) -> None:
        """Take a message of the client's without waiting for room."""
        for outgoing in self._take(message):
            self._send(outgoing)

    async def send(self, message: Message | Batch, related: bytes | None = None) -> None:
        """Take a message of the client's; return when there is room for the next."""
        *first, last = [None, *self._take(message)]
        for outgoing in first:
            if outgoing is not None:
                self._send(outgoing)
        if last is not None:
            await self._inner.send(last)

    def _take(self, message: Message | Batch) -> list[Request | Notification]:
        """Return what goes to the server; what is for the client is handed over soon."""
        refuse_when_closed(self.closed, self.name)
        loop = asyncio.get_running_loop()
        outgoing = self._sort(self._machine.from_client(message, loop.time()))
        if self._due:
            loop.call_soon(self._hand_over)  # not from here: this may be inside a callback
        return outgoing

    # From the server.

    def _received(self, message: Message | Batch) -> None:
        self._perform(self._machine.from_server(message, self._now()))

    def _troubled(self, error: Fault | AnywireError) -> None:
        if isinstance(error, Fault):
            self._perform(self._machine.from_server(error, self._now()))
        else:
            self._perform([Noise(error)])

    def _failed(self, id: bytes, error: AnywireError) -> None:
        self._perform(self._machine.failed(id, error, self._now()))

    def _ended(self) -> None:
        self._perform(self._machine.close(TransportClosed(f"{self.name} sends no more")))
        call_back(self.callbacks.on_end)

    def _was_closed(self, error: AnywireError | None) -> None:
        effects = self._machine.close(error or TransportClosed(f"{self.name} is closed"))
        self._due.extend(each for each in effects if not isinstance(each, ToServer))
        self._due.append(error)
        self._watch_the_clock()
        self._hand_over()

    # What is to be done.

    def _perform(self, effects: Sequence[Effect]) -> None:
        for outgoing in self._sort(effects):
            self._send(outgoing)
        self._hand_over()

    def _sort(self, effects: Sequence[Effect]) -> list[Request | Notification]:
        """Put what is for the client in line; return what is for the server."""
        outgoing: list[Request | Notification] = []
        for effect in effects:
            if isinstance(effect, ToServer):
                outgoing.append(effect.message)
            else:
                self._due.append(effect)
        self._watch_the_clock()
        return outgoing

    def _send(self, message: Request | Notification) -> None:
        try:
            self._inner.post(message)
        except TransportError as error:
            if isinstance(message, Request):
                self._perform(self._machine.failed(message.id, error, self._now()))

    def _hand_over(self) -> None:
        """Hand over what is in line; a callback that leads here again finds it being done."""
        if self._handing_over:
            return
        self._handing_over = True
        while self._due:
            self._hand(self._due.popleft())
        self._handing_over = False

    def _hand(self, due: ToClient | Failed | Noise | AnywireError | None) -> None:
        callbacks = self.callbacks
        match due:
            case ToClient():
                self.related = due.related
                call_back(callbacks.on_message, due.message)
                self.related = None
            case Failed():
                call_back(callbacks.on_failed, due.id, due.error)
            case Noise():
                call_back(callbacks.on_error, due.error)
            case _:
                call_back(callbacks.on_close, due)

    # Time, and the end.

    def _now(self) -> float:
        return asyncio.get_running_loop().time()

    def _watch_the_clock(self) -> None:
        deadline = None if self.closed else self._machine.deadline()
        if self._timer is not None:
            if self._timer.when() == deadline:
                return
            self._timer.cancel()
            self._timer = None
        if deadline is not None:
            self._timer = asyncio.get_running_loop().call_at(deadline, self._tick)

    def _tick(self) -> None:
        self._timer = None
        self._perform(self._machine.tick(self._now()))

    async def close(self) -> None:
        """End the wire to the server; what the client has asked is settled before `on_close`."""
        await self._inner.close()
        self._hand_over()
        self._watch_the_clock()
