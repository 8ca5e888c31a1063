"""The official schemas and the published examples, where they are at hand.

They are no part of the project: a folder named by ANYWIRE_MCP_SCHEMAS, or `shared/schema` beside the checkout.
"""

from __future__ import annotations

import json
import os
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from jsonschema.validators import validator_for

from anywire.protocol.features import REVISIONS

ROOT = Path(__file__).resolve().parents[2]
FOLDER = Path(os.environ.get("ANYWIRE_MCP_SCHEMAS") or ROOT.parent / "shared" / "schema")
PRESENT = FOLDER.is_dir()

needs_schemas = pytest.mark.skipif(
    not PRESENT, reason="the official schemas are not here: name their folder in ANYWIRE_MCP_SCHEMAS"
)


@cache
def schema(revision: str) -> dict[str, Any]:
    """The schema of a revision."""
    return json.loads((FOLDER / revision / "schema.json").read_text(encoding="utf-8"))


def word(revision: str) -> str:
    """Under which name a schema keeps its definitions."""
    return "$defs" if "$defs" in schema(revision) else "definitions"


def definitions(revision: str) -> dict[str, dict[str, Any]]:
    """The definitions of a schema by name."""
    return schema(revision)[word(revision)]


def all_definitions() -> list[tuple[str, str]]:
    """Every definition of every revision; none where the schemas are not at hand."""
    return [(each, name) for each in REVISIONS for name in definitions(each)] if PRESENT else []


def examples() -> list[Path]:
    """The published examples."""
    return sorted(FOLDER.glob("*/examples/*/*.json"))


@cache
def _validator(revision: str, definition: str) -> Any:
    whole = schema(revision)
    return validator_for(whole)({**whole, "$ref": f"#/{word(revision)}/{definition}"})


def complaints(revision: str, definition: str, value: object) -> list[str]:
    """What a definition finds wrong with a value."""
    return [
        f"{error.json_path}: {error.message}" for error in _validator(revision, definition).iter_errors(value)
    ]


def methods(revision: str, union: str) -> set[str]:
    """The methods in a union of messages such as `ClientRequest`."""
    found = definitions(revision)
    if union not in found:
        return set()
    members = [found[item["$ref"].rpartition("/")[2]] for item in found[union].get("anyOf", [])]
    # A union of one is that one.
    return {member["properties"]["method"]["const"] for member in members or [found[union]]}
