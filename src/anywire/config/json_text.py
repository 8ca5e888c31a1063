"""JSON as people write it: with comments and trailing commas, each value with the place where it stands.

Comments are `// …` and `/* … */`.  All else is JSON as RFC 8259 has it: names and texts in double quotes, no
other literals.  Where a name stands twice in one object, the last one counts, as in the readers of the
editors.  What is wrong is said with line and column; nothing of the text is repeated, since it may be secret.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Final, TypeAlias

import msgspec

from anywire.errors import ConfigError

__all__ = ("Member", "Node", "line_at", "read_json", "skip_trivia")

_MOST_DEPTH: Final = 64
_LONGEST_NUMBER: Final = 300  # digits; far below what Python refuses to convert

_TRIVIA = re.compile(r"(?:[ \t\r\n]++|//[^\r\n]*+|/\*(?:[^*]|\*(?!/))*+\*/)*+")
_STRING = re.compile(r'"(?:[^"\\\r\n]++|\\[^\r\n])*+"')
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*+)(\.[0-9]++)?+([eE][+-]?[0-9]++)?+(?![\w.+-])", re.ASCII)
_WORD = re.compile(r"[\w$.+-]++")
_WORDS: Final = {"true": True, "false": False, "null": None}

Scalar: TypeAlias = str | int | float | bool | None


class Node(msgspec.Struct, frozen=True):
    """A value and where it stands (offsets in characters).

    An object has `members`, an array `items`; the others have `scalar`.
    """

    start: int
    end: int
    scalar: Scalar = None
    members: tuple[Member, ...] | None = None
    items: tuple[Node, ...] | None = None

    def plain(self) -> object:
        """Return the value as Python has it: of members of one name, the last."""
        if self.members is not None:
            return {member.name: member.value.plain() for member in self.members}
        if self.items is not None:
            return [item.plain() for item in self.items]
        return self.scalar

    def find(self, name: str) -> Member | None:
        """Return the member of that name that counts, None where there is none."""
        return next((each for each in reversed(self.members or ()) if each.name == name), None)

    def repeated(self) -> Iterator[tuple[Member, Member]]:
        """Yield each member that does not count, with the one that stands in its place."""
        last = {member.name: member for member in self.members or ()}
        for member in self.members or ():
            if last[member.name] is not member:
                yield member, last[member.name]


class Member(msgspec.Struct, frozen=True):
    """A member of an object: its name, where that begins, its value, and the comma behind it (-1: none)."""

    name: str
    start: int
    value: Node
    comma: int


def read_json(text: str, where: str) -> Node:
    """Read a text as one JSON value.  Raises `ConfigError`, which names `where`, line and column."""
    reader = _Reader(text, where)
    start = skip_trivia(text, 0)
    if start == len(text):
        raise reader.wrong(start, "there is nothing in it")
    node = reader.value(start, 0)
    end = skip_trivia(text, node.end)
    if end < len(text):
        raise reader.wrong(end, "something follows the end of the JSON value")
    return node


def skip_trivia(text: str, position: int) -> int:
    """Return where the white space and the comments end that begin here."""
    found = _TRIVIA.match(text, position)
    return found.end() if found else position


def line_at(text: str, position: int) -> int:
    """Return the line of an offset, from 1."""
    return text.count("\n", 0, position) + 1


class _Reader:
    """Reads values at given offsets of one text."""

    def __init__(self, text: str, where: str) -> None:
        self._text = text
        self._where = where

    def wrong(self, position: int, sentence: str) -> ConfigError:
        line = line_at(self._text, position)
        column = position - (self._text.rfind("\n", 0, position) + 1) + 1
        return ConfigError(f"{self._where}, line {line}, column {column}: {sentence}")

    def value(self, start: int, depth: int) -> Node:
        match self._text[start : start + 1]:
            case "{":
                return self._object(start, self._deeper(start, depth))
            case "[":
                return self._array(start, self._deeper(start, depth))
            case '"':
                scalar, end = self._string(start)
                return Node(start, end, scalar)
            case _:
                return self._word(start)

    def _deeper(self, start: int, depth: int) -> int:
        if depth == _MOST_DEPTH:
            raise self.wrong(start, f"it nests deeper than {_MOST_DEPTH} levels")
        return depth + 1

    def _object(self, start: int, depth: int) -> Node:
        members: list[Member] = []
        position = skip_trivia(self._text, start + 1)
        while self._text[position : position + 1] != "}":
            name_start = position
            if self._text[position : position + 1] != '"':
                raise self._missing(start, position, "a name in double quotes or '}'")
            name, position = self._string(position)
            position = skip_trivia(self._text, position)
            if self._text[position : position + 1] != ":":
                raise self._missing(start, position, "a colon between a name and its value")
            value = self.value(skip_trivia(self._text, position + 1), depth)
            comma, position = self._comma(start, value.end, "}")
            members.append(Member(name, name_start, value, comma))
        return Node(start, position + 1, members=tuple(members))

    def _array(self, start: int, depth: int) -> Node:
        items: list[Node] = []
        position = skip_trivia(self._text, start + 1)
        while self._text[position : position + 1] != "]":
            items.append(self.value(position, depth))
            _, position = self._comma(start, items[-1].end, "]")
        return Node(start, position + 1, items=tuple(items))

    def _comma(self, start: int, position: int, closing: str) -> tuple[int, int]:
        """Return where the comma behind a value stands, and what comes after it."""
        position = skip_trivia(self._text, position)
        found = self._text[position : position + 1]
        if found == ",":
            return position, skip_trivia(self._text, position + 1)
        if found != closing:
            raise self._missing(start, position, f"a comma or {closing!r}")
        return -1, position

    def _missing(self, start: int, position: int, what: str) -> ConfigError:
        if position == len(self._text):
            opened = line_at(self._text, start)
            return self.wrong(
                position, f"the end comes before {self._text[start]!r} of line {opened} is closed"
            )
        if self._text.startswith("/*", position):
            return self.wrong(position, "a comment that begins here has no end")
        return self.wrong(position, f"{what} is missing")

    def _string(self, start: int) -> tuple[str, int]:
        found = _STRING.match(self._text, start)
        if found is None:
            raise self.wrong(start, "a text that begins here does not end on its line")
        token = found.group()
        if "\\" not in token and token.isprintable():
            return token[1:-1], found.end()
        try:
            return str(json.loads(token)), found.end()
        except json.JSONDecodeError as error:
            if "escape" in error.msg:
                sentence = "a backslash begins no escape of JSON here; in a path it is written twice"
            else:
                sentence = "a control character stands in a text; write it as an escape, such as \\t"
            raise self.wrong(start + error.pos, sentence) from None

    def _word(self, start: int) -> Node:
        number = _NUMBER.match(self._text, start)
        if number is not None:
            return Node(start, number.end(), _number(number))
        word = _WORD.match(self._text, start)
        if word is not None and word.group() in _WORDS:
            return Node(start, word.end(), _WORDS[word.group()])
        if start == len(self._text):
            raise self.wrong(start, "the end comes where a value is expected")
        if self._text[start] in "'`":
            raise self.wrong(start, "a text stands in double quotes")
        if self._text.startswith("/*", start):
            raise self.wrong(start, "a comment that begins here has no end")
        raise self.wrong(
            start, "a value is expected: a text in double quotes, a number, true, false, null, { or ["
        )


def _number(found: re.Match[str]) -> int | float:
    token = found.group()
    if found.group(1) is None and found.group(2) is None and len(token) <= _LONGEST_NUMBER:
        return int(token)
    return float(token)
