"""Many clients on one server: which message goes where, and under which name.

To the server there is one client.  Ids and progress tokens are fresh numbers there; a client sees its
own again, as it spelled them.  One handshake serves all.  What the server says of itself goes to whom
it concerns, and what may concern any of several goes to none.

No I/O, no clock: each call returns what is to be done.  Requests of both eras may be mixed, since what
is different about them is decided for each message.

Specification: MCP `basic/lifecycle`, `basic/utilities`, `server/resources#subscriptions`,
`server/utilities/logging` until 2025-11-25; `basic/patterns/subscriptions` 2026-07-28.
"""

from __future__ import annotations

from collections.abc import Hashable

from anywire.bridge.sharing.client import Client
from anywire.bridge.sharing.delivery import Delivery
from anywire.bridge.sharing.downward import Downward
from anywire.bridge.sharing.handshake import Declares
from anywire.bridge.sharing.table import Table
from anywire.bridge.sharing.upward import Upward
from anywire.errors import AnywireError
from anywire.wire.codec import encode_value
from anywire.wire.limits import DEFAULT_LIMITS, Limits
from anywire.wire.message import Batch, Fault, JsonRpcErrorCode, Message, error_reply

__all__ = ("Routes",)

_LEFT = "the client has left"


class Routes:
    """The routes of one server, from its start to its end."""

    def __init__(self, limits: Limits = DEFAULT_LIMITS, declares: Declares = Declares.ALL) -> None:
        self._table = Table(limits, declares)
        self._upward = Upward(self._table)
        self._downward = Downward(self._table)
        self._last = 0

    def __repr__(self) -> str:
        table = self._table
        return (
            f"<Routes {len(table.clients)} connections, {len(table.flights)} up, {len(table.questions)} down>"
        )

    @property
    def is_idle(self) -> bool:
        """Whether nothing is remembered of anybody: no connection, no request, no subscription."""
        table = self._table
        return not (table.clients or len(table.flights) or len(table.questions) or list(table.subscriptions))

    def join(self, owner: Hashable) -> int:
        """A connection of that owner is there; return its key.  Those of one owner are one client."""
        self._last += 1
        self._table.clients[self._last] = Client(self._last, owner)
        return self._last

    def from_client(self, key: int, message: Message | Batch) -> list[Delivery]:
        """A connection says something."""
        self._upward.take(self._table.clients[key], message)
        return self._table.take()

    def leave(self, key: int) -> list[Delivery]:
        """A connection is gone: nobody waits for what it asked, and nobody answers what it was asked."""
        table, client = self._table, self._table.clients[key]
        for own, flight in list(client.flights.items()):
            if flight.shared:
                table.flights.leave(flight, client, own)
            else:
                table.cancel(flight, client, _LEFT)
        for question in list(client.questions.values()):
            table.questions.end(question)
            table.to_server(error_reply(question.id, JsonRpcErrorCode.InternalError, _LEFT))
        for uri in table.subscriptions.leave(client):
            table.ask_for_us("resources/unsubscribe", b'{"uri":%b}' % encode_value(uri))
        table.remove(client)
        table.level()
        return table.take()

    def from_server(self, message: Message | Batch) -> list[Delivery]:
        """The server says something."""
        for item in message.items if isinstance(message, Batch) else (message,):
            if isinstance(item, Fault):
                self._downward.fault(item)
            else:
                self._downward.take(item)
        return self._table.take()

    def fault_of_server(self, fault: Fault) -> list[Delivery] | None:
        """The server sent something that is no message; None when it is nobody's reply."""
        return self._table.take() if self._downward.fault(fault) else None

    def failed(self, id: bytes, error: AnywireError) -> list[Delivery]:
        """The request that went to the server under that id cannot have an answer any more."""
        flight = self._table.flights.find(id)
        if flight is not None:
            self._downward.fail(flight, error)
        return self._table.take()

    def reopened(self) -> list[Delivery]:
        """The server had lost the conversation, and has it anew."""
        self._downward.reopened()
        return self._table.take()
