"""A call whose server asks its client in the middle: each round of questions is an answer to the client.

The server's call stays open.  The client makes its request again, with its answers, and these go to the
server as the replies that it waits for.

Specification: MCP `basic/patterns/mrtr`, 2026-07-28; `client/*`, 2025-11-25.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import msgspec
from msgspec import UNSET, Raw, UnsetType

from anywire.errors import AnywireError, LimitExceeded
from anywire.protocol.modern import Envelope
from anywire.protocol.translate.asking import (
    answer_fault,
    is_accepted,
    missing_capability,
    refusal_of,
    takes_urls,
    visits_of,
)
from anywire.protocol.translate.envelope_shapes import spliced, stateless_question
from anywire.protocol.translate.translated_call import TranslatedCall
from anywire.protocol.translate.virtual_handshake import Answer, Failed, Reply, Step, ToServer, WantsInput
from anywire.protocol.types.error_data import McpErrorCode
from anywire.protocol.types.input_required import InputRequest, InputRequired
from anywire.wire.codec import encode_value
from anywire.wire.event import read_cancel
from anywire.wire.message import (
    ErrorResponse,
    JsonRpcErrorCode,
    Message,
    Notification,
    Request,
    Response,
    id_key,
)
from anywire.wire.splice import get_member

__all__ = ("CallInRounds",)

#: So many answers one call may wait for at once.
_MOST_QUESTIONS: Final = 100


class _Question(msgspec.Struct, frozen=True):
    """What the server waits for; without an id it is an error of the server's that asks."""

    id: bytes | None
    method: str
    params: bytes | None


class CallInRounds(TranslatedCall):
    """See `TranslatedCall`.  After `WantsInput` it is asked with `ask`, and goes on with `resume`."""

    def __init__(self, request: Request, envelope: Envelope, name: str) -> None:
        super().__init__(request, envelope, name)
        #: It waits for the client to make its request again.
        self.held = False
        self._asked_so_far = 0
        self._questions: dict[str, _Question] = {}
        # What the server answered while nobody waited for it.
        self._late: Reply | AnywireError | None = None
        # The error by which the server asks for visits.
        self._wanting_visits: Reply | None = None

    @property
    def size(self) -> int:
        """The bytes that it keeps."""
        asked = sum(len(question.params or b"") for question in self._questions.values())
        match self._late:
            case Response(result=late) | ErrorResponse(error=late):
                return len(self._params) + asked + len(late)
            case _:
                return len(self._params) + asked

    @property
    def is_late(self) -> bool:
        """Whether the end of the call waits for the client, and the server is not needed any more."""
        return self._late is not None

    @property
    def wants_input(self) -> bool:
        """Whether the client is to be asked now."""
        return bool(self._questions) and not self.held and not self.over

    # The server asks.

    def receive(self, message: Message) -> list[Step]:
        """See `VirtualHandshake`."""
        return [] if self.is_late else super().receive(message)

    def _asked(self, request: Request) -> list[Step]:
        if request.method == "ping":
            return super()._asked(request)
        if self._greeted is None:
            reason = f"{request.method}: the handshake is not done"
            return [self._refuse(request, JsonRpcErrorCode.InvalidRequest, reason)]
        refusal = refusal_of(request, self.envelope.client_capabilities)
        if refusal is not None:
            return [self._refuse(request, *refusal)]
        if len(self._questions) >= _MOST_QUESTIONS:
            reason = f"{_MOST_QUESTIONS} questions of one call wait for their answers already"
            return [self._refuse(request, JsonRpcErrorCode.InternalError, reason)]
        return self._put(request.method, request.id, stateless_question(request.method, request.params))

    def _put(self, method: str, id: bytes | None, params: bytes | None) -> list[Step]:
        self._asked_so_far += 1
        self._questions[f"{method.partition('/')[0]}-{self._asked_so_far}"] = _Question(id, method, params)
        return [] if self.held else [WantsInput()]

    def _told(self, message: Notification) -> list[Step]:
        cancelled = read_cancel(message)
        if cancelled is not None:
            for key, question in list(self._questions.items()):
                if question.id is not None and id_key(question.id) == cancelled.key:
                    del self._questions[key]
            return []
        # Between two rounds there is no request that anything could be told of.
        return [] if self.held else super()._told(message)

    def _answered(self, reply: Reply) -> list[Step]:
        visits = visits_of(reply, self.envelope.client_capabilities)
        if visits:
            self._running, self._wanting_visits = None, reply
            asked = [self._put("elicitation/create", None, params) for params in visits]
            return asked[0]
        if not self.held:
            return super()._answered(reply)
        self._running, self._late = None, reply
        return []

    def lose(self, error: AnywireError | None) -> list[Step]:
        """See `VirtualHandshake`; between two rounds the client hears of it when it comes back."""
        if self.over or not self.held:
            return super().lose(error)
        if self._late is None:
            self._late = error or self._ended()
        self._questions.clear()
        return []

    def reopened(self) -> list[Step]:
        """See `VirtualHandshake`; what the server asked before is void."""
        self._questions = {key: each for key, each in self._questions.items() if each.id is None}
        return super().reopened()

    # The client is asked.

    def ask(self, state: str) -> list[Step]:
        """Answer the client's request with what is asked; `state` is what it is to come back with."""
        assert self._greeted is not None
        asked = {
            key: InputRequest(question.method, _optional(question.params))
            for key, question in self._questions.items()
        }
        required = encode_value(InputRequired(input_requests=asked, request_state=state))
        result = self._greeted.frame.complete(required)
        self.held = True
        return [Answer(Response(self.id, result))]

    def refuse_questions(self, error: LimitExceeded) -> list[Step]:
        """The client cannot be asked, since too many calls wait."""
        questions, self._questions = self._questions, {}
        steps: list[Step] = []
        for question in questions.values():
            if question.id is not None:
                refused = Request(question.id, question.method)
                steps.append(self._refuse(refused, JsonRpcErrorCode.InternalError, str(error)))
        return steps if self._wanting_visits is None else [*steps, *super().lose(error)]

    def give_up(self, error: LimitExceeded) -> None:
        """What the server says between two rounds is too much to be kept."""
        self._questions.clear()
        self._late = error

    # The client comes back.

    def fault_of(self, request: Request) -> str:
        """Say what is wrong with the answers of a request that goes on; empty: nothing."""
        responses = _responses_of(request)
        if responses is None:
            return "inputResponses is no object"
        for key, question in self._questions.items():
            raw = get_member(responses, key)
            fault = "" if raw is None else answer_fault(question.method, raw)
            if fault:
                return f"the answer {key!r} to {question.method} cannot be used: {fault}"
        return ""

    def resume(self, request: Request, envelope: Envelope) -> list[Step]:
        """Go on as another request, with its answers; what it does not answer is asked again."""
        responses = _responses_of(request) or b"{}"
        self.request, self.envelope, self.held = request, envelope, False
        late, self._late = self._late, None
        if late is not None:
            return self._end_late(late)
        steps = [] if self._running is None else self._set_level(lambda _: [])
        answers = {key: get_member(responses, key) for key in self._questions}
        given = {key: answer for key, answer in answers.items() if answer is not None}
        visits = self._wanting_visits
        for key, answer in given.items():
            id = self._questions[key].id
            if id is not None:
                del self._questions[key]
                steps.append(ToServer(Response(id, answer)))
        if visits is not None:
            steps += self._visited(given, visits)
        return [*steps, WantsInput()] if self._questions else steps

    def _end_late(self, late: Reply | AnywireError) -> list[Step]:
        self.over = True
        return [Failed(late)] if isinstance(late, AnywireError) else [Answer(self._translated(late))]

    def _visited(self, answers: Mapping[str, bytes], wanted: Reply) -> list[Step]:
        """Ask the server anew when the client's user has agreed to all visits."""
        asked = {key for key, question in self._questions.items() if question.id is None}
        if not asked <= answers.keys():
            return []  # all of them are asked again
        for key in asked:
            del self._questions[key]
        self._wanting_visits = None
        if not all(is_accepted(answers[key]) for key in asked):
            return self._answer(wanted)
        assert self._greeted is not None
        return self._opened(self._greeted)

    def _translated(self, reply: Reply) -> Reply:
        """An error that wants visits says what the client would need to be sent there."""
        if isinstance(reply, ErrorResponse) and reply.error[:1] == b"{":
            wants_visits = reply.detail().code == McpErrorCode.UrlElicitationRequired
            if wants_visits and not takes_urls(self.envelope.client_capabilities):
                error = missing_capability(reply.error)
                reply = ErrorResponse(reply.id, error, spliced(reply.frame, {"error": error}))
        return super()._translated(reply)


def _optional(params: bytes | None) -> Raw | UnsetType:
    return UNSET if params is None else Raw(params)


def _responses_of(request: Request) -> bytes | None:
    """Return the raw answers of a request that is made again; None where they are no object."""
    raw = get_member(request.params or b"{}", "inputResponses")
    if raw is None or raw == b"null":
        return b"{}"
    return raw if raw[:1] == b"{" else None
