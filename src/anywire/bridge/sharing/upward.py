"""What becomes of a client's message on its way to the server."""

from __future__ import annotations

from typing import Final

import msgspec

from anywire.bridge.sharing.client import Client
from anywire.bridge.sharing.flights import Flight
from anywire.bridge.sharing.handshake import declared_capabilities
from anywire.bridge.sharing.log_levels import read_level
from anywire.bridge.sharing.named_things import task_of
from anywire.bridge.sharing.table import Table
from anywire.protocol.modern import claims_stateless
from anywire.protocol.revisions import null_id
from anywire.protocol.rewriting import (
    repeats,
    repeats_token,
    swap_progress_token,
    with_id,
    with_member,
)
from anywire.wire.codec import decode_value, encode_value
from anywire.wire.message import (
    Batch,
    ErrorResponse,
    Fault,
    JsonRpcErrorCode,
    Message,
    Notification,
    Request,
    Response,
    error_reply,
    id_key,
)
from anywire.wire.peer import read_cancel
from anywire.wire.splice import get_member

__all__ = ("Upward",)


class Upward:
    """Takes what clients say: answers what can be answered here, gives the rest its new names."""

    def __init__(self, table: Table) -> None:
        self._table = table

    def take(self, client: Client, message: Message | Batch) -> None:
        """Take a message of a client."""
        if not isinstance(message, Batch):
            self._take(client, message)
            return
        client.batches.begin()
        for item in message.items:
            if isinstance(item, Fault):
                reply = item.answer(null_id(self._table.handshake.revision))
                if reply is not None:
                    client.batches.add_now(reply)
            else:
                self._take(client, item, batched=True)
        self._table.reply_to_batch(client, client.batches.finish_reading())

    def _take(self, client: Client, message: Message, *, batched: bool = False) -> None:
        if isinstance(message, Request):
            self._take_request(client, message, batched=batched)
        elif isinstance(message, Notification):
            self._take_notification(client, message)
        else:
            self._take_reply(client, message)

    # Requests.

    def _take_request(self, client: Client, request: Request, *, batched: bool) -> None:
        refusal = self._why_refused(client, request)
        if refusal is not None and batched:
            client.batches.add_now(refusal)
        elif refusal is not None:
            self._table.to_client(client, refusal)
        else:
            if batched:
                client.batches.expect(request.id)
            self._route(client, request)

    def _why_refused(self, client: Client, request: Request) -> ErrorResponse | None:
        limits = self._table.limits
        if id_key(request.id) in client.flights:
            id = request.id[:100].decode(errors="replace")
            reason = f"Invalid Request: a request with the id {id} is in flight already"
            return error_reply(request.id, JsonRpcErrorCode.InvalidRequest, reason)
        if _is_ambiguous(request):
            reason = "Invalid params: a member that names something occurs twice"
            return error_reply(request.id, JsonRpcErrorCode.InvalidParams, reason)
        if request.method in _ORDERED and len(request.params or b"") > limits.gather_bytes:
            reason = f"Invalid params: those of {request.method} are longer than {limits.gather_bytes} bytes"
            return error_reply(request.id, JsonRpcErrorCode.InvalidParams, reason)
        if len(client.flights) >= limits.shared_requests:
            reason = (
                f"more than {limits.shared_requests} requests of yours are unanswered; wait for some of them"
            )
        elif len(self._table.flights) >= limits.requests_in_flight:
            reason = "too many requests of all who share this server are unanswered; try again later"
        else:
            return None
        return error_reply(request.id, JsonRpcErrorCode.InternalError, reason)

    def _route(self, client: Client, request: Request) -> None:
        method = request.method
        if not _is_special(method) or claims_stateless(request.params):
            self._ask(client, request)
        elif method == "initialize":
            self._initialize(client, request)
        elif method == "resources/subscribe":
            self._subscribe(client, request)
        elif method == "resources/unsubscribe":
            self._unsubscribe(client, request)
        elif method == "logging/setLevel":
            self._set_level(client, request)
        else:
            self._ask_for_task(client, request)

    def _ask(self, client: Client, request: Request, *, shared: bool = False, uri: str = "") -> Flight:
        """Give a request its new names and let it go."""
        flight = self._table.flights.begin(client, request, shared=shared, uri=uri)
        renamed = with_id(request, flight.number)
        renamed, flight.token = swap_progress_token(renamed, flight.number)
        ordered = request.method in _ORDERED or request.method == "initialize"
        self._table.to_server(renamed, client.key, ordered=ordered)
        return flight

    def _answer(self, client: Client, request: Request, result: bytes = b"{}") -> None:
        self._table.reply(client, Response(request.id, result))

    def _refuse(self, client: Client, request: Request, code: int, reason: str) -> None:
        self._table.reply(client, error_reply(request.id, code, reason))

    def _initialize(self, client: Client, request: Request) -> None:
        handshake = self._table.handshake
        client.capabilities = declared_capabilities(request.params)
        if handshake.reply is not None:
            self._table.greet(client)
            self._table.reply(client, handshake.answer(request.id))
            self._table.level()
        elif handshake.flight is not None:
            self._table.flights.join(handshake.flight, client, request.id)
        else:
            handshake.flight = self._ask(client, handshake.request(request), shared=True)

    def _subscribe(self, client: Client, request: Request) -> None:
        uri, subscriptions = _uri(request), self._table.subscriptions
        if uri is None:
            self._ask(client, request)  # the server says what is wrong with it
        elif subscriptions.count(client) >= self._table.limits.subscriptions:
            reason = (
                f"more than {self._table.limits.subscriptions} resources are followed; leave some of them"
            )
            self._refuse(client, request, JsonRpcErrorCode.InternalError, reason)
        elif subscriptions.is_followed(uri):
            subscriptions.follow(client, uri)
            self._answer(client, request)
        elif subscriptions.is_pending(uri):
            self._table.flights.join(subscriptions.join(client, uri, request.id), client, request.id)
        else:
            subscriptions.asked(self._ask(client, request, shared=True, uri=uri))

    def _unsubscribe(self, client: Client, request: Request) -> None:
        uri = _uri(request)
        if uri is None or self._table.subscriptions.stop(client, uri):
            self._ask(client, request, shared=uri is not None)
        else:
            self._answer(client, request)

    def _set_level(self, client: Client, request: Request) -> None:
        level, table = read_level(request.params), self._table
        if level is None:
            self._refuse(client, request, JsonRpcErrorCode.InvalidParams, "Invalid params: no such log level")
            return
        client.level = level
        table.levels.told = wanted = table.levels.wanted([client, *table.greeted()])
        self._ask(client, with_member(request, "level", encode_value(wanted)), shared=True)

    def _ask_for_task(self, client: Client, request: Request) -> None:
        task = task_of(request.params)
        if request.method == "tasks/list":
            reason = "a server that several clients share does not list tasks: they are not all yours"
            self._refuse(client, request, JsonRpcErrorCode.MethodNotFound, reason)
        elif task is not None and self._table.named.is_anothers(client, task):
            self._refuse(client, request, JsonRpcErrorCode.InvalidParams, "Invalid params: no such task")
        else:
            self._ask(client, request)

    # Notifications and replies.

    def _take_notification(self, client: Client, message: Notification) -> None:
        table = self._table
        match message.method:
            case "notifications/initialized":
                if not table.handshake.told:
                    table.handshake.told = True
                    table.to_server(message, client.key, ordered=True)
            case "notifications/cancelled":
                self._take_cancel(client, message)
            case "notifications/progress":
                if _was_given(client, message.params):
                    table.to_server(message, client.key)
            case _:
                table.to_server(message, client.key)

    def _take_cancel(self, client: Client, message: Notification) -> None:
        """A client takes a request back; where others wait for the same, they go on waiting."""
        cancelled = read_cancel(message)
        flight = None if cancelled is None else client.flights.get(cancelled.key)
        if cancelled is None or flight is None or flight.method == "initialize":
            return
        if repeats(message.params, "requestId"):
            return
        if flight.shared:
            self._table.flights.leave(flight, client, cancelled.key)
        else:
            self._table.flights.end(flight)
            renamed = with_member(message, "requestId", flight.number)
            self._table.to_server(renamed, client.key, flight.number)
        self._table.reply_to_batch(client, client.batches.drop(cancelled.key))

    def _take_reply(self, client: Client, reply: Response | ErrorResponse) -> None:
        question = self._table.questions.answered(client, reply)
        if question is not None:
            self._table.to_server(with_id(reply, question.id), client.key)


#: What concerns others as well, and goes in one order for all clients.
_ORDERED: Final = frozenset({"resources/subscribe", "resources/unsubscribe", "logging/setLevel"})


def _is_special(method: str) -> bool:
    return method in _ORDERED or method == "initialize" or method.startswith("tasks/")


def _is_ambiguous(request: Request) -> bool:
    """Say whether the server could take another name than we do from what a client asks."""
    special = _is_special(request.method)
    return repeats_token(request.params) or (special and repeats(request.params, "uri", "level", "taskId"))


def _uri(request: Request) -> str | None:
    try:
        return decode_value(get_member(request.params or b"", "uri") or b"null", str)
    except msgspec.MsgspecError:
        return None


def _was_given(client: Client, params: bytes | None) -> bool:
    """Say whether the server gave that progress token with something that the client still answers."""
    token = get_member(params or b"", "progressToken")
    if token is None or repeats(params, "progressToken"):
        return False
    given = (question.token for question in client.questions.values())
    return any(each is not None and id_key(each) == id_key(token) for each in given)
