"""Several servers as one: what clients have in common, and which servers these are at the time.

Each client has a conversation of its own with each server it needs, begun when that is needed.  What servers
list is kept for the next client, which then starts none of them to know what there is.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Hashable, Iterable, Mapping
from types import MappingProxyType
from typing import Final

from anywire.bridge.fleet.catalogue import Catalogue
from anywire.bridge.fleet.connection import FleetConnection
from anywire.bridge.fleet.names import Names
from anywire.bridge.fleet.renaming import LISTS
from anywire.bridge.meeting.upstream import Upstream
from anywire.errors import TransportClosed
from anywire.transport.contract import Transport
from anywire.wire.limits import DEFAULT_LIMITS, Limits

__all__ = ("Fleet",)

#: So many reasons of one server are known to have been told.
_MOST_TOLD: Final = 20


class Fleet:
    """All servers of a bridge, as one of the handshake era.

    Each server's upstream has what reports its troubles.  `keeps_lists`: what a server lists is the same for
    all clients; else each client asks for itself.  `discreet`: clients may be anybody on the network, so that
    they are told how a server failed and nothing else of it.  `chance` gives numbers between 0 and 1.

    The upstreams are their owner's to close, when `drained()` has returned.
    """

    def __init__(
        self,
        limits: Limits = DEFAULT_LIMITS,
        *,
        keeps_lists: bool = True,
        discreet: bool = False,
        chance: Callable[[], float] = random.random,
    ) -> None:
        #: What the servers are called.
        self.names = Names()
        self.limits = limits
        self.discreet = discreet
        self.chance = chance
        self._catalogue = Catalogue(limits) if keeps_lists else None
        self._members: dict[str, Upstream] = {}
        self._connections: set[FleetConnection] = set()
        self._troubles: dict[str, str] = {}
        self._told: dict[str, dict[str, None]] = {}
        self._closed = False

    def __repr__(self) -> str:
        return f"<Fleet of {len(self._members)}, {len(self._connections)} clients>"

    def __len__(self) -> int:
        return len(self._connections)

    @property
    def members(self) -> Mapping[str, Upstream]:
        """The servers, by their names, in order."""
        return MappingProxyType(self._members)

    @property
    def troubles(self) -> Mapping[str, str]:
        """Why what a server has is left out of the lists, or old: a sentence for each such server."""
        return MappingProxyType(self._troubles)

    def replace(self, members: Mapping[str, Upstream]) -> Mapping[str, Upstream]:
        """Have these servers from now on, in this order; return those that were replaced, by their names.

        The same `Upstream` under the same name goes on as it is.  Others finish what they were asked, within
        `Limits.request_seconds`; clients are told that the lists have changed.
        """
        before, self._members = self._members, dict(members)
        self.names.name_servers(members)
        retired = {name: each for name, each in before.items() if self._members.get(name) is not each}
        for name, upstream in retired.items():
            self.well(name)
            if self._catalogue is not None:
                self._catalogue.drop((name, upstream))
        if retired or before.keys() != self._members.keys():
            for connection in list(self._connections):
                connection.take_members()
        return retired

    async def drained(self, upstreams: Iterable[Upstream]) -> None:
        """Wait until no client has a conversation with these servers, which `replace` has returned."""
        wanted = set(upstreams)
        while ending := [
            conversation.running
            for connection in self._connections
            for conversation in connection.conversations
            if conversation.upstream in wanted
        ]:
            await asyncio.wait(ending)

    def target(self) -> Transport:
        """Return one client's conversation with all of them, not started.

        Raises `TransportClosed` after `close()`.
        """
        self._refuse_when_closed()
        catalogue = self._catalogue
        return FleetConnection(self, Catalogue(self.limits) if catalogue is None else catalogue)

    async def close(self) -> None:
        """End all conversations of clients; the upstreams are not closed.  Idempotent."""
        self._closed = True
        await asyncio.gather(*(connection.close() for connection in list(self._connections)))

    def _refuse_when_closed(self) -> None:
        if self._closed:
            raise TransportClosed("the servers are not offered any more")

    # What connections say.

    def opened(self, connection: FleetConnection) -> None:
        """A connection is in use from now on.  Raises `TransportClosed` after `close()`."""
        self._refuse_when_closed()
        self._connections.add(connection)

    def gone(self, connection: FleetConnection) -> None:
        """... and no more."""
        self._connections.discard(connection)

    def changed(self, catalogue: Catalogue, server: Hashable, notification: str) -> None:
        """A server has said that a list has changed: whoever may have seen it is told."""
        seen = [catalogue.forget(server, method) for method in LISTS[notification]]
        if any(seen):
            for connection in list(self._connections):
                if connection.catalogue is catalogue:
                    connection.list_changed(notification)

    def troubled(self, server: str, reason: str) -> None:
        """A server's lists are left out, or old: each reason is reported once until it is well."""
        if server not in self._members:
            return
        self._troubles[server] = reason
        told = self._told.setdefault(server, {})
        if reason not in told:
            told[reason] = None
            if len(told) > _MOST_TOLD:
                del told[next(iter(told))]
            self._members[server].report(reason)

    def well(self, server: str) -> None:
        """A server is there, and says what it has."""
        self._troubles.pop(server, None)
        self._told.pop(server, None)
