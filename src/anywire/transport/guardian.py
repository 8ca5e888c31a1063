"""This process's one watchdog: started with the first child, told of each, ended with the last."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import threading
from pathlib import Path

__all__ = ("Guardian", "guardian")


class Guardian:
    """Keeps the list of this process's children in a process that survives it.

    See `anywire.transport.watchdog`.  Where it cannot be started (a frozen program has no Python to
    run it with), children still end on every path but SIGKILL.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._watchdog: subprocess.Popen[bytes] | None = None
        self._children: set[int] = set()
        self._owner = os.getpid()

    def watch(self, pid: int) -> None:
        """This child has been started."""
        with self._lock:
            if self._owner != os.getpid():  # a fork: the children are the parent's
                self._owner, self._watchdog = os.getpid(), None
                self._children.clear()
            self._children.add(pid)
            if self._watchdog is None:
                self._start()
            self._tell(f"+{pid}\n")

    def forget(self, pid: int) -> None:
        """This child and its group have ended."""
        with self._lock:
            self._children.discard(pid)
            self._tell(f"-{pid}\n")
            if not self._children:
                self._stop()

    def _start(self) -> None:
        program = Path(__file__).with_name("watchdog.py")
        with contextlib.suppress(OSError):
            self._watchdog = subprocess.Popen(
                [sys.executable, "-I", "-S", str(program)],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                bufsize=0,
                cwd="/",
                env={},
                start_new_session=True,
            )

    def _tell(self, line: str) -> None:
        if self._watchdog is not None and self._watchdog.stdin is not None:
            with contextlib.suppress(OSError):
                self._watchdog.stdin.write(line.encode())

    def _stop(self) -> None:
        watchdog, self._watchdog = self._watchdog, None
        if watchdog is None:
            return
        if watchdog.stdin is not None:
            watchdog.stdin.close()
        # It reads an empty list and leaves; waiting for that is a thread's business, not the loop's.
        threading.Thread(target=watchdog.wait, name="anywire-watchdog-reaper", daemon=True).start()


#: The one of this process.
guardian = Guardian()
