"""Where a client and a server meet: the client's messages show its era, the server is asked for its own.

Then the way between them is known: straight on, or through a translator.  What is sent before waits, in
order.

* A client that shakes hands is passed on as it is.  Only if the server refuses its `initialize`, the server
  is asked whether it is of the other era.
* For a stateless client the server is asked first: a handshake server might execute what it is sent without
  one, and would not know what it has been told.

A client that gives up on one era and begins anew in the other is served in both.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Coroutine
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from anywire._version import __version__
from anywire.bridge.meeting.access import Access
from anywire.bridge.meeting.era import Era, ask_era
from anywire.bridge.meeting.opened import Opened
from anywire.bridge.streams import Relating
from anywire.bridge.translating.legacy_client import LegacyClientTransport
from anywire.bridge.translating.modern_client import ModernClientTransport
from anywire.errors import AnywireError, HttpStatusError
from anywire.protocol.modern import LATEST_STATELESS_REVISION, Envelope, claims_stateless, read_envelope
from anywire.protocol.types.initialize import ClientCapabilities, Implementation
from anywire.transport.contract import (
    Callbacks,
    Filling,
    Holding,
    Transport,
    call_back,
    ignore,
    refuse_when_closed,
)
from anywire.wire.message import (
    Batch,
    ErrorResponse,
    Fault,
    JsonRpcErrorCode,
    Message,
    Notification,
    Request,
    Response,
    error_reply,
    id_key,
)
from anywire.wire.peer import read_cancel

if TYPE_CHECKING:
    from anywire.bridge.meeting.upstream import Upstream

__all__ = ("MeetingTransport",)

#: So many messages wait while the way is looked for; then the client is not read any more.
_WAITING: Final = 1_000
#: Who asks on behalf of a client that has not said so.
_ASKING: Final = Envelope(
    LATEST_STATELESS_REVISION, ClientCapabilities(), Implementation("anywire", __version__)
)
_NO_BATCHES: Final = f"revision {LATEST_STATELESS_REVISION} has no batches; send each request alone"
# Before Python 3.12 a member is found anew in its enumeration each time.
_HANDSHAKE, _STATELESS = Era.HANDSHAKE, Era.STATELESS
#: What a server of the other era may answer to `initialize` over HTTP.
_REFUSALS: Final = frozenset({400, 404, 405})


class _Way:
    """The way of a client's messages of one era: a transport, or what waits until there is one."""

    def __init__(self) -> None:
        self.transport: Transport | None = None
        self.relating: Relating | None = None
        self.waiting: list[tuple[Message | Batch, bytes | None]] = []
        # The `initialize` whose answer shows whether the server shakes hands.
        self.initialize: Request | None = None

    def post(self, message: Message | Batch, related: bytes | None) -> None:
        if self.transport is None:
            self.waiting.append((message, related))
        else:
            self.transport.post(message, related)


class MeetingTransport:
    """One client's way to the server behind the bridge.  See `transport.contract.Transport`."""

    def __init__(self, upstream: Upstream, access: Access) -> None:
        self.callbacks = Callbacks()
        #: What this wire is called in errors.
        self.name = access.name
        self.on_full: Callable[[], None] = ignore
        self.on_room: Callable[[], None] = ignore
        self._upstream = upstream
        self._access = access
        self._ways: dict[Era, _Way] = {}
        self._opening: dict[Era, asyncio.Task[None]] = {}
        self._holds: set[str] = set()
        self._reason: AnywireError | None = None
        self._lost = False
        self._closing: asyncio.Task[None] | None = None

    def __repr__(self) -> str:
        eras = ", ".join(era.value for era in self._ways)
        return f"<MeetingTransport {self.name}, {eras or 'nobody yet'}>"

    @property
    def closed(self) -> bool:
        """True from the moment the server was lost or `close()` was called."""
        return self._lost or self._closing is not None

    @property
    def writes_stdout(self) -> bool:
        """Whether what comes in was written on the stdout of a child."""
        return self._upstream.is_child

    @property
    def related(self) -> bytes | None:
        """The raw id of the client's request that the message being handed over is about; None: not known."""
        for way in self._ways.values():
            if way.relating is not None and (related := way.relating.related) is not None:
                return related
        return None

    async def start(self) -> None:
        """Start the server, if it is for this client alone.  Raises `ConnectFailed`."""
        await self._access.start(self._server_lost)

    # Sending.

    def post(self, message: Message | Batch, related: bytes | None = None) -> None:
        """Send as soon as the way is known."""
        if self._lost or self._closing is not None:
            refuse_when_closed(self.closed, self.name, self._reason)
        if type(message) is Batch and self._refused(message):
            return
        if type(message) is Notification and self._ways and read_cancel(message) is not None:
            for way in self._ways.values():
                way.post(message, related)
            return
        way = self._way_of(message)
        if way.transport is not None:
            way.transport.post(message, related)
            return
        way.waiting.append((message, related))
        if len(way.waiting) == _WAITING:
            self.on_full()

    async def send(self, message: Message | Batch, related: bytes | None = None) -> None:
        """Send, and wait until there is room for the next message."""
        refuse_when_closed(self.closed, self.name, self._reason)
        if isinstance(message, Batch) and self._refused(message):
            return
        way = self._way_of(message)
        if way.transport is None:
            way.post(message, related)
        else:
            await way.transport.send(message, related)

    def _refused(self, batch: Batch) -> bool:
        """Refuse the requests of a batch that are of the era that has none; say whether there were any."""
        requests = [item for item in batch.items if isinstance(item, Request)]
        if not any(claims_stateless(request.params) for request in requests):
            return False
        for request in requests:
            reply = error_reply(request.id, JsonRpcErrorCode.InvalidRequest, _NO_BATCHES)
            call_back(self.callbacks.on_message, reply)
        return True

    def _way_of(self, message: Message | Batch) -> _Way:
        if type(message) is Request:
            if claims_stateless(message.params):
                return self._ways.get(_STATELESS) or self._begin(_STATELESS, message)
            if message.method == "initialize":
                return self._ways.get(_HANDSHAKE) or self._begin(_HANDSHAKE, message)
        known = self._ways.get(_HANDSHAKE) or self._ways.get(_STATELESS)
        return known or self._begin(_HANDSHAKE, message)

    # The way is looked for.

    def _begin(self, era: Era, message: Message | Batch) -> _Way:
        way = self._ways[era] = _Way()
        if era is Era.STATELESS:
            assert isinstance(message, Request)
            looking = self._for_stateless(message)
        else:
            if isinstance(message, Request) and message.method == "initialize":
                way.initialize = message
            looking = self._for_handshakes(way)
        self._look(era, looking)
        return way

    def _look(self, era: Era, looking: Coroutine[Any, Any, Transport]) -> None:
        self._opening[era] = asyncio.get_running_loop().create_task(self._open(era, looking))

    async def _open(self, era: Era, looking: Coroutine[Any, Any, Transport]) -> None:
        try:
            await self._take(self._ways[era], await looking)
        except AnywireError as error:
            self._server_lost(error)

    async def _for_handshakes(self, way: _Way) -> Transport:
        await self._stop_asking()
        if self._upstream.era is not Era.STATELESS:
            return self._access.line()
        way.initialize = None
        return self._understood(self._access.line())

    def _understood(self, line: Transport) -> Transport:
        mirrors = self._upstream.mirrors if self._upstream.is_mirrored else None
        return LegacyClientTransport(line, self._upstream.limits, mirrors=mirrors)

    async def _stop_asking(self) -> None:
        """A client that shakes hands while the server is asked for its era wants to know no more."""
        way, task = self._ways.get(Era.STATELESS), self._opening.get(Era.STATELESS)
        if way is None or task is None or task.done():
            return
        task.cancel()
        await asyncio.wait([task])
        del self._ways[Era.STATELESS]
        for message, _ in way.waiting:
            if isinstance(message, Request):
                error = AnywireError(f"{self.name} was not asked any more: the client has shaken hands")
                call_back(self.callbacks.on_failed, message.id, error)

    async def _for_stateless(self, first: Request) -> Transport:
        said = read_envelope(first.params)
        client = said if isinstance(said, Envelope) else _ASKING
        if await self._access.ask(client) is Era.STATELESS:
            return self._access.line()
        connect = self._access.conversations(client, first.method)
        return ModernClientTransport(connect, self._upstream.held, self._upstream.limits, name=self.name)

    async def _take(self, way: _Way, transport: Transport) -> None:
        """Put a transport on the way, and send what has waited."""
        callbacks = transport.callbacks
        callbacks.on_error = self._tell_error
        callbacks.on_reopened = self._tell_reopened
        callbacks.on_close = self._server_lost
        self._pass_on(callbacks)
        if way.initialize is not None:
            callbacks.on_message = partial(self._first_answer, way, way.initialize, callbacks)
            callbacks.on_failed = partial(self._first_failure, way, way.initialize, callbacks)
        self._share_pressure(transport)
        await transport.start()
        way.transport = transport
        way.relating = transport if isinstance(transport, Relating) else None
        waiting, way.waiting = way.waiting, []
        for message, related in waiting:
            if not transport.closed:
                transport.post(message, related)
        if len(waiting) >= _WAITING:
            self.on_room()

    def _pass_on(self, callbacks: Callbacks) -> None:
        callbacks.on_message = self._tell
        callbacks.on_failed = self._tell_failed

    # Whoever listens may be replaced.

    def _tell(self, message: Message | Batch) -> None:
        self.callbacks.on_message(message)

    def _tell_failed(self, id: bytes, error: AnywireError) -> None:
        self.callbacks.on_failed(id, error)

    def _tell_error(self, error: Fault | AnywireError) -> None:
        self.callbacks.on_error(error)

    def _tell_reopened(self) -> None:
        self.callbacks.on_reopened()

    # The answer to `initialize`.

    def _first_answer(
        self, way: _Way, initialize: Request, callbacks: Callbacks, message: Message | Batch
    ) -> None:
        if not isinstance(message, Response | ErrorResponse) or message.id is None:
            call_back(self.callbacks.on_message, message)
        elif id_key(message.id) == id_key(initialize.id):
            self._pass_on(callbacks)
            say = partial(self._tell, message)
            if isinstance(message, Response):
                self._upstream.era = Era.HANDSHAKE
                say()
            else:
                self._reconsider(way, initialize, say)

    def _first_failure(
        self, way: _Way, initialize: Request, callbacks: Callbacks, id: bytes, error: AnywireError
    ) -> None:
        say = partial(self._tell_failed, id, error)
        if id_key(id) != id_key(initialize.id):
            say()
            return
        self._pass_on(callbacks)
        if isinstance(error, HttpStatusError) and error.status in _REFUSALS:
            self._reconsider(way, initialize, say)
        else:
            say()

    def _reconsider(self, way: _Way, initialize: Request, say: Callable[[], None]) -> None:
        """The server refuses to shake hands: `say` what it said, unless it is of the other era."""
        way.initialize = None
        if self._upstream.era is Era.HANDSHAKE:
            say()
            return
        refusing, way.transport, way.relating = way.transport, None, None
        assert refusing is not None
        way.waiting.insert(0, (initialize, None))
        self._look(Era.HANDSHAKE, self._for_refused(way, refusing, say))

    async def _for_refused(self, way: _Way, refusing: Transport, say: Callable[[], None]) -> Transport:
        line = Opened(refusing, self._server_lost)
        era = self._upstream.era  # another client may have found it out meanwhile
        if era is None:
            with contextlib.suppress(AnywireError):
                era = await ask_era(line, _ASKING, self._upstream.limits)
        if era is not Era.STATELESS:
            del way.waiting[0]
            say()
            return line
        self._upstream.era = era
        return self._understood(line)

    # Back-pressure.

    def _share_pressure(self, transport: Transport) -> None:
        if isinstance(transport, Filling):
            transport.on_full, transport.on_room = self._full, self._room
        if isinstance(transport, Holding):
            for reason in self._holds:
                transport.hold_reading(reason)

    def _full(self) -> None:
        self.on_full()

    def _room(self) -> None:
        self.on_room()

    def hold_reading(self, reason: str) -> None:
        """Hand nothing on, for one of several reasons that may hold at once."""
        self._holds.add(reason)
        for holding in self._holding():
            holding.hold_reading(reason)

    def release_reading(self, reason: str) -> None:
        """That reason holds no longer."""
        self._holds.discard(reason)
        for holding in self._holding():
            holding.release_reading(reason)

    def _holding(self) -> list[Holding]:
        return [way.transport for way in self._ways.values() if isinstance(way.transport, Holding)]

    # The end.

    def _server_lost(self, error: AnywireError | None) -> None:
        if not self.closed:
            self._lost, self._reason = True, error
            call_back(self.callbacks.on_close, error)

    async def close(self) -> None:
        """End the ways, and the server where it was for this client alone."""
        if self._closing is None:
            self._closing = asyncio.get_running_loop().create_task(self._close())
        await asyncio.shield(self._closing)

    async def _close(self) -> None:
        for task in self._opening.values():
            task.cancel()
        if self._opening:
            await asyncio.wait(self._opening.values())
        for way in self._ways.values():
            if way.transport is not None:
                await way.transport.close()
        await self._access.close()
        if not self._lost:
            self._lost = True
            call_back(self.callbacks.on_close, None)
