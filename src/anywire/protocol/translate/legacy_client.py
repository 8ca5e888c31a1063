"""A client of the handshake era before a server of the stateless one.

Towards the client this is a server that shakes hands and remembers; towards the server it is a client whose
requests each say who asks.  What the one era remembers is kept here: who the client is, its log level, what
it subscribed to.  What the other one says in rounds becomes requests to the client.

Nothing here does I/O.  Each call returns what is to be done, in that order; `deadline()` says when
`tick(now)` must be called next.  Nothing that a peer sends raises.  Each request of the client's ends once:
with a reply, or with a `Failed`; one that the client took back has no end.

Specification: MCP `basic/lifecycle`, 2024-11-05 to 2025-11-25; `basic/index#_meta`, `basic/patterns`,
2026-07-28.
"""

from __future__ import annotations

from collections.abc import Iterable, MutableMapping, Sequence
from typing import Final

import msgspec
from msgspec import UNSET

from anywire.errors import AnywireError, LimitExceeded, RemoteProtocolError, TransportClosed
from anywire.protocol.features import FEATURES, Feature, has
from anywire.protocol.http.mirrored import Mirror
from anywire.protocol.methods import METHODS
from anywire.protocol.revisions import null_id
from anywire.protocol.translate.effect import Effect, Noise, ToClient, ToServer
from anywire.protocol.translate.legacy_calls import Calls, gathered
from anywire.protocol.translate.legacy_listening import Change, Listening, Settlement, why_ended
from anywire.protocol.translate.legacy_listening import Outcome as Heard
from anywire.protocol.translate.legacy_rounds import (
    Call,
    Rounds,
    Wanted,
    next_params,
    read_wanted,
    undeclared,
)
from anywire.protocol.translate.legacy_terms import Terms
from anywire.protocol.translate.legacy_tools import tools_downward
from anywire.protocol.translate.shapes import (
    decoded,
    error_downward,
    is_object,
    result_downward,
    result_kind,
    with_member,
)
from anywire.protocol.types.envelope import COMPLETE, INPUT_REQUIRED
from anywire.wire.event import CANCELLED, read_cancel
from anywire.wire.limits import DEFAULT_LIMITS, Limits
from anywire.wire.message import (
    NULL_ID,
    Batch,
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
    is_response,
)
from anywire.wire.splice import get_member, set_member

__all__ = ("LegacyClient",)

_UNFIT, _UNKNOWN = JsonRpcErrorCode.InvalidRequest, JsonRpcErrorCode.MethodNotFound
_INVALID, _INTERNAL = JsonRpcErrorCode.InvalidParams, JsonRpcErrorCode.InternalError
_HANDSHAKE: Final = FEATURES[Feature.HANDSHAKE]
_STATELESS: Final = FEATURES[Feature.REQUEST_ENVELOPE]


class LegacyClient:
    """See the module.

    `name` begins the ids of what the client is asked; `linger` is that of `Listening`; `mirrors`, where the
    server is reached over HTTP, learns which arguments go into headers.
    """

    def __init__(
        self,
        limits: Limits = DEFAULT_LIMITS,
        *,
        name: str = "anywire",
        linger: float = 0.0,
        mirrors: MutableMapping[str, Sequence[Mirror]] | None = None,
    ) -> None:
        self._limits = limits
        self._mirrors = mirrors
        self._terms = Terms()
        self._rounds = Rounds(name, limits.input_seconds)
        self._calls = Calls(self._rounds, limits)
        self._listening = Listening(self._listen_request, limits, linger)
        self._closed: AnywireError | None = None

    def __repr__(self) -> str:
        state = "closed" if self._closed else self._terms.revision or "new"
        return f"<LegacyClient {state}, {len(self._calls)} unanswered>"

    # From the client.

    def from_client(self, message: Message | Batch, now: float) -> list[Effect]:
        """Take what the client sent."""
        if isinstance(message, Batch):
            return self._from_batch(message, now)
        if isinstance(message, Request):
            refusal = self._calls.refusal_of(message)
            return self._serve(message, now) if refusal is None else [ToClient(refusal, message.id)]
        return self._take(message, now)

    def _take(self, message: Notification | Response | ErrorResponse, now: float) -> list[Effect]:
        if isinstance(message, Notification):
            return self._take_notification(message, now)
        return self._take_answer(message)

    def _from_batch(self, batch: Batch, now: float) -> list[Effect]:
        revision = self._terms.revision
        if not has(Feature.BATCHES, revision):
            if all(item.is_reply if isinstance(item, Fault) else is_response(item) for item in batch.items):
                return []  # never answered, also as an array
            reason = "Invalid Request: batches are part of revision 2025-03-26 only"
            return [ToClient(error_reply(null_id(revision), _UNFIT, reason))]
        effects: list[Effect] = []
        self._calls.batches.begin()
        for item in batch.items:
            effects += self._from_item(item, now)
        return effects + gathered(self._calls.batches.finish_reading())

    def _from_item(self, item: Message | Fault, now: float) -> list[Effect]:
        if isinstance(item, Fault):
            refusal = item.answer(null_id(self._terms.revision))
        elif isinstance(item, Request):
            refusal = self._calls.refusal_of(item)
            if refusal is None and item.method == "initialize":
                reason = "Invalid Request: initialize must not be part of a batch"
                refusal = error_reply(item.id, _UNFIT, reason)
            if refusal is None:
                self._calls.batches.expect(item.id)
                return self._serve(item, now)
        else:
            return self._take(item, now)
        if refusal is not None:
            self._calls.batches.add_now(refusal)
        return []

    def _serve(self, request: Request, now: float) -> list[Effect]:
        call = self._calls.begin(request)
        if self._closed is not None:
            return self._calls.fail(call, self._closed)
        match request.method:
            case "initialize":
                question = Request(b"", "server/discover", self._terms.greet(request.params))
                return [ToServer(self._calls.send(call, question))]
            case "ping":
                return self._calls.reply(call, Response(request.id, b"{}"))
            case "logging/setLevel":
                return self._set_level(call)
            case "resources/subscribe" | "resources/unsubscribe":
                return self._change_subscription(call, now)
            case method if _is_of_the_other_era(method):
                return self._calls.refuse(call, _UNKNOWN, f"Method not found: {method}")
            case _:
                return self._forward(call, request.params)

    def _set_level(self, call: Call) -> list[Effect]:
        if self._terms.revision is not None and self._terms.server.logging is UNSET:
            reason = "Method not found: logging/setLevel (the server sends no log messages)"
            return self._calls.refuse(call, _UNKNOWN, reason)
        fault = self._terms.set_level(call.request.params)
        if fault:
            return self._calls.refuse(call, _INVALID, f"Invalid params: {fault}")
        return self._calls.reply(call, Response(call.request.id, b"{}"))

    def _change_subscription(self, call: Call, now: float) -> list[Effect]:
        raw = get_member(call.request.params or b"{}", "uri")
        uri = decoded(raw, str)
        if raw is None or uri is None:
            return self._calls.refuse(call, _INVALID, "Invalid params: uri must be a text")
        begins = call.request.method == "resources/subscribe"
        return self._hear(self._listening.change(Change(call.key, uri, raw, begins), now))

    def _take_notification(self, message: Notification, now: float) -> list[Effect]:
        if message.method == CANCELLED:
            return self._cancel(message)
        if message.method == "notifications/initialized":
            self._terms.is_open = True
            return self._listen(now)
        known = METHODS.get(message.method)
        dropped = known is not None and known.notification and not known.to_server & _STATELESS
        return [] if dropped or self._closed is not None else [ToServer(message)]

    def _cancel(self, message: Notification) -> list[Effect]:
        """The client takes a request back: the server and the client itself need work for it no more."""
        cancelled = read_cancel(message)
        call = None if cancelled is None else self._calls.find(cancelled.key)
        if cancelled is None or call is None or call.request.method == "initialize":
            return []
        effects: list[Effect] = []
        if call.sent is not None:
            params = set_member(message.params or b"{}", "requestId", call.sent)
            effects.append(ToServer(with_member(message, "params", params)))
        return effects + self._calls.take_back(call)

    # Rounds of input.

    def _next_round(self, call: Call, result: bytes, now: float) -> list[Effect]:
        wanted = read_wanted(result)
        fault = wanted if isinstance(wanted, str) else self._why_not(call, wanted)
        if isinstance(wanted, str) or fault:
            reason = f"{call.request.method} needs input first, and {fault}"
            return self._calls.refuse(call, _INTERNAL, reason)
        requests = self._rounds.begin(call, wanted, self._terms.revision, now)
        if not requests:
            return self._forward(call, next_params(call))
        return [ToClient(request, call.request.id) for request in requests]

    def _why_not(self, call: Call, wanted: Wanted) -> str:
        if call.rounds >= self._limits.rounds:
            return f"the server has asked {call.rounds} times already"
        for question in wanted.questions:
            missing = undeclared(question, self._terms.declared)
            if missing:
                return f"the client cannot be asked for {question.method}: it did not declare {missing!r}"
        return ""

    def _take_answer(self, message: Response | ErrorResponse) -> list[Effect]:
        taken = None if message.id is None else self._rounds.take(id_key(message.id))
        if taken is None:
            return []
        call, question = taken
        if isinstance(message, ErrorResponse):
            detail = message.detail()
            reason = f"the client did not answer {question.method}: {detail.message} (code {detail.code})"
            reason = f"{call.request.method} needs input first, and {reason}"
            return self._calls.refuse(call, _INTERNAL, reason)
        call.answers.append((question.name, message.result))
        return [] if call.asked else self._forward(call, next_params(call))

    # To the server.

    def _forward(self, call: Call, params: bytes | None) -> list[Effect]:
        if params is not None and not is_object(params):
            if params != b"null":
                reason = "Invalid params: params must be an object"
                return self._calls.refuse(call, _INVALID, reason)
            params = None
        request = with_member(call.request, "params", self._terms.envelope(params))
        return [ToServer(self._calls.send(call, request))]

    def _listen(self, now: float) -> list[Effect]:
        """Have changes told, when it is known of which and the client is there."""
        if self._closed is not None or not self._terms.is_open:
            return []
        return self._hear(self._listening.begin(self._terms.lists, now))

    def _listen_request(self, params: bytes) -> Request:
        return Request(
            self._calls.fresh_id(), "subscriptions/listen", self._terms.envelope(params, logs=False)
        )

    # From the server.

    def from_server(self, message: Message | Batch | Fault, now: float) -> list[Effect]:
        """Take what the server sent."""
        match message:
            case Response() | ErrorResponse():
                return self._take_reply(message, now)
            case Notification():
                return self._take_news(message, now)
            case Request():
                reason = f"the server sent a request of its own ({message.method}), as none of its era does"
                return [Noise(RemoteProtocolError(reason))]
            case Batch():
                return [effect for item in message.items for effect in self.from_server(item, now)]
            case Fault():
                return self._take_fault(message, now)

    def _take_fault(self, fault: Fault, now: float) -> list[Effect]:
        is_message = fault.kind is FaultKind.TOO_LARGE or b'"jsonrpc"' in fault.data
        key = self._find(fault.id) if fault.may_settle and (fault.id is not None or is_message) else None
        if key is None:
            return [Noise(msgspec.structs.replace(fault, id=None))]  # its ids are nothing to the client
        reason = f"the reply cannot be used: {fault.reason}"
        too_large = fault.kind is FaultKind.TOO_LARGE
        return self._end(key, LimitExceeded(reason) if too_large else RemoteProtocolError(reason), now)

    def failed(self, id: bytes, error: AnywireError, now: float) -> list[Effect]:
        """The request to the server of that raw id was sent in vain."""
        key = self._find(id)
        return [] if key is None else self._end(key, error, now)

    def _end(self, key: bytes, error: AnywireError, now: float) -> list[Effect]:
        call = self._calls.sent(key)
        if call is not None:
            return self._calls.fail(call, error)
        return self._hear(self._listening.ended(key, str(error), now))

    def _find(self, id: bytes | None) -> bytes | None:
        """Find our request of that id: exactly, with its type folded, or the only one where there is none."""
        if id is None or id == NULL_ID:
            return self._calls.sole()
        for each in (key := id_key(id), folded_key(key)):
            if self._calls.sent(each) is not None or self._listening.owns(each):
                return each
        return None

    def _take_reply(self, message: Response | ErrorResponse, now: float) -> list[Effect]:
        key = self._find(message.id)
        if key is None:
            if isinstance(message, Response) or message.id not in (None, NULL_ID):
                return []  # late: what it answers was taken back
            return [Noise(RemoteProtocolError(f"the server answered no request: {message.detail().message}"))]
        call = self._calls.received(key)
        if call is None:
            refused = isinstance(message, ErrorResponse)
            return self._hear(self._listening.ended(key, why_ended(message), now, refused=refused))
        if isinstance(message, ErrorResponse):
            error = error_downward(call.request.method, message.error)
            return self._calls.reply(call, with_member(message, "error", error))
        return self._take_result(call, message, now)

    def _take_result(self, call: Call, message: Response, now: float) -> list[Effect]:
        method, result = call.request.method, message.result
        if method == "initialize":
            welcome = self._terms.welcome(result)
            if isinstance(welcome, str):
                reason = f"the server cannot be used: {welcome}"
                return self._calls.refuse(call, _INVALID, reason)
            return self._calls.reply(call, with_member(message, "result", welcome)) + self._listen(now)
        kind = result_kind(result)
        if kind == INPUT_REQUIRED:
            return self._next_round(call, result, now)
        if kind != COMPLETE and not (kind and self._terms.knows_extensions):
            reason = f"the server answered {method} with a result of a kind that is not known: {kind!r}"
            return self._calls.refuse(call, _INTERNAL, reason)
        noise: list[Effect] = []
        if kind == COMPLETE:
            result = result_downward(method, result)
        if method == "tools/list" and self._mirrors is not None:
            result, left_out = tools_downward(call.request.params, result, self._mirrors)
            noise += [Noise(RemoteProtocolError(f"a tool is left out: {each}")) for each in left_out]
        return noise + self._calls.reply(call, with_member(message, "result", result))

    def _take_news(self, message: Notification, now: float) -> list[Effect]:
        if message.method != CANCELLED:
            return self._hear(self._listening.hear(message, now))
        cancelled = read_cancel(message)
        if cancelled is None or not self._listening.owns(cancelled.key):
            return []
        return self._hear(self._listening.ended(cancelled.key, cancelled.reason, now))

    # To the client.

    def _hear(self, heard: Iterable[Heard]) -> list[Effect]:
        effects: list[Effect] = []
        for each in heard:
            if not isinstance(each, Settlement):
                effects.append(each)
            elif (call := self._calls.find(each.key)) is None:
                continue  # taken back
            elif each.fault:
                effects += self._calls.refuse(call, _INTERNAL, each.fault)
            else:
                effects += self._calls.reply(call, Response(call.request.id, b"{}"))
        return effects

    # Time, and the end.

    def deadline(self) -> float | None:
        """Return when `tick` must be called next, None when nothing waits for the clock."""
        times = (self._listening.deadline(), self._rounds.deadline())
        return min((each for each in times if each is not None), default=None)

    def tick(self, now: float) -> list[Effect]:
        """Do what is due."""
        effects: list[Effect] = []
        for call in self._rounds.overdue(now):
            methods = ", ".join(sorted({each.method for each in call.asked.values()}))
            reason = f"the client did not answer {methods} within {self._limits.input_seconds:g} s"
            effects += self._calls.refuse(call, _INTERNAL, reason)
        return effects + self._hear(self._listening.tick(now))

    def close(self, error: AnywireError | None = None) -> list[Effect]:
        """The server is gone: nothing that was asked can be answered.  A second call changes nothing."""
        if self._closed is not None:
            return []
        self._closed = error or TransportClosed("the connection to the server is closed")
        self._listening.stop()
        return [effect for call in self._calls.all for effect in self._calls.fail(call, self._closed)]


def _is_of_the_other_era(method: str) -> bool:
    known = METHODS.get(method)
    return known is not None and bool(known.to_server) and not known.to_server & _HANDSHAKE
