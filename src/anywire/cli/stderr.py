"""Our stderr, which may be closed, or a pipe that nobody reads: neither stops anything.

A write to a full pipe would wait for its reader for ever, and the whole process with it.  So it is looked
whether there is room; what has none waits, up to a bound, and goes out when there is.
"""

from __future__ import annotations

import contextlib
import os
import select
import sys
import threading
import time
from typing import TYPE_CHECKING, Final

from anywire.cli.failure import write_stderr

if TYPE_CHECKING:
    import asyncio

__all__ = ("Stderr",)

#: So much may wait; what is more is left out, and that is said.
_MOST: Final = 256 * 1024
#: A pipe that says it has room takes so much at once (POSIX: `PIPE_BUF` is 512 at least, 4096 on Linux).
_AT_ONCE: Final = getattr(select, "PIPE_BUF", 512)


class Stderr:
    """Writes whole lines, from any thread."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._waiting = bytearray()
        self._left_out = 0
        self._loop: asyncio.AbstractEventLoop | None = None  # that tells when there is room

    def write(self, data: bytes) -> None:
        """Write lines, now or when there is room; never blocks, never raises."""
        fd = _descriptor()
        if fd is None:
            write_stderr(data)
            return
        with self._lock:
            if len(self._waiting) + len(data) > _MOST and self._waiting:
                self._left_out += data.count(b"\n")
            else:
                self._waiting += data
            self._pump(fd)

    def finish(self, seconds: float) -> None:
        """The process ends: give what waits so long to be read; the rest is dropped."""
        fd, until = _descriptor(), time.monotonic() + seconds
        while fd is not None and self._waiting and (left := until - time.monotonic()) > 0:
            if not _has_room(fd, left):
                break
            self._pump(fd)
        with self._lock:
            self._waiting.clear()
            self._stop_waiting(fd)

    def _pump(self, fd: int) -> None:
        with self._lock:
            self._write_what_fits(fd)
            if self._waiting:
                self._wait_for_room(fd)
            else:
                self._stop_waiting(fd)

    def _write_what_fits(self, fd: int) -> None:
        while self._waiting and _has_room(fd, 0.0):
            try:
                del self._waiting[: os.write(fd, self._waiting[:_AT_ONCE])]
            except OSError:  # nobody is there any more
                self._waiting.clear()
            if not self._waiting and self._left_out:
                self._waiting += b"anywire: %d lines were left out, as nobody read them\n" % self._left_out
                self._left_out = 0

    def _wait_for_room(self, fd: int) -> None:
        import asyncio

        if self._loop is None or self._loop.is_closed():
            self._loop = None
            # Without a loop the next line tries again; what cannot be watched always has room.
            with contextlib.suppress(RuntimeError, OSError, ValueError, NotImplementedError):
                loop = asyncio.get_running_loop()
                loop.add_writer(fd, self._pump, fd)
                self._loop = loop

    def _stop_waiting(self, fd: int | None) -> None:
        loop, self._loop = self._loop, None
        if loop is not None and fd is not None and not loop.is_closed():
            loop.remove_writer(fd)


def _descriptor() -> int | None:
    """Return where our stderr leads; None where it is closed, a program's own, or cannot be watched."""
    if sys.stderr is None or not hasattr(select, "poll"):
        return None
    try:
        fd = sys.stderr.fileno()
    except (OSError, ValueError, AttributeError):
        return None
    return fd


def _has_room(fd: int, seconds: float) -> bool:
    poll = select.poll()
    poll.register(fd, select.POLLOUT)
    try:
        return bool(poll.poll(1000 * seconds))  # an error is room as well: the write tells of it
    except OSError:
        return True
