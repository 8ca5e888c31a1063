"""The times that a server in a file may have: how long its start and a call may take."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, cast

from anywire.config.dialect import TWO_TIMES
from anywire.config.members import Members

__all__ = ("LONGEST_SECONDS", "read_times", "too_long")

#: A longer time is none that anybody waits: it is taken for this one.
LONGEST_SECONDS: Final = 86_400.0

# Where editors disagree whether a timeout is in seconds or in milliseconds, an hour is the most that those
# of seconds offer, and less than that is nothing that those of milliseconds would wait.
_MOST_TIMEOUT_SECONDS: Final = 3600

_MILLI: Final = 0.001
_SECONDS: Final = ("start_seconds", "call_seconds")
_MILLISECONDS: Final = ("start_milliseconds", "milliseconds", "timeout")


def read_times(members: Members) -> tuple[float | None, float | None]:
    """Return how long the start and a call may take, in seconds; None where nothing is said of it.

    Raises `ConfigError` for what is no time.
    """
    start = _shortened(members, "start_seconds") or _shortened(members, "start_milliseconds", _MILLI)
    call = _shortened(members, "call_seconds")
    some = members.number("timeout")
    if some is not None and call is None:
        call = _shortened(members, "timeout", 1 if some <= _MOST_TIMEOUT_SECONDS else _MILLI)
    parts = _two(members)
    if parts is not None:
        return start or _shortened(parts, "start", _MILLI), call or _shortened(parts, "call", _MILLI)
    return start or _shortened(members, "milliseconds", _MILLI), call


def too_long(members: Members) -> Iterator[str]:
    """Yield the names of the members with a time that is taken for `LONGEST_SECONDS`.

    Raises `ConfigError` for what is no time.
    """
    units = {**dict.fromkeys(_SECONDS, 1.0), **dict.fromkeys(_MILLISECONDS, _MILLI)}
    parts = _two(members)
    for meaning, unit in units.items():
        if (parts is None or meaning != "milliseconds") and _is_too_long(members, meaning, unit):
            yield members.name(meaning)
    if parts is not None and any(_is_too_long(parts, meaning, _MILLI) for meaning in ("start", "call")):
        yield members.name("milliseconds")


def _two(members: Members) -> Members | None:
    """Return the two times of an object that has both."""
    both = members.value("milliseconds")
    return Members(cast("dict[str, object]", both), TWO_TIMES) if isinstance(both, dict) else None


def _shortened(members: Members, meaning: str, unit: float = 1.0) -> float | None:
    number = members.number(meaning)
    return None if number is None else min(number, LONGEST_SECONDS / unit) * unit


def _is_too_long(members: Members, meaning: str, unit: float) -> bool:
    number = members.number(meaning)
    return number is not None and number > LONGEST_SECONDS / unit
