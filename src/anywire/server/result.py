"""From what a handler returned to the bytes of a result."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final, Protocol

from msgspec import Raw

from anywire.protocol.types.content import (
    AudioContent,
    ContentBlock,
    EmbeddedResource,
    ImageContent,
    ResourceLink,
    TextContent,
)
from anywire.protocol.types.tools import CallToolResult
from anywire.server.foreign import write_value
from anywire.server.media import block_of_bytes, block_of_image, fit_block, is_image
from anywire.wire.codec import encode_value

__all__ = (
    "BLOCKS",
    "Plan",
    "ToolOutput",
    "blocks_of",
    "describe",
    "encode_failure",
    "encode_output",
    "encode_text",
)

#: The types of blocks that a handler may return.
BLOCKS: Final = (TextContent, ImageContent, AudioContent, ResourceLink, EmbeddedResource)


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


class Plan(Protocol):
    """What `encode_output` needs to know of a tool's results."""

    @property
    def schema(self) -> dict[str, Any] | None:
        """The schema of structured content; None: there is none."""
        ...

    def structure(self, json: bytes) -> bytes:
        """Return the structured content for the JSON of a value.  Raises `ValueError` if it does not fit."""
        ...

    def has_place(self, revision: str | None) -> bool:
        """Say whether results of that revision have structured content."""
        ...


def encode_text(text: str) -> bytes:
    """Write a text as a raw result: one block."""
    return b'{"content":[{"type":"text","text":%b}]}' % encode_value(text)


def encode_output(value: object, plan: Plan | None = None, revision: str | None = None) -> bytes:
    """Write a handler's return value as a raw result of `tools/call`.

    A string is one text block, None no block, a `ToolOutput` or a block is itself, bytes and images are
    what they hold, a list that holds some of these is those, a `CallToolResult` is the whole result;
    anything else is its JSON as one text block, and structured content where the plan has it.

    Raises `TypeError` for what has no JSON, `ValueError` for structured content unlike its schema.
    """
    if type(value) is str and (plan is None or plan.schema is None):
        return encode_text(value)
    if isinstance(value, CallToolResult):
        return encode_value(value)
    if plan is None or plan.schema is None or _is_content(value):
        blocks = [fit_block(block, revision) for block in blocks_of(value)]
        return encode_value(CallToolResult(blocks))
    json = encode_value(value, write_value)
    structured = plan.structure(json)
    blocks = [TextContent(value if isinstance(value, str) else json.decode())]
    if not plan.has_place(revision):
        return encode_value(CallToolResult(blocks))
    return encode_value(CallToolResult(blocks, structured_content=Raw(structured)))


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


def _is_content(value: object) -> bool:
    """Say whether a value is blocks already, or becomes some of its own kind."""
    if isinstance(value, list | tuple):
        items: list[object] = list(value)  # pyright: ignore[reportUnknownArgumentType] of anything
        return any(_is_content(item) for item in items)
    return isinstance(value, (*BLOCKS, ToolOutput, bytes, bytearray)) or is_image(value)


def blocks_of(value: object) -> list[ContentBlock]:
    """Return the blocks for a value.  Raises `TypeError` for what has no JSON."""
    match value:
        case None:
            return []
        case TextContent() | ImageContent() | AudioContent() | ResourceLink() | EmbeddedResource():
            return [value]
        case str():
            return [TextContent(str.__str__(value))]  # whatever kind of string it is
        case bytes() | bytearray():
            return [block_of_bytes(bytes(value))]
        case ToolOutput():
            images = map(ImageContent.from_data_uri, value.attachments)
            return [TextContent(value.text), *(image for image in images if image is not None)]
        case list() | tuple():
            items: list[object] = list(value)  # pyright: ignore[reportUnknownArgumentType] a handler's own
            if any(_is_content(item) for item in items):
                return [block for item in items for block in blocks_of(item)]
            return [TextContent(encode_value(items, write_value).decode())]
        case _ if is_image(value):
            return [block_of_image(value)]
        case _:
            return [TextContent(encode_value(value, write_value).decode())]
