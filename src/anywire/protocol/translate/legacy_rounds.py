"""Rounds of input, asked of a client that expects requests.

A result that requires input names what it wants.  The client is asked all of it at once, each in a request of
its own; when all is answered, the call is made again with the answers.  Meanwhile the client's call stays
open.

Specification: MCP `basic/patterns/mrtr`, 2026-07-28; `client/sampling`, `client/elicitation`, `client/roots`,
2024-11-05 to 2025-11-25.
"""

from __future__ import annotations

from typing import Final

import msgspec
from msgspec import UNSET

from anywire.protocol.features import Feature, has
from anywire.protocol.translate.shapes import decoded, is_object
from anywire.protocol.types.initialize import ClientCapabilities
from anywire.wire.codec import encode_value
from anywire.wire.event import CANCELLED
from anywire.wire.message import Notification, Request, id_key
from anywire.wire.scan import scan_object
from anywire.wire.splice import get_member, set_member

__all__ = ("Call", "Question", "Rounds", "Wanted", "next_params", "read_wanted", "undeclared")

#: So many answers one round may want.
_MOST_QUESTIONS: Final = 100
_ASKED: Final = frozenset({"elicitation/create", "sampling/createMessage", "roots/list"})
_URL: Final = b'"url"'


class Question(msgspec.Struct, frozen=True):
    """One thing that a round wants: the raw name that the server gave it, the method, and its raw params."""

    name: bytes
    method: str
    params: bytes | None


class Wanted(msgspec.Struct, frozen=True):
    """What a result that requires input wants; `state` is the raw `requestState`, None for none."""

    questions: tuple[Question, ...]
    state: bytes | None


class Call:
    """A request of the client's that has not been answered yet."""

    __slots__ = ("answers", "asked", "deadline", "key", "request", "rounds", "sent", "state")

    def __init__(self, request: Request) -> None:
        #: The request as it came.
        self.request = request
        #: What it is known by.
        self.key = id_key(request.id)
        #: The key of the request to the server that is in flight for it.
        self.sent: bytes | None = None
        #: How many rounds of input there have been.
        self.rounds = 0
        #: What this round still waits for, by the key of the request to the client ...
        self.asked: dict[bytes, Question] = {}
        #: ... what was answered, raw names and raw results ...
        self.answers: list[tuple[bytes, bytes]] = []
        #: ... and what goes back with it.
        self.state: bytes | None = None
        #: When the round has to be answered.
        self.deadline = 0.0


class Rounds:
    """The questions that the client has not answered.  `name` begins their ids, `seconds` bounds a round."""

    def __init__(self, name: str, seconds: float) -> None:
        self._name = name
        self._seconds = seconds
        self._asked = 0
        self._calls: dict[bytes, Call] = {}  # by the key of a question
        self._waiting: dict[bytes, Call] = {}  # by their own key, in the order of their deadlines

    def __len__(self) -> int:
        return len(self._calls)

    def begin(self, call: Call, wanted: Wanted, revision: str | None, now: float) -> list[Request]:
        """Begin the next round of a call; return what the client is to be asked, which may be nothing."""
        call.rounds += 1
        call.answers, call.state, call.deadline = [], wanted.state, now + self._seconds
        requests = [self._ask(call, question, revision) for question in wanted.questions]
        if requests:
            self._waiting[call.key] = call
        return requests

    def _ask(self, call: Call, question: Question, revision: str | None) -> Request:
        self._asked += 1
        id = encode_value(f"{self._name}-{self._asked}")
        call.asked[id] = question
        self._calls[id] = call
        return Request(id, question.method, _params_downward(question, revision, id))

    def take(self, key: bytes) -> tuple[Call, Question] | None:
        """The client has answered the question of that key; None where there is none."""
        call = self._calls.pop(key, None)
        if call is None:
            return None
        question = call.asked.pop(key)
        if not call.asked:
            del self._waiting[call.key]
        return call, question

    def drop(self, call: Call, reason: str) -> list[Notification]:
        """Nobody wants the answers of a call any more; return what tells the client so."""
        told: list[Notification] = []
        for key in call.asked:
            del self._calls[key]
            params = b'{"requestId":%b,"reason":%b}' % (key, encode_value(reason))
            told.append(Notification(CANCELLED, params))
        call.asked.clear()
        self._waiting.pop(call.key, None)
        return told

    def deadline(self) -> float | None:
        """Return when `overdue` must be looked at next; None when nothing waits."""
        first = next(iter(self._waiting.values()), None)
        return None if first is None else first.deadline

    def overdue(self, now: float) -> list[Call]:
        """Return the calls whose round took too long."""
        return [call for call in self._waiting.values() if call.deadline <= now]


def next_params(call: Call) -> bytes:
    """Return the params of a call's next round: as they came, with the answers and the state."""
    params = call.request.params
    said = params if params is not None and is_object(params) else b"{}"
    if call.answers:
        answers = b",".join(b"%b:%b" % answer for answer in call.answers)
        said = set_member(said, "inputResponses", b"{%b}" % answers)
    return said if call.state is None else set_member(said, "requestState", call.state)


def read_wanted(result: bytes) -> Wanted | str:
    """Read a result that requires input, or say why it cannot be used."""
    requests, state = get_member(result, "inputRequests"), get_member(result, "requestState")
    if requests == b"null":
        requests = None
    if state is not None and decoded(state, str) is None:
        return "its requestState is no text"
    if requests is None and state is None:
        return "it names neither what it wants nor a state"
    if requests is not None and not is_object(requests):
        return "what it wants is no object"
    questions: list[Question] = []
    for member in scan_object(requests or b"{}").members:
        value = (requests or b"")[member.value_start : member.value_end]
        method = decoded(get_member(value, "method"), str)
        if method not in _ASKED:
            return f"it wants {method!r}, which no client can be asked"
        params = get_member(value, "params")
        name = (requests or b"")[member.start : member.value_start].rstrip(b": \t\r\n")
        questions.append(Question(name, method, params if is_object(params) else None))
    if len(questions) > _MOST_QUESTIONS:
        return f"it wants {len(questions)} answers at once"
    return Wanted(tuple(questions), state)


def undeclared(question: Question, declared: ClientCapabilities) -> str:
    """Name the capability that the client would have to have declared for a question; empty: it has."""
    params = question.params or b"{}"
    match question.method:
        case "sampling/createMessage":
            if declared.sampling is UNSET:
                return "sampling"
            with_tools = get_member(params, "tools") is not None and declared.sampling.tools is UNSET
            return "sampling.tools" if with_tools else ""
        case "elicitation/create":
            if declared.elicitation is UNSET:
                return "elicitation"
            if get_member(params, "mode") == _URL:
                return "" if declared.elicitation.takes_urls else "elicitation.url"
            return "" if declared.elicitation.takes_forms else "elicitation.form"
        case _:
            return "roots" if declared.roots is UNSET else ""


def _params_downward(question: Question, revision: str | None, id: bytes) -> bytes | None:
    """Return a question's params; a visit to an address gets the id that a revision wants it to have."""
    params = question.params
    if params is None or question.method != "elicitation/create" or get_member(params, "mode") != _URL:
        return params
    if not has(Feature.ELICITATION_IDS, revision) or get_member(params, "elicitationId") is not None:
        return params
    return set_member(params, "elicitationId", id)
