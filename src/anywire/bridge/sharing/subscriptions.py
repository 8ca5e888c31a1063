"""Which connections follow which resource, where the server knows of one follower only.

It is asked for a resource when the first connection asks, and told to stop when the last one stops.

Specification: MCP `server/resources#subscriptions`, 2024-11-05 to 2025-11-25.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from anywire.bridge.sharing.client import Client
from anywire.bridge.sharing.flights import Flight
from anywire.wire.message import id_key

__all__ = ("Subscriptions",)

_BOUNDARY: Final = re.compile("[/?#]")


class Subscriptions:
    """The resources that connections of one server follow."""

    def __init__(self) -> None:
        self._holders: dict[str, dict[int, Client]] = {}
        self._pending: dict[str, Flight] = {}
        #: Requests to follow that were taken back before they were answered: URI, connection, key of the id.
        self._renounced: set[tuple[str, int, bytes]] = set()
        self._count: dict[int, int] = {}

    def __iter__(self) -> Iterator[str]:
        return iter(list(self._holders))

    def count(self, client: Client) -> int:
        """Return how many resources a connection follows."""
        return self._count.get(client.key, 0)

    def is_followed(self, uri: str) -> bool:
        """Whether the server tells of it already."""
        return uri in self._holders

    def is_pending(self, uri: str) -> bool:
        """Whether the server is being asked to tell of it."""
        return uri in self._pending

    def asked(self, flight: Flight) -> None:
        """The server is asked to tell of a resource."""
        self._pending[flight.uri] = flight

    def answered(self, flight: Flight, *, agreed: bool) -> bool:
        """The server has answered; say whether it must be told to stop: nobody wants it any more."""
        if self._pending.get(flight.uri) is flight:
            del self._pending[flight.uri]
        renounced = {each for each in self._renounced if each[0] == flight.uri}
        self._renounced -= renounced
        if not agreed:
            return False
        for client, id in flight.askers:
            if (flight.uri, client.key, id_key(id)) not in renounced:
                self.follow(client, flight.uri)
        return flight.uri not in self._holders

    def follow(self, client: Client, uri: str) -> None:
        """A connection follows a resource of which the server tells."""
        holders = self._holders.setdefault(uri, {})
        if client.key not in holders:
            holders[client.key] = client
            self._count[client.key] = self.count(client) + 1

    def join(self, client: Client, uri: str, id: bytes) -> Flight:
        """A connection wants a resource that is being asked for; return the request whose answer counts."""
        self._renounced.discard((uri, client.key, id_key(id)))
        return self._pending[uri]

    def stop(self, client: Client, uri: str) -> bool:
        """A connection follows it no more; say whether the server has to hear of that."""
        if (flight := self._pending.get(uri)) is not None:
            keys = (id_key(id) for asker, id in flight.askers if asker is client)
            self._renounced.update((uri, client.key, key) for key in keys)
            return False
        holders = self._holders.get(uri)
        if holders is None:
            return True  # it knows best what to say to that
        if holders.pop(client.key, None) is not None:
            self._count[client.key] -= 1
        if holders:
            return False
        del self._holders[uri]
        return True

    def leave(self, client: Client) -> list[str]:
        """A connection is gone; return the resources of which the server need not tell any more."""
        followed = [uri for uri, holders in self._holders.items() if client.key in holders]
        unwanted = [uri for uri in followed if self.stop(client, uri)]
        self._renounced = {each for each in self._renounced if each[1] != client.key}
        self._count.pop(client.key, None)
        return unwanted

    def followers(self, uri: str) -> list[Client]:
        """Return who is told of a change; that of a part is one of the whole that they asked for."""
        found = dict(self._holders.get(uri, {}))
        for boundary in _BOUNDARY.finditer(uri):
            for whole in (uri[: boundary.start()], uri[: boundary.end()]):
                found.update(self._holders.get(whole, {}))
        return list(found.values())
