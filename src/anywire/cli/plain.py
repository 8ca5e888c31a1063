"""Plain JSON data of unknown shape, read as far as it goes."""

from __future__ import annotations

from typing import Any, cast

__all__ = ("items_of", "members_of")


def members_of(value: object) -> dict[str, Any]:
    """Return the members of an object, none of anything else."""
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def items_of(value: object) -> list[Any]:
    """Return the items of an array, none of anything else."""
    return cast("list[Any]", value) if isinstance(value, list) else []
