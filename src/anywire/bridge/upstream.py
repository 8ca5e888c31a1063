"""The server behind a bridge: how it is reached, which era it is of, and who has a share of it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING

from anywire.bridge.access import OwnServer, SharedServer
from anywire.bridge.held_connections import HeldConnections
from anywire.bridge.hub import Hub
from anywire.bridge.lanes import Lanes
from anywire.bridge.meeting import MeetingTransport
from anywire.bridge.mirroring import MirroringTransport
from anywire.bridge.noise import writes_stdout
from anywire.transport.contract import Transport
from anywire.wire.limits import DEFAULT_LIMITS, Limits

if TYPE_CHECKING:
    from collections.abc import Sequence

    from anywire.bridge.era import Era
    from anywire.protocol.http.mirrored import Mirror
    from anywire.protocol.modern import Envelope

__all__ = ("Upstream",)


class Upstream:
    """One server, or as many as it takes of one kind.  Its owner closes it.

    `make` makes a transport to the server, not started.  `shared`: all clients have one server in common;
    else each session has its own, and only requests that stand for themselves, each on an HTTP request
    of its own, share one, or a few where it shakes hands (`Lanes`).  `era` is that of the server where it is
    known.
    """

    def __init__(
        self,
        make: Callable[[], Transport],
        report: Callable[[str], None],
        limits: Limits = DEFAULT_LIMITS,
        *,
        shared: bool = False,
        era: Era | None = None,
    ) -> None:
        self._make = make
        self.report = report
        self.limits = limits
        self.era = era
        self._shared = shared
        self._hub: Hub | None = None
        self._lanes: Lanes | None = None
        self._asking = asyncio.Lock()
        self._asked: OwnServer | None = None
        #: The arguments that headers repeat, as far as lists of tools have told.
        self.mirrors: dict[str, Sequence[Mirror]] = {}
        #: What the server is called in errors.
        self.name = "the server behind the bridge"
        #: Whether it is a child of ours.
        self.is_child = False
        #: Calls that wait for their client's input, whichever connection it comes on.
        self.held = HeldConnections(limits)

    def make(self) -> Transport:
        """Return a transport to the server, not started."""
        transport = self._make()
        self.name = getattr(transport, "name", self.name)
        self.is_child = writes_stdout(transport)
        if hasattr(transport, "mirrors"):
            setattr(transport, "mirrors", self.mirrors)  # noqa: B010 no other transport has it
            return MirroringTransport(transport, self.mirrors)
        return transport

    def target(self) -> Transport:
        """Return the way of a session to the server, not started."""
        if self._shared:
            return MeetingTransport(self, SharedServer(self, object()))
        return MeetingTransport(self, OwnServer(self))

    def shared_target(self) -> Transport:
        """Return the way of a request that stands for itself, not started."""
        return MeetingTransport(self, SharedServer(self, object()))

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
        if self._lanes is None and not self._shared:
            self._lanes = Lanes(self._make_shared, self.report, self.limits, name=self.name)
        return self._lanes

    async def ask(self, client: Envelope) -> Era:
        """Ask the server that is shared for its era, once for all who want to know.

        Raises as `Access.ask`.
        """
        async with self._asking:
            if self.era is not None:
                return self.era
            if self._asked is None:
                self._asked = OwnServer(self)
            return await self._asked.ask(client)

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
