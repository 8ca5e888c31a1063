"""The connection to a handshake server that serves one stateless request, and moves what is said on it."""

from __future__ import annotations

import asyncio
from typing import Protocol

import msgspec

from anywire.bridge.translating.held_connections import HeldConnections
from anywire.errors import AnywireError, LimitExceeded, TransportError
from anywire.protocol.modern import Envelope
from anywire.protocol.translate.input_rounds import CallInRounds
from anywire.protocol.translate.virtual_handshake import (
    Answer,
    Failed,
    Reply,
    Step,
    ToClient,
    ToServer,
    VirtualHandshake,
    WantsInput,
)
from anywire.transport.contract import Filling, Holding, Transport
from anywire.wire.limits import Limits
from anywire.wire.message import Batch, Fault, Message, Notification, Request

__all__ = ("CallConnection", "Client", "VirtualConnection")


class Client(Protocol):
    """Whose request a connection serves."""

    def tell(self, message: Notification) -> None:
        """Something is told on behalf of a request."""
        ...

    def settle(self, reply: Reply) -> None:
        """A request has its answer."""
        ...

    def fail(self, id: bytes, error: AnywireError) -> None:
        """A request has none; `id` is its raw id."""
        ...

    def hear_noise(self, error: Fault | AnywireError) -> None:
        """The server sent something that is no message, or part of its wire failed."""
        ...

    def filled(self, connection: VirtualConnection, full: bool) -> None:
        """Too much waits to be sent to the server, or no longer."""
        ...


class VirtualConnection:
    """Opens its transport, lets the conversation speak on it, closes it when that is over."""

    def __init__(
        self,
        conversation: VirtualHandshake,
        transport: Transport,
        client: Client,
        held: HeldConnections,
        limits: Limits,
    ) -> None:
        self.conversation = conversation
        self._transport = transport
        self._client: Client | None = client
        self._held = held
        self._limits = limits
        self._loop = asyncio.get_running_loop()
        self._timer: asyncio.TimerHandle | None = None
        self._opening = self._loop.create_task(self._open())
        self._ending: asyncio.Task[None] | None = None
        callbacks = transport.callbacks
        callbacks.on_message = self._on_message
        callbacks.on_error = self._on_error
        callbacks.on_failed = lambda id, error: self._perform(self.conversation.fail_sent(id, error))
        callbacks.on_reopened = lambda: self._perform(self.conversation.reopened())
        callbacks.on_end = lambda: self._lose(None)
        callbacks.on_close = self._lose
        if isinstance(transport, Filling):
            transport.on_full = lambda: self._filled(True)
            transport.on_room = lambda: self._filled(False)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.conversation!r}>"

    async def _open(self) -> None:
        try:
            await self._transport.start()
        except AnywireError as error:
            self._lose(error)
            return
        if not self.conversation.over:
            seconds = self._limits.request_seconds
            self._timer = self._loop.call_later(seconds, lambda: self._expire(seconds))
            self._perform(self.conversation.begin())

    def _expire(self, seconds: float) -> None:
        if self.conversation.opening:
            self._perform(self.conversation.expire(seconds))

    def cancel(self, reason: str) -> None:
        """The request is not waited for any more."""
        self._perform(self.conversation.cancel(reason))

    async def ended(self) -> None:
        """Wait until the connection is closed, which it is when the conversation is over."""
        if self._ending is not None:
            await asyncio.shield(self._ending)

    # Pressure.

    def hold_reading(self, reason: str) -> None:
        """Read no more from the server, where that can be."""
        if isinstance(self._transport, Holding):
            self._transport.hold_reading(reason)

    def release_reading(self, reason: str) -> None:
        """That reason holds no longer."""
        if isinstance(self._transport, Holding):
            self._transport.release_reading(reason)

    def _filled(self, full: bool) -> None:
        if self._client is not None:
            self._client.filled(self, full)

    # What comes.

    def _on_message(self, message: Message | Batch) -> None:
        for item in message.items if isinstance(message, Batch) else (message,):
            if isinstance(item, Fault):
                self._on_error(item)
            else:
                self._perform(self.conversation.receive(item))

    def _on_error(self, error: Fault | AnywireError) -> None:
        steps = self.conversation.receive_fault(error) if isinstance(error, Fault) else None
        if steps is not None:
            self._perform(steps)
        elif self._client is not None:
            # Its id is one of this connection, which nobody else knows.
            noise = msgspec.structs.replace(error, id=None) if isinstance(error, Fault) else error
            self._client.hear_noise(noise)

    def _lose(self, error: AnywireError | None) -> None:
        self._perform(self.conversation.lose(error))

    # What is to be done.

    def _perform(self, steps: list[Step]) -> None:
        for step in steps:
            self._do(step)
        if self._timer is not None and not self.conversation.opening:
            self._timer.cancel()
            self._timer = None
        if self.conversation.over:
            self._end()

    def _do(self, step: Step) -> None:
        client = self._client
        match step:
            case ToServer(message):
                self._post(message)
            case ToClient(message) if client is not None:
                client.tell(message)
            case Answer(reply) if client is not None:
                client.settle(reply)
            case Failed(error) if client is not None:
                client.fail(self.conversation.id, error)
            case _:
                pass

    def _post(self, message: Message) -> None:
        try:
            self._transport.post(message)
        except TransportError:
            pass  # its end is told by `on_close`, with the reason

    def _end(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        if self._ending is None:
            self._opening.cancel()
            self._filled(False)
            self._ending = self._loop.create_task(self._transport.close())
            self._held.own(self._ending)


class CallConnection(VirtualConnection):
    """See `VirtualConnection`.  Its call may ask the client; between two rounds it belongs to none."""

    def __init__(
        self,
        conversation: CallInRounds,
        transport: Transport,
        client: Client,
        held: HeldConnections,
        limits: Limits,
    ) -> None:
        super().__init__(conversation, transport, client, held, limits)
        self._call = conversation
        self._asking = False

    @property
    def size(self) -> int:
        """The bytes that its call keeps."""
        return self._call.size

    def fault_of(self, request: Request) -> str:
        """Say what is wrong with the answers of a request that goes on; empty: nothing."""
        return self._call.fault_of(request)

    def resume(self, client: Client, request: Request, envelope: Envelope) -> None:
        """Go on as another request, of whichever client."""
        self._held.release(self)
        self._client = client
        self._loop.call_soon(self._go_on, request, envelope)

    def _go_on(self, request: Request, envelope: Envelope) -> None:
        if not self._call.over:  # the client may have taken it back at once
            self._perform(self._call.resume(request, envelope))

    def _do(self, step: Step) -> None:
        if isinstance(step, WantsInput):
            if not self._asking:
                self._asking = True
                # What is asked at once may come in several pieces.
                self._loop.call_later(self._limits.gather_seconds, self._ask)
            return
        super()._do(step)

    def _ask(self) -> None:
        """Put what was asked by now to the client."""
        self._asking = False
        if not self._call.wants_input:
            return
        try:
            state = self._held.hold(self, self._call.request)
        except LimitExceeded as error:
            self._perform(self._call.refuse_questions(error))
            return
        self._perform(self._call.ask(state))
        if self._call.held:
            self._filled(False)
            self._client = None

    def _perform(self, steps: list[Step]) -> None:
        super()._perform(steps)
        if self._call.over:
            self._held.release(self)
        elif self._call.held:
            error = self._held.measure(self)
            if error is not None:
                self._call.give_up(error)
                self._held.measure(self)
        if self._call.is_late:
            self._end()
