"""What hosts stumble over in the JSON Schema of a tool, although JSON Schema itself may allow it.

Hosts pass schemas on to the interface of a model, which refuses the whole request because of one of
them.  So each fault is told with the place where it is.

Specification: JSON Schema 2020-12; MCP `server/tools#tool`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final, TypeAlias, cast

import msgspec

from anywire.protocol.http.mirrored import MirrorFault, read_mirrors

__all__ = ("SchemaFault", "schema_faults")

_Members: TypeAlias = Mapping[str, object]

# Where schemas stand in a schema: as the member itself, in a list of it, as the members of it.
_ONE: Final = frozenset(
    {
        "additionalProperties",
        "contains",
        "contentSchema",
        "else",
        "if",
        "items",
        "not",
        "propertyNames",
        "then",
        "unevaluatedItems",
        "unevaluatedProperties",
    }
)
_SOME: Final = frozenset({"allOf", "anyOf", "oneOf", "prefixItems"})
_NAMED: Final = frozenset({"$defs", "definitions", "dependentSchemas", "patternProperties", "properties"})
#: What interfaces of models refuse at the top of a schema.
_NOT_AT_THE_TOP: Final = ("allOf", "anyOf", "enum", "if", "not", "oneOf")
_ARGUMENT: Final = re.compile(r"[A-Za-z0-9_.-]{1,64}")
# Deeper is no schema that anybody wrote.
_DEEPEST: Final = 64


class SchemaFault(msgspec.Struct, frozen=True):
    """A fault: the check that it belongs to, and where and what it is."""

    check: str
    what: str


def schema_faults(schema: _Members) -> Iterator[SchemaFault]:
    """Find what is wrong with the input schema of a tool, which is of type object."""
    for word in _NOT_AT_THE_TOP:
        if word in schema:
            yield SchemaFault("tool-schema-top", word)
    properties = schema.get("properties")
    if isinstance(properties, dict):
        for name in cast("_Members", properties):
            if not _ARGUMENT.fullmatch(name):
                yield SchemaFault("tool-argument-name", f"{name!r:.100}")
    yield from _walk(schema, schema, "", 0)
    try:
        read_mirrors(schema)
    except MirrorFault as fault:
        yield SchemaFault("tool-header", str(fault))


def _walk(schema: object, root: _Members, place: str, depth: int) -> Iterator[SchemaFault]:
    """Look at a schema, which is found at `place`, and at all that are in it."""
    if isinstance(schema, bool) or depth > _DEEPEST:
        return
    if not isinstance(schema, dict):
        yield SchemaFault("tool-schema-part", f"{place} is {_kind(schema)}")
        return
    members = cast("_Members", schema)
    yield from _own_faults(members, root, place)
    for word, value in members.items():
        here = f"{place}/{word}"
        if word in _ONE:
            yield from _walk(value, root, here, depth + 1)
        elif word in _SOME:
            yield from _walk_list(value, root, here, depth)
        elif word in _NAMED:
            yield from _walk_named(value, root, here, depth)


def _walk_list(value: object, root: _Members, place: str, depth: int) -> Iterator[SchemaFault]:
    if not isinstance(value, list):
        yield SchemaFault("tool-schema-part", f"{place} is {_kind(value)}")
        return
    for number, each in enumerate(cast("list[object]", value)):
        yield from _walk(each, root, f"{place}/{number}", depth + 1)


def _walk_named(value: object, root: _Members, place: str, depth: int) -> Iterator[SchemaFault]:
    if not isinstance(value, dict):
        yield SchemaFault("tool-schema-part", f"{place} is {_kind(value)}")
        return
    for name, each in cast("_Members", value).items():
        yield from _walk(each, root, f"{place}/{name}", depth + 1)


def _own_faults(schema: _Members, root: _Members, place: str) -> Iterator[SchemaFault]:
    """Find the faults of one schema, apart from those in it."""
    required, choices = schema.get("required", []), schema.get("enum", [])
    if not isinstance(required, list) or not all(
        isinstance(each, str) for each in cast("list[object]", required)
    ):
        yield SchemaFault("tool-schema-part", f"{place}/required is no list of strings")
    if not isinstance(choices, list):
        yield SchemaFault("tool-schema-part", f"{place}/enum is {_kind(choices)}")
    if "type" in schema and not _is_type(schema["type"]):
        yield SchemaFault("tool-schema-part", f"{place}/type is {schema['type']!r:.60}")
    if schema.get("type") == "array" and not schema.keys() & {"items", "prefixItems"}:
        yield SchemaFault("tool-schema-items", place or "the top")
    reference = schema.get("$ref")
    if reference is not None and not _is_there(reference, root):
        yield SchemaFault("tool-schema-ref", f"{place}/$ref: {reference!r:.100}")


def _is_type(value: object) -> bool:
    types = {"array", "boolean", "integer", "null", "number", "object", "string"}
    names = cast("list[object]", value) if isinstance(value, list) else [value]
    return bool(names) and all(isinstance(name, str) and name in types for name in names)


def _is_there(reference: object, root: _Members) -> bool:
    """Say whether a reference leads to something in the schema; a named anchor is believed."""
    if not isinstance(reference, str) or not reference.startswith("#"):
        return False
    value: object = root
    if not reference.startswith("#/"):
        return True
    for step in reference[2:].split("/"):
        name = step.replace("~1", "/").replace("~0", "~").replace("%25", "%")
        if isinstance(value, dict) and name in value:
            value = cast("_Members", value)[name]
        elif isinstance(value, list) and name.isdecimal() and int(name) < len(cast("list[object]", value)):
            value = cast("list[object]", value)[int(name)]
        else:
            return False
    return True


def _kind(value: object) -> str:
    return "null" if value is None else f"no schema: {value!r:.60}"
