"""A stateless client before a handshake server, as the transport that its requests are sent on.

Towards the client it is a stateless server.  Each request gets a connection of its own, on which it shakes
hands; what is connected to should therefore cost little, as a connection of a hub does.

Specification: MCP `basic/index`, `basic/patterns/*`, 2026-07-28.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TypeVar

from anywire.bridge.pressure import Fullness
from anywire.bridge.translating.held_connections import HeldConnections
from anywire.bridge.translating.virtual_connection import CallConnection, VirtualConnection
from anywire.errors import AnywireError
from anywire.protocol.round_state import StateRefused
from anywire.protocol.translate.input_rounds import CallInRounds
from anywire.protocol.translate.modern_client import Retry, read_request, refused
from anywire.protocol.translate.virtual_handshake import Reply, VirtualHandshake
from anywire.transport.contract import Callbacks, Transport, call_back, ignore, refuse_when_closed
from anywire.wire.event import CancelReceived, Refused
from anywire.wire.limits import DEFAULT_LIMITS, Limits
from anywire.wire.message import (
    Batch,
    Fault,
    JsonRpcErrorCode,
    Message,
    Notification,
    Request,
    id_key,
)
from anywire.wire.peer import Peer

__all__ = ("ModernClientTransport",)

T = TypeVar("T")


class ModernClientTransport:
    """See `anywire.transport.contract.Transport`.

    `connect` gives a transport to the server, not started, for each request.  `held` is where calls wait that
    ask their client: the one table of the bridge, since a call is made again over any of its transports.
    `name` is that of the server, for sentences.
    """

    def __init__(
        self,
        connect: Callable[[], Transport],
        held: HeldConnections,
        limits: Limits = DEFAULT_LIMITS,
        *,
        name: str = "the server",
    ) -> None:
        self.callbacks = Callbacks()
        self.name = name
        #: Too much waits to be sent to the server.
        self.on_full: Callable[[], None] = ignore
        #: ... and no longer.
        self.on_room: Callable[[], None] = ignore
        self._connect = connect
        self._held = held
        self._limits = limits
        self._peer = Peer(limits)
        self._running: dict[bytes, VirtualConnection] = {}
        self._fullness = Fullness(self)
        self._holds: set[str] = set()
        self._closed = False
        self._closing: asyncio.Task[None] | None = None

    def __repr__(self) -> str:
        state = "closed" if self._closed else "open"
        return f"<ModernClientTransport {self.name}, {state}, {len(self._running)} running>"

    @property
    def closed(self) -> bool:
        """True once `close()` was called: a server that ends costs the requests that it was serving."""
        return self._closed

    async def start(self) -> None:
        """Do nothing: a connection is opened for each request."""

    async def send(self, message: Message | Batch, related: bytes | None = None) -> None:
        """As `post`, and wait while the server reads too slowly."""
        self.post(message, related)
        await self._fullness.room.wait()

    def post(self, message: Message | Batch, related: bytes | None = None) -> None:
        """Take a message of the client."""
        refuse_when_closed(self._closed, self.name)
        if isinstance(message, Batch):
            self._refuse_batch(message)
            return
        event = self._peer.receive(message, 0.0)
        match event:
            case Request():
                self._serve(event)
            case CancelReceived():
                connection = self._leave(event.key)
                if connection is not None:
                    connection.cancel(event.reason)
            case Refused():
                self._soon(self._emit, event.reply)
            case _:
                pass  # there is no conversation that another notification could be about

    def _refuse_batch(self, batch: Batch) -> None:
        reason = "Invalid Request: batches are part of revision 2025-03-26 only"
        for item in batch.items:
            if isinstance(item, Request):
                self._soon(self._emit, refused(item, JsonRpcErrorCode.InvalidRequest, reason).reply)

    def _soon(self, callback: Callable[[T], None], argument: T) -> None:
        """Answer from the loop: who sends does not expect to be called before that is done."""
        asyncio.get_running_loop().call_soon(callback, argument)

    # A request.

    def _serve(self, request: Request) -> None:
        found = read_request(request, self.name, self._limits)
        match found:
            case Refused():
                self._soon(self._reply, found.reply)
            case Retry():
                self._go_on(found)
            case _:
                self._begin(found)

    def _begin(self, conversation: VirtualHandshake) -> None:
        try:
            transport = self._connect()
        except AnywireError as error:
            asyncio.get_running_loop().call_soon(self._fail, conversation.id, error)
            return
        if isinstance(conversation, CallInRounds):
            connection = CallConnection(conversation, transport, self, self._held, self._limits)
        else:
            connection = VirtualConnection(conversation, transport, self, self._held, self._limits)
        self._enter(conversation.id, connection)

    def _go_on(self, retry: Retry) -> None:
        """Let a call that waits go on with the answers of this request."""
        request = retry.request
        try:
            connection = self._held.find(retry.state, request)
            fault = connection.fault_of(request)
            if fault:
                raise StateRefused(fault)
        except StateRefused as error:
            refusal = refused(request, JsonRpcErrorCode.InvalidParams, f"Invalid params: {error}")
            self._soon(self._reply, refusal.reply)
            return
        self._enter(request.id, connection)
        connection.resume(self, request, retry.envelope)

    def _enter(self, id: bytes, connection: VirtualConnection) -> None:
        self._running[id_key(id)] = connection
        for reason in self._holds:
            connection.hold_reading(reason)

    def _leave(self, id: bytes) -> VirtualConnection | None:
        """A request is not served any more; its connection goes on without this client, or ends."""
        connection = self._running.pop(id_key(id), None)
        if connection is not None:
            for reason in self._holds:
                connection.release_reading(reason)
        return connection

    def _fail(self, id: bytes, error: AnywireError) -> None:
        if self._peer.respond(id) and not self._closed:
            call_back(self.callbacks.on_failed, id, error)

    def _reply(self, reply: Reply) -> None:
        if reply.id is not None and self._peer.respond(reply.id):
            self._emit(reply)

    def _emit(self, message: Message) -> None:
        if not self._closed:
            call_back(self.callbacks.on_message, message)

    # What a connection says: see `Client`.

    def tell(self, message: Notification) -> None:
        """Something is told on behalf of a request."""
        self._emit(message)

    def settle(self, reply: Reply) -> None:
        """A request has its answer."""
        if reply.id is not None:
            self._leave(reply.id)
        self._reply(reply)

    def fail(self, id: bytes, error: AnywireError) -> None:
        """A request has none."""
        self._leave(id)
        self._fail(id, error)

    def hear_noise(self, error: Fault | AnywireError) -> None:
        """The server sent something that is no message, or part of its wire failed."""
        if not self._closed:
            call_back(self.callbacks.on_error, error)

    def filled(self, connection: VirtualConnection, full: bool) -> None:
        """Too much waits to be sent on a connection, or no longer."""
        self._fullness.filled(connection, full)

    def hold_reading(self, reason: str) -> None:
        """Read no more from the server, for one of several reasons that may hold at once."""
        self._holds.add(reason)
        for connection in self._running.values():
            connection.hold_reading(reason)

    def release_reading(self, reason: str) -> None:
        """That reason holds no longer."""
        self._holds.discard(reason)
        for connection in self._running.values():
            connection.release_reading(reason)

    # The end.

    async def close(self) -> None:
        """Take back what runs and end its connections; calls that wait for their client go on waiting."""
        if self._closing is None:
            self._closed = True
            self._closing = asyncio.get_running_loop().create_task(self._close())
        await asyncio.shield(self._closing)

    async def _close(self) -> None:
        connections = list(self._running.values())
        self._running.clear()
        self._fullness.room.set()
        for connection in connections:
            connection.cancel("the client has gone")
        await asyncio.gather(*(connection.ended() for connection in connections))
        call_back(self.callbacks.on_close, None)
