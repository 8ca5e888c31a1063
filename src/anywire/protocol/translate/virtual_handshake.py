"""A conversation of the handshake era that is held on behalf of one stateless request.

The request says of its client what a handshake says, so it gets one: `initialize`, then what it asks.
A machine: messages and ends go in, steps come out; it opens no connection and knows no clock.

Specification: MCP `basic/lifecycle`, 2024-11-05 to 2025-11-25.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import msgspec

from anywire.errors import AnywireError, DeadlineExceeded, RemoteProtocolError, TransportClosed
from anywire.protocol.modern import Envelope, code_of
from anywire.protocol.translate.envelope_shapes import (
    Greeted,
    handshake_result,
    initialize_params,
    spliced,
    stateless_error,
    stateless_result,
)
from anywire.protocol.types.logging import LogLevel
from anywire.wire.codec import encode_value
from anywire.wire.event import CANCELLED
from anywire.wire.message import (
    ErrorResponse,
    Fault,
    FaultKind,
    JsonRpcErrorCode,
    Message,
    Notification,
    Request,
    Response,
    error_reply,
    folded_key,
    id_key,
)
from anywire.wire.splice import set_member

__all__ = (
    "Answer",
    "Failed",
    "Reply",
    "Step",
    "ToClient",
    "ToServer",
    "VirtualHandshake",
    "WantsInput",
    "withdrawal",
)

Reply: TypeAlias = Response | ErrorResponse


class ToServer(msgspec.Struct, frozen=True):
    """Send this to the server."""

    message: Message


class ToClient(msgspec.Struct, frozen=True):
    """Tell the client this, on behalf of its request."""

    message: Notification


class Answer(msgspec.Struct, frozen=True):
    """Answer the client's request."""

    reply: Reply


class Failed(msgspec.Struct, frozen=True):
    """The client's request cannot be answered."""

    error: AnywireError


class WantsInput(msgspec.Struct, frozen=True):
    """The server has a question: when what it says at this moment has been heard, the client is asked."""


#: What is to be done, in order.
Step: TypeAlias = ToServer | ToClient | Answer | Failed | WantsInput


class VirtualHandshake:
    """What all such conversations have in common.  Its requests have ids of their own.

    `begin()` comes first, then whatever happens.  When it is `over`, the connection is of no more use.
    """

    def __init__(self, request: Request, envelope: Envelope, name: str) -> None:
        #: The client's request, and what it says of itself.
        self.request = request
        self.envelope = envelope
        self._name = name
        #: Nothing more will come of it.
        self.over = False
        #: The request has not been passed on yet: what is waited for is soon there.
        self.opening = True
        self._greeted: Greeted | None = None
        self._level: LogLevel | None = None
        self._next_id = 1
        self._awaited: dict[bytes, Callable[[Reply], list[Step]]] = {}

    def __repr__(self) -> str:
        state = "over" if self.over else "opening" if self.opening else "open"
        return f"<{type(self).__name__} {self.request.method}, {state}>"

    @property
    def id(self) -> bytes:
        """The raw id of the client's request."""
        return self.request.id

    @property
    def _params(self) -> bytes:
        return self.request.params or b"{}"

    def begin(self) -> list[Step]:
        """The connection is open."""
        return [self._ask("initialize", initialize_params(self._params), self._initialized)]

    def receive(self, message: Message) -> list[Step]:
        """Take one message of the server."""
        if self.over:
            return []
        match message:
            case Request():
                return self._asked(message)
            case Notification():
                return self._told(message)
            case _:
                then = self._find(message.id)
                return [] if then is None else then(message)

    def receive_fault(self, fault: Fault) -> list[Step] | None:
        """Take what is no message; None: it is no reply that is waited for."""
        nameless = fault.id is None and fault.kind is not FaultKind.TOO_LARGE
        if not fault.may_settle or nameless or self._find(fault.id) is None:
            return None
        return self.lose(RemoteProtocolError(f"{self._name}: its reply cannot be used: {fault.reason}"))

    def fail_sent(self, id: bytes, error: AnywireError) -> list[Step]:
        """What was sent under that id cannot be answered."""
        return [] if self._find(id) is None else self.lose(error)

    def lose(self, error: AnywireError | None) -> list[Step]:
        """The connection has ended; None: in order, which is no answer either."""
        if self.over:
            return []
        self.over = True
        return [Failed(error or self._ended())]

    def reopened(self) -> list[Step]:
        """The server had lost the conversation, and has been greeted anew: what was set is set again."""
        self._level = None
        return self._set_level(lambda _: [])

    def expire(self, seconds: float) -> list[Step]:
        """The server has had so much time to shake hands."""
        return self.lose(DeadlineExceeded(f"{self._name} has not shaken hands within {seconds:g} s"))

    def cancel(self, reason: str) -> list[Step]:
        """The client wants no answer any more."""
        if self.over:
            return []
        self.over = True
        return self._withdraw(reason)

    def _ended(self) -> AnywireError:
        doing = "it shook hands" if self.opening else f"it answered {self.request.method}"
        return TransportClosed(f"{self._name} ended before {doing}")

    # For those that know what is asked.

    def _opened(self, greeted: Greeted) -> list[Step]:
        """The handshake is done."""
        raise NotImplementedError

    def _withdraw(self, reason: str) -> list[Step]:
        """Tell the server that what it was asked is not wanted any more."""
        return []

    def _told(self, message: Notification) -> list[Step]:
        """Take a notification."""
        return []

    def _asked(self, request: Request) -> list[Step]:
        """Take a request: a sign of life is given, anything else refused."""
        if request.method == "ping":
            return [ToServer(Response(request.id, b"{}"))]
        return [self._refuse(request, JsonRpcErrorCode.MethodNotFound, self._why_not(request))]

    def _why_not(self, request: Request) -> str:
        return f"{request.method}: the client is stateless and cannot be asked during {self.request.method}"

    def _refuse(self, request: Request, code: int, reason: str) -> Step:
        return ToServer(error_reply(request.id, code, reason))

    # The handshake.

    def _initialized(self, reply: Reply) -> list[Step]:
        if isinstance(reply, ErrorResponse):
            return self._answer(_explained(reply, f"{self._name} refused the handshake"))
        greeted = handshake_result(reply.result)
        if isinstance(greeted, str):
            return self.lose(RemoteProtocolError(f"{self._name}: {greeted}"))
        self._greeted = greeted
        done: Step = ToServer(Notification("notifications/initialized"))
        level = self._set_level(lambda _: self._open(greeted))
        return [done, *(level or self._open(greeted))]

    def _open(self, greeted: Greeted) -> list[Step]:
        self.opening = False
        return self._opened(greeted)

    def _set_level(self, then: Callable[[Reply], list[Step]]) -> list[Step]:
        """Have log messages sent, as far as the request wants them; nothing where there is nothing to set."""
        wanted = self.envelope.log_level
        logs = self._greeted is not None and self._greeted.capabilities.logging is not msgspec.UNSET
        if wanted is None or wanted == self._level or not logs:
            return []
        self._level = wanted
        return [self._ask("logging/setLevel", b'{"level":%b}' % encode_value(wanted), then)]

    # Asking and answering.

    def _ask(self, method: str, params: bytes, then: Callable[[Reply], list[Step]]) -> Step:
        """Make a request; `then` gets what answers it."""
        return ToServer(Request(self._await(then), method, params))

    def _await(self, then: Callable[[Reply], list[Step]]) -> bytes:
        id = b"%d" % self._next_id
        self._next_id += 1
        self._awaited[id] = then
        return id

    def _find(self, id: bytes | None) -> Callable[[Reply], list[Step]] | None:
        """Return what waits for the answer of that id, and forget it; without an id it is the only one."""
        if id is None or id == b"null":
            return self._awaited.popitem()[1] if len(self._awaited) == 1 else None
        key = id_key(id)
        if key not in self._awaited:  # the right digits and the wrong type
            key = folded_key(key)
        return self._awaited.pop(key, None)

    def _answer(self, reply: Reply) -> list[Step]:
        """End with an answer of the server."""
        self.over = True
        return [Answer(self._translated(reply))]

    def _translated(self, reply: Reply) -> Reply:
        """Make an answer of the server one to the client's request, in the shape of its era."""
        if isinstance(reply, ErrorResponse):
            error = stateless_error(reply.error, self.request.method, self._params)
            return ErrorResponse(self.id, error, spliced(reply.frame, {"id": self.id, "error": error}))
        assert self._greeted is not None
        result = stateless_result(self.request.method, reply.result, self._greeted.frame)
        return Response(self.id, result, spliced(reply.frame, {"id": self.id, "result": result}))


def withdrawal(id: bytes, reason: str) -> Step:
    """Return what takes our request of that id back."""
    return ToServer(Notification(CANCELLED, b'{"requestId":%b,"reason":%b}' % (id, encode_value(reason))))


def _explained(reply: ErrorResponse, why: str) -> ErrorResponse:
    """Put a reason in front of the message of an error."""
    detail = reply.detail()
    told = encode_value(f"{why}: {detail.message}")
    error = reply.error if reply.error[:1] == b"{" else b'{"code":%d}' % code_of(detail.code)
    error = set_member(error, "message", told)
    return ErrorResponse(reply.id, error, spliced(reply.frame, {"error": error}))
