"""A slow reader of envelopes, for what the fast decoder refuses or cannot see.

The fast decoder (msgspec) rejects a lone surrogate escape although JSON allows it, keeps silent
about duplicate members, and says nothing about a message that is cut or malformed half-way.  This
scanner walks the top level of an object member by member, gives each value's span, and stops at
the first thing that is not JSON, keeping what it found so far.  Linear in time, no recursion.

Where the fast decoder does read an object, it also knows where the values of its members end.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import accumulate, count
from typing import Final

import msgspec
from msgspec import Raw

__all__ = (
    "Member",
    "Scan",
    "depth_exceeds",
    "quick_values",
    "replace_lone_surrogates",
    "scan_array",
    "scan_object",
    "syntax_error",
)

_SPACE = re.compile(rb"[ \t\r\n]*+")
_STRING = re.compile(rb'"(?:[^"\\]++|\\.)*+"', re.DOTALL)
_SCALAR = re.compile(rb"[^\s,\]}:\"\[{]++")
# A string without an end reaches to the end of the data: were it no token, each quote that is
# escaped in it would be tried as the beginning of another one.
_NEST = re.compile(rb'"(?:[^"\\]++|\\.)*+(?:"|\\?\Z)|[{}\[\]]', re.DOTALL)
# An escaped backslash, a whole pair, or half of one, which is the group.
_SURROGATE = re.compile(
    rb"\\(?:\\|u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|(u[dD][89a-fA-F][0-9a-fA-F]{2}))"
)
_MALFORMED = re.compile(r"(?:JSON is malformed: )?(.*?) ?\(byte (\d+)\)")
_OBJECT, _ARRAY, _QUOTE = _CLOSED = b'{["'  # with which values begin that say themselves where they end
_BRACKETS = b"{[}]"
# So long a text is looked through for so few brackets before they are counted.
_LONG, _FEW = 4096, 8
_STEPS = bytes.maketrans(_BRACKETS, b"\x01\x01\xff\xff")  # up and down, as signed bytes
_NO_MARKS = bytes(byte for byte in range(256) if byte not in _BRACKETS + b'"')
_BLOCK = 64 * 1024

# So long an object is worth the fast decoder; of so many members in all depths it may make a dictionary.
_WORTH: Final = 200
_MOST_COLONS: Final = 100_000
_NOTHING: Final[Mapping[str, Raw]] = {}

_read_values = msgspec.json.Decoder(dict[str, Raw]).decode
_check_syntax = msgspec.json.Decoder(Raw).decode


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
    `stopped_in` is the name of the member it had begun to read there, None between members.
    `crowded`: it stopped because there are more members than it was to look at.
    Values are delimited here, not validated; `syntax_error` does that.
    """

    members: tuple[Member, ...]
    stopped: int = -1
    stopped_in: str | None = None
    crowded: bool = False

    def find(self, name: str) -> Member | None:
        """Return the last member of that name."""
        return next((member for member in reversed(self.members) if member.name == name), None)

    def duplicates(self, names: frozenset[str]) -> list[str]:
        """Return those of `names` that occur more than once."""
        seen = [member.name for member in self.members]
        return sorted(name for name in names if seen.count(name) > 1)


def scan_object(
    data: bytes,
    names: frozenset[str] | None = None,
    most: int | None = None,
    known: Mapping[str, Raw] | None = None,
) -> Scan:
    """Read the top level of a JSON object as far as it goes.  Never raises.

    With `names`, only members called one of them are kept, and of each name the first and the last;
    without, all are.  Looks at `most` members at the most.  `known` are its `quick_values`, where whoever
    asks has them.
    """
    members: list[Member] = []
    position = _skip_space(data, 0)
    if data[position : position + 1] != b"{":
        return Scan((), position)
    position = _skip_space(data, position + 1)
    if data[position : position + 1] == b"}":
        return _finish(data, members, position + 1)
    known = _known_values(data, known)
    for seen in count(1):
        member, position = _scan_member(data, position, known)
        if member is None or member.value_end < 0:
            return Scan(tuple(members), position, member and member.name)
        if seen == most:
            return Scan(tuple(members), position, crowded=True)
        if names is None:
            members.append(member)
        elif member.name in names:
            _keep(member, members)
        position = _skip_space(data, position)
        after = data[position : position + 1]
        if after == b"}":
            return _finish(data, members, position + 1)
        if after != b",":
            return Scan(tuple(members), position)
        position = _skip_space(data, position + 1)
    raise AssertionError("the members of an object have no end")


def _keep(member: Member, members: list[Member]) -> None:
    same = [index for index, other in enumerate(members) if other.name == member.name]
    if len(same) > 1:
        del members[same[1]]
    members.append(member)


def _finish(data: bytes, members: list[Member], position: int) -> Scan:
    position = _skip_space(data, position)
    return Scan(tuple(members), -1 if position == len(data) else position)


def _skip_space(data: bytes, position: int) -> int:
    found = _SPACE.match(data, position)
    return found.end() if found else position


def _known_values(data: bytes, known: Mapping[str, Raw] | None) -> Mapping[str, Raw]:
    if known is not None:
        return known
    return quick_values(data) if len(data) >= _WORTH else _NOTHING


def quick_values(data: bytes) -> Mapping[str, Raw]:
    """Return the values of an object, of each name the last; none where they cannot be had quickly.

    So it says nothing of an object that has none.
    """
    if len(data) > _MOST_COLONS and data.count(b":") > _MOST_COLONS:
        return _NOTHING
    try:
        return _read_values(data)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return _NOTHING


def _scan_member(data: bytes, start: int, known: Mapping[str, Raw]) -> tuple[Member | None, int]:
    """Read one member; return it and its end, or what of it could be read and where that stopped."""
    name = _STRING.match(data, start)
    if name is None:
        return None, start
    decoded = _name(name.group())
    colon = _skip_space(data, name.end())
    if data[colon : colon + 1] != b":":
        return Member(decoded, start, colon, -1), colon
    value_start = _skip_space(data, colon + 1)
    value = known.get(decoded)
    if value is not None and data[value_start] in _CLOSED and data.startswith(value, value_start):
        value_end = value_start + len(memoryview(value))
    else:
        value_end = _skip_value(data, value_start)
    stopped = value_end if value_end >= 0 else _where_it_breaks(data, value_start)
    return Member(decoded, start, value_start, value_end), stopped


def _name(token: bytes) -> str:
    if b"\\" in token:
        try:
            return msgspec.json.decode(token, type=str)
        except (msgspec.MsgspecError, UnicodeDecodeError):
            pass
    return token[1:-1].decode("utf-8", "replace")


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


def _where_it_breaks(data: bytes, value_start: int) -> int:
    """Return where a value that is none begins; one that is cut breaks at the end."""
    begins = data[value_start : value_start + 1]
    return len(data) if begins in (b'"', b"{", b"[") or _SCALAR.match(data, value_start) else value_start


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


def scan_array(data: bytes, limit: int) -> list[bytes]:
    """Return the items of an array that is known to be JSON, at most the first `limit` of them."""
    items: list[bytes] = []
    position = _skip_space(data, 0) + 1
    while len(items) < limit:
        position = _skip_space(data, position)
        end = _skip_value(data, position)
        if end < 0:
            break  # the closing bracket, or what follows it
        items.append(data[position:end])
        position = _skip_space(data, end) + 1
    return items


def depth_exceeds(data: bytes, limit: int) -> bool:
    """Say whether arrays and objects nest deeper than `limit`."""
    if len(data) >= _LONG and limit >= 2 * _FEW and _has_few(data, b"{") and _has_few(data, b"["):
        return False
    if data.count(b"{") + data.count(b"[") <= limit:
        return False
    if b"\\" in data:
        data = data.replace(b"\\\\", b"").replace(b'\\"', b"")
    # Two quotes side by side go, whether they are one string or the end and the beginning of two:
    # what is outside of strings stays outside.
    marks = data.translate(None, _NO_MARKS).replace(b'""', b"")
    return not _is_shallow(marks, limit) and _deepest(marks, limit) > limit


def _has_few(data: bytes, bracket: bytes) -> bool:
    """Say quickly whether there are at most `_FEW`: finding a byte is far faster than counting it."""
    position = -1
    for _ in range(_FEW + 1):
        position = data.find(bracket, position + 1)
        if position < 0:
            return True
    return False


def _is_shallow(marks: bytes, limit: int) -> bool:
    """Say whether taking the innermost pairs away, a few times, leaves too little to nest too deeply."""
    for lowered in range(2, 20, 2):
        marks = marks.replace(b"[]", b"").replace(b"{}", b"")
        if len(marks) + lowered <= limit:
            return True
    return False


def _deepest(marks: bytes, limit: int) -> int:
    """Return how deep it goes, or a depth beyond the limit."""
    depth, deepest, quotes = 0, 0, 0
    for start in range(0, len(marks), _BLOCK):
        pieces = marks[start : start + _BLOCK].split(b'"')
        outside = b"".join(pieces[quotes % 2 :: 2])
        quotes += len(pieces) - 1
        with memoryview(outside.translate(_STEPS)) as steps:
            levels = list(accumulate(steps.cast("b"), initial=depth))
        depth, deepest = levels[-1], max(deepest, *levels)
        if deepest > limit:
            break
    return deepest


def syntax_error(data: bytes) -> tuple[str, int] | None:
    """Say why this (valid UTF-8, bounded depth) is not JSON, and at which byte; None when it is.

    Lone surrogate escapes pass, as the grammar of JSON has them; NaN and Infinity do not.
    """
    try:
        # What is put in the place of an escape has its length: positions stay what they were.
        _check_syntax(replace_lone_surrogates(data))
    except msgspec.DecodeError as error:
        found = _MALFORMED.fullmatch(str(error))
        if found is None:
            return "the text ends too soon", len(data)
        # Of what is trailing the position is that of the second byte.
        return found[1], int(found[2]) - (found[1] == "trailing characters")
    except RecursionError:
        return "nested too deeply", -1
    return None


def replace_lone_surrogates(data: bytes) -> bytes:
    r"""Write `\ufffd` for each escape of half a surrogate pair; everything else stays byte for byte."""
    return _SURROGATE.sub(_mend, data)


def _mend(found: re.Match[bytes]) -> bytes:
    return found.group() if found.group(1) is None else b"\\ufffd"
