"""JSON Schema for values of which we know no type: schemas that somebody else wrote.

A library does the work, the extra `schema`; where it is not installed nothing is checked.  No
schema is fetched from anywhere.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn, TypeAlias

from anywire.errors import ConfigError

__all__ = ("Validator", "make_validator")

#: Says what is wrong with a value; empty: nothing.
Validator: TypeAlias = Callable[[object], str]


def make_validator(schema: dict[str, Any]) -> Validator:
    """Return what checks a value against a schema.  Raises `ConfigError` for a schema that is none."""
    try:
        import jsonschema_rs
    except ImportError:
        return _check_nothing
    try:
        validator = jsonschema_rs.validator_for(schema, retriever=_refuse)
    except (ValueError, jsonschema_rs.ReferencingError) as error:
        raise ConfigError(f"this is no JSON schema that can be used: {_first_line(error)}") from error

    def check(value: object) -> str:
        for error in validator.iter_errors(value):
            path = "".join(
                f"[{each}]" if isinstance(each, int) else f".{each}" for each in error.instance_path
            )
            return f"{error.message} - at `${path}`"
        return ""

    return check


def _check_nothing(_: object) -> str:
    return ""


def _refuse(uri: str) -> NoReturn:
    raise ValueError(f"a schema on the network is not fetched: {uri}")


def _first_line(error: BaseException) -> str:
    return str(error).partition("\n")[0]
