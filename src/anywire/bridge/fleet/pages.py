"""Lists of several servers as one, for one client: a single page, unless that would be too large.

A cursor is a number of ours, and good for as long as the rest of its list is kept: the list that a client is
half through does not change under it.

Specification: MCP `server/utilities/pagination`, all revisions.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from anywire.bridge.fleet.names import text_of
from anywire.bridge.fleet.renaming import ITEMS
from anywire.wire.codec import encode_value
from anywire.wire.limits import Limits
from anywire.wire.splice import get_member

__all__ = ("Pages", "cursor_of")

#: So many rests of lists are kept.
_MOST_RESTS: Final = 16


def cursor_of(params: bytes | None) -> bytes | None:
    """Return the raw cursor with which a page is asked for; None: the first one."""
    cursor = get_member(params or b"", "cursor")
    return None if cursor == b"null" else cursor


class Pages:
    """Cuts lists into pages, and keeps what has not been asked for."""

    def __init__(self, limits: Limits) -> None:
        self._most = limits.list_page_bytes
        self._rests: dict[str, tuple[str, Sequence[bytes]]] = {}
        self._last = 0

    def first(self, method: str, items: Sequence[bytes]) -> bytes:
        """Return the raw result that has the first page of a list."""
        count = self._count(items)
        rest = items[count:]
        cursor = b""
        if rest:
            self._last += 1
            name = f"anywire-page-{self._last}"
            self._rests[name] = method, rest
            cursor = b',"nextCursor":%b' % encode_value(name)
            if len(self._rests) > _MOST_RESTS:
                del self._rests[next(iter(self._rests))]
        return b'{"%b":[%b]%b}' % (ITEMS[method].encode(), b",".join(items[:count]), cursor)

    def next(self, method: str, cursor: bytes) -> bytes | None:
        """Return the page of a cursor, None for a cursor that is none of ours, or of another list."""
        of, rest = self._rests.get(text_of(cursor) or "", ("", ()))
        return self.first(method, rest) if of == method else None

    def _count(self, items: Sequence[bytes]) -> int:
        """Return how many of these are one page: at least one."""
        size = 0
        for count, item in enumerate(items):
            size += len(item)
            if size > self._most and count:
                return count
        return len(items)
