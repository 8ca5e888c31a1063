"""A child's stderr, line by line, with the last of it kept for errors."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

__all__ = ("StderrTail",)

# Twenty lines hold the end of a traceback.
_LINES = 20
# A program may never end its line; what it writes is handed on in pieces of this size.
_LINE_BYTES = 4096
# An error is to be read by somebody.
_TEXT_BYTES = 8192


class StderrTail:
    """Cuts stderr into lines of bounded length, hands each on, and keeps the last ones.

    A line is what a terminal would show of it: a progress bar goes back to the beginning of its line
    with a carriage return, and only its last state counts.
    """

    def __init__(self, on_line: Callable[[bytes], None]) -> None:
        self._on_line = on_line
        self._pending = bytearray()
        self._last: deque[bytes] = deque(maxlen=_LINES)
        #: The number of bytes that came.
        self.size = 0

    @property
    def text(self) -> str:
        """The last lines, bytes that are not UTF-8 replaced."""
        last = b"\n".join([*self._last, bytes(self._pending)]).rstrip()
        return last[-_TEXT_BYTES:].decode("utf-8", "replace").strip()

    def feed(self, data: bytes) -> None:
        """Take what was written."""
        self.size += len(data)
        *lines, rest = data.split(b"\n")
        for line in lines:
            self._add(line)
            self._end_line(bytes(self._pending))
            self._pending.clear()
        self._add(rest)

    def end(self) -> None:
        """Take the end: what is pending is a line as well."""
        if self._pending:
            self._end_line(bytes(self._pending))
            self._pending.clear()

    def _add(self, data: bytes) -> None:
        self._pending += data
        returned = self._pending.rstrip(b"\r").rfind(b"\r")
        if returned >= 0:
            del self._pending[: returned + 1]
        while len(self._pending) > _LINE_BYTES:
            self._end_line(bytes(self._pending[:_LINE_BYTES]))
            del self._pending[:_LINE_BYTES]

    def _end_line(self, line: bytes) -> None:
        line = line.rstrip(b"\r")
        if line.strip():
            self._last.append(line)
        self._on_line(line)
