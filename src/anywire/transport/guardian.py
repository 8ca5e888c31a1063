"""This process's one watchdog: started with the first child, told of each, ended with the last."""

from __future__ import annotations

import contextlib
import os
import secrets
import subprocess
import sys
import threading
from pathlib import Path

from anywire.transport.watchdog import MARK_VARIABLE

__all__ = ("Guardian", "guardian")


class Guardian:
    """Keeps the list of this process's children in a process that survives it.

    See `anywire.transport.watchdog`.  Where there is no Python to run it with (a frozen program, one
    that embeds Python), children still end on every path but SIGKILL.
    """

    def __init__(self) -> None:
        # Reentrant: collecting garbage may end a child in the middle of anything.
        self._lock = threading.RLock()
        self._watchdog: subprocess.Popen[bytes] | None = None
        self._children: dict[str, int] = {}
        self._inputs: dict[str, int] = {}

    def new_mark(self) -> str:
        """Return the mark for a child: its own, behind those that this process was given itself."""
        outer = os.environ.get(MARK_VARIABLE, "")
        return f"{outer}:{secrets.token_hex(8)}".lstrip(":")

    def starting(self, mark: str) -> None:
        """A child with this mark is about to be started."""
        self._note(mark, 0)

    def started(self, mark: str, pid: int, stdin: int) -> None:
        """The child has been started; `stdin` is the descriptor on which it hears from us."""
        self._inputs[mark] = stdin
        self._note(mark, pid)

    def input_closed(self, mark: str) -> None:
        """The descriptor to the child's stdin is about to be closed."""
        self._inputs.pop(mark, None)

    def forget(self, mark: str) -> None:
        """This child and its tree have ended."""
        with self._lock:
            self._inputs.pop(mark, None)
            if self._children.pop(mark, None) is None:
                return
            self._tell(f"{mark} -\n")
            if not self._children:
                self._stop_watchdog()

    def after_fork(self) -> None:
        """Let go, in a fork of this process, of what is the parent's.

        A fork that held the pipe to a child's stdin or to the watchdog would keep either from
        seeing its end.  The descriptors of stdin stay, on another file, since there are objects that own
        them.
        """
        inputs, watchdog = [*self._inputs.values()], self._watchdog
        self._lock = threading.RLock()
        self._children, self._inputs, self._watchdog = {}, {}, None
        if watchdog is not None:
            watchdog.returncode = 0  # another's child: there is nothing to wait for
            if watchdog.stdin is not None:
                watchdog.stdin.close()
        if inputs:
            null = os.open(os.devnull, os.O_WRONLY | os.O_CLOEXEC)
            for fd in inputs:
                os.dup2(null, fd, inheritable=False)
            os.close(null)

    def _note(self, mark: str, pid: int) -> None:
        with self._lock:
            self._children[mark] = pid
            if self._watchdog is None or self._watchdog.poll() is not None:
                self._start_watchdog()
                for known, number in list(self._children.items()):
                    self._tell(f"{known} {number}\n")
            else:
                self._tell(f"{mark} {pid}\n")

    def _start_watchdog(self) -> None:
        if self._watchdog is not None and self._watchdog.stdin is not None:
            self._watchdog.stdin.close()  # somebody ended it
        self._watchdog = None
        python = _python()
        if python is None:
            return
        program = Path(__file__).with_name("watchdog.py")
        with contextlib.suppress(OSError):
            self._watchdog = subprocess.Popen(
                [python, "-I", "-S", str(program), str(os.getpid())],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                bufsize=0,
                cwd="/",
                env={name: os.environ[name] for name in _LIBRARY_PATHS if name in os.environ},
                start_new_session=True,
            )

    def _tell(self, line: str) -> None:
        if self._watchdog is not None and self._watchdog.stdin is not None:
            with contextlib.suppress(OSError):
                self._watchdog.stdin.write(line.encode())

    def _stop_watchdog(self) -> None:
        watchdog, self._watchdog = self._watchdog, None
        if watchdog is None:
            return
        if watchdog.stdin is not None:
            watchdog.stdin.close()
        # It reads an empty list and leaves; waiting for that is a thread's business, not the loop's.
        threading.Thread(target=watchdog.wait, name="anywire-watchdog-reaper", daemon=True).start()


# Some builds of Python find their own library by these.
_LIBRARY_PATHS = ("LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH")


def _python() -> str | None:
    """Return the interpreter, None where `sys.executable` is another program: it would run itself again."""
    executable = sys.executable or ""
    name = Path(executable).name.lower()
    is_python = "python" in name or "pypy" in name
    return executable if is_python and not getattr(sys, "frozen", False) else None


#: The one of this process.
guardian = Guardian()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=guardian.after_fork)
