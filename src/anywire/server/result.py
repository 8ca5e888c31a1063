"""From what a handler returned to the bytes of a `tools/call` result."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from anywire.protocol.types.content import ContentBlock, ImageContent, TextContent
from anywire.protocol.types.tools import CallToolResult
from anywire.wire.codec import encode_value

__all__ = ("ToolOutput", "describe", "encode_failure", "encode_output")


class ToolOutput:
    """A tool's answer with more than text.

    `attachments` are `data:image/…;base64,…` URIs, each of which becomes an image block after the
    text; other URIs are left out.  `metadata` is for the program itself and never leaves it: an output
    inside some other value is refused, since that would be written as it is.
    """

    # No struct and no dataclass: those have a JSON of their own.
    __slots__ = ("attachments", "metadata", "text")

    def __init__(
        self, text: str = "", attachments: Iterable[str] = (), metadata: dict[str, Any] | None = None
    ) -> None:
        self.text = text
        self.attachments = tuple(attachments)
        self.metadata = {} if metadata is None else metadata

    def __repr__(self) -> str:
        return f"ToolOutput({self.text!r}, {self.attachments!r}, {self.metadata!r})"


def encode_output(value: object) -> bytes:
    """Write a handler's return value as a raw result.

    A string is one text block, None no block, a `ToolOutput` or a block is itself, a list that holds
    some of these is those; anything else is its JSON as one text block.  Raises `TypeError` for what has no
    JSON.
    """
    if type(value) is str:
        return b'{"content":[{"type":"text","text":%b}]}' % encode_value(value)
    return encode_value(CallToolResult(_blocks(value)))


def encode_failure(text: str) -> bytes:
    """Write the result of a call that failed: `isError`, with a text that says why."""
    return encode_value(CallToolResult([TextContent(text)], is_error=True))


def describe(error: BaseException) -> str:
    """Say what went wrong: the text of an exception, or its name; a group of one is that one."""
    cause = _cause(error)
    try:
        text = str(cause)
    except Exception:  # noqa: BLE001 an exception that cannot be printed is still one to tell of
        text = ""
    return text or type(cause).__name__


def _cause(error: BaseException) -> BaseException:
    inside: tuple[BaseException, ...] = ()
    if issubclass(type(error), BaseExceptionGroup):
        inside = getattr(error, "exceptions", ())
    return _cause(inside[0]) if len(inside) == 1 else error


def _blocks(value: object) -> list[ContentBlock]:
    match value:
        case None:
            return []
        case TextContent() | ImageContent():
            return [value]
        case str():
            return [TextContent(str.__str__(value))]  # whatever kind of string it is
        case ToolOutput():
            images = map(ImageContent.from_data_uri, value.attachments)
            return [TextContent(value.text), *(image for image in images if image is not None)]
        case list() | tuple():
            return _blocks_of_items(value)  # pyright: ignore[reportUnknownArgumentType] a handler's own list
        case _:
            return [TextContent(encode_value(value).decode())]


def _blocks_of_items(items: Iterable[object]) -> list[ContentBlock]:
    items = list(items)
    if any(isinstance(item, TextContent | ImageContent | ToolOutput) for item in items):
        return [block for item in items for block in _blocks(item)]
    return [TextContent(encode_value(items).decode())]
