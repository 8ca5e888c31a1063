"""Lists that come in pages.

Specification: MCP `server/utilities/pagination`, all revisions.
"""

from __future__ import annotations

from msgspec import UNSET, UnsetType

from anywire.protocol.types.metadata import RequestParams

__all__ = ("PageWalk", "PaginatedParams")


class PaginatedParams(RequestParams, frozen=True):
    """The params of a `…/list` request; no cursor means the first page."""

    cursor: str | UnsetType = UNSET


class PageWalk:
    """Which page to ask for next: the one after each, until there is none or one comes a second time.

    A cursor is opaque: an empty one is one, only none at all ends the list.
    """

    def __init__(self) -> None:
        #: The cursor to ask with; `UNSET` asks for the first page.
        self.cursor: str | UnsetType = UNSET
        self._seen: set[str] = set()

    def advance(self, next_cursor: str | UnsetType | None) -> bool:
        """Take the cursor that a page ended with; say whether there is another page to ask for."""
        if next_cursor is None or isinstance(next_cursor, UnsetType) or next_cursor in self._seen:
            return False
        self._seen.add(next_cursor)
        self.cursor = next_cursor
        return True
