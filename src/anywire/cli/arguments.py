"""The arguments of a call, as they are typed: `key=value`, `key:=json` and a file.

A value stays the JSON that was typed, so that big numbers and the order of members arrive as they
are.  `key=value` means what the tool's input schema says: text where a string is allowed or nothing
is said, and JSON of the kind the schema asks for elsewhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
from msgspec import Raw

from anywire.cli.plain import items_of, members_of
from anywire.errors import ConfigError
from anywire.wire.value import encode_value

__all__ = ("Arguments", "read_arguments", "read_texts")

_Schema = dict[str, Any]

# How the first byte of a JSON text shows what it is.
_KINDS = {b"{": "object", b"[": "array", b'"': "string", b"t": "boolean", b"f": "boolean", b"n": "null"}
_EXAMPLES = {
    "integer": "{0}=3",
    "number": "{0}=2.5",
    "boolean": "{0}=true or {0}=false",
    "array": '{0}:=\'["a", "b"]\'',
    "object": "{0}:='{{\"a\": 1}}'",
    "null": "{0}=null",
}
_MAX_REFERENCES = 32


class Arguments(msgspec.Struct, frozen=True):
    """Arguments before the schema is known: `known` are JSON already, `typed` are words."""

    known: dict[str, Raw]
    typed: dict[str, str]

    def against(self, schema: object) -> dict[str, Raw]:
        """Return all as JSON, by the input schema of the tool (None where none is known).

        Raises `ConfigError` for a word that is not of the kind the schema asks for.
        """
        root = members_of(schema)
        properties = members_of(root.get("properties"))
        read = {name: _read(name, word, properties.get(name), root) for name, word in self.typed.items()}
        return {**self.known, **read}


def read_arguments(words: Sequence[str], document: bytes | None = None) -> Arguments:
    """Read `key=value` and `key:=json` over the members of a document.  Raises `ConfigError`."""
    known = {} if document is None else _read_document(document)
    typed: dict[str, str] = {}
    given: set[str] = set()
    for word in words:
        key, equals, value = word.partition("=")
        literal = key.endswith(":")
        name = key.removesuffix(":")
        if not equals or not name:
            raise ConfigError(f"{word!r} is no argument; write key=value, key:=json or --input FILE")
        if name in given:
            raise ConfigError(f"argument {name!r} is given twice")
        given.add(name)
        _refuse_odd_text(name, value)
        known.pop(name, None)
        if literal:
            known[name] = _read_literal(name, value)
        else:
            typed[name] = value
    return Arguments(known, typed)


def read_texts(words: Sequence[str]) -> dict[str, str]:
    """Read `name=value` where every value is a text.  Raises `ConfigError`."""
    texts: dict[str, str] = {}
    for word in words:
        name, equals, value = word.partition("=")
        if not equals or not name:
            raise ConfigError(f"{word!r} is no argument; write name=value")
        if name in texts:
            raise ConfigError(f"argument {name!r} is given twice")
        _refuse_odd_text(name, value)
        texts[name] = value
    return texts


def _read_document(document: bytes) -> dict[str, Raw]:
    try:
        return msgspec.json.decode(document.removeprefix(b"\xef\xbb\xbf"), type=dict[str, Raw])
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise ConfigError(f"--input: not a JSON object: {error}") from error


def _refuse_odd_text(name: str, value: str) -> None:
    try:
        (name + value).encode()
    except UnicodeEncodeError:
        raise ConfigError(f"argument {name!r} is not valid Unicode") from None


def _read_literal(name: str, value: str) -> Raw:
    raw = _json(value)
    if raw is None:
        raise ConfigError(f"{name}: {value!r} is not JSON; for text write {name}={value}")
    return raw


def _json(text: str) -> Raw | None:
    """Return a text as the JSON it is, None where it is none."""
    try:
        msgspec.json.decode(text)
    except (msgspec.MsgspecError, RecursionError):
        return None
    return Raw(text.strip().encode())


def _read(name: str, word: str, schema: object, root: _Schema) -> Raw:
    """Read a word as the kind of value that the schema asks for."""
    kinds = _kinds(schema, root)
    if not kinds or "string" in kinds:
        return Raw(encode_value(word))
    raw = _json(word)
    kind = None if raw is None else _kind(raw)
    if raw is None or (kind not in kinds and not (kind == "integer" and "number" in kinds)):
        asked = " or ".join(sorted(kinds))
        examples = " or ".join(_EXAMPLES[each].format(name) for each in sorted(kinds))
        raise ConfigError(f"argument {name!r}: {word!r} is no {asked}; write {examples}")
    return raw


def _kind(raw: Raw) -> str:
    token = bytes(raw)
    found = _KINDS.get(token[:1])
    if found is not None:
        return found
    return "number" if token.lower().strip(b"-0123456789") else "integer"


def _kinds(schema: object, root: _Schema) -> set[str]:
    """Return the kinds of value that a schema allows, nothing where it does not say."""
    members = members_of(_resolved(schema, root))
    named = members.get("type")
    if named is not None:
        return {kind for kind in (items_of(named) or [named]) if kind in _EXAMPLES or kind == "string"}
    constant = [members["const"]] if "const" in members else []
    kinds = {_kind(Raw(encode_value(value))) for value in [*items_of(members.get("enum")), *constant]}
    for word in ("anyOf", "oneOf"):
        for alternative in items_of(members.get(word)):
            found = _kinds(alternative, root)
            if not found:
                return set()  # anything goes, text as well
            kinds |= found
    for part in [] if kinds else items_of(members.get("allOf")):
        kinds |= _kinds(part, root)
    return kinds


def _resolved(schema: object, root: _Schema) -> object:
    """Follow references within the tool's schema."""
    for _ in range(_MAX_REFERENCES):
        reference = members_of(schema).get("$ref")
        if not isinstance(reference, str):
            return schema
        if not reference.startswith("#"):
            return None
        schema = root
        for step in reference[1:].split("/")[1:]:
            schema = members_of(schema).get(step.replace("~1", "/").replace("~0", "~"))
    return None
