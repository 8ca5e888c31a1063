"""Instances of a JSON Schema: one with all members and one with none, for each alternative."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from tests.protocol.schemas import definitions

_DEPTH = 7
_ALTERNATIVES = 8


def samples(revision: str, definition: str) -> list[Any]:
    """Distinct instances of a definition."""
    found: dict[str, Any] = {}
    for value in _all(revision, definition):
        found[json.dumps(value, sort_keys=True)] = value
    return list(found.values())


def _all(revision: str, definition: str) -> Iterator[Any]:
    for choice in range(_ALTERNATIVES):
        for full in (True, False):
            yield Writer(revision, full, choice).write(definitions(revision)[definition])


class Writer:
    """Writes one instance: with all members or without, and of several alternatives always the same one."""

    def __init__(self, revision: str, full: bool, choice: int) -> None:
        self.definitions = definitions(revision)
        self.full = full
        self.choice = choice

    def write(self, schema: dict[str, Any], depth: int = 0) -> Any:
        """Write an instance of a schema."""
        if "$ref" in schema:
            return self.write(self.definitions[schema["$ref"].rpartition("/")[2]], depth)
        if "allOf" in schema:
            return self.write(self.merged(schema["allOf"]), depth)
        if "const" in schema:
            return schema["const"]
        if schema is self.definitions.get("InputRequiredResult"):
            return self.members(schema, depth + 1) | {"resultType": "input_required"}  # the prose says so
        for word in ("enum", "anyOf"):
            if word in schema:
                chosen = schema[word][self.choice % len(schema[word])] if depth < _DEPTH else schema[word][-1]
                return chosen if word == "enum" else self.write(chosen, depth + 1)
        kinds = schema.get("type", "object")
        kind = kinds if isinstance(kinds, str) else kinds[self.choice % len(kinds)]
        return self.plain(kind, schema, depth)

    def plain(self, kind: str, schema: dict[str, Any], depth: int) -> Any:
        """Write an instance of a type."""
        match kind:
            case "object":
                return self.members(schema, depth + 1)
            case "array":
                return [self.write(schema["items"], depth + 1)] if self.full and depth < _DEPTH else []
            case "string":
                return {"byte": "aGk=", "uri": "file:///a", "uri-template": "file:///{a}"}.get(
                    schema.get("format", ""), "text"
                )
            case "boolean":
                return self.choice % 2 == 0
            case "integer":
                return schema.get("minimum", 0) + self.choice
            case "number":
                return [0, 1, 0.5][self.choice % 3]
            case _:
                return None

    def members(self, schema: dict[str, Any], depth: int) -> dict[str, Any]:
        """Write the members of an object: what it must have, and when full all the rest."""
        required = schema.get("required", [])
        written = {
            name: self.write(member, depth)
            for name, member in schema.get("properties", {}).items()
            if name in required or (self.full and depth < _DEPTH)
        }
        more: Any = None if schema.get("properties") else schema.get("additionalProperties")
        if self.full and depth < _DEPTH and more is not None and more is not True:
            written["example.com/more"] = self.write(more, depth) if more else {"any": [1]}
        return written

    def merged(self, parts: list[dict[str, Any]]) -> dict[str, Any]:
        """Make one schema of several that hold at once."""
        whole: dict[str, Any] = {"type": "object", "properties": {}, "required": []}
        for each in parts:
            part = self.definitions[each["$ref"].rpartition("/")[2]] if "$ref" in each else each
            whole["properties"].update(part.get("properties", {}))
            whole["required"] += part.get("required", [])
        return whole
