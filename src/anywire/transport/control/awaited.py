"""The requests of a host that a server here has not answered: to each its own `mcp_message`.

A reply is led back to the `mcp_message` that its request came in.  Hosts exist that call everything 1: of two
requests in flight with one id the later has another one as long as it is here.
"""

from __future__ import annotations

from typing import Final

import msgspec

from anywire.errors import AnywireError
from anywire.transport.control.link import ControlLink
from anywire.wire.codec import encode
from anywire.wire.event import read_cancel
from anywire.wire.message import (
    NULL_ID,
    Batch,
    ErrorResponse,
    JsonRpcErrorCode,
    Message,
    Notification,
    Request,
    Response,
    create_error_response,
    id_key,
)
from anywire.wire.splice import set_member

__all__ = ("CANCELLED_CODE", "AwaitedReplies")

#: What a call that the host cancelled is answered with: the code that hosts know for it.
CANCELLED_CODE: Final = -32800


class _Awaited:
    """What one `mcp_message` waits for."""

    __slots__ = ("answered", "control_id", "given", "is_batch", "replies", "tokens")

    def __init__(self, control_id: bytes, is_batch: bool) -> None:
        self.control_id = control_id
        self.is_batch = is_batch
        self.answered = False
        #: The id that each unanswered request has here, by its key ...
        self.tokens: dict[bytes, bytes] = {}
        #: ... and the one that the host gave it, where that is another.
        self.given: bytes | None = None
        self.replies: list[bytes] = []


class AwaitedReplies:
    """Leads replies back.  While a message is handed on, a reply without an id is the reply to it."""

    def __init__(self, link: ControlLink) -> None:
        self._link = link
        self._awaited: dict[bytes, _Awaited] = {}
        #: The same by the key of the `mcp_message`; one that is not unique has several.
        self._messages: dict[bytes, list[_Awaited]] = {}
        self._current: _Awaited | None = None
        self._renamed = 0

    def __len__(self) -> int:
        return len(self._awaited)

    # In.

    def expect(self, control_id: bytes, request: Request) -> Request:
        """Note a request that is about to be handed on; return it as the server is to see it."""
        awaited, key = _Awaited(control_id, False), id_key(request.id)
        if key in self._awaited:
            awaited.given = request.id
            request = self._rename(request)
            key = id_key(request.id)
        awaited.tokens[key] = request.id
        self._awaited[key] = self._current = awaited
        self._messages.setdefault(id_key(control_id), []).append(awaited)
        return request

    def _rename(self, request: Request) -> Request:
        token = request.id
        while id_key(token) in self._awaited:
            self._renamed += 1
            token = b'"anywire-%d"' % self._renamed
        return Request(token, request.method, request.params, set_member(request.frame, "id", token))

    def expect_batch(self, control_id: bytes, batch: Batch) -> bool:
        """Note the requests of a batch; False where it was refused instead."""
        awaited = _Awaited(control_id, True)
        requests = [item for item in batch.items if isinstance(item, Request)]
        awaited.tokens = {id_key(request.id): request.id for request in requests}
        if len(awaited.tokens) < len(requests) or any(key in self._awaited for key in awaited.tokens):
            reason = "Invalid Request: an id of the batch is in flight already"
            self._answer(awaited, create_error_response(None, JsonRpcErrorCode.InvalidRequest, reason))
            return False
        self._current = awaited
        for key in awaited.tokens:
            self._awaited[key] = awaited
        if awaited.tokens:
            self._messages.setdefault(id_key(control_id), []).append(awaited)
        return True

    def delivered(self) -> None:
        """The message was handed on; a batch in which nothing waits for a reply has been taken."""
        awaited, self._current = self._current, None
        if awaited is not None and awaited.is_batch and not awaited.answered and not awaited.tokens:
            awaited.answered = True
            self._link.answer_message(awaited.control_id)

    def cancel(self, message: Notification) -> Notification:
        """Answer a call that the host cancels, as the server will not; return what to tell the server."""
        cancelled = read_cancel(message)
        found = None if cancelled is None else self._find(cancelled.key)
        if found is None:
            return message
        key, awaited = found
        token = awaited.tokens[key]
        self._settle(key, awaited, create_error_response(None, CANCELLED_CODE, "Request cancelled"))
        if awaited.given is None:
            return message
        return Notification(message.method, set_member(message.params or b"{}", "requestId", token))

    def _find(self, key: bytes) -> tuple[bytes, _Awaited] | None:
        """Find the oldest request that the host gave this id."""
        if key in self._awaited and self._awaited[key].given is None:
            return key, self._awaited[key]
        for here, awaited in self._awaited.items():
            if awaited.given is not None and id_key(awaited.given) == key:
                return here, awaited
        return None

    def withdraw(self, control_id: bytes) -> list[bytes]:
        """Wait no more for what came in that `mcp_message`; return the ids it has here."""
        tokens: list[bytes] = []
        for awaited in self._messages.pop(id_key(control_id), ()):
            for key, token in awaited.tokens.items():
                tokens.append(token)
                del self._awaited[key]
            awaited.tokens.clear()
            awaited.answered = True  # as nobody waits for it
        return tokens

    # Out.

    def take(self, message: Message | Batch) -> Message | Batch | None:
        """Lead back what replies; return the rest, which travels by itself, None where there is none."""
        if type(message) is Response or type(message) is ErrorResponse:
            self._take_reply(message)
            return None
        if type(message) is not Batch:
            return message
        replies = [item for item in message.items if isinstance(item, Response | ErrorResponse)]
        for reply in replies:
            self._take_reply(reply)
        if not replies:
            return message
        rest = tuple(item for item in message.items if not isinstance(item, Response | ErrorResponse))
        return Batch(rest) if rest else None

    def _take_reply(self, reply: Response | ErrorResponse) -> None:
        key = id_key(reply.id or NULL_ID)
        awaited = self._awaited.get(key)
        if awaited is not None:
            self._settle(key, awaited, reply)
        elif key == NULL_ID and self._current is not None and not self._current.answered:
            for each in self._current.tokens:
                del self._awaited[each]
            self._forget(self._current)
            self._current.tokens.clear()
            self._answer(self._current, reply)
        # Else it was cancelled, or answered before.

    def _settle(self, key: bytes, awaited: _Awaited, reply: Response | ErrorResponse) -> None:
        del self._awaited[key]
        id = awaited.given or awaited.tokens[key]
        del awaited.tokens[key]
        if not awaited.tokens:
            self._forget(awaited)
        if reply.id != id:
            frame = set_member(reply.frame, "id", id) if reply.frame else b""
            reply = msgspec.structs.replace(reply, id=id, frame=frame)
        if not awaited.is_batch:
            self._answer(awaited, reply)
            return
        awaited.replies.append(encode(reply))
        if not awaited.tokens:
            awaited.answered = True
            self._link.answer_message(awaited.control_id, b"[%b]" % b",".join(awaited.replies))

    def _forget(self, awaited: _Awaited) -> None:
        """Nothing of that message is awaited any more."""
        key = id_key(awaited.control_id)
        same = self._messages.get(key)
        if same is not None and awaited in same:
            same.remove(awaited)
            if not same:
                del self._messages[key]

    def _answer(self, awaited: _Awaited, reply: Response | ErrorResponse) -> None:
        awaited.answered = True
        self._link.answer_message(awaited.control_id, encode(reply))

    def end(self, reason: str) -> None:
        """Answer everything with an error."""
        error = create_error_response(None, AnywireError.code, reason)
        for key, awaited in list(self._awaited.items()):
            self._settle(key, awaited, error)
