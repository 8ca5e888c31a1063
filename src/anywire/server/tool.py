"""A tool: a function, how it is called, and how it is listed."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from enum import Enum
from typing import Any

import msgspec

from anywire.errors import ConfigError
from anywire.protocol.types.tools import Tool
from anywire.server.context import Context
from anywire.server.signature import Signature, read_signature
from anywire.wire.codec import decode_value

__all__ = ("How", "RegisteredTool", "register")


class How(Enum):
    """Where a tool's function runs."""

    #: A coroutine function: in a task of its own on the event loop.
    TASK = "task"
    #: A plain function: in a worker thread, since it may block.
    THREAD = "thread"
    #: A plain function that promises not to block: in place, between two reads.
    INLINE = "inline"


class RegisteredTool(msgspec.Struct, frozen=True):
    """What a server knows of one tool.

    `call(arguments, context)` calls the function with decoded arguments; `context` makes a `Context`
    for a function that wants one.  A coroutine function gives its coroutine.
    """

    listing: Tool
    signature: Signature
    how: How
    call: Callable[[Any, Callable[[], Context]], Any]

    def read_arguments(self, raw: bytes | msgspec.Raw) -> Any:
        """Decode a call's arguments.

        Unknown ones are dropped, null counts as none.  Raises `msgspec.MsgspecError` with a text
        that names the field.
        """
        decoder = self.signature.decoder
        if len(raw) == 4 and bytes(raw) == b"null":
            raw = b"{}"
        return decode_value(raw, object, decoder)


def register(
    function: Callable[..., Any],
    *,
    name: str | None,
    title: str | None,
    description: str | None,
    annotations: dict[str, Any] | None,
    inline: bool,
) -> RegisteredTool:
    """Make a tool of a function.  Raises `ConfigError` when it cannot serve as one."""
    tool_name = name or getattr(function, "__name__", "")
    if not tool_name or tool_name == "<lambda>":
        raise ConfigError("a tool needs a name: give one with @server.tool(name=…)")
    is_async = inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(
        getattr(function, "__call__", None)  # noqa: B004 an object with an async __call__ is a tool as well
    )
    if is_async and inline:
        raise ConfigError(f"tool {tool_name}: inline=True is for plain functions; a coroutine runs in a task")
    signature = read_signature(function, Context)
    listing = Tool(
        name=tool_name,
        input_schema=signature.schema,
        description=(description if description is not None else signature.description) or msgspec.UNSET,
        title=title or msgspec.UNSET,
        annotations=annotations or msgspec.UNSET,
    )
    how = How.TASK if is_async else How.INLINE if inline else How.THREAD
    return RegisteredTool(listing, signature, how, signature.caller(function))
