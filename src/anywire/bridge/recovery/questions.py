"""What the server asks the client, and what becomes of that when the server is lost.

The client is told not to answer any more.  An answer that is under way all the same must not reach the
next server, which may ask something else under the same id: then the client sees another id.

Specification: MCP `basic/utilities/cancellation`.
"""

from __future__ import annotations

from typing import TypeVar

import msgspec

from anywire.wire.codec import encode, encode_value
from anywire.wire.limits import Limits
from anywire.wire.message import (
    ErrorResponse,
    Fault,
    JsonRpcErrorCode,
    Notification,
    Request,
    Response,
    create_notification,
    error_reply,
    id_key,
)
from anywire.wire.peer import read_cancel
from anywire.wire.splice import set_member

__all__ = ("Questions",)

M = TypeVar("M", bound=Request | Response | ErrorResponse)


class Questions:
    """The requests of a server that its client has not answered, and those that nobody waits for any more."""

    def __init__(self, limits: Limits) -> None:
        self._most = limits.requests_in_flight
        self._open: dict[bytes, tuple[bytes, bytes]] = {}  # the id at the client and that at the server
        self._lost: dict[bytes, None] = {}
        self._renamed = 0

    def ask(self, request: Request) -> Request | ErrorResponse:
        """A request of the server: return it as the client shall see it, or the error that refuses it."""
        if len(self._open) >= self._most:
            reason = f"more than {self._most} requests are unanswered"
            return error_reply(request.id, JsonRpcErrorCode.InvalidRequest, reason)
        key = id_key(request.id)
        seen = request
        if key in self._lost:
            self._renamed += 1
            seen = _under(request, encode_value(f"anywire-asks-again-{self._renamed}"))
        self._open[id_key(seen.id)] = seen.id, request.id
        return seen

    def answer(self, reply: Response | ErrorResponse) -> Response | ErrorResponse | None:
        """A reply of the client: return it as the server shall see it, None where that is lost."""
        if reply.id is None:
            return reply
        key = id_key(reply.id)
        asked = self._open.pop(key, None)
        if asked is None:
            lost = key in self._lost
            self._lost.pop(key, None)
            return None if lost else reply
        return reply if asked[0] == asked[1] else _under(reply, asked[1])

    def unusable(self, fault: Fault) -> Response | ErrorResponse | None:
        """A reply of the client is none: return what the server is told instead; None: it did not ask."""
        if not fault.may_settle or fault.id is None or id_key(fault.id) not in self._open:
            return None
        reason = f"the client's reply cannot be used: {fault.reason}"
        return self.answer(error_reply(fault.id, JsonRpcErrorCode.InternalError, reason))

    def withdraw(self, notification: Notification) -> Notification:
        """The server cancels a request: return the notification as the client shall see it."""
        cancelled = read_cancel(notification)
        if cancelled is None:
            return notification
        for key, (seen, asked) in self._open.items():
            if id_key(asked) == cancelled.key:
                del self._open[key]
                if seen == asked:
                    return notification
                params = set_member(notification.params or b"{}", "requestId", seen)
                frame = set_member(notification.frame or encode(notification), "params", params)
                return Notification(notification.method, params, frame)
        return notification

    def lose(self, why: str) -> list[Notification]:
        """The server is lost: return what tells the client that nobody waits for its answers."""
        notes = [_cancellation(seen, why) for seen, _ in self._open.values()]
        self._lost.update(dict.fromkeys(self._open))
        self._open.clear()
        while len(self._lost) > self._most:
            del self._lost[next(iter(self._lost))]
        return notes


def _under(message: M, id: bytes) -> M:
    frame = set_member(message.frame or encode(message), "id", id)
    return msgspec.structs.replace(message, id=id, frame=frame)


def _cancellation(id: bytes, reason: str) -> Notification:
    return create_notification("notifications/cancelled", {"requestId": msgspec.Raw(id), "reason": reason})
