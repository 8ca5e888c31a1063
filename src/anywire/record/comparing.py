"""Where two JSON values differ, exactly: numbers by how they are written, secrets that were left out by any.

A recording without its secrets can still be compared with what has them: what stands in the place of a
secret is equal to whatever stands there.
"""

from __future__ import annotations

import json
import re
from collections.abc import Container, Iterator
from typing import Any, Final, TypeAlias, cast

import msgspec

from anywire.record.names import is_exactly_a_secret
from anywire.record.secrets import STAND_IN
from anywire.wire.splice import drop_members
from anywire.wire.value import Verbatim, encode_value

__all__ = ("Difference", "differences_of", "differences_of_params", "same_params")

_Json: TypeAlias = Any
# So much of a value is shown.
_SHOWN: Final = 60
_STAND_IN: Final = re.compile(STAND_IN.pattern.decode())


class _Missing:
    def __repr__(self) -> str:
        return "nothing"


# What stands on a side where there is no such member or item.
_MISSING: Final = _Missing()


class Difference(msgspec.Struct, frozen=True):
    """A place where two values differ: its path (`.arguments.a[0]`), and what stands there in each."""

    path: str
    first: object
    second: object

    def __str__(self) -> str:
        return f"{self.path}: {_shown(self.first)} and {_shown(self.second)}"


def _number(token: str) -> Verbatim:
    return Verbatim(token.encode())


def _plain(raw: bytes) -> _Json:
    """Return a JSON text as a value in which a number is its spelling.  Raises `ValueError`."""
    try:
        return json.loads(raw, parse_int=_number, parse_float=_number, parse_constant=_number)
    except RecursionError as error:
        raise ValueError("nested too deeply") from error


def same_params(first: bytes | None, second: bytes | None) -> bool:
    """Say whether the params of two requests ask for the same, apart from what `_meta` says."""
    return next(differences_of_params(first, second), None) is None


def differences_of(
    first: bytes | None, second: bytes | None, *, but_for: Container[str] = ()
) -> Iterator[Difference]:
    """Yield where two JSON objects differ, but for the places of these paths.  Never raises."""
    one, other = first or b"{}", second or b"{}"
    if one == other:
        return
    try:
        found = _differences(_plain(one), _plain(other))
        yield from (each for each in found if each.path not in but_for)
    except (ValueError, RecursionError):
        yield Difference("", Verbatim(one), Verbatim(other))


def differences_of_params(first: bytes | None, second: bytes | None) -> Iterator[Difference]:
    """Yield where the params of two requests differ, apart from what `_meta` says.  Never raises."""
    return differences_of(drop_members(first or b"{}", "_meta"), drop_members(second or b"{}", "_meta"))


def _differences(
    first: _Json, second: _Json, path: str = "", *, is_secret: bool = False
) -> Iterator[Difference]:
    """Yield where two values of `_plain` differ, in the order of the first.

    `is_secret`: by the name that they have, so that a number which is 0 may be one that was left out.
    """
    if isinstance(first, dict) and isinstance(second, dict):
        one, other = cast("dict[str, _Json]", first), cast("dict[str, _Json]", second)
        for name in [*one, *(name for name in other if name not in one)]:
            at = _member(path, name)
            secret = is_secret or is_exactly_a_secret(name)
            yield from _differences(one.get(name, _MISSING), other.get(name, _MISSING), at, is_secret=secret)
    elif isinstance(first, list) and isinstance(second, list):
        left, right = cast("list[_Json]", first), cast("list[_Json]", second)
        for index in range(max(len(left), len(right))):
            at = f"{path}[{index}]"
            yield from _differences(_item(left, index), _item(right, index), at, is_secret=is_secret)
    elif not _equal(first, second) and not (is_secret and _is_number_left_out(first, second)):
        yield Difference(path, cast("object", first), cast("object", second))


def _member(path: str, name: str) -> str:
    if not re.fullmatch(r"[\w$-]+", name):
        return f"{path}[{json.dumps(name)}]"
    return f"{path}.{name}"


def _item(items: list[_Json], index: int) -> _Json:
    return items[index] if index < len(items) else _MISSING


def _equal(first: _Json, second: _Json) -> bool:
    if type(first) is type(second) and first == second:
        return True
    return _covers(first, second) or _covers(second, first)


def _is_number_left_out(first: _Json, second: _Json) -> bool:
    """Say whether one of two numbers is what stands in the place of any."""
    return isinstance(first, Verbatim) and isinstance(second, Verbatim) and b"0" in (first.raw, second.raw)


def _covers(hidden: _Json, shown: _Json) -> bool:
    """Say whether one is a text out of which secrets were left, and the other may be it with them."""
    if not isinstance(hidden, str) or shown is _MISSING or "***" not in hidden:
        return False
    if _STAND_IN.fullmatch(hidden):
        return isinstance(shown, str | Verbatim)
    if not isinstance(shown, str):
        return False
    lines, others = hidden.split("\n"), shown.split("\n")
    return len(lines) == len(others) and all(map(_covers_line, lines, others))


def _covers_line(hidden: str, shown: str) -> bool:
    """Say the same of one line: each word for a secret stands for something, and for no end of a line."""
    if hidden == shown:
        return True
    first, *pieces = _STAND_IN.split(hidden)
    if not pieces:
        return False
    if len(others := _STAND_IN.split(shown)) == len(pieces) + 1:
        return others == [first, *pieces]
    *middle, last = pieces
    at, end = len(first), len(shown) - len(last)
    if not (shown.startswith(first) and shown.endswith(last)):
        return False
    for piece in middle:
        found = shown.find(piece, at + 1, end)
        if found < 0:
            return False
        at = found + len(piece)
    return at < end


def _shown(value: object) -> str:
    if value is _MISSING:
        return "nothing"
    text = encode_value(value).decode("utf-8", "backslashreplace")
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 1]}…"
