"""The requests of one method to one server: how many, how long they took, what went wrong with them."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Mapping
from itertools import accumulate
from math import inf
from typing import Final

from anywire.protocol.methods import METHODS
from anywire.wire.message import ErrorResponse, Response
from anywire.wire.splice import get_member

__all__ = (
    "BUCKETS",
    "CANCELLED_KIND",
    "LOST_KIND",
    "OTHER",
    "TIMED_OUT_KIND",
    "TOOL_KIND",
    "UNUSABLE_KIND",
    "Calls",
    "error_kind",
    "label_of",
)

#: The upper bounds of the buckets, in seconds: from a tool in memory to a person who is asked.
BUCKETS: Final = (
    0.001,
    0.0025,
    0.005,
    0.01,
    0.025,
    0.05,
    0.1,
    0.25,
    0.5,
    1.0,
    2.5,
    5.0,
    10.0,
    30.0,
    60.0,
    300.0,
)

#: What stands for all methods that MCP does not have, and for all kinds of error beyond the first.
OTHER: Final = "other"
#: The tool itself said that it failed (`isError`).
TOOL_KIND: Final = "tool"
#: The server, or the way to it, was lost.
LOST_KIND: Final = "lost"
#: The client cancelled it, or left.
CANCELLED_KIND: Final = "cancelled"
#: No answer came in time.
TIMED_OUT_KIND: Final = "timed_out"
#: A reply came that is none.
UNUSABLE_KIND: Final = "unusable_reply"

_TOOL_CALL: Final = "tools/call"
#: Kinds that one method has names of its own for: a server may invent a code for each of its answers.
_MOST_KINDS: Final = 40
#: So much of either end of a result is looked at; servers write the member first or last.
_LOOKED_AT: Final = 1024
_MEMBER: Final = b'"isError"'
_IS_TRUE: Final = re.compile(rb'"isError"\s*:\s*true')
_KNOWN: Final = frozenset(name for name, method in METHODS.items() if not method.notification)


def label_of(method: str) -> str:
    """Return what a method is counted as: a stranger may invent as many as he likes."""
    return method if method in _KNOWN else OTHER


def error_kind(method: str, reply: Response | ErrorResponse) -> str | None:
    """Say what went wrong according to a reply: a JSON-RPC code, or that the tool failed; None: nothing."""
    if isinstance(reply, ErrorResponse):
        return str(int(reply.detail().code))
    return TOOL_KIND if method == _TOOL_CALL and _is_tool_error(reply.result) else None


def _is_tool_error(result: bytes) -> bool:
    """Look at both ends of a result, without decoding it unless what is there has two meanings."""
    size = len(result)
    last = result.rfind(_MEMBER, max(0, size - _LOOKED_AT))
    found = None if last < 0 else _IS_TRUE.match(result, last)
    if last < 0 and size > _LOOKED_AT and (first := result.find(_MEMBER, 0, _LOOKED_AT)) >= 0:
        found = _IS_TRUE.match(result, first)
    if found is None:
        return False
    # As the very first or last member it is one of the result itself, and not of something in it.
    return found.start() == 1 or found.end() == size - 1 or get_member(result, "isError") == b"true"


class Calls:
    """Counts; every number only grows.

    `count`: requests that were sent; `seconds`: how long all those together took that were answered, with a
    result or an error; `errors`: by kind, which is a JSON-RPC code or one of this module's words.
    """

    __slots__ = ("_buckets", "count", "errors", "method", "seconds")

    def __init__(self, method: str) -> None:
        self.method = method
        self.count = 0
        self.seconds = 0.0
        self.errors: dict[str, int] = {}
        self._buckets = [0] * (len(BUCKETS) + 1)

    def took(self, seconds: float) -> None:
        """Count an answer that took so long."""
        self.seconds += seconds
        self._buckets[bisect_left(BUCKETS, seconds)] += 1

    def failed(self, kind: str) -> None:
        """Count an error."""
        if kind not in self.errors and len(self.errors) >= _MOST_KINDS:
            kind = OTHER
        self.errors[kind] = self.errors.get(kind, 0) + 1

    @property
    def answered(self) -> int:
        """How many were answered."""
        return sum(self._buckets)

    def cumulated(self) -> Mapping[float, int]:
        """Return how many took at most so many seconds, the last (infinity) all of them."""
        return dict(zip((*BUCKETS, inf), accumulate(self._buckets), strict=True))
