"""What a call of a tool gave."""

from __future__ import annotations

from typing import Any

import msgspec

from anywire.protocol.types.tools import ToolResultMessage
from anywire.wire.codec import decode_value

__all__ = ("ToolResult",)


class ToolResult(msgspec.Struct, frozen=True):
    """The result of `tools/call`.

    `raw` is the whole result as it came, JSON in UTF-8; whatever a newer peer put into it is there.
    """

    raw: bytes
    message: ToolResultMessage

    @classmethod
    def from_raw(cls, raw: bytes) -> ToolResult:
        """Read a raw result.  Raises `msgspec.MsgspecError` for one that is not as specified."""
        return cls(raw, decode_value(raw, ToolResultMessage))

    @property
    def is_error(self) -> bool:
        """Whether the tool failed; its text then says why."""
        return self.message.is_error

    @property
    def text(self) -> str:
        """The text of all text blocks, one per line."""
        return "\n".join(block["text"] for block in self.content if block.get("type") == "text")

    @property
    def content(self) -> list[dict[str, Any]]:
        """The blocks as plain JSON data, unknown kinds included."""
        return [decode_value(block, dict[str, Any]) for block in self.message.content]

    @property
    def structured(self) -> Any:
        """The structured content as plain JSON data, None where there is none."""
        structured = self.message.structured_content
        return None if isinstance(structured, msgspec.UnsetType) else decode_value(structured, object)
