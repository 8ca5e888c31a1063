"""What a server gave, as text: text as it is, other blocks in brackets, structured content as JSON."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import msgspec

from anywire.cli.plain import members_of
from anywire.wire.value import encode_value

if TYPE_CHECKING:
    from anywire.client.result import ToolResult

__all__ = ("block_text", "resource_text", "result_text")


def result_text(result: ToolResult) -> str:
    """Return all that a result holds, one part below the other.

    Many servers give their structured content a second time as a text; it is told once.
    """
    blocks = result.content
    structured = result.message.structured_content
    parts: list[str] = []
    if isinstance(structured, msgspec.UnsetType):
        return "\n".join(map(block_text, blocks))
    given = result.structured
    if _is_wrapped(blocks, given):
        return block_text(blocks[0])
    parts = [block_text(block) for block in blocks if not _says(block, given)]
    # Formatted, not read and written again: numbers of any size and the order of members stay.
    return "\n".join([*parts, msgspec.json.format(bytes(structured), indent=2).decode("utf-8", "replace")])


def _says(block: dict[str, Any], structured: object) -> bool:
    """Say whether a block is a text that says the same as the structured content."""
    text = block.get("text")
    if block.get("type") != "text" or not isinstance(text, str):
        return False
    try:
        said = json.loads(text)
    except (ValueError, RecursionError):
        return False
    return bool(said == structured)


def _is_wrapped(blocks: list[dict[str, Any]], structured: object) -> bool:
    """Say whether the structured content is nothing but the one text in a member `result`."""
    members = members_of(structured)
    return list(members) == ["result"] and len(blocks) == 1 and _says(blocks[0], members["result"])


def block_text(block: dict[str, Any]) -> str:
    """Return what one block of content holds."""
    kind = block.get("type")
    match kind:
        case "text" if isinstance(block.get("text"), str):
            return str(block["text"])
        case "image" | "audio":
            return f"[{kind} {block.get('mimeType', 'of unknown type')}, {_size(block.get('data'))}]"
        case "resource_link":
            return f"[link {block.get('uri')}]"
        case "resource":
            return resource_text(members_of(block.get("resource")))
        case _:
            return f"[{kind if isinstance(kind, str) else 'a block'} {encode_value(block).decode()}]"


def resource_text(resource: dict[str, Any]) -> str:
    """Return what the contents of a resource hold, below its URI."""
    head = f"[resource {resource.get('uri')}"
    if isinstance(resource.get("text"), str):
        return f"{head}]\n{resource['text']}"
    return f"{head}, {resource.get('mimeType', 'of unknown type')}, {_size(resource.get('blob'))}]"


def _size(data: object) -> str:
    """Tell how many bytes some base64 stands for."""
    if not isinstance(data, str):
        return "no data"
    letters = "".join(data.split()).rstrip("=")
    return f"{len(letters) * 3 // 4:,} bytes"
