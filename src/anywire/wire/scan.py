"""A slow reader of envelopes, for what the fast decoder refuses or cannot see.

The fast decoder (msgspec) rejects a lone surrogate escape although JSON allows it, keeps silent
about duplicate members, and says nothing about a message that is cut or malformed half-way.  This
scanner walks the top level of an object member by member, gives each value's span, and stops at
the first thing that is not JSON, keeping what it found so far.  Linear in time, no recursion.
"""

from __future__ import annotations

import json
import re

import msgspec

__all__ = ("Member", "Scan", "depth_exceeds", "replace_lone_surrogates", "scan_object", "syntax_error")

_SPACE = re.compile(rb"[ \t\r\n]*+")
_STRING = re.compile(rb'"(?:[^"\\\x00-\x1f]++|\\.)*+"', re.DOTALL)
_SCALAR = re.compile(rb"[^\s,\]}:\"\[{]++")
_NEST = re.compile(rb'"(?:[^"\\]++|\\.)*+"|[{}\[\]]', re.DOTALL)
_LONE_SURROGATE = re.compile(
    rb"((?:^|[^\\])(?:\\\\)*+)"  # an even number of backslashes before
    rb"(?:(\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2})|\\u[dD][89a-fA-F][0-9a-fA-F]{2})"
)
_OBJECT, _ARRAY, _QUOTE, _COMMA, _COLON, _CLOSE = b'{["' + b",:}"


class Member(msgspec.Struct, frozen=True):
    """One member of an object: its decoded name, and where name and value stand (offsets in bytes)."""

    name: str
    start: int
    value_start: int
    value_end: int


class Scan(msgspec.Struct, frozen=True):
    """What the scanner saw: the members in order, and where it had to stop.

    `stopped` is -1 when the object was whole and nothing but white space followed it, otherwise the
    offset of the first byte that did not fit (the end of the data for a message that was cut).
    Values are delimited here, not validated; `syntax_error` does that.
    """

    members: tuple[Member, ...]
    stopped: int = -1

    def find(self, name: str) -> Member | None:
        """Return the last member of that name."""
        return next((member for member in reversed(self.members) if member.name == name), None)

    def duplicates(self, names: frozenset[str]) -> list[str]:
        """Return those of `names` that occur more than once."""
        seen = [member.name for member in self.members]
        return sorted(name for name in names if seen.count(name) > 1)


def scan_object(data: bytes) -> Scan:
    """Read the top level of a JSON object as far as it goes.  Never raises."""
    members: list[Member] = []
    position = _skip_space(data, 0)
    if data[position : position + 1] != b"{":
        return Scan((), position)
    position = _skip_space(data, position + 1)
    if data[position : position + 1] == b"}":
        return _finish(data, members, position + 1)
    while True:
        member, position = _scan_member(data, position)
        if member is None:
            return Scan(tuple(members), position)
        members.append(member)
        position = _skip_space(data, position)
        after = data[position : position + 1]
        if after == b"}":
            return _finish(data, members, position + 1)
        if after != b",":
            return Scan(tuple(members), position)
        position = _skip_space(data, position + 1)


def _finish(data: bytes, members: list[Member], position: int) -> Scan:
    position = _skip_space(data, position)
    return Scan(tuple(members), -1 if position == len(data) else position)


def _skip_space(data: bytes, position: int) -> int:
    found = _SPACE.match(data, position)
    return found.end() if found else position


def _scan_member(data: bytes, start: int) -> tuple[Member | None, int]:
    name = _STRING.match(data, start)
    if name is None:
        return None, start
    colon = _skip_space(data, name.end())
    if data[colon : colon + 1] != b":":
        return None, colon
    value_start = _skip_space(data, colon + 1)
    value_end = _skip_value(data, value_start)
    if value_end < 0:
        return None, len(data)
    return Member(_name(name.group()), start, value_start, value_end), value_end


def _name(token: bytes) -> str:
    try:
        return msgspec.json.decode(token, type=str)
    except msgspec.MsgspecError:
        return token.decode("utf-8", "replace")


def _skip_value(data: bytes, position: int) -> int:
    """Return the end of the value that starts here, or -1 where it is cut or is none."""
    first = data[position] if position < len(data) else 0
    if first == _QUOTE:
        found = _STRING.match(data, position)
        return found.end() if found else -1
    if first in (_OBJECT, _ARRAY):
        return _skip_nest(data, position)
    found = _SCALAR.match(data, position)
    # A scalar that touches the end may go on: `12` of a cut `123` must not be taken for an id.
    return found.end() if found and found.end() < len(data) else -1


def _skip_nest(data: bytes, position: int) -> int:
    depth = 0
    for token in _NEST.finditer(data, position):
        byte = data[token.start()]
        if byte in (_OBJECT, _ARRAY):
            depth += 1
        elif byte != _QUOTE:
            depth -= 1
            if depth == 0:
                return token.end()
    return -1


def depth_exceeds(data: bytes, limit: int) -> bool:
    """Say whether arrays and objects nest deeper than `limit`."""
    if data.count(b"{") + data.count(b"[") <= limit:
        return False
    depth = 0
    for token in _NEST.finditer(data):
        byte = data[token.start()]
        if byte in (_OBJECT, _ARRAY):
            depth += 1
            if depth > limit:
                return True
        elif byte != _QUOTE:
            depth -= 1
    return False


def _refuse_constant(name: str) -> object:
    raise ValueError(f"{name} is not JSON")


def syntax_error(data: bytes) -> tuple[str, int] | None:
    """Say why this (valid UTF-8, bounded depth) is not JSON, and at which byte; None when it is.

    Lone surrogate escapes pass, as the grammar of JSON has them; NaN and Infinity do not.
    """
    text = data.decode("utf-8")
    try:
        json.loads(text, parse_int=str, parse_float=str, parse_constant=_refuse_constant)
    except json.JSONDecodeError as error:
        return error.msg, len(text[: error.pos].encode())
    except ValueError as error:
        return str(error), -1
    except RecursionError:
        return "nested too deeply", -1
    return None


def replace_lone_surrogates(data: bytes) -> bytes:
    """Write U+FFFD for each escape of half a surrogate pair; everything else stays byte for byte."""
    previous = b""
    while previous != data:  # neighbours share a byte of context, so one pass can skip every second one
        previous, data = data, _LONE_SURROGATE.sub(_mend, data)
    return data


def _mend(found: re.Match[bytes]) -> bytes:
    return found.group() if found.group(2) else found.group(1) + b"\\ufffd"
