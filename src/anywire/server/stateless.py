"""A request of the stateless era, from its arrival to its answer, over as many rounds as that takes.

It says of itself what a handshake would have agreed on.  When its handler asks the client something,
the answer to the request is what is asked; the handler is held, and goes on when the client makes the
same request again with the answers.

Specification: MCP `basic/patterns/mrtr`, 2026-07-28.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Any, Final

import msgspec
from msgspec import UNSET, Raw

from anywire.errors import CapabilityMissing, DeadlineExceeded, LimitExceeded, Refusal
from anywire.protocol.modern import Envelope, code_of, tag_subscription
from anywire.protocol.round_state import RoundState, digest_of, seal_state
from anywire.protocol.types.caching import CACHED_METHODS
from anywire.protocol.types.elicitation import ElicitResult
from anywire.protocol.types.error_data import McpErrorCode
from anywire.protocol.types.input_required import InputRequest
from anywire.protocol.types.input_required import InputRequired as InputRequiredResult
from anywire.protocol.types.listen import SubscriptionFilter
from anywire.protocol.types.reading import read
from anywire.protocol.types.roots import ListRootsResult
from anywire.protocol.types.sampling import CreateMessageResult
from anywire.server.exchange import Conversing, Exchange
from anywire.server.question import InputRequired, require_capability
from anywire.wire.codec import encode_value
from anywire.wire.message import JsonRpcErrorCode, Notification, Request

__all__ = ("StatelessExchange",)

# What an answer must be, by the method of the question.
_ANSWERS: Final[Mapping[str, type[msgspec.Struct]]] = {
    "elicitation/create": ElicitResult,
    "sampling/createMessage": CreateMessageResult,
    "roots/list": ListRootsResult,
}


class _Question:
    """What the handler waits for, until it is answered."""

    __slots__ = ("future", "request")

    def __init__(self, request: InputRequest, future: asyncio.Future[bytes]) -> None:
        self.request = request
        self.future = future


class StatelessExchange(Exchange, eq=False):
    """See `Exchange`.  Between two rounds it belongs to no session, and `id` is that of the last round."""

    #: It waits for the client to make its request again.
    held: bool = False
    #: What it is told of, for a `subscriptions/listen`.
    listens_to: SubscriptionFilter | None = None
    _state: dict[str, Any] | None = None
    _questions: dict[str, _Question] = msgspec.field(default_factory=dict[str, _Question])
    _asked: int = 0
    _flushing: bool = False
    # The answer of a handler that did not wait for its client.
    _late: Callable[[], None] | None = None

    @property
    def state(self) -> dict[str, Any]:
        """What the program keeps for this call alone: no request knows of another."""
        if self._state is None:
            self._state = {}
        return self._state

    # Answering.

    def reply(self, result: bytes) -> None:
        """Answer with a raw result, which says what it is; in the next round, if it is between two."""
        if self.held:
            self._late = lambda: self.reply(result)
            return
        service = self.session.service
        ttl = int(self.fresh_seconds * 1000) if self.method in CACHED_METHODS else None
        self.session.reply(self.id, service.frame.complete(result, ttl, service.cache_scope))

    def fail(self, code: int, message: str, data: object = None) -> None:
        """Answer with an error, under the code that it has in this era."""
        if self.held:
            self._late = lambda: self.fail(code, message, data)
            return
        self.session.fail(self.id, code_of(code), message, data)

    def refusal_of(self, error: BaseException) -> Refusal | None:
        """A capability that is missing is an error of the request, which names it."""
        if not isinstance(error, CapabilityMissing):
            return super().refusal_of(error)
        required: dict[str, Any] = {}
        for name in reversed(error.capability.split(".")):
            required = {name: required}
        data = {"requiredCapabilities": required}
        return Refusal(McpErrorCode.MissingRequiredClientCapability, str(error), data)

    # Asking.

    async def request(
        self, method: str, params: msgspec.Struct | None, timeout: float, key: str | None = None
    ) -> bytes:
        """Ask the client with the answer to its request; what is asked in one moment shares a round."""
        if self.cancelled or (self.done and not self.held):
            self.refuse_when_over()
        key = self._key(method, key)
        raw = UNSET if params is None else Raw(encode_value(params))
        question = _Question(InputRequest(method, raw), self.session.loop.create_future())
        self._questions[key] = question
        self._flush_soon()
        try:
            async with asyncio.timeout(timeout):
                return await question.future
        except TimeoutError:
            raise DeadlineExceeded(f"no answer to {method} within {timeout:g} s") from None
        finally:
            self._questions.pop(key, None)

    def _key(self, method: str, key: str | None) -> str:
        if key is None:
            self._asked += 1
            return f"{method.partition('/')[0]}-{self._asked}"
        if key in self._questions:
            raise Refusal(JsonRpcErrorCode.InternalError, f"two questions at once are called {key!r}")
        return key

    def _flush_soon(self) -> None:
        if not self._flushing and not self.held:
            self._flushing = True
            self.session.loop.call_soon(self._flush)

    def _flush(self) -> None:
        """Answer the request with what is asked, and wait for the next round."""
        self._flushing = False
        asked = {key: each.request for key, each in self._questions.items() if not each.future.done()}
        if not asked or self.held or self.done or self.cancelled:
            return
        service = self.session.service
        try:
            handle = service.held.hold(self)
        except LimitExceeded as error:
            self._give_up(error)
            return
        self.session.running.forget(self)
        self.held = True
        self._reply_required(asked, RoundState(self._digest(), 0.0, handle=handle))

    def _give_up(self, error: LimitExceeded) -> None:
        for question in self._questions.values():
            if not question.future.done():
                question.future.set_exception(error)

    def _reply_required(self, asked: dict[str, InputRequest], state: RoundState | None) -> None:
        service = self.session.service
        sealed: str | msgspec.UnsetType = UNSET
        if state is not None:
            expires = service.wall_clock() + self.session.limits.held_seconds
            sealed = seal_state(msgspec.structs.replace(state, expires=expires), service.state_key)
        result = InputRequiredResult(input_requests=asked or UNSET, request_state=sealed)
        self.session.reply(self.id, service.frame.complete(encode_value(result)))

    def _digest(self) -> str:
        return digest_of(self.method, self.params)

    async def require_input(self, required: InputRequired) -> bool:
        """Answer with what a handler wants; it is called anew with the answers, here or elsewhere."""
        for question in required.questions.values():
            require_capability(self, question)
        asked = {
            key: InputRequest(each.method, UNSET if params is None else Raw(encode_value(params)))
            for key, each in required.questions.items()
            for params in (each.params_for(self.terms.revision),)
        }
        stated = required.state is not None or not asked
        state = RoundState(self._digest(), 0.0, value=required.state) if stated else None
        self.session.running.forget(self)
        if not self.cancelled:
            self._reply_required(asked, state)
        return False

    # Going on.

    def fault_of(self, responses: Mapping[str, Raw]) -> str:
        """Say what is wrong with the answers to what is asked; empty: nothing.  Others do not matter."""
        for key, question in self._questions.items():
            raw = responses.get(key)
            if raw is not None:
                try:
                    read(raw, _ANSWERS[question.request.method])
                except msgspec.MsgspecError as error:
                    return f"the answer {key!r} to {question.request.method} cannot be used: {error}"
        return ""

    def resume(self, session: Conversing, request: Request, envelope: Envelope) -> None:
        """Go on as another request, with its answers to what was asked."""
        self.session = session
        self.terms = envelope
        self._meta, self._token = None, UNSET
        self.id, self.params = request.id, request.params
        self.held = self.done = False
        self.rounds += 1

    def answer(self, responses: Mapping[str, Raw]) -> None:
        """Hand the answers to the handler; what was not answered is asked again."""
        if self._late is not None:
            self.session.running.forget(self)
            self._late()
            return
        for key, question in self._questions.items():
            raw = responses.get(key)
            if raw is not None and not question.future.done():
                question.future.set_result(bytes(raw))
        if any(not question.future.done() for question in self._questions.values()):
            self._flush_soon()

    # Being told.

    def acknowledge(self, message: Notification) -> None:
        """Send the first notification of this subscription."""
        self.session.caller.tell(message, self.id)

    def tell_of(self, method: str, uri: str | None = None) -> None:
        """Tell of a change, if this is a subscription to such changes."""
        if self.listens_to is not None and _wants(self.listens_to, method, uri):
            params = {} if uri is None else {"uri": uri}
            self.session.teller.tell(Notification(method, tag_subscription(params, self.id)), self.id)

    def end_listening(self) -> None:
        """End a subscription in order."""
        self.session.teller.forget(self.id)
        self.session.reply(self.id, self.session.service.frame.complete(tag_subscription({}, self.id)))

    def cancel(self, reason: str) -> None:
        """The client has withdrawn the request: nothing more is sent for it."""
        if self.listens_to is not None:
            self.session.teller.forget(self.id)
        super().cancel(reason)

    def detach(self) -> None:
        """Do nothing: no client of this era comes back to a stream."""


def _wants(listens_to: SubscriptionFilter, method: str, uri: str | None) -> bool:
    match method:
        case "notifications/tools/list_changed":
            return listens_to.tools_list_changed is True
        case "notifications/prompts/list_changed":
            return listens_to.prompts_list_changed is True
        case "notifications/resources/list_changed":
            return listens_to.resources_list_changed is True
        case _:
            subscriptions = listens_to.resource_subscriptions
            return not isinstance(subscriptions, msgspec.UnsetType) and uri in subscriptions
