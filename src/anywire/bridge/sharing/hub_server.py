"""One server that several clients share, from its start to its end."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from copy import copy
from typing import TYPE_CHECKING

from anywire.bridge.noise import Noise
from anywire.bridge.pressure import Coupling
from anywire.bridge.recovery.respawn import left_in_order
from anywire.bridge.sharing.delivery import OURS, Delivery, Failed, Note, Reopened, ToClient, ToServer
from anywire.bridge.sharing.fair_queue import FairQueue
from anywire.errors import AnywireError, SpawnFailed, TransportClosed
from anywire.transport.contract import Transport, ignore
from anywire.transport.deadline import bounded
from anywire.wire.limits import Limits
from anywire.wire.message import Batch, Fault, Message, Request

if TYPE_CHECKING:
    from anywire.bridge.sharing.hub_connection import HubConnection
    from anywire.bridge.sharing.routes import Routes

__all__ = ("HubServer",)


class HubServer:
    """Does what the routes decide.  What is said to it before it has started waits, and goes in turns."""

    def __init__(
        self,
        make_target: Callable[[], Transport],
        routes: Routes,
        report: Callable[[str], None],
        limits: Limits,
    ) -> None:
        self._make_target = make_target
        self._routes = routes
        self._report = report
        self._limits = limits
        self._target: Transport | None = None
        self._connections: dict[int, HubConnection] = {}
        self._queue = FairQueue()
        self._started = False
        self._full = False
        self._pumping = False
        self._over = False
        self._noise: Noise | None = None
        #: When it had started, on the loop's clock; None: it never did.
        self.began: float | None = None
        #: When it ended by itself; None: it has not.
        self.lost: float | None = None
        #: Somebody asked it something.
        self.served = False
        #: It left in order while nobody was there.
        self.calm = False
        self._delayed = False
        #: Called when it does not read what is ours to say, and when it does again.
        self.on_full: Callable[[], None] = ignore
        self.on_room: Callable[[], None] = ignore
        self._starting: asyncio.Task[None] | None = None
        self._ending: asyncio.Task[None] | None = None

    def __repr__(self) -> str:
        state = "over" if self._over else "running" if self._started else "starting"
        return f"<HubServer {state}, {len(self._connections)} connections>"

    @property
    def over(self) -> bool:
        """Whether it takes nothing any more."""
        return self._over or self._ending is not None

    def start(self, before: HubServer | None, delay: float) -> None:
        """Start it in the background, when the one before it has ended and so many seconds are over."""
        self._starting = asyncio.get_running_loop().create_task(self._start(before, delay))

    async def _start(self, before: HubServer | None, delay: float) -> None:
        try:
            if before is not None:
                await before.close()
            self._delayed = True
            await asyncio.sleep(delay)
            self._delayed = False
            self._target = target = self._make_target()
            name = getattr(target, "name", "the server")
            self._listen(target, name)
            async with bounded(self._limits.connect_seconds, f"{name} did not start"):
                await target.start()
        except AnywireError as error:
            self._end(error)
        except Exception as error:  # noqa: BLE001 whoever waits must be told, whatever it was
            self._end(SpawnFailed(f"the server could not be started: {type(error).__name__}: {error}"))
        else:
            self._started = True
            self.began = asyncio.get_running_loop().time()
            self._pump()

    def _listen(self, target: Transport, name: str) -> None:
        callbacks = target.callbacks
        callbacks.on_message = lambda message: self._do(self._routes.from_server(message))
        callbacks.on_error = self._take_error
        callbacks.on_failed = lambda id, error: self._do(self._routes.failed(id, error))
        callbacks.on_reopened = lambda: self._do(self._routes.reopened())
        callbacks.on_end = lambda: self._end(TransportClosed(f"{name} closed the connection"))
        callbacks.on_close = self._end
        self._noise = Noise(target, name, self._report)
        Coupling(self).attach(target)

    # Connections.

    def attach(self, connection: HubConnection) -> None:
        """A connection speaks to this server from now on."""
        connection.server, connection.key = self, self._routes.join(connection.owner)
        self._connections[connection.key] = connection

    def take(self, connection: HubConnection, message: Message | Batch) -> None:
        """A connection has something to send."""
        self._do(self._routes.from_client(connection.key, message))

    def detach(self, connection: HubConnection) -> None:
        """A connection is gone."""
        if self._connections.pop(connection.key, None) is not None and not self._over:
            self._do(self._routes.leave(connection.key))
            if self._queue.size > self._limits.unread_bytes:
                self._queue.forget(connection.key)  # else those who come and go would fill it

    # Doing.

    def _do(self, deliveries: list[Delivery]) -> None:
        if self._over:
            return
        for delivery in deliveries:
            match delivery:
                case ToServer():
                    self._put(delivery)
                case ToClient(to=to, message=message):
                    if (connection := self._connections.get(to)) is not None:
                        connection.deliver(message)
                case Failed(to=to) | Reopened(to=to):
                    if (connection := self._connections.get(to)) is not None:
                        connection.deliver(delivery)
                case Note():
                    self._report(self._with_speaker(delivery.sentence))
        self._pump()

    def _with_speaker(self, sentence: str) -> str:
        """Several servers may stand behind this one; which of them is meant is known while it speaks."""
        speaker = getattr(self._target, "speaker", None)
        return sentence if speaker is None else f"{speaker}: {sentence}"

    def _put(self, delivery: ToServer) -> None:
        if delivery.cancels is not None and self._queue.withdraw(delivery.cancels):
            return  # it was never sent
        self._queue.put(delivery.of, delivery.message, ordered=delivery.ordered)
        if not self._started or self._full:
            self._level(delivery.of)

    def _level(self, key: int) -> None:
        """See whether too much of one waits; of ours it is the server who asks without reading."""
        waiting = self._queue.size_of(key)
        if key == OURS:
            (self.on_full if waiting > self._limits.write_high_bytes else self.on_room)()
        elif (connection := self._connections.get(key)) is not None:
            connection.level(waiting)

    def _pump(self) -> None:
        """Send what waits, as far as there is room."""
        if self._pumping:
            return
        self._pumping = True
        try:
            while self._started and not self._full and not self._over and (item := self._queue.take()):
                self._send(*item)
        finally:
            self._pumping = False

    def _send(self, key: int, message: Message) -> None:
        assert self._target is not None
        self.served = True
        try:
            self._target.post(message)
        except AnywireError as error:
            if isinstance(message, Request):
                self._do(self._routes.failed(message.id, error))
        self._level(key)

    def hold_reading(self, reason: str) -> None:
        """Take nothing more from the queue: the server does not read."""
        self._full = True

    def release_reading(self, reason: str) -> None:
        """It reads again."""
        self._full = False
        self._pump()

    def _take_error(self, error: Fault | AnywireError) -> None:
        if not isinstance(error, Fault):
            self._report(str(error))
            return
        deliveries = self._routes.fault_of_server(error)
        if deliveries is not None:
            self._do(deliveries)
            return
        if self._noise is not None:
            self._noise.hear(error)

    # The end.

    def _end(self, error: AnywireError | None) -> None:
        """It has ended: all who speak to it hear why."""
        if self._over:
            return
        self._over = True
        if self._ending is None:
            self.lost = asyncio.get_running_loop().time()
            self.calm = left_in_order(error) and not self._connections
        connections, self._connections = list(self._connections.values()), {}
        for connection in connections:
            connection.end(None if error is None else _own(error))
        if self._noise is not None:
            self._noise.end()
        self.finish()

    def finish(self) -> None:
        """End it in the background; `over` from now on."""
        if self._ending is None:
            self._ending = asyncio.get_running_loop().create_task(self._close())

    async def close(self) -> None:
        """Send what waits, as far as the server reads, and end it.  Idempotent, bounded in time."""
        self.finish()
        assert self._ending is not None
        await asyncio.shield(self._ending)

    async def _close(self) -> None:
        starting = self._starting
        if starting is not None and not starting.done():
            # What was told before its client left is still to arrive.
            await asyncio.wait([starting], timeout=0 if self._delayed else self._limits.connect_seconds)
            if not starting.done():
                starting.cancel()
                await asyncio.wait([starting])
        if self._target is not None:
            with contextlib.suppress(AnywireError):
                await self._target.close()
        self._end(None)


def _own(error: AnywireError) -> AnywireError:
    """Return a copy, for the one conversation that raises it: each raise adds to what is raised."""
    own = copy(error)
    own.__cause__ = error.__cause__
    return own
