"""One conversation of a server: messages in, handlers in between, replies out."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

import msgspec

from anywire.errors import AnywireError, TransportClosed
from anywire.protocol.features import Feature, has
from anywire.protocol.legacy import ServerConversation
from anywire.protocol.modern import envelope_of, unsupported_version
from anywire.protocol.types.elicitation import ElicitationCompleteParams
from anywire.protocol.types.resources import ResourceUpdatedParams
from anywire.server.catalogue import Offer
from anywire.server.exchange import Exchange
from anywire.server.methods.stateless import serve_stateless
from anywire.server.methods.table import METHODS
from anywire.server.running import Running
from anywire.server.service import Service
from anywire.server.stateless import StatelessExchange
from anywire.server.telling import Teller
from anywire.session.caller import Caller
from anywire.transport.contract import Transport, ignore
from anywire.wire.batch import BatchReplies
from anywire.wire.codec import encode_value
from anywire.wire.limits import Limits
from anywire.wire.message import (
    Batch,
    ErrorResponse,
    Fault,
    JsonRpcErrorCode,
    Message,
    Notification,
    Request,
    Response,
    create_error_response,
    id_key,
    is_response,
)
from anywire.wire.peer import CancelReceived, Event, Peer, ProgressReceived, Refused, Settled

__all__ = ("ServerSession",)

_log = logging.getLogger("anywire.server")

#: What opens a conversation, or stays open: an array of answers would wait for it.
_ALONE = frozenset({"initialize", "subscriptions/listen"})


class ServerSession:
    """Serves one transport until either side ends.

    `run()` starts the transport and returns at the end; `close()` brings the end about.  When the
    client has sent its last message, what was accepted is finished, within bounds.
    """

    __slots__ = (
        "_batches",
        "_caller",
        "_closed",
        "_finishing",
        "_hurry",
        "_peer",
        "_serves_handshakes",
        "_serves_stateless",
        "_teller",
        "conversation",
        "exit",
        "is_ending",
        "is_over",
        "limits",
        "loop",
        "on_over",
        "running",
        "service",
        "transport",
    )

    def __init__(self, transport: Transport, service: Service, limits: Limits) -> None:
        self.transport = transport
        self.service = service
        self.limits = limits
        self.conversation = ServerConversation()
        self.loop = asyncio.get_running_loop()
        self._peer = Peer(limits)
        #: The requests that are being served.
        self.running = Running(self.loop)
        # What most conversations never need is made when they do: there may be very many that idle.
        self._caller: Caller | None = None
        self._teller: Teller | None = None
        self._batches: BatchReplies | None = None
        self._serves_stateless = "modern" in service.eras
        self._serves_handshakes = "legacy" in service.eras
        self._hurry: asyncio.Event | None = None
        self._finishing: asyncio.Task[None] | None = None
        self._closed: asyncio.Event | None = None
        #: What a handler raised to end the program, if that is why it ends.
        self.exit: BaseException | None = None
        #: Whether it is about to end ...
        self.is_ending = False
        #: ... and whether it has ended, which is told once.
        self.is_over = False
        self.on_over: Callable[[ServerSession], None] = ignore
        callbacks = transport.callbacks
        callbacks.on_message = self._on_message
        callbacks.on_error = self._on_error
        callbacks.on_failed = self._on_failed
        callbacks.on_end = self._on_end
        callbacks.on_close = self._on_close

    def __repr__(self) -> str:
        revision = self.conversation.revision or "new"
        return f"<ServerSession {revision}, {len(self.running)} running, {self._peer!r}>"

    async def run(self) -> None:
        """Serve until the end.  Raises the `SystemExit` or `KeyboardInterrupt` of a handler then."""
        await self.transport.start()
        await self.wait()

    async def wait(self) -> None:
        """Return at the end; raises what `run()` raises."""
        await self._until_over()
        if self.exit is not None:
            raise self.exit

    async def _until_over(self) -> None:
        if not self.is_over:
            self._closed = self._closed or asyncio.Event()
            await self._closed.wait()

    @property
    def subscriptions(self) -> set[str]:
        """The resources whose changes the client wants to hear of."""
        return self.conversation.subscriptions

    @property
    def caller(self) -> Caller:
        """Asks the client."""
        if self._caller is None:
            self._caller = Caller(self.transport, self._peer, self.limits)
        return self._caller

    @property
    def teller(self) -> Teller:
        """Tells the client of changes."""
        if self._teller is None:
            self._teller = Teller(self.transport)
        return self._teller

    def end(self) -> None:
        """End the conversation now: running handlers are cancelled and answered as such."""
        self._finish(0.0)

    async def close(self) -> None:
        """As `end()`, and wait for it."""
        self.end()
        await self._until_over()

    # In.

    def _on_message(self, message: Message | Batch) -> None:
        if type(message) is Request:  # as nearly always
            event = self._peer.receive_request(message)
            if event is message:
                self._serve(message)
            else:
                self._handle(event)
        elif type(message) is Batch:
            self._receive_batch(message)
        else:
            self._handle(self._peer.receive(message, self.loop.time()))

    def _handle(self, event: Event) -> None:
        match event:
            case Request():
                self._serve(event)
            case CancelReceived():
                self.running.cancel(event.key, event.reason)
                if self._batches is not None:
                    self._send_batch(self._batches.drop(event.key))
            case Settled():
                self.caller.settle(event)
            case ProgressReceived():
                self.caller.report(event)
            case Refused():
                self._post(event.reply)
            case _:
                pass  # notifications that mean nothing here, replies that answer nothing

    def _serve(self, request: Request) -> None:
        try:
            envelope = envelope_of(request.params) if self._serves_stateless else None
            if envelope is not None:
                serve_stateless(self, request, envelope)
            elif not self._serves_handshakes:
                self._refuse_legacy(request)
            elif (method := METHODS.get(request.method)) is None:
                reason = f"Method not found: {request.method}"
                self.fail(request.id, JsonRpcErrorCode.MethodNotFound, reason)
            else:
                method(Exchange(self, request.id, request.method, request.params, self.conversation))
        except Exception:  # noqa: BLE001 whatever goes wrong costs this request and no other
            _log.exception("%s failed", request.method)
            self.fail(request.id, JsonRpcErrorCode.InternalError, f"Internal error in {request.method}")

    def _refuse_legacy(self, request: Request) -> None:
        """A client of the handshake era learns which revisions are served here."""
        fault = unsupported_version("a handshake" if request.method == "initialize" else "none")
        self.fail(request.id, fault.code, fault.message, fault.data)

    def _receive_batch(self, batch: Batch) -> None:
        if not self.conversation.batches:
            if all(item.is_reply if isinstance(item, Fault) else is_response(item) for item in batch.items):
                return  # never answered, also as an array
            reason = "Invalid Request: batches are part of revision 2025-03-26 only"
            fault = create_error_response(None, JsonRpcErrorCode.InvalidRequest, reason)
            self._post(msgspec.structs.replace(fault, id=self.conversation.null_id))
            return
        batches = self._batches = self._batches or BatchReplies()
        batches.begin()
        for item in batch.items:
            self._receive_item(item, batches)
        self._send_batch(batches.finish_reading())

    def _receive_item(self, item: Message | Fault, batches: BatchReplies) -> None:
        if isinstance(item, Fault):
            reply = item.answer(self.conversation.null_id)
            if reply is not None:
                batches.add_now(reply)
            return
        event = self._peer.receive(item, self.loop.time())
        if isinstance(event, Refused):
            batches.add_now(event.reply)
            return
        if isinstance(event, Request):
            batches.expect(event.id)
            if event.method in _ALONE:
                reason = f"Invalid Request: {event.method} must not be part of a batch"
                self.fail(event.id, JsonRpcErrorCode.InvalidRequest, reason)
                return
        self._handle(event)

    def _on_error(self, error: Fault | AnywireError) -> None:
        if not isinstance(error, Fault):
            _log.warning("%s", error)
            return
        settled = self._peer.receive_fault(error)
        if settled is not None:
            self.caller.settle(settled)
            return
        reply = error.answer(self.conversation.null_id)
        if reply is not None:
            self._post(reply)

    def _on_failed(self, id: bytes, error: AnywireError) -> None:
        settled = self._peer.fail(id_key(id), error)
        if settled is not None:
            self.caller.settle(settled)

    # Out.

    def reply(self, id: bytes, result: bytes) -> None:
        """Answer a request with a raw result, unless it was answered or cancelled before."""
        if self._peer.respond(id):
            if self._batches is not None and self._batches.active:
                self._send(Response(id, result))
            elif not self.transport.closed:  # straight to the wire: this is the hot path
                self.transport.post(Response(id, result), id)

    def fail(self, id: bytes, code: int, message: str, data: object = None) -> None:
        """Answer a request with an error, unless it was answered or cancelled before."""
        if self._peer.respond(id):
            error = create_error_response(None, code, message, msgspec.UNSET if data is None else data)
            self._send(msgspec.structs.replace(error, id=id))

    def tell_changed(self, offer: Offer) -> None:
        """Tell the client that a list has changed; changes of one moment are told once."""
        for exchange in self._listeners():
            exchange.tell_of(offer.changed)
        if self.conversation.revision is not None:
            self.teller.tell(Notification(offer.changed))

    def tell_updated(self, uri: str) -> None:
        """Tell the client that a resource has changed, if it wants to hear of it."""
        for exchange in self._listeners():
            exchange.tell_of("notifications/resources/updated", uri)
        if uri in self.subscriptions:
            params = encode_value(ResourceUpdatedParams(uri))
            self.teller.tell(Notification("notifications/resources/updated", params))

    def tell_elicited(self, elicitation_id: str) -> None:
        """Tell the client that its user has done what there was to do at an address."""
        if has(Feature.ELICITATION_IDS, self.conversation.revision):
            params = encode_value(ElicitationCompleteParams(elicitation_id))
            self.teller.tell(Notification("notifications/elicitation/complete", params))

    def _listeners(self) -> list[StatelessExchange]:
        """The subscriptions of the stateless era that are open."""
        return [each for each in self.running.exchanges if isinstance(each, StatelessExchange)]

    def _send(self, reply: Response | ErrorResponse) -> None:
        """Send the one answer of a request, with those of its batch if it came in one."""
        batches = self._batches
        gathered = batches.add(reply) if batches is not None and batches.active else None
        if gathered is not None:
            self._send_batch(gathered)
        else:
            self._post(reply)

    def _post(self, reply: Response | ErrorResponse) -> None:
        if not self.transport.closed:
            self.transport.post(reply, related=reply.id)

    def _send_batch(self, replies: list[Response | ErrorResponse]) -> None:
        if replies and not self.transport.closed:
            self.transport.post(Batch(tuple(replies)), related=replies[0].id)

    # The end.

    def end_by(self, error: BaseException) -> None:
        """The program wants to end: a handler raised `SystemExit` or `KeyboardInterrupt`."""
        self.exit = error
        self._finish(0.0)

    def _on_end(self) -> None:
        self.caller.end(TransportClosed("the client sends no more, so it cannot answer"))
        self._finish(self.limits.drain_seconds)

    def _finish(self, grace: float) -> None:
        """End the conversation after so many seconds at most; a later call can only hasten it."""
        hurry = self._hurry = self._hurry or asyncio.Event()
        if grace <= 0.0:
            hurry.set()
        if not self.is_ending:
            self.is_ending = True
            self._finishing = self.loop.create_task(self._finish_in_order(grace, hurry))
            # A task that is cancelled before its first step, as at the end of a loop, runs no `finally`.
            self._finishing.add_done_callback(lambda _: self._set_over())

    def _set_over(self) -> None:
        if not self.is_over:
            self.is_over = True
            if self._closed is not None:
                self._closed.set()
            self.on_over(self)

    async def _finish_in_order(self, grace: float, hurry: asyncio.Event) -> None:
        """Let running handlers end, for so long; then cancel them; then leave what is stuck behind."""
        try:
            await self._drain(grace, hurry)
            for exchange in self._listeners():
                if exchange.listens_to is not None:
                    exchange.end_listening()
                    self.running.forget(exchange)
            for task in self.running.tasks:
                task.cancel("the server is ending")
            await self._wait_for_handlers(self.limits.shutdown_seconds / 2)
            for exchange in self.running.exchanges:
                self.running.forget(exchange)
                reason = "the server ended before this call did"
                self.fail(exchange.id, JsonRpcErrorCode.InternalError, reason)
            await self.transport.close()
        finally:
            self._set_over()

    async def _drain(self, grace: float, hurry: asyncio.Event) -> None:
        if not self.running.tasks:
            return
        waits = (
            self.loop.create_task(self._wait_for_handlers(grace)),
            self.loop.create_task(hurry.wait()),
        )
        await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        for wait in waits:
            wait.cancel()

    async def _wait_for_handlers(self, seconds: float) -> None:
        handlers = self.running.tasks
        if handlers:
            await asyncio.wait(handlers, timeout=seconds)

    def _on_close(self, error: AnywireError | None) -> None:
        error = error or TransportClosed("the connection to the client is closed")
        if self._caller is not None:
            self._caller.close(error)
        else:
            self._peer.close(error)
        if self._teller is not None:
            self._teller.stop()
        if self.running.is_idle and not self.is_ending:
            self.is_ending = True
            self._set_over()  # at once: there is nothing to wait for
            return
        self.running.cancel_all("the connection is closed")
        self._finish(0.0)
