"""A form that a user is asked to fill in, and what came back.

Specification: MCP `client/elicitation#requested-schema`: an object of plain members.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar, cast

import msgspec

from anywire.errors import ConfigError
from anywire.protocol.types.elicitation import ElicitAction
from anywire.server.foreign import is_model, read_value
from anywire.server.schema import schema_of
from anywire.session.json_schema import make_validator

__all__ = ("Answer", "Form", "read_form")

T = TypeVar("T")

_PLAIN = frozenset({"string", "number", "integer", "boolean"})


class Answer(msgspec.Struct, Generic[T], frozen=True):
    """What a user did: `accept` with the form's `content`, `decline`, or `cancel`."""

    action: ElicitAction
    content: T | None = None

    @property
    def accepted(self) -> bool:
        """Whether the user said yes."""
        return self.action == "accept"


class Form(msgspec.Struct, Generic[T], frozen=True):
    """A form: its JSON Schema, and what reads an answer.

    `read` raises `msgspec.MsgspecError` or `ValueError` for one that does not fit.
    """

    schema: dict[str, Any]
    read: Callable[[dict[str, Any]], T]


def read_form(type: type[T] | dict[str, Any]) -> Form[T]:
    """Make a form of a type (a struct, a dataclass, a TypedDict, a model) or of a JSON Schema.

    Raises `ConfigError` for what is no form: members of a form are texts, numbers, yes or no, and choices.
    """
    if isinstance(type, dict):
        validator = make_validator(type)

        def check(content: dict[str, Any]) -> Any:
            fault = validator(content)
            if fault:
                raise ValueError(fault)
            return content

        return Form(type, check)
    try:
        schema = schema_of(type)
    except (TypeError, ValueError) as error:
        raise ConfigError(f"{type!r} is no form: {error}") from error
    flat = _flat(schema, getattr(type, "__name__", repr(type)))
    if is_model(type):
        return Form(flat, lambda content: cast("Any", type).model_validate(content))
    return Form(flat, lambda content: msgspec.convert(content, type, dec_hook=read_value))


def _flat(schema: dict[str, Any], name: str) -> dict[str, Any]:
    """Return the schema with what it refers to put in place, since a form has no definitions."""
    if schema.get("type") != "object" or not schema.get("properties"):
        raise ConfigError(f"{name} is no form: it has no members")
    definitions = schema.get("$defs", {})
    properties = {
        member: _plain(member, property, definitions, name)
        for member, property in schema["properties"].items()
    }
    flat: dict[str, Any] = {"type": "object", "properties": properties}
    return flat | ({"required": schema["required"]} if schema.get("required") else {})


def _plain(member: str, property: dict[str, Any], definitions: dict[str, Any], name: str) -> dict[str, Any]:
    property = _resolved(property, definitions)
    if property.get("type") == "array":
        property = property | {"items": _resolved(property.get("items", {}), definitions)}
    kinds = property.get("type")
    if isinstance(kinds, list):  # null is no value of a form's
        plain = [kind for kind in cast("list[str]", kinds) if kind != "null"]
        property = property | {"type": plain[0] if len(plain) == 1 else plain}
    if property.get("type") in _PLAIN or _is_choice_of_several(property):
        return property
    raise ConfigError(f"{name} is no form: {member!r} is neither text, number, yes or no, nor a choice")


def _resolved(property: dict[str, Any], definitions: dict[str, Any]) -> dict[str, Any]:
    """Put what a member refers to in its place; of a member that may be null, the other arm."""
    reference: str = property.get("$ref", "")
    if reference:
        own = {key: value for key, value in property.items() if key != "$ref"}
        return _resolved(definitions[reference.rsplit("/", 1)[-1]] | own, definitions)
    others = [arm for arm in property.get("anyOf", ()) if arm.get("type") != "null"]
    if len(others) == 1:
        own = {key: value for key, value in property.items() if key not in ("anyOf", "default")}
        return _resolved(others[0] | own, definitions)
    return {"type": "string"} | property if "enum" in property else property


def _is_choice_of_several(property: dict[str, Any]) -> bool:
    items: dict[str, Any] = property.get("items", {})
    return property.get("type") == "array" and ("enum" in items or "anyOf" in items)
