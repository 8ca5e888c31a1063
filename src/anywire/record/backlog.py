"""Work that is done in order: at once while it is small, in a thread of its own while some of it is large."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from typing import Final, TypeAlias

__all__ = ("Backlog",)

#: Does its work, and never raises.
_Job: TypeAlias = Callable[[], None]

#: Work of fewer bytes takes no time worth speaking of.
_SMALL_BYTES: Final = 64 * 1024
#: So many bytes may wait: a few of the largest messages.
_MOST_BYTES: Final = 256 * 1024 * 1024


class Backlog:
    """Does jobs one after the other; whoever makes it closes it.

    All of them come from one thread.  A large one is done in another, and so is what comes while that is
    busy; once nothing is left, that thread ends.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._jobs: deque[tuple[_Job, int]] = deque()
        self._bytes = 0
        self._thread: threading.Thread | None = None

    @property
    def is_full(self) -> bool:
        """Whether so much waits that no more should be given."""
        return self._bytes > _MOST_BYTES

    @property
    def is_here(self) -> bool:
        """Whether the job that asks is done in the thread of the backlog, and may wait."""
        return threading.current_thread() is self._thread

    def do(self, job: _Job, size: int = 0, *, later: bool = False) -> None:
        """Do a job of so many bytes, now or after what waits; `later`: in the thread, however small."""
        with self._lock:
            busy = self._thread is not None
            if busy or later or size > _SMALL_BYTES:
                self._jobs.append((job, size))
                self._bytes += size
                if not busy:
                    self._thread = threading.Thread(target=self._work, name="anywire record", daemon=True)
                    self._thread.start()
                return
        job()

    def close(self, seconds: float) -> bool:
        """Wait so long for what is left, then drop it; say whether all was done."""
        thread = self._thread
        if thread is None:
            return True
        thread.join(seconds)
        with self._lock:
            self._jobs.clear()
        return not thread.is_alive()

    def _work(self) -> None:
        while True:
            with self._lock:
                if not self._jobs:
                    self._thread = None
                    return
                job, size = self._jobs.popleft()
            job()
            with self._lock:
                self._bytes -= size
