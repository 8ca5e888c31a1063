"""What a tool's results look like: text alone, or structured content that its listing describes.

The annotation of the result decides.  An object (a struct, a dataclass, a TypedDict, a model, a
dictionary) is structured as it is; a number, a list or the like becomes `{"result": …}`, since
structured content is an object; text, bytes, content blocks and what has no annotation stay as they
are.

Specification: MCP `server/tools#structured-content`, since 2025-06-18.
"""

from __future__ import annotations

from collections.abc import Callable
from types import UnionType
from typing import Annotated, Any, Final, Union, get_args, get_origin

import msgspec

from anywire.errors import ConfigError
from anywire.protocol.features import Feature, has
from anywire.protocol.types.tools import CallToolResult
from anywire.server.handler import Handler
from anywire.server.result import BLOCKS, ToolOutput
from anywire.server.schema import schema_of
from anywire.server.signature import result_hint
from anywire.session.json_schema import Validator, make_validator
from anywire.wire.codec import decode_value

__all__ = ("NO_PLAN", "OutputPlan", "read_output")


class OutputPlan(msgspec.Struct, frozen=True):
    """Whether results carry structured content."""

    #: The schema that the listing shows; None: there is no structured content.
    schema: dict[str, Any] | None = None
    #: Whether the value goes into `{"result": …}`.
    wrapped: bool = False
    #: Checks a value against a schema of the author's own; None where the type of the result says it all.
    validator: Validator | None = None

    def structure(self, json: bytes) -> bytes:
        """Return the structured content for the JSON of a value.  Raises `ValueError` if it does not fit."""
        structured = b'{"result":%b}' % json if self.wrapped else json
        if not structured.startswith(b"{"):
            raise ValueError("its output schema wants an object")
        fault = "" if self.validator is None else self.validator(decode_value(structured, object))
        if fault:
            raise ValueError(f"the result is not as its output schema says: {fault}")
        return structured

    def has_place(self, revision: str | None) -> bool:
        """Say whether results of that revision have structured content."""
        return has(Feature.STRUCTURED_OUTPUT, revision)


#: Results are content and nothing else.
NO_PLAN: Final = OutputPlan()


def read_output(
    function: Callable[..., Any], handler: Handler, own: dict[str, Any] | None, *, structured: bool
) -> OutputPlan:
    """Read what a function's results look like; `own` is a schema that the author wrote.

    Raises `ConfigError` for such a schema that is not one of objects.
    """
    if own is not None:
        if own.get("type") != "object":
            raise ConfigError(f"tool {handler.name}: an output schema describes an object")
        return OutputPlan(own, validator=make_validator(own))
    hint = result_hint(function) if structured else None
    if not _is_structured(hint):
        return NO_PLAN
    try:
        schema = schema_of(hint)
    except (TypeError, ValueError):
        return NO_PLAN  # a value of the program's own, written as whatever JSON it has
    schema.pop("title", None)
    if schema.get("type") == "object":
        return OutputPlan(schema)
    definitions = schema.pop("$defs", None)
    wrapping: dict[str, Any] = {"type": "object", "properties": {"result": schema}, "required": ["result"]}
    return OutputPlan(wrapping | ({"$defs": definitions} if definitions else {}), wrapped=True)


def _is_structured(hint: Any) -> bool:
    origin = get_origin(hint)
    if origin is Annotated:
        return _is_structured(get_args(hint)[0])
    if origin in (Union, UnionType):
        arms = [arm for arm in get_args(hint) if arm is not type(None)]
        return all(_is_structured(arm) for arm in arms)
    if origin in (list, tuple):
        items = [item for item in get_args(hint) if item is not ...]
        return not any(_holds_blocks(item) for item in items)
    return hint not in (None, Any, object, str, bytes, list, tuple) and not _holds_blocks(hint)


def _holds_blocks(hint: Any) -> bool:
    if get_origin(hint) is not None:
        return any(_holds_blocks(argument) for argument in get_args(hint))
    return hint in (*BLOCKS, ToolOutput, CallToolResult, bytes) or hint is None or hint is type(None)
