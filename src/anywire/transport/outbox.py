"""What is about to be written, gathered so that one chunk of requests costs one write.

Replies gather while a chunk is being handled, within bounds of size and time; requests and
notifications go out at once, and take with them what was before them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from anywire.wire.limits import Limits

__all__ = ("Outbox",)


class Outbox:
    """Gathers encoded frames and hands them to `write` in order."""

    def __init__(self, write: Callable[[bytes], None], limits: Limits) -> None:
        self._loop = asyncio.get_running_loop()
        self._time = self._loop.time
        self._write = write
        self._gather_bytes = limits.gather_bytes
        self._gather_seconds = limits.gather_seconds
        self._frames: list[bytes] = []
        self._size = 0
        self._since = 0.0
        self._held = False
        self._scheduled = False

    def hold(self) -> None:
        """A chunk is being handled: replies wait for its end."""
        self._held = True

    def release(self) -> None:
        """The chunk has been handled: write what has gathered."""
        self._held = False
        if self._frames:
            self.flush()

    def put(self, frame: bytes, urgent: bool) -> None:
        """Take a frame; an urgent one is written at once."""
        frames = self._frames
        frames.append(frame)
        self._size += len(frame)
        if urgent or self._size >= self._gather_bytes:
            self.flush()
        elif len(frames) == 1:
            self._since = self._time()
            if not self._held and not self._scheduled:
                self._scheduled = True
                self._loop.call_soon(self._flush_scheduled)
        elif self._held and self._time() - self._since >= self._gather_seconds:
            self.flush()

    def flush(self) -> None:
        """Write everything that has gathered."""
        frames, self._frames = self._frames, []
        self._size = 0
        if frames:
            self._write(frames[0] if len(frames) == 1 else b"".join(frames))

    def _flush_scheduled(self) -> None:
        self._scheduled = False
        self.flush()
