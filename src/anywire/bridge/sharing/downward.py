"""What becomes of the server's message on its way to a client: whose it is, and under which names.

A reply, and progress, belongs to whoever asked.  What names no request belongs to the one client whose
calls are running, or, when none are, to the one client there is.  Where there are several of them
nobody can tell, so it goes to nobody: a client that misses a line of a log is better off than one that
reads another's.
"""

from __future__ import annotations

from typing import Final

import msgspec

from anywire.bridge.sharing.client import Client
from anywire.bridge.sharing.delivery import Reopened
from anywire.bridge.sharing.flights import Flight
from anywire.bridge.sharing.handshake import missing_capability
from anywire.bridge.sharing.named_things import named_in
from anywire.bridge.sharing.table import Table
from anywire.errors import AnywireError, LimitExceeded, RemoteProtocolError
from anywire.protocol.rewriting import (
    progress_token,
    subscription_tag,
    with_id,
    with_member,
    with_subscription_tag,
)
from anywire.wire.codec import decode_value, encode_value
from anywire.wire.message import (
    ErrorResponse,
    Fault,
    FaultKind,
    JsonRpcErrorCode,
    Message,
    Notification,
    Request,
    Response,
    error_reply,
)
from anywire.wire.splice import get_member

__all__ = ("Downward",)

_LISTS: Final = frozenset(
    {
        "notifications/tools/list_changed",
        "notifications/prompts/list_changed",
        "notifications/resources/list_changed",
    }
)
_LISTEN: Final = "subscriptions/listen"


class Downward:
    """Takes what the server says."""

    def __init__(self, table: Table) -> None:
        self._table = table

    def take(self, message: Message) -> None:
        """Take a message of the server."""
        if isinstance(message, Request):
            self._take_request(message)
        elif isinstance(message, Notification):
            self._take_notification(message)
        else:
            self._take_reply(message)

    # Replies.

    def _take_reply(self, reply: Response | ErrorResponse) -> None:
        flight = self._table.flights.answered(reply)
        if flight is None:
            return  # late, or invented: it answers nobody
        if isinstance(reply, Response) and flight.method == _LISTEN and flight.askers:
            reply = with_subscription_tag(reply, flight.askers[0][1])
        if flight is self._table.handshake.flight:
            self._table.handshake.settled(reply)
        for client, id in flight.askers:
            self._table.named.note(client, reply)
            if flight.method == "initialize" and isinstance(reply, Response):
                self._table.greet(client)
            self._table.reply(client, with_id(reply, id))
        self._follow_up(flight, reply)

    def _follow_up(self, flight: Flight, reply: Response | ErrorResponse) -> None:
        """See to what follows for the others from an answer that concerns them as well."""
        table, agreed = self._table, isinstance(reply, Response)
        if flight.method == "initialize":
            table.level()
        elif flight.method == "logging/setLevel" and not agreed:
            table.levels.told = None  # it has no levels, or not these
            for client, _ in flight.askers:
                client.level = None
        elif flight.uri and table.subscriptions.answered(flight, agreed=agreed):
            table.ask_for_us("resources/unsubscribe", b'{"uri":%b}' % encode_value(flight.uri))

    def fault(self, fault: Fault) -> bool:
        """Take something that is no message; say whether it was a reply, which then fails its request."""
        if not fault.may_settle:
            return False
        flights = self._table.flights
        flight = flights.find(fault.id) if fault.id is not None else None
        if fault.id is None and fault.kind is FaultKind.TOO_LARGE:
            flight = flights.sole()
        if flight is None:
            return False
        text = f"the reply to {flight.method} could not be used: {fault.reason}"
        too_large = fault.kind is FaultKind.TOO_LARGE
        self.fail(flight, LimitExceeded(text) if too_large else RemoteProtocolError(text))
        return True

    def fail(self, flight: Flight, error: AnywireError) -> None:
        """A request cannot have an answer any more."""
        if flight is self._table.handshake.flight:
            self._table.handshake.settled(None)
        if flight.uri:
            self._table.subscriptions.answered(flight, agreed=False)
        self._table.fail(flight, error)

    # Requests.

    def _take_request(self, request: Request) -> None:
        table = self._table
        if request.method == "ping":
            table.to_server(Response(request.id, b"{}"))
        elif request.id in table.questions:
            id = request.id[:100].decode(errors="replace")
            reason = f"Invalid Request: a request with the id {id} is in flight already"
            table.to_server(error_reply(request.id, JsonRpcErrorCode.InvalidRequest, reason))
        elif len(table.questions) >= table.limits.requests_in_flight:
            reason = f"more than {table.limits.requests_in_flight} requests are unanswered"
            table.to_server(error_reply(request.id, JsonRpcErrorCode.InternalError, reason))
        else:
            self._ask_client(request)

    def _ask_client(self, request: Request) -> None:
        table, client = self._table, self._whose(request)
        if client is None:
            reason = f"{request.method}: {self._why_nobody()}"
            table.note_once(f"the server asked for something that was refused: {reason}")
            table.to_server(error_reply(request.id, JsonRpcErrorCode.InternalError, reason))
            return
        missing = missing_capability(request, table.handshake.revision, client.capabilities)
        if missing is not None:
            reason = f"{request.method}: the client did not declare {missing!r}, so it was not asked"
            table.to_server(error_reply(request.id, JsonRpcErrorCode.MethodNotFound, reason))
            return
        table.named.note(client, request)
        question = table.questions.ask(client, request, progress_token(request.params))
        table.to_client(client, with_id(request, question.number))

    def _why_nobody(self) -> str:
        if not self._table.greeted():
            return "no client is there to be asked"
        calls = "with calls running" if self._table.flights.callers else "without a running call"
        return f"several clients share this server, {calls}; which of them is meant cannot be told"

    def _whose(self, message: Request | Notification) -> Client | None:
        """Return the client that a message belongs to, where it can belong to one only."""
        table, thing = self._table, named_in(message)
        if thing is not None:
            return table.client_of(table.named.owner(thing)) if thing in table.named else None
        if table.flights.callers:
            return table.flights.sole_caller()
        return table.sole_client()

    # Notifications.

    def _take_notification(self, message: Notification) -> None:
        table, method = self._table, message.method
        tag = subscription_tag(message.params)
        if tag is not None:
            self._take_tagged(message, tag)
        elif method == "notifications/progress":
            self._take_progress(message)
        elif method == "notifications/cancelled":
            self._take_cancel(message)
        elif method == "notifications/resources/updated":
            for client in table.subscriptions.followers(_uri(message)):
                table.to_client(client, message)
        elif method in _LISTS:
            for client in table.greeted():
                table.to_client(client, message)
        else:
            self._take_other(message)

    def _take_tagged(self, message: Notification, tag: bytes) -> None:
        flight = self._table.flights.find(tag)
        if flight is not None and flight.method == _LISTEN:
            for client, id in flight.askers:
                tagged = with_subscription_tag(message, id)
                self._table.to_client(client, tagged)

    def _take_progress(self, message: Notification) -> None:
        token = get_member(message.params or b"", "progressToken")
        flight = None if token is None else self._table.flights.find(token)
        if flight is not None and flight.token is not None and flight.askers:
            self._table.to_client(flight.askers[0][0], with_member(message, "progressToken", flight.token))

    def _take_cancel(self, message: Notification) -> None:
        """The server takes a question back, or ends a subscription of the stateless era."""
        table, id = self._table, get_member(message.params or b"", "requestId")
        question = None if id is None else table.questions.find(id)
        flight = None if id is None else table.flights.find(id)
        if question is not None:
            table.questions.end(question)
            table.to_client(question.client, with_member(message, "requestId", question.number))
        elif flight is not None and flight.method == _LISTEN:
            table.flights.end(flight)
            for client, own in flight.askers:
                table.to_client(client, with_member(message, "requestId", own))

    def _take_other(self, message: Notification) -> None:
        """A line of a log, or something that no revision knows."""
        client = self._whose(message)
        if client is None:
            whom = "while it may be about any of several clients"
            self._table.note_once(f"{message.method} of the server is passed on to nobody {whom}")
        elif message.method != "notifications/message" or self._wants(client, message):
            self._table.to_client(client, message)

    def _wants(self, client: Client, message: Notification) -> bool:
        return not client.handshaken or self._table.levels.allows(client, message.params)

    # A server that lost everything.

    def reopened(self) -> None:
        """The server knows nothing any more of what it was told: tell it again."""
        table = self._table
        table.questions.clear()
        for uri in table.subscriptions:
            table.ask_for_us("resources/subscribe", b'{"uri":%b}' % encode_value(uri))
        if table.levels.told is not None:
            table.ask_for_us("logging/setLevel", b'{"level":%b}' % encode_value(table.levels.told))
        for client in table.greeted():
            table.do(Reopened(client.key))


def _uri(message: Notification) -> str:
    try:
        return decode_value(get_member(message.params or b"", "uri") or b"null", str)
    except msgspec.MsgspecError:
        return ""
