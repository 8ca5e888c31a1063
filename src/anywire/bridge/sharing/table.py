"""The table of the routes: who is connected, what is on its way, what was agreed; and what is to be done."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Final

import msgspec

from anywire.bridge.sharing.client import Client
from anywire.bridge.sharing.delivery import OURS, Delivery, Failed, Note, ToClient, ToServer
from anywire.bridge.sharing.flights import Flight, Flights
from anywire.bridge.sharing.handshake import Declares, Handshake
from anywire.bridge.sharing.log_levels import LogLevels
from anywire.bridge.sharing.named_things import NamedThings
from anywire.bridge.sharing.questions import Questions
from anywire.bridge.sharing.subscriptions import Subscriptions
from anywire.errors import AnywireError
from anywire.wire.codec import encode_value
from anywire.wire.limits import Limits
from anywire.wire.message import (
    Batch,
    ErrorResponse,
    JsonRpcErrorCode,
    Message,
    Notification,
    Request,
    Response,
    error_reply,
)
from anywire.wire.peer import OPENING

__all__ = ("Table",)


_MOST_NOTES: Final = 100


class Table:
    """What is known of one server and its clients."""

    def __init__(self, limits: Limits, declares: Declares) -> None:
        self.limits = limits
        self.clients: dict[int, Client] = {}
        self.flights = Flights()
        self.questions = Questions()
        self.handshake = Handshake(declares)
        self.subscriptions = Subscriptions()
        self.levels = LogLevels()
        self.named = NamedThings(limits.held_calls)
        self._greeted: dict[Hashable, dict[int, Client]] = {}  # those that have shaken hands, by owner
        self._out: list[Delivery] = []
        self._noted: set[str] = set()  # bounded, since the server's own words are in them

    def take(self) -> list[Delivery]:
        """Return what is to be done, in order, and forget it."""
        out, self._out = self._out, []
        return out

    # Clients.

    def greet(self, client: Client) -> None:
        """A client has got its answer to `initialize`."""
        client.handshaken = True
        self._greeted.setdefault(client.owner, {})[client.key] = client

    def remove(self, client: Client) -> None:
        """A connection is gone."""
        del self.clients[client.key]
        greeted = self._greeted.get(client.owner, {})
        if greeted.pop(client.key, None) is not None and not greeted:
            del self._greeted[client.owner]

    def greeted(self) -> list[Client]:
        """Return the connections that have shaken hands."""
        return [client for clients in self._greeted.values() for client in clients.values()]

    def sole_client(self) -> Client | None:
        """Return the latest connection that shook hands, if all that did are of one owner."""
        if len(self._greeted) != 1:
            return None
        (clients,) = self._greeted.values()
        return clients[next(reversed(clients))]

    def client_of(self, owner: Hashable) -> Client | None:
        """Return the latest connection of an owner, if it has shaken hands."""
        clients = self._greeted.get(owner)
        return clients[next(reversed(clients))] if clients else None

    # What is to be done.

    def to_server(
        self, message: Message, of: int = OURS, cancels: bytes | None = None, *, ordered: bool = False
    ) -> None:
        """Let a message go to the server; see `ToServer`."""
        self._out.append(ToServer(of, message, cancels, ordered))

    def to_client(self, client: Client, message: Message | Batch) -> None:
        """Let a message go to a client."""
        self._out.append(ToClient(client.key, message))

    def reply(self, client: Client, reply: Response | ErrorResponse) -> None:
        """Let a reply go to a client, or into the one to its batch."""
        if client.batches.active:
            together = client.batches.add(reply)
            if together is not None:
                self.reply_to_batch(client, together)
                return
        self.to_client(client, reply)

    def reply_to_batch(self, client: Client, replies: list[Response | ErrorResponse]) -> None:
        """Let the replies to a batch go, where there are any yet."""
        if replies:
            self.to_client(client, Batch(tuple(replies)))

    def fail(self, flight: Flight, error: AnywireError) -> None:
        """Nobody who waits for it gets a reply of the server's; in a batch it is one of ours."""
        self.flights.end(flight)
        for client, id in flight.askers:
            reply = error_reply(id, JsonRpcErrorCode.InternalError, str(error))
            together = client.batches.add(reply) if client.batches.active else None
            if together is None:
                self._out.append(Failed(client.key, id, error))
            else:
                self.reply_to_batch(client, together)

    def do(self, delivery: Delivery) -> None:
        """Let something be done."""
        self._out.append(delivery)

    def note_once(self, sentence: str) -> None:
        """Let whoever runs the bridge know, the first time."""
        if sentence not in self._noted and len(self._noted) < _MOST_NOTES:
            self._noted.add(sentence)
            self._out.append(Note(sentence))

    def cancel(self, flight: Flight, client: Client, reason: str) -> None:
        """Take back what a client has asked; but what opens a conversation must not be cancelled."""
        self.flights.end(flight)
        if flight.method not in OPENING:
            params = b'{"requestId":%b,"reason":%b}' % (flight.number, encode_value(reason))
            message = Notification("notifications/cancelled", params)
            self.to_server(message, client.key, flight.number)

    def ask_for_us(self, method: str, params: bytes) -> None:
        """Ask the server something whose answer nobody waits for."""
        request = Request(b"0", method, params)
        flight = self.flights.begin(None, request, shared=True)
        self.to_server(msgspec.structs.replace(request, id=flight.number), ordered=True)

    def level(self) -> None:
        """Tell the server which log messages are wanted now, if it was told before and that has changed."""
        if self.levels.told is None:
            return
        wanted = self.levels.wanted(self.greeted())
        if wanted != self.levels.told:
            self.levels.told = wanted
            self.ask_for_us("logging/setLevel", b'{"level":%b}' % encode_value(wanted))
