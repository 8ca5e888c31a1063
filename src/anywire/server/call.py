"""A request of the stateless era that came over a wire of its own: a conversation of one exchange.

Specification: MCP `basic/transports/streamable-http`, 2026-07-28.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import TYPE_CHECKING

import msgspec

from anywire.protocol.modern import Envelope
from anywire.server.catalogue import Offer
from anywire.server.methods.stateless import serve_stateless
from anywire.server.running import Running
from anywire.server.service import Service
from anywire.server.stateless import StatelessExchange
from anywire.server.telling import Teller
from anywire.session.caller import Caller
from anywire.wire.limits import Limits
from anywire.wire.message import JsonRpcErrorCode, Request, Response, create_error_response
from anywire.wire.peer import Peer

if TYPE_CHECKING:
    from anywire.transport.http_call import HttpCallTransport

__all__ = ("CallSession",)

_log = logging.getLogger("anywire.server")


class CallSession(msgspec.Struct, eq=False):
    """Serves one request until it is answered, its client has gone, or the server ends.

    It is over when nothing of it runs any more; `on_over` is told of that once.
    """

    transport: HttpCallTransport
    service: Service
    limits: Limits
    loop: asyncio.AbstractEventLoop
    on_over: Callable[[CallSession], None]
    running: Running
    #: What the request became; None before it is served, and where it was dealt with otherwise.
    exchange: StatelessExchange | None = None
    #: What a handler raised to end the program.
    exit: BaseException | None = None
    #: Whether it is about to end ...
    is_ending: bool = False
    #: ... and whether it has.
    is_over: bool = False
    _caller: Caller | None = None
    _teller: Teller | None = None
    _closed: asyncio.Event | None = None

    def __repr__(self) -> str:
        return f"<CallSession {self.transport!r}, {len(self.running)} running>"

    @property
    def caller(self) -> Caller:
        """Sends what belongs to the request; there is nobody to ask."""
        if self._caller is None:
            self._caller = Caller(self.transport, Peer(self.limits), self.limits)
        return self._caller

    @property
    def teller(self) -> Teller:
        """Tells the client of changes."""
        if self._teller is None:
            self._teller = Teller(self.transport)
        return self._teller

    def serve(self, request: Request, envelope: Envelope) -> None:
        """Serve the request."""
        try:
            exchange = serve_stateless(self, request, envelope)
            if not self.is_over:
                self.exchange = exchange
        except Exception:  # noqa: BLE001 whatever goes wrong costs this request and no other
            _log.exception("%s failed", request.method)
            self.fail(request.id, JsonRpcErrorCode.InternalError, f"Internal error in {request.method}")
        if not self.is_over:
            self.transport.on_gone = self._on_gone

    # Out.

    def reply(self, id: bytes, result: bytes) -> None:
        """Answer a request with a raw result, unless it was answered or withdrawn before."""
        if not self.transport.closed:
            self.transport.post(Response(id, result))
        if self.running.is_idle:
            self._set_over()

    def fail(self, id: bytes, code: int, message: str, data: object = None) -> None:
        """Answer a request with an error, unless it was answered or withdrawn before."""
        if not self.transport.closed:
            error = create_error_response(None, code, message, msgspec.UNSET if data is None else data)
            self.transport.post(msgspec.structs.replace(error, id=id))
        if self.running.is_idle:
            self._set_over()

    def tell_changed(self, offer: Offer) -> None:
        """Tell the client that a list has changed, if it asked to be told."""
        if self.exchange is not None:
            self.exchange.tell_of(offer.changed)

    def tell_updated(self, uri: str) -> None:
        """Tell the client that a resource has changed, if it asked to be told."""
        if self.exchange is not None:
            self.exchange.tell_of("notifications/resources/updated", uri)

    def tell_elicited(self, elicitation_id: str) -> None:
        """Tell nothing: the end of a visit is no event of this era."""

    # The end.

    def _set_over(self) -> None:
        if not self.is_over:
            self.is_over = True
            if self._teller is None:
                self.transport.on_gone = None
            self.exchange = None  # which holds this one
            if self._closed is not None:
                self._closed.set()
            self.on_over(self)

    async def wait(self) -> None:
        """Return at the end; raises the `SystemExit` or `KeyboardInterrupt` of its handler then."""
        if not self.is_over:
            self._closed = self._closed or asyncio.Event()
            await self._closed.wait()
        if self.exit is not None:
            raise self.exit

    def end_by(self, error: BaseException) -> None:
        """The program wants to end: a handler raised `SystemExit` or `KeyboardInterrupt`."""
        self.exit = error
        self.is_ending = True

    def end(self) -> None:
        """End it now: a handler that runs is cancelled and answered as such, within bounds."""
        if self.is_ending:
            return
        self.is_ending = True
        exchange = self.exchange
        if exchange is not None and exchange.listens_to is not None:
            self.running.forget(exchange)
            exchange.end_listening()
        for task in self.running.tasks:
            task.cancel("the server is ending")
        self._wait_for_handlers(self._leave_behind)

    async def close(self) -> None:
        """As `end()`, and wait for it."""
        self.end()
        if not self.is_over:
            self._closed = self._closed or asyncio.Event()
            await self._closed.wait()

    def _leave_behind(self) -> None:
        """Answer what does not stop, and end."""
        for exchange in self.running.exchanges:
            self.running.forget(exchange)
            self.fail(exchange.id, JsonRpcErrorCode.InternalError, "the server ended before this call did")
        self.transport.end()
        self._set_over()

    def _wait_for_handlers(self, then: Callable[[], None]) -> None:
        """Call something when the handlers have stopped, after a while at the latest."""
        tasks = set(self.running.tasks)
        if not tasks:
            then()
            return
        timer = self.loop.call_later(self.limits.shutdown_seconds / 2, then)

        def stopped(task: asyncio.Task[None]) -> None:
            tasks.discard(task)
            if not tasks and not timer.cancelled():
                timer.cancel()
                then()

        for task in list(tasks):
            task.add_done_callback(stopped)

    def _on_gone(self) -> None:
        if self._teller is not None:
            self._teller.stop()
        if self.is_over:
            return
        self.is_ending = True
        self.running.cancel_all("the connection is closed")
        self._wait_for_handlers(self._set_over)
