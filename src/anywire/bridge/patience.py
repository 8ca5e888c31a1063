"""How long a server behind a bridge may be silent: in its handshake, and while it works on a request.

A server that does not come up in time is ended, as if it had left by itself for that reason.  One that works
on a request shows signs of life: progress of that request, or a question of its own; while it waits for the
answer to one it is not to blame.
"""

from __future__ import annotations

import asyncio
import contextlib
import math
from collections.abc import Callable
from typing import Final

import msgspec

from anywire.errors import AnywireError, DeadlineExceeded, TransportError
from anywire.protocol.rewriting import progress_token
from anywire.transport.contract import Transport, call_back, refuse_when_closed
from anywire.transport.layer import Layer
from anywire.wire.event import CANCELLED
from anywire.wire.message import (
    Batch,
    ErrorResponse,
    Fault,
    Message,
    Notification,
    Request,
    Response,
    create_notification,
    id_key,
)
from anywire.wire.peer import read_cancel
from anywire.wire.splice import get_member

__all__ = ("PatienceLayer", "patient")

#: What a conversation begins with.
_OPENING: Final = frozenset({"initialize", "server/discover"})
#: What is answered when the client wants to hear no more.
_LASTING: Final = frozenset({"subscriptions/listen"})


class _Call:
    """A request that waits; `heard` is when the server gave a sign of life."""

    __slots__ = ("heard", "id", "method", "token")

    def __init__(self, request: Request, heard: float) -> None:
        self.id = request.id
        self.method = request.method
        self.heard = heard
        token = progress_token(request.params)
        self.token = None if token is None else id_key(token)


class PatienceLayer(Layer):
    """Passes everything on, and lets fail what takes too long.

    `start_seconds`: from the first message of the handshake until the server has answered any;
    `call_seconds`: a request without a sign of life, after the handshake.
    """

    def __init__(
        self, inner: Transport, *, start_seconds: float = math.inf, call_seconds: float = math.inf
    ) -> None:
        super().__init__(inner)
        self._start_seconds = start_seconds
        self._call_seconds = call_seconds
        self._opening: asyncio.TimerHandle | None = None
        self._opened = False
        self._calls: dict[bytes, _Call] = {}
        self._asked: set[bytes] = set()  # what the server asks and is not answered
        self._looking: asyncio.TimerHandle | None = None
        self._late: DeadlineExceeded | None = None
        self._ending: asyncio.Task[None] | None = None

    @property
    def closed(self) -> bool:
        """Whether the transport has ended, or is being ended since it did not come up."""
        return self._late is not None or self._inner.closed

    # What is sent.

    def post(self, message: Message | Batch, related: bytes | None = None) -> None:
        """Send without waiting for room."""
        if self._late is not None:
            refuse_when_closed(self.closed, self.name, self._late)
        self._sent(message)
        self._inner.post(message, related)

    async def send(self, message: Message | Batch, related: bytes | None = None) -> None:
        """Send, and wait until there is room for the next message."""
        if self._late is not None:
            refuse_when_closed(self.closed, self.name, self._late)
        self._sent(message)
        await self._inner.send(message, related)

    def _sent(self, message: Message | Batch) -> None:
        for item in message.items if isinstance(message, Batch) else (message,):
            if isinstance(item, Request):
                self._expect(item)
            elif isinstance(item, Response | ErrorResponse):
                if item.id is not None and self._asked:
                    self._asked.discard(id_key(item.id))
                    self._alive()
            elif isinstance(item, Notification) and item.method == CANCELLED:
                cancelled = read_cancel(item)
                if cancelled is not None:
                    self._calls.pop(cancelled.key, None)

    def _expect(self, request: Request) -> None:
        loop = asyncio.get_running_loop()
        if request.method in _OPENING:
            if not self._opened and self._opening is None and self._start_seconds < math.inf:
                self._opening = loop.call_later(self._start_seconds, self._give_up, request.method)
        elif self._call_seconds < math.inf and request.method not in _LASTING:
            self._calls[id_key(request.id)] = _Call(request, loop.time())
            if self._looking is None:
                self._looking = loop.call_later(self._call_seconds, self._look)

    # What comes.

    def _tell(self, message: Message | Batch) -> None:
        if self._late is not None:
            return
        if not self._opened or self._calls or self._asked:
            for item in message.items if isinstance(message, Batch) else (message,):
                self._hear(item)
        self.callbacks.on_message(message)

    def _hear(self, item: Message | Fault) -> None:
        if isinstance(item, Request):
            if self._calls:
                self._asked.add(id_key(item.id))
                self._alive()
        elif isinstance(item, Notification):
            self._hear_notification(item)
        elif isinstance(item, Response | ErrorResponse) or item.may_settle:
            self._settle(item.id)

    def _hear_notification(self, notification: Notification) -> None:
        if notification.method == "notifications/progress":
            token = get_member(notification.params or b"", "progressToken")
            key = None if token is None else id_key(token)
            for call in self._calls.values():
                if call.token is not None and call.token == key:
                    call.heard = asyncio.get_running_loop().time()
        elif notification.method == CANCELLED and (cancelled := read_cancel(notification)) is not None:
            self._asked.discard(cancelled.key)

    def _settle(self, id: bytes | None) -> None:
        self._opened = True
        if self._opening is not None:
            self._opening.cancel()
        if id is not None:
            self._calls.pop(id_key(id), None)

    def _alive(self) -> None:
        now = asyncio.get_running_loop().time()
        for call in self._calls.values():
            call.heard = now

    def _tell_error(self, error: Fault | AnywireError) -> None:
        if self._late is None:
            if isinstance(error, Fault):
                self._hear(error)
            self.callbacks.on_error(error)

    def _tell_failed(self, id: bytes, error: AnywireError) -> None:
        if self._late is None:
            self._settle(id)
            self.callbacks.on_failed(id, error)

    def _tell_reopened(self) -> None:
        self._asked.clear()
        self.callbacks.on_reopened()

    # What takes too long.

    def _look(self) -> None:
        """Let fail what has been without a sign of life for too long."""
        loop = asyncio.get_running_loop()
        self._looking = None
        if self.closed:
            return
        if self._asked:
            self._alive()
        now = loop.time()
        for key, call in list(self._calls.items()):
            if now - call.heard >= self._call_seconds:
                del self._calls[key]
                self._fail(call)
        if self._calls:
            due = min(call.heard for call in self._calls.values()) + self._call_seconds
            self._looking = loop.call_at(due, self._look)

    def _fail(self, call: _Call) -> None:
        reason = f"{self.name} gave no sign of life on {call.method} within {self._call_seconds:g} s"
        params = {"requestId": msgspec.Raw(call.id), "reason": "it took too long"}
        with contextlib.suppress(TransportError):  # it may take nothing any more
            self._inner.post(create_notification(CANCELLED, params))
        call_back(self.callbacks.on_failed, call.id, DeadlineExceeded(reason))

    def _give_up(self, method: str) -> None:
        """Nobody has come up: end it, and say so at once, since the end of a process takes its time."""
        if self.closed or self._opened:
            return
        self._late = DeadlineExceeded(f"{self.name} did not answer {method} within {self._start_seconds:g} s")
        self._ending = asyncio.get_running_loop().create_task(self._inner.close())
        call_back(self.callbacks.on_close, self._late)

    def _tell_end(self) -> None:
        if self._late is None:
            self.callbacks.on_end()

    def _tell_close(self, error: AnywireError | None) -> None:
        self._stop()
        if self._late is None:
            self.callbacks.on_close(error)

    def _stop(self) -> None:
        for timer in (self._opening, self._looking):
            if timer is not None:
                timer.cancel()
        self._calls.clear()

    async def close(self) -> None:
        """End the wire."""
        self._stop()
        await self._inner.close()
        if self._ending is not None:
            await asyncio.wait([self._ending])


def patient(
    make: Callable[[], Transport], start_seconds: float, call_seconds: float | None
) -> Callable[[], Transport]:
    """Return what makes the same transports, each within these bounds; None: a request may take any time."""
    calls = math.inf if call_seconds is None else call_seconds
    return lambda: PatienceLayer(make(), start_seconds=start_seconds, call_seconds=calls)
