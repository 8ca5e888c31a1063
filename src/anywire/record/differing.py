"""Where two recordings differ, request by request; ids and times do not count."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import zip_longest
from typing import Final, TypeAlias

import msgspec

from anywire.protocol.types.envelope import (
    PROGRESS_TOKEN_KEY,
    SUBSCRIPTION_ID_KEY,
    TRACEPARENT_KEY,
    TRACESTATE_KEY,
)
from anywire.record.comparing import differences_of
from anywire.record.playback import PRESENCE
from anywire.record.score import Score, Step
from anywire.wire.message import ErrorResponse, Message, Notification, Request, Response

__all__ = ("Finding", "compare")

# What is not in the other recording at the same place is looked for among so many.
_WINDOW: Final = 100
# Places that name a message or a moment, and say nothing of what is talked about.
_NAMES: Final = frozenset(
    {
        f".{PROGRESS_TOKEN_KEY}",
        f"._meta.{PROGRESS_TOKEN_KEY}",
        f'._meta["{SUBSCRIPTION_ID_KEY}"]',
        f"._meta.{TRACEPARENT_KEY}",
        f"._meta.{TRACESTATE_KEY}",
        ".requestId",
        ".requestState",
    }
)

_Pair: TypeAlias = tuple[Step | None, Step | None]


class Finding(msgspec.Struct, frozen=True):
    """A difference: in which conversation (they are counted), in which line of each recording, and what."""

    session: int
    first: int | None
    second: int | None
    what: str


def compare(first: Sequence[Score], second: Sequence[Score]) -> Iterator[Finding]:
    """Yield where two recordings differ."""
    for number, (one, other) in enumerate(zip_longest(first, second), 1):
        if one is not None and other is not None:
            yield from _conversations(number, one, other)
        else:
            which, there = ("first", one) if one is not None else ("second", other)
            server = "" if there is None else f" with {there.server}"
            what = f"the conversation{server} is in the {which} recording only"
            yield Finding(number, None, None, what)


def _conversations(number: int, first: Score, second: Score) -> Iterator[Finding]:
    """Compare requests with what is tied to them, and the rest in a row: that may come at any moment."""
    one = [first.steps[index] for index in first.requests]
    other = [second.steps[index] for index in second.requests]
    for asked, again in _aligned(one, other):
        if asked is None or again is None:
            only = asked or again
            if only is not None and only.method not in PRESENCE:
                yield _only(number, asked, again)
        else:
            yield from _parts(number, _call(first, asked), _call(second, again))
    for is_clients in (False, True):
        yield from _parts(number, _rest(first, is_clients), _rest(second, is_clients))


def _call(score: Score, request: Step) -> list[Step]:
    return [request, *(score.steps[index] for index in score.tied.get(request.index, ()))]


def _rest(score: Score, is_clients: bool) -> list[Step]:
    return [
        step
        for step in score.steps.values()
        if step.is_clients is is_clients and not step.tied and step.owner != step.index
    ]


def _parts(number: int, first: Sequence[Step], second: Sequence[Step]) -> Iterator[Finding]:
    """Compare what was said in a row: a request, its progress and its answer, or what belongs to none."""
    name = first[0].method if first else ""
    for one, other in _aligned(first, second):
        if one is None or other is None:
            yield _only(number, one, other)
            continue
        before, after = one.message, other.message
        if type(before) is not type(after):
            what = f"the answer to {one.subject}" if one.subject and not one.method else name
            yield Finding(number, one.line, other.line, f"{what}: {_kind(before)} and {_kind(after)}")
            continue
        what = one.method or (f"the answer to {one.subject}" if one.subject else name)
        for difference in differences_of(_value(before), _value(after), but_for=_NAMES):
            yield Finding(number, one.line, other.line, f"{what}: {_kind(before)}{difference}")


def _only(number: int, first: Step | None, second: Step | None) -> Finding:
    which, step = ("first", first) if first is not None else ("second", second)
    assert step is not None
    subject = f" {step.subject}" if step.subject else ""
    what = f"{step.method}{subject}" if step.method else "an answer" + (f" to{subject}" if subject else "")
    return Finding(
        number,
        None if first is None else first.line,
        None if second is None else second.line,
        f"{what} is in the {which} recording only",
    )


def _value(message: Message) -> bytes | None:
    match message:
        case Response():
            return message.result
        case ErrorResponse():
            return message.error
        case Request() | Notification():
            return message.params


def _kind(message: Message) -> str:
    match message:
        case Response():
            return "result"
        case ErrorResponse():
            return "error"
        case Request() | Notification():
            return "params"


def _aligned(first: Sequence[Step], second: Sequence[Step]) -> Iterator[_Pair]:
    """Yield what belongs together, and what has nothing in the other, in order."""
    one = other = 0
    while one < len(first) and other < len(second):
        skipped, added = _gap(first[one : one + _WINDOW], second[other : other + _WINDOW])
        yield from ((step, None) for step in first[one : one + skipped])
        yield from ((None, step) for step in second[other : other + added])
        one, other = one + skipped, other + added
        if one < len(first) and other < len(second):
            yield first[one], second[other]
            one, other = one + 1, other + 1
    yield from ((step, None) for step in first[one:])
    yield from ((None, step) for step in second[other:])


def _gap(first: Sequence[Step], second: Sequence[Step]) -> tuple[int, int]:
    """Return how many steps on either side have nothing in the other, before the next that are alike."""
    for ahead in range(max(len(first), len(second))):
        if ahead < len(second) and _likeness(first[0]) == _likeness(second[ahead]):
            return 0, ahead
        if ahead < len(first) and _likeness(first[ahead]) == _likeness(second[0]):
            return ahead, 0
    return 1, 1


def _likeness(step: Step) -> tuple[bool, str, str]:
    """What two steps must have in common to be one and the same."""
    return step.is_clients, step.method, step.subject
