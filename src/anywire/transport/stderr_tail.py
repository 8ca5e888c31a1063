"""A child's stderr, line by line, with the last of it kept for errors."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

__all__ = ("StderrTail",)

# Twenty lines hold the end of a traceback.
_LINES = 20
# A progress bar may never end its line.
_LINE_BYTES = 4096


class StderrTail:
    """Cuts stderr into lines of bounded length, hands each on, and keeps the last ones."""

    def __init__(self, on_line: Callable[[bytes], None]) -> None:
        self._on_line = on_line
        self._pending = bytearray()
        self._last: deque[bytes] = deque(maxlen=_LINES)
        #: The number of bytes that came.
        self.size = 0

    @property
    def text(self) -> str:
        """The last lines, bytes that are not UTF-8 replaced."""
        return b"\n".join([*self._last, bytes(self._pending)]).decode("utf-8", "replace").strip()

    def feed(self, data: bytes) -> None:
        """Take what was written."""
        self.size += len(data)
        *lines, rest = data.split(b"\n")
        for line in lines:
            self._pending += line
            self._end_line()
        self._pending += rest
        if len(self._pending) > _LINE_BYTES:
            self._end_line()

    def end(self) -> None:
        """Take the end: what is pending is a line as well."""
        if self._pending:
            self._end_line()

    def _end_line(self) -> None:
        line = bytes(self._pending).rstrip(b"\r")
        self._pending.clear()
        self._last.append(line[-_LINE_BYTES:])
        self._on_line(line)
