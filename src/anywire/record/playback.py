"""One playing of a recorded conversation, for a client that takes part in it: which message is due when.

A reply is due when its request has been made, and what the server asked meanwhile been answered;
anything else of the server's, when the client has said all that stood before it.  Ids and tokens become
those of the client that is there.  Whether somebody is there, and of which era, may be asked more often than
in the recording, or not at all.  Time is an argument.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Hashable, Iterator, Sequence
from itertools import islice
from typing import Final

import msgspec

from anywire.protocol.rewriting import (
    progress_token,
    subscription_tag,
    with_id,
    with_member,
    with_subscription_tag,
)
from anywire.record.comparing import differences_of_params, same_params
from anywire.record.exchange import subject_of
from anywire.record.score import NOBODY, Score, Step
from anywire.wire.message import (
    ErrorResponse,
    JsonRpcErrorCode,
    Message,
    Notification,
    Request,
    Response,
    error_reply,
    id_key,
)

__all__ = ("PRESENCE", "Play", "Playback", "named", "presence")

#: Ask whether somebody is there, and of which era; who asks that, and how often, is of no consequence.
PRESENCE: Final = frozenset({"ping", "server/discover"})

# What the client may ask in another order than in the recording is looked for among so many.
_WINDOW: Final = 100
_SHOWN_DIFFERENCES: Final = 3
# Clients lose progress that arrives together with the reply (the official TypeScript SDK does).
_PAUSE_SECONDS: Final = 0.01


class Play(msgspec.Struct, frozen=True):
    """A message to be sent, and not before `at` where the recording's own time counts.

    Where it does not, `pause` is how many seconds it is to be apart from what was sent before it.
    `where` is what the request came with that it belongs to, `related` the id of that request while it has
    no answer; None for what belongs to none.  Those of one `group`, if it is not 0, go out as a batch.
    """

    message: Message
    where: Hashable | None
    related: bytes | None
    at: float
    group: int = 0
    pause: float = 0.0


class _Made(msgspec.Struct, frozen=True):
    """A request of the recording that the client has made: as what, from where."""

    request: Request
    where: Hashable


class Playback:
    """Takes what the client says, gives what is due.  `again` tells one playing of a part from another."""

    def __init__(self, score: Score, *, again: int = 0) -> None:
        self._score = score
        self._again = again
        self._made: dict[int, _Made] = {}
        self._arrived: dict[int, float] = {}
        self._asked: dict[bytes, int] = {}
        self._answered: set[int] = set()
        self._progressed: set[int] = set()
        self._armed: list[int] = []
        # How far each of the lists of the score has come.
        self._requests = self._awaited = self._free = 0

    @property
    def left(self) -> list[Step]:
        """The requests of the recording that the client has not made."""
        return [self._score.steps[index] for index in self._score.requests if index not in self._arrived]

    @property
    def is_asked(self) -> bool:
        """Whether each request of the recording has been made."""
        return next(self._next(), None) is None

    @property
    def is_over(self) -> bool:
        """Whether nothing is left to be said by the server."""
        return not self._armed and self.is_asked and self._free == len(self._score.free)

    def asks(self, key: bytes) -> bool:
        """Say whether the server has asked something under an id of that key, and waits for the answer."""
        return key in self._asked

    def begins_with(self, request: Request) -> bool:
        """Say whether a request may be the first of the conversation."""
        return self._match(request) is not None

    def ask(self, request: Request, where: Hashable, now: float) -> list[Play] | ErrorResponse:
        """Take a request, which must be the one that comes next, or was on its way together with that."""
        index = self._match(request)
        if index is None:
            answer = presence(request, self._answers_to(request.method))
            return self._refusal(request) if answer is None else [Play(answer, where, request.id, now)]
        for passed in self._next():
            if passed < index and self._score.steps[passed].method in PRESENCE:
                self._arrived[passed] = now
        return self.begin(index, request, where, now)

    def begin(self, index: int, request: Request, where: Hashable, now: float) -> list[Play]:
        """Take a request for the one of that index."""
        self._made[index] = _Made(request, where)
        self._armed += self._score.tied.get(index, ())
        return self._arrive(index, now)

    def answer(self, message: Response | ErrorResponse, where: Hashable, now: float) -> list[Play]:
        """Take an answer to something that the server asked; it may come from anywhere."""
        asked = None if message.id is None else self._asked.pop(id_key(message.id), None)
        index = None if asked is None else self._score.answer_of.get(asked)
        return [] if index is None else self._arrive(index, now)

    def hear(self, message: Notification, where: Hashable, now: float) -> list[Play]:
        """Take a notification; it may come from anywhere."""
        for index in self._score.awaited[self._awaited :]:
            if self._score.steps[index].method == message.method and index not in self._arrived:
                return self._arrive(index, now)
            if index not in self._arrived and self._score.steps[index].owner == index:
                break
        return []

    def stuck(self) -> Step | None:
        """Return the next reply that waits for what the server asks only after other requests, None: none.

        In the recording they had overlapped.  If the client now waits for the reply, it waits for ever.
        """
        asked = self._score.free[self._free] if self._free < len(self._score.free) else math.inf
        for index in self._armed:
            missing = [
                each for each in self._answers_before(self._score.steps[index]) if each not in self._arrived
            ]
            if missing and all(self._score.steps[each].answers >= asked for each in missing):
                return self._score.steps[index]
        return None

    def release(self, step: Step, now: float) -> list[Play]:
        """Give such a reply, and what belongs to its request before it."""
        due = [
            index for index in self._score.tied[step.owner] if index in self._armed and index <= step.index
        ]
        self._armed = [index for index in self._armed if index not in due]
        return [self._play(self._score.steps[index], now) for index in due]

    # What is due.

    def _arrive(self, index: int, now: float) -> list[Play]:
        self._arrived[index] = now
        return [self._play(self._score.steps[each], now) for each in self._due()]

    def _due(self) -> list[int]:
        score = self._score
        while self._awaited < len(score.awaited) and score.awaited[self._awaited] in self._arrived:
            self._awaited += 1
        before = score.awaited[self._awaited] if self._awaited < len(score.awaited) else math.inf
        due = [index for index in self._armed if self._is_due(score.steps[index])]
        self._armed = sorted({*self._armed} - {*due})
        while self._free < len(score.free) and score.free[self._free] < before:
            due.append(score.free[self._free])
            self._free += 1
        return sorted(due)

    def _is_due(self, step: Step) -> bool:
        """Say whether everything was answered that the server asked between a request and this step."""
        return all(index in self._arrived for index in self._answers_before(step))

    def _answers_before(self, step: Step) -> list[int]:
        answers, steps = self._score.answers, self._score.steps
        between = answers[bisect_left(answers, step.owner) : bisect_left(answers, step.index)]
        return [index for index in between if steps[index].answers > step.owner]

    def _play(self, step: Step, now: float) -> Play:
        made = self._made.get(step.owner)
        answer = self._score.answer_of.get(step.owner)
        is_open = made is not None and answer not in self._answered
        if step.index == answer:
            self._answered.add(step.index)
        return Play(
            self._renamed(step, made),
            None if made is None else made.where,
            made.request.id if made is not None and is_open else None,
            self._time_of(step, now),
            step.group,
            self._pause_before(step),
        )

    def _pause_before(self, step: Step) -> float:
        if not step.tied:
            return 0.0
        if step.answers == NOBODY:
            self._progressed.add(step.owner)
            return 0.0
        return _PAUSE_SECONDS if step.owner in self._progressed else 0.0

    def _renamed(self, step: Step, made: _Made | None) -> Message:
        message = step.message
        match message:
            case Request():
                if self._again:
                    message = with_id(message, b'"%d-%d"' % (self._again, step.index))
                self._asked[id_key(message.id)] = step.index
            case Response() | ErrorResponse():
                if made is not None and step.answers == step.owner:
                    message = with_id(message, made.request.id)
                    if isinstance(message, Response) and subscription_tag(message.result) is not None:
                        message = with_subscription_tag(message, made.request.id)
            case Notification():
                return message if made is None else _renamed_notification(message, made.request, step)
        return message

    def _time_of(self, step: Step, now: float) -> float:
        """Return when a step is due: as long after what it waited for as it was in the recording."""
        if step.tied:
            last = max((step.owner, *self._answers_before(step)))
        else:
            at = bisect_left(self._score.awaited, step.index)
            last = self._score.awaited[at - 1] if at else NOBODY
        if last not in self._arrived:
            return now
        return self._arrived[last] + max(step.at - self._score.steps[last].at, 0.0)

    # What is expected.

    def _next(self) -> Iterator[int]:
        """Yield what may come next: a request, and those that were made before it was answered."""
        requests = self._score.requests
        while self._requests < len(requests) and requests[self._requests] in self._arrived:
            self._requests += 1
        here = requests[self._requests : self._requests + _WINDOW]
        left = [index for index in here if index not in self._arrived]
        needed = (index for index in left if self._score.steps[index].method not in PRESENCE)
        until = self._score.answer_of.get(next(needed, NOBODY), math.inf)
        return (index for index in left if index < until)

    def _match(self, request: Request) -> int | None:
        for index in self._next():
            step = self._score.steps[index]
            recorded = step.request if step.method == request.method else None
            if recorded is not None and same_params(recorded.params, request.params):
                return index
        return None

    def _answers_to(self, method: str) -> list[Message]:
        if method not in PRESENCE:
            return []
        score = self._score
        asked = (index for index in score.requests if score.steps[index].method == method)
        return [score.steps[score.answer_of[index]].message for index in asked if index in score.answer_of]

    def _refusal(self, request: Request) -> ErrorResponse:
        left = list(self._next())
        index = next((each for each in left if self._score.steps[each].method not in PRESENCE), None)
        if index is None:
            sentence = f"the recording has no request any more, and this is {named(request)}"
            return error_reply(request.id, JsonRpcErrorCode.InvalidRequest, sentence)
        step = self._score.steps[index]
        expected = step.request
        assert expected is not None
        sentence = f"the recording has {named(expected)} here (line {step.line}), not {named(request)}"
        if expected.method == request.method:
            found = list(islice(differences_of_params(expected.params, request.params), _SHOWN_DIFFERENCES))
            where = "; ".join(f"params{each}" for each in found)
            sentence = f"the recording has another {named(expected)} here (line {step.line}): {where}"
        known = any(each.method == request.method for each in self._score.steps.values() if each.is_clients)
        code = JsonRpcErrorCode.InvalidParams if known else JsonRpcErrorCode.MethodNotFound
        return error_reply(request.id, code, sentence)


def _renamed_notification(message: Notification, request: Request, step: Step) -> Notification:
    if step.tied and message.method == "notifications/progress":
        token = progress_token(request.params)
        return message if token is None else with_member(message, "progressToken", token)
    if subscription_tag(message.params) is not None:
        return with_subscription_tag(message, request.id)
    return message


def presence(request: Request, answers: Sequence[Message]) -> Message | None:
    """Answer who asks, beyond the recording, whether somebody is there, or of which era.

    `answers` are the recorded answers to that.  None: something else is asked.
    """
    if request.method not in PRESENCE:
        return None
    for message in answers:
        if isinstance(message, Response | ErrorResponse):
            return with_id(message, request.id)
    if request.method == "ping":
        return Response(request.id, b"{}")
    return error_reply(request.id, JsonRpcErrorCode.MethodNotFound, f"the recording has no {request.method}")


def named(request: Request) -> str:
    """Say which request it is: its method, and the name or the URI in its params."""
    subject = subject_of(request.params)
    return f"{request.method} {subject}" if subject else request.method
