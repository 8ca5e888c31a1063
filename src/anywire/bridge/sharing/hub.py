"""Many clients behind one server: it is started when it is needed, shared, and ended when nobody is there.

To the server there is one client.  No client sees anything of another: ids, progress, subscriptions,
logs and questions of the server go to whom they belong, and to nobody where that cannot be told.  What
they do share is the server itself: what it keeps for its client, such as a working folder, it keeps
for all of them.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Hashable

from anywire.bridge.recovery.respawn import Respawn
from anywire.bridge.sharing.handshake import Declares
from anywire.bridge.sharing.hub_connection import HubConnection
from anywire.bridge.sharing.hub_server import HubServer
from anywire.bridge.sharing.routes import Routes
from anywire.errors import TransportClosed
from anywire.transport.contract import Transport
from anywire.wire.limits import DEFAULT_LIMITS, Limits
from anywire.wire.message import Batch, Message

__all__ = ("Declares", "Hub")


class Hub:
    """One server for all who `connect()`.

    `make_target` makes a transport to a server, each time one is needed; there is one at a time.
    `report` gets sentences for whoever runs the bridge.  `declares`: what the server is told its client
    can do.  `idle_seconds`: how long a server may run without any connection, None: for ever.  `name`
    is what it is called in errors.  `chance` gives numbers between 0 and 1, which spread the starts of lost
    servers.
    """

    def __init__(
        self,
        make_target: Callable[[], Transport],
        report: Callable[[str], None],
        limits: Limits = DEFAULT_LIMITS,
        *,
        declares: Declares = Declares.ALL,
        idle_seconds: float | None = None,
        name: str = "the server",
        chance: Callable[[], float] = random.random,
    ) -> None:
        self._make_target = make_target
        self._report = report
        self._limits = limits
        self._declares = declares
        self._idle_seconds = idle_seconds
        self._name = name
        self._chance = chance
        self._server: HubServer | None = None
        self._respawn = Respawn(limits)
        self._open: set[HubConnection] = set()
        self._idle: asyncio.TimerHandle | None = None
        self._closed = False

    def __repr__(self) -> str:
        return f"<Hub {self._server or 'without a server'}>"

    def __len__(self) -> int:
        return len(self._open)

    @property
    def name(self) -> str:
        """What the server is called in errors."""
        return self._name

    @property
    def running(self) -> bool:
        """Whether there is a server."""
        return self._server is not None and not self._server.over

    def connect(self, owner: Hashable) -> HubConnection:
        """Return a new conversation with the server, not started; costs nothing until it says something.

        Connections of one owner are one client to the hub: what belongs to that client alone goes to the
        one of them that asked last.  Raises `TransportClosed` after `close()`.
        """
        if self._closed:
            raise TransportClosed(f"{self._name} is not offered any more")
        return HubConnection(self, owner, self._limits)

    async def close(self) -> None:
        """End all connections and the server.  Idempotent."""
        self._closed = True
        self._stop_waiting()
        await asyncio.gather(*(connection.close() for connection in list(self._open)))
        if self._server is not None:
            await self._server.close()

    # What connections say.

    def opened(self, connection: HubConnection) -> None:
        """A connection is in use from now on."""
        self._open.add(connection)

    def take(self, connection: HubConnection, message: Message | Batch) -> None:
        """A connection has something to send."""
        if connection.server is None:
            self.opened(connection)
            self._needed().attach(connection)
        assert connection.server is not None
        connection.server.take(connection, message)

    def gone(self, connection: HubConnection) -> None:
        """A connection is not in use any more."""
        self._open.discard(connection)
        if connection.server is not None:
            connection.server.detach(connection)
        if not self._open and not self._closed and self._idle_seconds is not None and self.running:
            self._stop_waiting()
            loop = asyncio.get_running_loop()
            self._idle = loop.call_later(self._idle_seconds, self._end_idle)

    # The server.

    def _needed(self) -> HubServer:
        """Return the server, a new one where there is none."""
        before = self._server
        if before is not None and not before.over:
            return before
        routes = Routes(self._limits, self._declares)
        server = HubServer(self._make_target, routes, self._report, self._limits)
        self._server = server
        server.start(before, 0.0 if before is None else self._delay_after(before))
        return server

    def _delay_after(self, before: HubServer) -> float:
        """Return how many seconds the successor of a server waits; one that we ended costs it nothing."""
        if before.lost is None:
            return 0.0
        if before.began is not None:
            self._respawn.opened(before.began)
        self._respawn.lost(before.lost, served=before.served, calm=before.calm)
        delay = self._respawn.delay(self._chance())
        # Whoever comes next may be somebody else, so that it is not given up.
        return self._limits.restart_most_seconds if delay is None else delay

    def _end_idle(self) -> None:
        self._idle = None
        if self._server is not None and not self._open:
            self._server.finish()

    def _stop_waiting(self) -> None:
        if self._idle is not None:
            self._idle.cancel()
            self._idle = None
