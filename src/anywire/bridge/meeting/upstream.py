"""The server behind a bridge: how it is reached, which era it is of, and who has a share of it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from enum import Enum
from typing import TYPE_CHECKING

from anywire.bridge.meeting.access import OwnServer, SharedServer
from anywire.bridge.meeting.era import Era, ask_era
from anywire.bridge.meeting.meeting import MeetingTransport
from anywire.bridge.meeting.mirroring import MirroringTransport
from anywire.bridge.noise import writes_stdout
from anywire.bridge.policy.layer import PolicyLayer
from anywire.bridge.policy.notices import Notices
from anywire.bridge.policy.pattern import Kind
from anywire.bridge.sharing.hub import Hub
from anywire.bridge.sharing.lanes import Lanes
from anywire.bridge.translating.held_connections import HeldConnections
from anywire.transport.contract import Transport
from anywire.wire.limits import DEFAULT_LIMITS, Limits

if TYPE_CHECKING:
    from collections.abc import Sequence

    from anywire.bridge.policy.policy import Policy
    from anywire.protocol.http.mirrored import Mirror
    from anywire.protocol.modern import Envelope

__all__ = ("Sharing", "Upstream")


class Sharing(Enum):
    """Who has a server in common with others."""

    #: Nobody: each client says who it is, and a server might keep it.
    NOBODY = "nobody"
    #: Requests that stand for themselves, each on an HTTP request of its own: one server, or a few where it
    #: shakes hands (`Lanes`).  A session has its own.
    STATELESS = "stateless"
    #: All clients.
    ALL = "all"


class Upstream:
    """One server, or as many as it takes of one kind.  Its owner closes it.

    `make` makes a transport to the server, not started.  `era` is that of the server where it is known.
    `policy` says what of the server is there for its clients; without one everything is.
    """

    def __init__(
        self,
        make: Callable[[], Transport],
        report: Callable[[str], None],
        limits: Limits = DEFAULT_LIMITS,
        *,
        sharing: Sharing = Sharing.STATELESS,
        era: Era | None = None,
        policy: Policy | None = None,
    ) -> None:
        self._make = make
        self.report = report
        self.limits = limits
        self.era = era
        self._sharing = sharing
        self._policy = policy
        self._notices = Notices(report)
        self._hub: Hub | None = None
        self._lanes: Lanes | None = None
        self._asking = asyncio.Lock()
        self._asked: OwnServer | None = None
        #: The arguments that headers repeat, as far as lists of tools have told.
        self.mirrors: dict[str, Sequence[Mirror]] = {}
        #: Calls that wait for their client's input, whichever connection it comes on.
        self.held = HeldConnections(limits)
        #: What the server is called in errors.
        self.name = "the server behind the bridge"
        #: Whether it is a child of ours.
        self.is_child = False
        self._first: Transport | None = None
        self._mirrored: bool | None = None

    def make(self) -> Transport:
        """Return a transport to the server, not started."""
        transport, self._first = self._first or self._made(), None
        if not self._mirrored:
            return transport
        setattr(transport, "mirrors", self.mirrors)  # noqa: B010 no other transport has it
        return MirroringTransport(transport, self.mirrors)

    @property
    def is_mirrored(self) -> bool:
        """Whether requests to the server have headers that repeat arguments: over HTTP."""
        if self._mirrored is None:
            self._first = self._made()
        return bool(self._mirrored)

    def _made(self) -> Transport:
        transport = self._make()
        self.name = getattr(transport, "name", self.name)
        self.is_child = writes_stdout(transport)
        self._mirrored = hasattr(transport, "mirrors")
        return transport

    def target(self) -> Transport:
        """Return the way of a session to the server, not started."""
        return self._way(shared=self._sharing is Sharing.ALL)

    def shared_target(self) -> Transport:
        """Return the way of a request that stands for itself, not started."""
        return self._way(shared=self._sharing is not Sharing.NOBODY)

    def _way(self, *, shared: bool) -> Transport:
        way = MeetingTransport(self, SharedServer(self, object()) if shared else OwnServer(self))
        return way if self._policy is None else PolicyLayer(way, self._policy, self._notices)

    def mirrors_of(self, tool: str) -> Sequence[Mirror]:
        """Return the arguments of a tool that headers repeat; of one that is hidden nothing is known."""
        if self._policy is not None and self._policy.reason(Kind.TOOL, tool) is not None:
            return ()
        return self.mirrors.get(tool, ())

    @property
    def hub(self) -> Hub:
        """The server that is shared, as its hub."""
        if self._hub is None:
            idle = self.limits.session_idle_seconds
            self._hub = Hub(self._make_shared, self.report, self.limits, idle_seconds=idle, name=self.name)
        return self._hub

    @property
    def lanes(self) -> Lanes | None:
        """The servers for stateless requests, where it shakes hands; None: all share the one."""
        if self._lanes is None and self._sharing is not Sharing.ALL:
            self._lanes = Lanes(self._make_shared, self.report, self.limits, name=self.name)
        return self._lanes

    async def ask(self, client: Envelope) -> Era:
        """Ask the server that is shared for its era, once for all who want to know.

        Raises as `Access.ask`.
        """
        async with self._asking:
            if self.era is not None:
                return self.era
            if self._hub is not None and self._hub.running:
                return await self._ask_running(self._hub, client)
            if self._asked is None:
                self._asked = OwnServer(self)
            return await self._asked.ask(client)

    async def _ask_running(self, hub: Hub, client: Envelope) -> Era:
        line = hub.connect(self)
        await line.start()
        try:
            self.era = await ask_era(line, client, self.limits)
        finally:
            await line.close()
        return self.era or Era.HANDSHAKE

    async def close(self) -> None:
        """End what is shared."""
        await self.held.close()
        if self._hub is not None:
            await self._hub.close()
        if self._lanes is not None:
            await self._lanes.close()
        if self._asked is not None:
            await self._asked.close()

    def _make_shared(self) -> Transport:
        """Return a transport for the hub: the one that was asked, if it is there."""
        line = self.make() if self._asked is None else self._asked.line()
        return line if isinstance(line, MirroringTransport) else MirroringTransport(line, self.mirrors)
