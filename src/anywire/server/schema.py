"""The JSON Schema of a type.

Specification: JSON Schema 2020-12, MCP's default dialect.
"""

from __future__ import annotations

from typing import Any, cast

import msgspec

from anywire.server.foreign import describe_type

__all__ = ("schema_of",)


def schema_of(type: Any) -> dict[str, Any]:
    """Make the schema of a type, the types inside it under `$defs`.

    Raises `TypeError` or `ValueError` for a type that has none.
    """
    (schema,), components = msgspec.json.schema_components(
        [type], schema_hook=describe_type, ref_template="#/$defs/{name}"
    )
    reference = schema.get("$ref")
    if reference is not None:
        schema = dict(components.pop(reference.rsplit("/", 1)[-1]))
    definitions: dict[str, Any] = {}
    schema = _without_definitions(schema, definitions)
    for name, component in components.items():
        definitions[name] = _without_definitions(component, definitions)
    return schema | {"$defs": definitions} if definitions else schema


def _without_definitions(schema: Any, definitions: dict[str, Any]) -> Any:
    """Move the `$defs` of a schema inside another to the top, where their references point."""
    if isinstance(schema, list):
        return [_without_definitions(item, definitions) for item in cast("list[Any]", schema)]
    if not isinstance(schema, dict):
        return schema
    members = cast("dict[str, Any]", schema)
    inner = members.get("$defs")
    if isinstance(inner, dict):
        for name, definition in cast("dict[str, Any]", inner).items():
            definitions[name] = _without_definitions(definition, definitions)
    return {
        name: _without_definitions(member, definitions)
        for name, member in members.items()
        if name != "$defs" or not isinstance(member, dict)
    }
