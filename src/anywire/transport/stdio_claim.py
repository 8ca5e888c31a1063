"""Take the process's stdio for the wire, so that nothing else can write on it.

After the claim the wire has descriptors of its own that no child inherits.  Descriptor 0 reads as
empty, and descriptor 1 leads to stderr: `print`, C libraries and children of a tool write there.
When stderr is the very pipe that stdout is (`2>&1` into the client), both lead nowhere instead,
since any line of them would be a damaged message.
"""

from __future__ import annotations

import contextlib
import os
import stat
import sys
import threading

__all__ = ("StdioClaim", "claim_stdio")

_lock = threading.Lock()
_current: list[StdioClaim] = []


class StdioClaim:
    """The process's stdio, taken.  Made by `claim_stdio` only.

    `read_fd` and `write_fd` are the wire; `take()` hands them to a transport, which then owns them.
    """

    def __init__(self) -> None:
        _fill_gaps()
        self.read_fd = os.dup(0)
        self.write_fd = os.dup(1)
        self._taken = False
        self._saved: dict[int, int] = {0: os.dup(0), 1: os.dup(1)}
        null = os.open(os.devnull, os.O_RDWR)
        os.dup2(null, 0)
        if _same_stream(1, 2):
            self._saved[2] = os.dup(2)
            os.dup2(null, 2)
        os.dup2(2, 1)
        os.close(null)
        # What the program printed before goes where all prints go from now on.
        _flush_stdout()

    def take(self) -> tuple[int, int]:
        """Return the two descriptors of the wire to their new owner; once."""
        if self._taken:
            raise RuntimeError("the process's stdio is in use by another transport")
        self._taken = True
        return self.read_fd, self.write_fd

    def release(self) -> None:
        """Let go of the wire for good: the client sees its end, and descriptor 1 still leads to stderr.

        Whatever is printed while the process ends must not follow the last message.  Idempotent.
        """
        with _lock:
            saved, self._saved = self._saved, {}
        for fd in saved.values():
            os.close(fd)

    def restore(self) -> None:
        """Give stdio back to the process: descriptors 0, 1 and 2 are what they were.  Idempotent."""
        with _lock:
            if self not in _current:
                return
            _current.remove(self)
        _flush_stdout()  # to where prints went meanwhile
        for fd, saved in self._saved.items():
            os.dup2(saved, fd)
            os.close(saved)
        if not self._taken:
            os.close(self.read_fd)
            os.close(self.write_fd)


def claim_stdio() -> StdioClaim:
    """Claim the process's stdio for the wire; the claim in force when there is one already."""
    with _lock:
        if not _current:
            _current.append(StdioClaim())
        return _current[0]


def _fill_gaps() -> None:
    """Lead standard descriptors that are closed nowhere, before something else gets their numbers."""
    while (null := os.open(os.devnull, os.O_RDWR)) <= 2:  # the lowest number that is free
        os.set_inheritable(null, True)
    os.close(null)


def _same_stream(first: int, second: int) -> bool:
    """Say whether two descriptors lead to one pipe, socket or file (a terminal may be shared)."""
    one, other = os.fstat(first), os.fstat(second)
    return not stat.S_ISCHR(one.st_mode) and os.path.samestat(one, other)


def _flush_stdout() -> None:
    with contextlib.suppress(OSError, ValueError):
        if sys.stdout is not None:
            sys.stdout.flush()
