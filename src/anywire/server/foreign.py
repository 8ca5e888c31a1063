"""Values whose JSON msgspec does not know: paths, and the models of pydantic.

Nothing is imported for them: a model is known by its methods.
"""

from __future__ import annotations

from pathlib import PurePath
from typing import Any

import msgspec

__all__ = ("describe_type", "is_model", "read_value", "write_value")


def is_model(kind: object) -> bool:
    """Say whether this is a class of models in the manner of pydantic."""
    return isinstance(kind, type) and hasattr(kind, "model_validate") and hasattr(kind, "model_json_schema")


def describe_type(kind: type[Any]) -> dict[str, Any]:
    """The JSON Schema of what msgspec has none for: `object` is any JSON value, a path is a string.

    Raises `TypeError` for a type that has none.
    """
    if kind is object:
        return {"type": ["null", "boolean", "number", "string", "array", "object"]}
    if issubclass(kind, PurePath):
        return {"type": "string", "format": "path"}
    if is_model(kind):
        return kind.model_json_schema()
    raise TypeError(f"type {kind.__qualname__} is not supported")


def read_value(kind: type[Any], value: object) -> object:
    """Make what msgspec cannot make of a JSON value.  Raises `TypeError`, `ValueError` for what is none."""
    if is_model(kind):
        try:
            return kind.model_validate(value)
        except (TypeError, ValueError):
            raise
        except Exception as error:  # a validator of the program's own may raise anything
            raise ValueError(f"{type(error).__name__}: {error}") from error
    if issubclass(kind, PurePath):
        if isinstance(value, str):
            return kind(value)
        raise TypeError(f"Expected `str`, got `{value.__class__.__name__}`")
    return value


def write_value(value: Any) -> object:
    """Write what `describe_type` describes.  Raises `TypeError` for anything else."""
    if isinstance(value, PurePath):
        return str(value)
    if is_model(value.__class__):
        return msgspec.Raw(value.model_dump_json(by_alias=True).encode())
    raise TypeError(f"{value.__class__.__qualname__} has no JSON: {value!r:.100}")
