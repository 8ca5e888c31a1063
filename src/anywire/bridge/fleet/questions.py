"""What several servers ask one client: under ids and progress tokens of ours, and whose each is.

Specification: MCP `client/*`, `basic/utilities/cancellation`, `basic/utilities/progress`, until 2025-11-25.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Generic, TypeVar

import msgspec

from anywire.protocol.rewriting import progress_token, swap_progress_token, with_id, with_member
from anywire.wire.limits import Limits
from anywire.wire.message import (
    NULL_ID,
    ErrorResponse,
    JsonRpcErrorCode,
    Notification,
    Request,
    Response,
    create_notification,
    error_reply,
    folded_key,
    id_key,
)
from anywire.wire.peer import read_cancel
from anywire.wire.splice import get_member

__all__ = ("Question", "Questions")

O = TypeVar("O", bound=Hashable)  # noqa: E741 the owner


class Question(Generic[O]):
    """One request of a server: whose it is, `id` as that spells it, `number` as the client sees it."""

    __slots__ = ("id", "number", "owner", "token")

    def __init__(self, owner: O, request: Request, number: bytes) -> None:
        self.owner = owner
        self.id = request.id
        self.number = number
        #: The raw progress token that the server gave with it.
        self.token = progress_token(request.params)


class Questions(Generic[O]):
    """All questions that the client has not answered.  A number is never used again."""

    def __init__(self, limits: Limits) -> None:
        self._most = limits.requests_in_flight
        self._by_number: dict[bytes, Question[O]] = {}
        self._last = 0

    def __len__(self) -> int:
        return len(self._by_number)

    def ask(self, owner: O, request: Request) -> Request | ErrorResponse:
        """Return a request of a server as the client shall see it, or the error that refuses it."""
        if len(self._by_number) >= self._most:
            reason = f"more than {self._most} requests are unanswered"
            return error_reply(request.id, JsonRpcErrorCode.InternalError, reason)
        self._last += 1
        question = Question(owner, request, b"%d" % self._last)
        self._by_number[question.number] = question
        return swap_progress_token(with_id(request, question.number), question.number)[0]

    def answered(self, reply: Response | ErrorResponse) -> tuple[O, Response | ErrorResponse] | None:
        """Return whose question a reply of the client settles, and the reply as that shall see it.

        An answer without an id is that to the only question there is.  None: nobody asked, or does still.
        """
        if reply.id is None or reply.id == NULL_ID:
            number = next(iter(self._by_number)) if len(self._by_number) == 1 else b""
        else:
            number = folded_key(id_key(reply.id))
        question = self._by_number.pop(number, None)
        return None if question is None else (question.owner, with_id(reply, question.id))

    def progressed(self, notification: Notification) -> tuple[O, Notification] | None:
        """Return whose question the client reports progress of, and that under the server's own token."""
        token = get_member(notification.params or b"", "progressToken")
        question = None if token is None else self._by_number.get(folded_key(id_key(token)))
        if question is None or question.token is None:
            return None
        return question.owner, with_member(notification, "progressToken", question.token)

    def withdrawn(self, owner: O, notification: Notification) -> Notification | None:
        """A server takes a question back: return what the client is told; None: it was not asked."""
        cancelled = read_cancel(notification)
        for number, question in self._by_number.items():
            if question.owner == owner and cancelled is not None and id_key(question.id) == cancelled.key:
                del self._by_number[number]
                return with_member(notification, "requestId", number)
        return None

    def lose(self, owner: O, reason: str) -> list[Notification]:
        """A server is gone: return what tells the client that nobody waits for its answers."""
        lost = [question for question in self._by_number.values() if question.owner == owner]
        for question in lost:
            del self._by_number[question.number]
        return [
            create_notification(
                "notifications/cancelled", {"requestId": msgspec.Raw(question.number), "reason": reason}
            )
            for question in lost
        ]
