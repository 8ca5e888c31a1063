"""The requests that are on their way to the server: under which number, and who waits for the answer.

The server sees fresh numbers, as ids and as progress tokens, so that nothing which two clients chose
alike can meet.  A number is never used again: what comes late is known for what it is.
"""

from __future__ import annotations

from collections.abc import Hashable

from anywire.bridge.sharing.client import Client
from anywire.wire.message import NULL_ID, ErrorResponse, Request, Response, folded_key, id_key

__all__ = ("Flight", "Flights")

#: What a message of the server that names no request cannot be meant for.
_NO_CALLS = frozenset(
    {
        "initialize",
        "logging/setLevel",
        "ping",
        "resources/subscribe",
        "resources/unsubscribe",
        "subscriptions/listen",
    }
)


class Flight:
    """One request upstream.

    `askers` are the connections that wait for its reply, each with the raw id of its own request: one,
    or several where a reply is for all, or none.  `token` is the raw progress token of the first one.
    `shared`: it goes on when nobody waits for it any more.
    """

    __slots__ = ("askers", "method", "number", "shared", "token", "uri")

    def __init__(self, number: bytes, method: str, *, shared: bool, uri: str) -> None:
        self.number = number
        self.method = method
        self.askers: list[tuple[Client, bytes]] = []
        self.token: bytes | None = None
        self.shared = shared
        #: The resource that it is about, where that matters.
        self.uri = uri

    def __repr__(self) -> str:
        return f"<Flight {self.number.decode()} {self.method}, {len(self.askers)} wait>"


class Flights:
    """All flights to one server."""

    def __init__(self) -> None:
        self._by_number: dict[bytes, Flight] = {}
        self._last = 0
        # Whose calls run: the flights of each owner, the latest last.
        self._running: dict[Hashable, dict[Flight, Client]] = {}

    def __len__(self) -> int:
        return len(self._by_number)

    def begin(
        self, client: Client | None, request: Request, *, shared: bool = False, uri: str = ""
    ) -> Flight:
        """Give a request a number; without a client it is one of ours."""
        self._last += 1
        flight = Flight(b"%d" % self._last, request.method, shared=shared, uri=uri)
        self._by_number[flight.number] = flight
        if client is not None:
            self.join(flight, client, request.id)
            if request.method not in _NO_CALLS:
                self._running.setdefault(client.owner, {})[flight] = client
        return flight

    def join(self, flight: Flight, client: Client, id: bytes) -> None:
        """Somebody waits for its reply as well."""
        flight.askers.append((client, id))
        client.flights[id_key(id)] = flight

    def find(self, id: bytes) -> Flight | None:
        """Return the flight of a number as the server spells it: some turn `7` into `"7"` or `7.0`."""
        key = id_key(id)
        return self._by_number.get(key) or self._by_number.get(folded_key(key))

    def answered(self, reply: Response | ErrorResponse) -> Flight | None:
        """Return the flight that a reply settles, and forget it.

        An error without an id settles the only one there is.
        """
        if reply.id is not None and reply.id != NULL_ID:
            flight = self.find(reply.id)
        else:
            flight = self.sole()
        if flight is not None:
            self.end(flight)
        return flight

    def sole(self) -> Flight | None:
        """Return the only flight there is."""
        return next(iter(self._by_number.values())) if len(self._by_number) == 1 else None

    def end(self, flight: Flight) -> None:
        """It has its answer, or needs none; `askers` stay readable."""
        self._by_number.pop(flight.number, None)
        for client, id in flight.askers:
            client.flights.pop(id_key(id), None)
            running = self._running.get(client.owner, {})
            if running.pop(flight, None) is not None and not running:
                del self._running[client.owner]

    def leave(self, flight: Flight, client: Client, key: bytes) -> None:
        """Who asked under that key waits for its reply no more; nor for progress, where it was the first."""
        stays = [asker for asker in flight.askers if asker[0] is not client or id_key(asker[1]) != key]
        if stays[:1] != flight.askers[:1]:
            flight.token = None
        flight.askers = stays
        client.flights.pop(key, None)

    @property
    def callers(self) -> int:
        """The number of owners that have calls running."""
        return len(self._running)

    def sole_caller(self) -> Client | None:
        """Return the connection of the latest running call, if all that run are of one owner."""
        if len(self._running) != 1:
            return None
        (flights,) = self._running.values()
        return flights[next(reversed(flights))]
