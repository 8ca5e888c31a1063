"""A tool: a function, how it is called, how it is listed, and what its results look like."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
from msgspec import UNSET, Raw

from anywire.errors import Refusal
from anywire.protocol.types.icons import Icon
from anywire.protocol.types.tools import Tool
from anywire.server.handler import Handler, make_handler
from anywire.server.output import OutputPlan, read_output
from anywire.server.result import describe, encode_failure, encode_output
from anywire.session.json_schema import Validator, make_validator
from anywire.wire.codec import decode_value

__all__ = ("RegisteredTool", "ToolOptions", "register_tool")


class ToolOptions(msgspec.Struct, frozen=True, kw_only=True):
    """What `@server.tool` can be told about a tool; see there."""

    name: str | None = None
    title: str | None = None
    description: str | None = None
    annotations: dict[str, Any] | None = None
    icons: list[Icon] | None = None
    meta: dict[str, Any] | None = None
    inline: bool = False
    structured: bool = True
    input_schema: dict[str, Any] | None = None
    output_schema: dict[str, Any] | None = None


class RegisteredTool(msgspec.Struct, frozen=True):
    """What a server knows of one tool."""

    listing: Tool
    handler: Handler
    plan: OutputPlan
    #: Checks the arguments against a schema of the author's own; None: the signature says it all.
    validator: Validator | None = None

    @property
    def label(self) -> str:
        """What it is called in errors."""
        return f"tool {self.listing.name!r}"

    def read_arguments(self, raw: bytes | Raw) -> Any:
        """Decode a call's arguments.  Raises `msgspec.MsgspecError` with a text that names the field."""
        if self.validator is None:
            return self.handler.read_arguments(raw)
        plain = decode_value(raw, dict[str, Any] | None) or {}
        fault = self.validator(plain)
        if fault:
            raise msgspec.ValidationError(fault)
        return self.handler.whole(plain)

    def encode(self, output: Any, revision: str | None) -> bytes:
        """Write what the function returned as a raw result."""
        return encode_output(output, self.plan, revision)

    def encode_failure(self, error: BaseException) -> bytes | None:
        """A call that failed is a result that says so; only a `Refusal` is an error of the request."""
        if isinstance(error, Refusal):
            return None
        return encode_failure(f"Error in {self.label}: {describe(error)}")


def register_tool(function: Callable[..., Any], options: ToolOptions) -> RegisteredTool:
    """Make a tool of a function.  Raises `ConfigError` when it cannot serve as one."""
    own_schema = options.input_schema
    handler = make_handler(function, "tool", options.name, inline=options.inline, whole=own_schema is not None)
    plan = read_output(function, handler, options.output_schema, structured=options.structured)
    description = options.description if options.description is not None else handler.signature.description
    listing = Tool(
        name=handler.name,
        input_schema=handler.signature.schema if own_schema is None else own_schema,
        description=description or UNSET,
        title=options.title or UNSET,
        annotations=options.annotations or UNSET,
        output_schema=UNSET if plan.schema is None else plan.schema,
        icons=options.icons or UNSET,
        meta=options.meta or UNSET,
    )
    return RegisteredTool(listing, handler, plan, None if own_schema is None else make_validator(own_schema))
