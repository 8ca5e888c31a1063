"""From the bytes of a recording to its entries: in linear time, a line in memory at once."""

from __future__ import annotations

from typing import Final

import msgspec

from anywire.record.entry import Entry, Unreadable, read_entry
from anywire.wire.limits import DEFAULT_LIMITS

__all__ = ("EntryReader",)

#: How long a line may be: a message of the most bytes that a wire takes, grown by what stands for secrets.
_MOST_BYTES: Final = 2 * DEFAULT_LIMITS.message_bytes


class EntryReader:
    """Cuts chunks into lines and reads them.  What is no entry is told where it stands.  Never raises."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []  # of a line that has no end yet
        self._size = 0
        self._number = 0

    def feed(self, chunk: bytes) -> list[Entry | Unreadable]:
        """Return what the lines say that end in a chunk."""
        first, *others = chunk.split(b"\n")
        self._keep(first)
        found: list[Entry | Unreadable] = []
        for other in others:
            found += self._take()
            self._keep(other)
        return found

    def end(self) -> list[Entry | Unreadable]:
        """There is no more: return what the last line says where it has no end."""
        found = self._take()
        return [
            msgspec.structs.replace(each, reason="it has no end", cut=True)
            if isinstance(each, Unreadable)
            else each
            for each in found
        ]

    def _keep(self, part: bytes) -> None:
        self._size += len(part)
        if self._size <= _MOST_BYTES:
            self._parts.append(part)
        else:
            self._parts.clear()

    def _take(self) -> list[Entry | Unreadable]:
        self._number += 1
        line, size = b"".join(self._parts), self._size
        self._parts, self._size = [], 0
        if size > _MOST_BYTES:
            return [Unreadable(self._number, f"it has {size:,} bytes, more than a message can have")]
        return [read_entry(line, self._number)] if line.strip() else []
