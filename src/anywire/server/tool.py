"""A tool: a function, how it is called, how it is listed, and what its results look like."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypedDict

import msgspec
from msgspec import UNSET, Raw

from anywire.errors import ConfigError
from anywire.protocol.http.mirrored import Mirror, MirrorFault, read_mirrors
from anywire.protocol.revisions import MCP_LATEST_PROTOCOL_VERSION
from anywire.protocol.types.icons import Icon
from anywire.protocol.types.tools import Tool
from anywire.server.exchange import Terms
from anywire.server.handler import Handler, check_options, make_handler
from anywire.server.output import OutputPlan, read_output
from anywire.server.result import describe, encode_failure, encode_output, encode_text
from anywire.session.json_schema import Validator, make_validator
from anywire.wire.codec import decode_value

__all__ = ("RegisteredTool", "ToolOptions", "register_tool")


class ToolOptions(TypedDict, total=False):
    """What `@server.tool` can be told about a tool; see there."""

    name: str | None
    title: str | None
    description: str | None
    annotations: dict[str, Any] | None
    icons: list[Icon] | None
    meta: dict[str, Any] | None
    inline: bool
    structured: bool
    input_schema: dict[str, Any] | None
    output_schema: dict[str, Any] | None


class RegisteredTool(msgspec.Struct, frozen=True):
    """What a server knows of one tool."""

    listing: Tool
    handler: Handler
    plan: OutputPlan
    #: Decodes a call's arguments.  Raises `msgspec.MsgspecError` with a text that names the field.
    read_arguments: Callable[[bytes | Raw], Any]
    #: The arguments that headers repeat over HTTP.
    mirrors: tuple[Mirror, ...] = ()

    @property
    def label(self) -> str:
        """What it is called in errors."""
        return f"tool {self.listing.name!r}"

    def encode(self, output: Any, terms: Terms) -> bytes:
        """Write what the function returned as a raw result."""
        if type(output) is str and self.plan.schema is None:  # as most are, on the hot path
            return encode_text(output)
        return encode_output(output, self.plan, terms.revision or MCP_LATEST_PROTOCOL_VERSION)

    def encode_failure(self, error: BaseException) -> bytes | None:
        """A call that failed is a result that says so."""
        return encode_failure(f"Error in {self.label}: {describe(error)}")


def register_tool(function: Callable[..., Any], options: ToolOptions) -> RegisteredTool:
    """Make a tool of a function.  Raises `ConfigError` when it cannot serve as one."""
    check_options(options, ToolOptions)
    own_schema, inline = options.get("input_schema"), options.get("inline", False)
    handler = make_handler(function, "tool", options.get("name"), inline=inline, whole=own_schema is not None)
    structured = options.get("structured", True)
    plan = read_output(function, handler, options.get("output_schema"), structured=structured)
    listing = Tool(
        name=handler.name,
        input_schema=handler.signature.schema if own_schema is None else own_schema,
        description=handler.describe(options.get("description")),
        title=options.get("title") or UNSET,
        annotations=options.get("annotations") or UNSET,
        output_schema=UNSET if plan.schema is None else plan.schema,
        icons=options.get("icons") or UNSET,
        meta=options.get("meta") or UNSET,
    )
    read_arguments = handler.read_arguments
    if own_schema is not None:
        read_arguments = _checked_reader(handler, make_validator(own_schema))
    try:
        mirrors = read_mirrors(listing.input_schema)
    except MirrorFault as error:
        raise ConfigError(f"tool {handler.name}: {error}") from error
    return RegisteredTool(listing, handler, plan, read_arguments, tuple(mirrors))


def _checked_reader(handler: Handler, fault_of: Validator) -> Callable[[bytes | Raw], Any]:
    """Return what decodes arguments that a schema of the author's own describes."""

    def read_arguments(raw: bytes | Raw) -> Any:
        plain = decode_value(raw, dict[str, Any]) if raw != b"null" else {}
        fault = fault_of(plain)
        if fault:
            raise msgspec.ValidationError(fault)
        return handler.whole(plain)

    return read_arguments
