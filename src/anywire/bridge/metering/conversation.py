"""One conversation with a server as its meter sees it: which requests wait, and what became of them."""

from __future__ import annotations

from typing import Final

from anywire.bridge.metering.calls import (
    CANCELLED_KIND,
    LOST_KIND,
    TIMED_OUT_KIND,
    UNUSABLE_KIND,
    Calls,
    error_kind,
)
from anywire.bridge.metering.meter import ServerMeter
from anywire.errors import AnywireError, DeadlineExceeded, HttpStatusError, TransportError
from anywire.wire.event import CANCELLED
from anywire.wire.message import (
    Batch,
    ErrorResponse,
    Fault,
    Message,
    Notification,
    Request,
    Response,
    id_key,
)
from anywire.wire.peer import read_cancel

__all__ = ("MeteredConversation",)

#: Requests of one conversation that are kept until they are answered; more are counted and not timed.
_MOST: Final = 10_000
#: What a server answers over HTTP that serves nobody, or not us.
_SERVES_NOBODY: Final = frozenset({401, 403, 404, 407, 429})


class MeteredConversation:
    """Tells a meter of one conversation.  Times as there; `is_child`: the server is a process of ours."""

    __slots__ = ("_begun", "_meter", "_open", "_over", "_silent", "is_child")

    def __init__(self, meter: ServerMeter, *, is_child: bool) -> None:
        self.is_child = is_child
        self._meter = meter
        self._open: dict[bytes, tuple[Calls, float]] = {}
        self._begun = False
        self._over = False
        self._silent = True

    @property
    def waiting(self) -> int:
        """How many requests wait for their answer."""
        return len(self._open)

    # The beginning and the end.

    def starting(self, now: float) -> None:
        """It is being opened."""
        self._begun = True
        self._meter.starting(self, now)

    def started(self, now: float) -> None:
        """It is open."""
        if not self._over:
            self._meter.started(self, now)

    def ended(self, now: float) -> None:
        """This side ended it: who asked something does not wait any more."""
        if self._begun and not self._over:
            self._over = True
            self._settle_all(CANCELLED_KIND)
            self._meter.ended(self, now)

    def lost(self, error: AnywireError | None, now: float) -> None:
        """It ended by itself, or did not come about."""
        if self._begun and not self._over:
            self._over = True
            self._settle_all(_kind_of(error))
            self._meter.lost(self, error, now)

    # What is said.

    def sent(self, message: Message | Batch, now: float) -> None:
        """Something is sent to the server."""
        if isinstance(message, Request):
            calls = self._meter.calls(message.method)
            calls.count += 1
            if len(self._open) < _MOST:
                self._open[id_key(message.id)] = calls, now
        elif isinstance(message, Batch):
            for item in message.items:
                if not isinstance(item, Fault):
                    self.sent(item, now)
        elif isinstance(message, Notification) and message.method == CANCELLED:
            cancelled = read_cancel(message)
            if cancelled is not None:
                self._settle(cancelled.key, CANCELLED_KIND)

    def unsent(self, message: Message | Batch) -> None:
        """What was to be sent could not be."""
        for item in message.items if isinstance(message, Batch) else (message,):
            if isinstance(item, Request):
                self._settle(id_key(item.id), LOST_KIND)

    def received(self, message: Message | Batch, now: float) -> None:
        """The server has said something."""
        if isinstance(message, Response | ErrorResponse):
            if message.id is not None:
                self._answered(message.id, message, now)
        elif isinstance(message, Batch):
            for item in message.items:
                if not isinstance(item, Fault):
                    self.received(item, now)
        if self._silent:
            self._silent = False
            self._meter.answered(self, now)
        if self._meter.in_trouble:
            self._meter.spoke(now)

    def fault(self, error: Fault | AnywireError, now: float) -> None:
        """The server has sent what is no message, or a part of the wire has failed."""
        if not isinstance(error, Fault):
            self._meter.note(error, now)
        elif error.id is None or not error.may_settle or not self._settle(id_key(error.id), UNUSABLE_KIND):
            self._meter.noise_lines += 1

    def failed(self, id: bytes, error: AnywireError, now: float) -> None:
        """The request of that raw id cannot have an answer any more."""
        asked = self._open.get(id_key(id))
        self._settle(id_key(id), _kind_of(error))
        does_not_begin = asked is not None and asked[0].method == "initialize"
        if does_not_begin or _says_that_it_does_not_work(error):
            self._meter.trouble(error, now)
        else:
            self._meter.note(error, now)

    def reopened(self) -> None:
        """The server had lost the conversation: it was opened again, and what was asked before is lost."""
        self._meter.reopened()

    def _answered(self, id: bytes, reply: Response | ErrorResponse, now: float) -> None:
        asked = self._open.pop(id_key(id), None)
        if asked is None:
            return
        calls, since = asked
        calls.took(now - since)
        kind = error_kind(calls.method, reply)
        if kind is not None:
            calls.failed(kind)

    def _settle(self, key: bytes, kind: str) -> bool:
        asked = self._open.pop(key, None)
        if asked is not None:
            asked[0].failed(kind)
        return asked is not None

    def _settle_all(self, kind: str) -> None:
        for calls, _ in self._open.values():
            calls.failed(kind)
        self._open.clear()


def _kind_of(error: AnywireError | None) -> str:
    return TIMED_OUT_KIND if isinstance(error, DeadlineExceeded) else LOST_KIND


def _says_that_it_does_not_work(error: AnywireError) -> bool:
    """Say whether the failure of one request means that the others would fail as well."""
    if isinstance(error, HttpStatusError):
        return error.status in _SERVES_NOBODY or error.status >= 500
    return isinstance(error, TransportError)
