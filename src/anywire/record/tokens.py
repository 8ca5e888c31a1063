"""The values of a JSON text, one after the other, and which of them are secrets by the name they have.

What a schema says under a name is said of a value, and is none: of a secret, only what may be an example of
it tells.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Final

import msgspec

from anywire.record.names import is_exactly_a_secret, tells
from anywire.wire.value import decode_value

__all__ = ("Kind", "text_of", "values_of")


def _spelled(names: str) -> frozenset[bytes]:
    return frozenset(f'"{name}"'.encode() for name in names.split())


#: What says which message it is, and what it is about; no secrets.
_ENVELOPE: Final = _spelled("jsonrpc id method")
_NAMING: Final = _spelled("requestId progressToken protocolVersion taskId")
_SCHEMAS: Final = _spelled("inputSchema outputSchema requestedSchema")
_OF_SCHEMAS: Final = _spelled("properties patternProperties $defs definitions dependentSchemas")
_OF_SCHEMA: Final = _OF_SCHEMAS | _spelled(
    "type title description format pattern $ref $id $schema $comment required contentEncoding"
    " contentMediaType items prefixItems anyOf oneOf allOf not if then else contains propertyNames"
    " additionalProperties unevaluatedProperties"
)
_SHORT: Final = 256
_OPENING, _CLOSING, _DIVIDING, _OBJECT, _COLON = b"{[", b"}]", b",:", *b"{:"
_TOKEN: Final = re.compile(rb'"(?:[^"\\]++|\\.)*+"|[{}\[\],:]|[^\s"{}\[\],:]++', re.DOTALL)


class Kind:
    """What a value is; the larger the number, the more of a secret."""

    #: It says which message this is, or what that is about.
    NAMING: Final = -1
    #: It is no secret by its name.
    PLAIN: Final = 0
    #: It has a name that tells of a secret.
    TELLING: Final = 1
    #: It has the name of a secret and of nothing else.
    SECRET: Final = 2


# What an object is, as far as schemas go: no schema, one, or one for each of its names.
_DATA: Final = 0
_SCHEMA: Final = 1
_EACH: Final = 2


class _Level:
    """An object or an array that is being read; `key` is the name at which it has come."""

    __slots__ = ("is_object", "key", "kind", "named", "place")

    def __init__(self, *, is_object: bool, kind: int, place: int) -> None:
        self.is_object = is_object
        self.kind = kind
        self.place = place
        self.key = b""
        self.named = False

    def kind_of_value(self) -> int:
        """Return what a string or a number is here."""
        if not self.is_object:
            return self.kind if self.place == _DATA else Kind.PLAIN
        if self.place == _SCHEMA and self.key in _OF_SCHEMA:
            return Kind.PLAIN
        kind = _kind_by_short(self.key) if len(self.key) < _SHORT else _kind_by_any(self.key)
        return kind if kind > self.kind else self.kind

    def open(self, *, is_object: bool) -> _Level:
        """Return the level of what stands here."""
        kind, place = self.kind, self.place
        if self.is_object:
            if place == _SCHEMA:
                place = _EACH if self.key in _OF_SCHEMAS else _SCHEMA
                place = place if self.key in _OF_SCHEMA else _DATA
            elif place == _EACH:
                kind, place = max(kind, _kind_by(self.key)), _SCHEMA
            elif self.key in _SCHEMAS and kind == Kind.PLAIN:
                place = _SCHEMA
            else:
                kind = max(kind, _kind_by(self.key))
        return _Level(is_object=is_object, kind=kind, place=place)


def values_of(
    message: bytes, kind: int = Kind.PLAIN, *, is_message: bool = True
) -> Iterator[tuple[int, int, int]]:
    """Yield where each string and each number that is a value stands, and what it is; `kind`: all of it.

    `is_message`: it is one, or a batch, and not JSON that stands in one.
    """
    levels: list[_Level] = []
    envelope = 2 if message.lstrip()[:1] == b"[" else 1
    deepest = envelope + 2 if is_message else 0
    for found in _TOKEN.finditer(message):
        token, top = found.group(), levels[-1] if levels else None
        first = token[0]
        if first in _OPENING:
            is_object = first == _OBJECT
            level = _Level(is_object=is_object, kind=kind, place=_DATA)
            levels.append(level if top is None else top.open(is_object=is_object))
        elif first in _CLOSING:
            if levels:
                levels.pop()
        elif first in _DIVIDING:
            if top is not None:
                top.named = first == _COLON
        elif top is not None and top.is_object and not top.named:
            top.key = token
        elif top is None:
            yield found.start(), found.end(), kind
        else:
            deep = len(levels)
            is_naming = deep <= deepest and top.key in (_ENVELOPE if deep <= envelope else _NAMING)
            yield found.start(), found.end(), Kind.NAMING if is_naming else top.kind_of_value()


def text_of(token: bytes) -> str:
    """Return what a JSON string says, empty for what is none."""
    if b"\\" not in token:
        return token[1:-1].decode("utf-8", "replace")
    try:
        return decode_value(token, str)
    except msgspec.MsgspecError:
        return ""


def _kind_by(key: bytes) -> int:
    return _kind_by_short(key) if len(key) < _SHORT else _kind_by_any(key)


def _kind_by_any(key: bytes) -> int:
    name = text_of(key)
    if not tells(name):
        return Kind.PLAIN
    return Kind.SECRET if is_exactly_a_secret(name) else Kind.TELLING


_kind_by_short = lru_cache(maxsize=2_000)(_kind_by_any)
