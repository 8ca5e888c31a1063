"""The fields of a form that a server asks to be filled in: what to show of each, and what a typed line means.

Specification: MCP `client/elicitation#requested-schema`: an object of texts, numbers, yes or no, and choices.
"""

from __future__ import annotations

import math
from typing import Any

import msgspec

from anywire.cli.plain import items_of, members_of
from anywire.session.json_schema import make_validator
from anywire.wire.value import encode_value

__all__ = ("Field", "fields_of")

_YES = ("y", "yes", "true")
_NO = ("n", "no", "false")


class Field(msgspec.Struct, frozen=True):
    """One field."""

    name: str
    schema: dict[str, Any]
    #: It must be filled in.
    needed: bool

    @property
    def prompt(self) -> str:
        """What to show before the answer is typed: what it is called, what it may be, what it is else."""
        title, description = self.schema.get("title"), self.schema.get("description")
        words = title if isinstance(title, str) else self.name
        if isinstance(description, str):
            words += f" ({' '.join(description.split())})"
        choices = ", ".join(_choices(self.schema))
        kind = self.schema.get("type")
        if kind == "boolean":
            words += ", y or n"
        elif choices:
            words += f", {'some' if kind == 'array' else 'one'} of {choices}"
        if "default" in self.schema:
            return f"{words} [{_shown(self.schema['default'])}]: "
        return f"{words}: " if self.needed else f"{words} []: "

    @property
    def may_be_empty(self) -> bool:
        """Whether nothing needs to be typed."""
        return "default" in self.schema or not self.needed

    def read(self, text: str) -> object:
        """Read what was typed.  Raises `ValueError`, with a sentence, for what does not fit."""
        value = self._value(text)
        fault = make_validator(self.schema)(value)
        if fault:
            raise ValueError(fault.removesuffix(" - at `$`"))
        return value

    def _value(self, text: str) -> object:
        choices = _choices(self.schema)
        kind = self.schema.get("type")
        if kind == "array":
            return [_choose(each.strip(), choices) for each in text.split(",") if each.strip()]
        if choices:
            return _choose(text, choices)
        match kind:
            case "boolean" if text.lower() in _YES:
                return True
            case "boolean" if text.lower() in _NO:
                return False
            case "boolean":
                raise ValueError("type y or n")
            case "integer" | "number":
                return _number(text, whole=kind == "integer")
            case _:
                return text


def fields_of(schema: dict[str, Any]) -> list[Field]:
    """Return the fields of a form."""
    needed = items_of(schema.get("required"))
    properties = members_of(schema.get("properties"))
    return [Field(name, members_of(each), name in needed) for name, each in properties.items()]


def _choices(schema: dict[str, Any]) -> dict[str, object]:
    """Return the values to choose from, by what they are called; nothing where there is no choice."""
    items = members_of(schema.get("items")) or schema
    values = items_of(items.get("enum"))
    if values:
        titles = items_of(items.get("enumNames"))
        shown = titles if len(titles) == len(values) else values
        return {_shown(title): value for title, value in zip(shown, values, strict=True)}
    arms = [members_of(arm) for arm in items_of(items.get("oneOf")) + items_of(items.get("anyOf"))]
    return {_shown(arm.get("title", arm["const"])): arm["const"] for arm in arms if "const" in arm}


def _choose(text: str, choices: dict[str, object]) -> object:
    """Return a value by its name, by itself, or by a beginning of its name that no other has."""
    by_value = {_shown(value): value for value in choices.values()}
    for known in (choices, by_value):
        if text in known:
            return known[text]
    begun = [name for name in choices if name.lower().startswith(text.lower())]
    if text and len(begun) == 1:
        return choices[begun[0]]
    raise ValueError(f"choose of: {', '.join(choices)}")


def _number(text: str, *, whole: bool) -> int | float:
    try:
        return int(text)
    except ValueError:
        pass
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if whole or not math.isfinite(number):
        raise ValueError("type a whole number" if whole else "type a number")
    return number


def _shown(value: object) -> str:
    if isinstance(value, bool):
        return "y" if value else "n"
    return value if isinstance(value, str) else encode_value(value).decode()
