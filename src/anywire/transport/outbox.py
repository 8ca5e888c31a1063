"""What is about to be written, gathered so that one chunk of requests costs one write.

Replies gather while a chunk is being handled, within bounds of size and time; requests and
notifications go out at once, and take with them what was before them.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

from anywire.wire.limits import Limits

__all__ = ("Outbox",)


class Outbox:
    """Gathers what is to be written, and hands the pieces that `join` makes of it to `write`, in order."""

    def __init__(
        self,
        write: Callable[[bytes], None],
        limits: Limits,
        join: Callable[[list[bytes]], tuple[bytes, ...]] = lambda parts: (b"".join(parts),),
    ) -> None:
        self._loop = asyncio.get_running_loop()
        # Nearly each part looks at the clock; the loop's own is this one, behind a call in Python.
        is_own = type(self._loop).time is asyncio.BaseEventLoop.time
        self._time: Callable[[], float] = time.monotonic if is_own else self._loop.time
        self._write = write
        self._join = join
        self._gather_bytes = limits.gather_bytes
        self._gather_seconds = limits.gather_seconds
        self._parts: list[bytes] = []
        self._size = 0
        self._since = 0.0
        self._held = False
        self._scheduled = False

    @property
    def gathered(self) -> int:
        """How much has gathered and is not written yet."""
        return len(self._parts)

    def hold(self) -> None:
        """A chunk is being handled: replies wait for its end."""
        self._held = True

    def release(self) -> None:
        """The chunk has been handled: write what has gathered."""
        self._held = False
        if self._parts:
            self.flush()

    def put(self, part: bytes, urgent: bool) -> None:
        """Take what is to be written; what is urgent is written at once."""
        parts = self._parts
        parts.append(part)
        self._size += len(part)
        if urgent or self._size >= self._gather_bytes:
            self.flush()
        elif len(parts) == 1:
            self._since = self._time()
            if not self._held and not self._scheduled:
                self._scheduled = True
                self._loop.call_soon(self._flush_scheduled)
        elif self._held and self._time() - self._since >= self._gather_seconds:
            self.flush()

    def flush(self) -> None:
        """Write everything that has gathered."""
        parts, self._parts = self._parts, []
        self._size = 0
        if parts:
            for piece in self._join(parts):
                self._write(piece)

    def _flush_scheduled(self) -> None:
        self._scheduled = False
        self.flush()
