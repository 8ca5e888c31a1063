"""What a recorded conversation plays: its messages in order, and which request of the client each belongs to.

A reply belongs to its request, progress to that of its token, what is said of a subscription to that which
opened it; anything else to the request that came before it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import Final

import msgspec
from msgspec import UnsetType

from anywire.protocol.methods import Direction
from anywire.protocol.rewriting import progress_token, subscription_tag
from anywire.record.entry import RECORDED_LIMITS, Entry, Event, Unreadable, directions
from anywire.record.exchange import subject_of
from anywire.wire.codec import decode, encode
from anywire.wire.message import (
    Batch,
    ErrorResponse,
    Fault,
    JsonRpcErrorCode,
    Message,
    Notification,
    Request,
    Response,
    error_reply,
    id_key,
)
from anywire.wire.splice import get_member

__all__ = ("NOBODY", "Score", "Step", "compose")

#: The owner of what belongs to no request.
NOBODY: Final = -1
# What a client tells, and the server waited for before it said more.
_AWAITED: Final = frozenset({"notifications/initialized"})


class Step(msgspec.Struct, eq=False):
    """A message of a conversation; `index` counts them, `line` is where it stands in the recording.

    `owner` is the index of the client's request that it belongs to.  `tied`: it waits for that alone.
    `awaited`: it is the client's, and what comes later waits for it.  `subject` is the name or the URI
    of what a request is about; of an answer of the client's, the method of what it answers.  `answers` is the
    index of the request of the server that it answers.  `group`: the batch that it is a part of, 0 for none.
    """

    index: int
    line: int
    at: float
    raw: bytes
    is_clients: bool
    owner: int
    method: str = ""
    subject: str = ""
    tied: bool = False
    awaited: bool = False
    answers: int = NOBODY
    group: int = 0

    @property
    def message(self) -> Message:
        """The message."""
        read = decode(self.raw, RECORDED_LIMITS)
        assert not isinstance(read, Batch | Fault)
        return read

    @property
    def request(self) -> Request | None:
        """The message where it is a request of the client's."""
        message = self.message if self.is_clients and self.owner == self.index else None
        return message if isinstance(message, Request) else None


class Score:
    """The steps of a conversation, or some of them, in order."""

    def __init__(self, steps: Iterable[Step], server: str = "", number: int = 0) -> None:
        self.steps = {step.index: step for step in steps}
        self.server = server
        self.number = number
        #: The client's requests; all of its that are awaited; those that answer the server.
        self.requests: list[int] = []
        self.awaited: list[int] = []
        self.answers: list[int] = []
        #: What waits for everything before it, and what for its request alone, by that.
        self.free: list[int] = []
        self.tied: dict[int, list[int]] = {}
        #: Which step answers a request, be it the client's or the server's.
        self.answer_of: dict[int, int] = {}
        for step in self.steps.values():
            self._sort(step)

    def _sort(self, step: Step) -> None:
        if step.is_clients:
            if step.owner == step.index:
                self.requests.append(step.index)
            if step.awaited:
                self.awaited.append(step.index)
            if step.answers != NOBODY:
                self.answers.append(step.index)
        elif step.tied:
            self.tied.setdefault(step.owner, []).append(step.index)
        else:
            self.free.append(step.index)
        if step.answers != NOBODY:
            self.answer_of[step.answers] = step.index

    def part(self, request: int) -> Score:
        """Return what belongs to one request of the client's."""
        return Score(self.parts.get(request, ()), self.server, self.number)

    @cached_property
    def parts(self) -> dict[int, list[Step]]:
        """What belongs to each request of the client's, and to `NOBODY`, in order."""
        parts: dict[int, list[Step]] = {}
        for step in self.steps.values():
            parts.setdefault(step.owner, []).append(step)
        return parts


def compose(entries: Iterable[Entry | Unreadable]) -> list[Score]:
    """Return the conversations of a recording, in the order in which they began."""
    composers: dict[tuple[int, int], _Composer] = {}
    run, first = 0, 0
    for entry in entries:
        if isinstance(entry, Unreadable):
            continue
        if entry.event == Event.RECORDING:
            run += not entry.continues
            continue
        key = run, entry.session
        composer = composers.get(key)
        if composer is None:
            composer = composers[key] = _Composer(entry)
        first = composer.take(entry, first)
    return [Score(each.steps, each.server, each.number) for each in composers.values() if each.steps]


class _Composer:
    """Puts together one conversation."""

    def __init__(self, entry: Entry) -> None:
        self.server = entry.server
        self.number = entry.session
        self.steps: list[Step] = []
        # By the call and the id: what the client asks, by its token as well, and what the server does.
        self._asked: dict[tuple[int, bytes], int] = {}
        self._tokens: dict[tuple[int, bytes], int] = {}
        self._questions: dict[tuple[int, bytes], Step] = {}
        self._last: dict[int, int] = {}
        self._groups = 0

    def take(self, entry: Entry, index: int) -> int:
        """Take an entry; return the index of the next step."""
        for message, group in self._messages(entry):
            is_clients = directions.get(entry.direction) is Direction.TO_SERVER
            step = Step(index, entry.line, entry.seconds, encode(message), is_clients, NOBODY, group=group)
            step.owner = self._last.get(entry.call, NOBODY)
            step.method = getattr(message, "method", "")
            is_part = (
                self._clients(step, message, entry) if is_clients else self._servers(step, message, entry)
            )
            if is_part:
                self.steps.append(step)
                index += 1
        return index

    def _messages(self, entry: Entry) -> Iterator[tuple[Message, int]]:
        if entry.event == Event.FAILED and not isinstance(entry.id, UnsetType):
            reason = f"in the recording it was sent in vain: {entry.reason}"
            yield error_reply(bytes(entry.id), JsonRpcErrorCode.InternalError, reason), 0
            return
        if entry.event == Event.CLOSED and entry.by_peer and entry.direction == Direction.TO_CLIENT.value:
            # The server left: whoever waits hears that, and does not wait for ever.
            why = f": {entry.reason}" if entry.reason else ""
            reason = f"in the recording the server left before it answered{why}"
            for id in [id for call, id in self._asked if call == entry.call]:
                yield error_reply(id, JsonRpcErrorCode.InternalError, reason), 0
            return
        if not entry.raw or entry.direction not in directions:
            return
        read = entry.read()
        if isinstance(read, Batch):
            self._groups += 1
            yield from ((item, self._groups) for item in read.items if not isinstance(item, Fault))
        elif not isinstance(read, Fault):
            yield read, 0

    def _clients(self, step: Step, message: Message, entry: Entry) -> bool:
        match message:
            case Request():
                step.owner, step.awaited, step.subject = step.index, True, subject_of(message.params)
                self._asked[entry.call, id_key(message.id)] = step.index
                self._last[entry.call] = step.index
                token = progress_token(message.params)
                if token is not None:
                    self._tokens[entry.call, id_key(token)] = step.index
            case Response(id=bytes(id)) | ErrorResponse(id=bytes(id)):
                question = self._questions.pop((entry.call, id_key(id)), None)
                if question is not None:
                    step.owner, step.awaited, step.answers = question.owner, True, question.index
                    step.subject = question.method
            case _:
                step.awaited = step.method in _AWAITED
        return True

    def _servers(self, step: Step, message: Message, entry: Entry) -> bool:
        """Say what a message of the server's belongs to; False: it answers nothing, and is not played."""
        owner = None
        match message:
            case Request():
                self._questions[entry.call, id_key(message.id)] = step
            case Response(id=bytes(id)) | ErrorResponse(id=bytes(id)):
                owner = self._asked.pop((entry.call, id_key(id)), None)
                if owner is None:
                    return False
                step.answers = owner
            case Notification(method="notifications/progress"):
                token = get_member(message.params or b"", "progressToken")
                owner = None if token is None else self._tokens.get((entry.call, id_key(token)))
            case Notification():
                tag = subscription_tag(message.params)
                tagged = None if tag is None else self._asked.get((entry.call, id_key(tag)))
                step.owner = step.owner if tagged is None else tagged
            case _:
                pass
        if owner is not None:
            step.owner, step.tied = owner, True
        return True
