"""The values of a JSON text, one after the other, and which of them are secrets by the name they have.

What a schema says under a name is said of a value, and is none: of a secret, only what may be an example of
it tells.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from enum import Enum
from typing import Final

import msgspec

from anywire.record.names import is_exactly_a_secret, tells
from anywire.wire.value import decode_value

__all__ = ("Kind", "text_of", "values_of")

#: What says which message it is, and what it is about; no secrets.
_ENVELOPE: Final = frozenset({"jsonrpc", "id", "method"})
_NAMING: Final = frozenset({"requestId", "progressToken", "protocolVersion", "taskId"})
_DEEPEST_NAMING: Final = 3
_SCHEMAS: Final = frozenset({"inputSchema", "outputSchema", "requestedSchema"})
_OF_SCHEMAS: Final = frozenset(
    {"properties", "patternProperties", "$defs", "definitions", "dependentSchemas"}
)
_OF_SCHEMA: Final = frozenset(
    {
        *(
            "type",
            "title",
            "description",
            "format",
            "pattern",
            "$ref",
            "$id",
            "$schema",
            "$comment",
            "required",
        ),
        *("contentEncoding", "contentMediaType", "items", "prefixItems", "anyOf", "oneOf", "allOf", "not"),
        *("if", "then", "else", "contains", "propertyNames", "additionalProperties", "unevaluatedProperties"),
        *_OF_SCHEMAS,
    }
)
_OPENING, _CLOSING, _DIVIDING, _OBJECT, _COLON, _QUOTE = b"{[", b"}]", b",:", *b'{:"'
_TOKEN: Final = re.compile(rb'"(?:[^"\\]++|\\.)*+"|[{}\[\],:]|[^\s"{}\[\],:]++', re.DOTALL)


class Kind(Enum):
    """What a value is."""

    #: It is no secret by its name.
    PLAIN = 0
    #: It says which message this is, or what that is about.
    NAMING = 1
    #: It has a name that tells of a secret.
    TELLING = 2
    #: It has the name of a secret and of nothing else.
    SECRET = 3


class _Place(Enum):
    """What an object is, as far as schemas go."""

    DATA = 0
    SCHEMA = 1
    SCHEMAS = 2


class _Level:
    """An object or an array that is being read; `key` is the name at which it has come."""

    __slots__ = ("is_object", "key", "kind", "named", "place")

    def __init__(self, *, is_object: bool, kind: Kind, place: _Place) -> None:
        self.is_object = is_object
        self.kind = kind
        self.place = place
        self.key = ""
        self.named = False

    def kind_of_value(self) -> Kind:
        """Return what a string or a number is here."""
        if not self.is_object:
            return self.kind if self.place is _Place.DATA else Kind.PLAIN
        if self.place is _Place.SCHEMA and self.key in _OF_SCHEMA:
            return Kind.PLAIN
        return _worse(self.kind, _kind_by(self.key))

    def open(self, *, is_object: bool) -> _Level:
        """Return the level of what stands here."""
        kind, place = self.kind, self.place
        if self.is_object:
            if place is _Place.SCHEMA:
                place = _Place.SCHEMAS if self.key in _OF_SCHEMAS else _Place.SCHEMA
                place = place if self.key in _OF_SCHEMA else _Place.DATA
            elif place is _Place.SCHEMAS:
                kind, place = _worse(kind, _kind_by(self.key)), _Place.SCHEMA
            elif self.key in _SCHEMAS and kind is Kind.PLAIN:
                place = _Place.SCHEMA
            else:
                kind = _worse(kind, _kind_by(self.key))
        return _Level(is_object=is_object, kind=kind, place=place)


def values_of(
    message: bytes, kind: Kind = Kind.PLAIN, *, is_message: bool = True
) -> Iterator[tuple[int, int, Kind]]:
    """Yield where each string and each number that is a value stands, and what it is; `kind`: all of it.

    `is_message`: it is one, or a batch, and not JSON that stands in one.
    """
    levels: list[_Level] = []
    envelope = 2 if message.lstrip()[:1] == b"[" else 1
    for found in _TOKEN.finditer(message):
        token, top = found.group(), levels[-1] if levels else None
        first = token[0]
        if first in _OPENING:
            is_object = first == _OBJECT
            level = _Level(is_object=is_object, kind=kind, place=_Place.DATA)
            levels.append(level if top is None else top.open(is_object=is_object))
        elif first in _CLOSING:
            if levels:
                levels.pop()
        elif first in _DIVIDING:
            if top is not None:
                top.named = first == _COLON
        elif top is not None and top.is_object and not top.named:
            top.key = text_of(token)
        elif top is None:
            yield found.start(), found.end(), kind
        else:
            deep = len(levels)
            is_naming = is_message and (
                (deep <= envelope and top.key in _ENVELOPE)
                or (deep < envelope + _DEEPEST_NAMING and top.key in _NAMING)
            )
            yield found.start(), found.end(), Kind.NAMING if is_naming else top.kind_of_value()


def text_of(token: bytes) -> str:
    """Return what a JSON string says, empty for what is none."""
    if b"\\" not in token:
        return token[1:-1].decode("utf-8", "replace")
    try:
        return decode_value(token, str)
    except msgspec.MsgspecError:
        return ""


def _kind_by(name: str) -> Kind:
    if not tells(name):
        return Kind.PLAIN
    return Kind.SECRET if is_exactly_a_secret(name) else Kind.TELLING


def _worse(one: Kind, other: Kind) -> Kind:
    return one if one.value >= other.value else other
