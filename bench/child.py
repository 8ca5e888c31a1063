"""A program that was started to be measured: what it said last, and its end, whatever happens."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import subprocess
import tempfile
from collections.abc import Generator, Mapping, Sequence
from typing import IO

from bench.cost import family

__all__ = ("Child", "ChildFailed", "run", "started")

PATIENCE = 3.0
"""Seconds that a child gets to end by itself, and again after it was asked to."""


class ChildFailed(Exception):
    """A program ended, or did not do what it was started for; the text has its last words."""


class Child:
    """A running program, in a process group of its own."""

    def __init__(self, argv: Sequence[str], env: Mapping[str, str], *, pipes: bool = False) -> None:
        self.argv = list(argv)
        self._said = tempfile.TemporaryFile()  # noqa: SIM115 closed in end()
        try:
            self._process = subprocess.Popen(
                self.argv,
                bufsize=0,
                stdin=subprocess.PIPE if pipes else subprocess.DEVNULL,
                stdout=subprocess.PIPE if pipes else self._said,
                stderr=self._said,
                env={**os.environ, **env},
                process_group=0,
            )
        except OSError:
            self._said.close()
            raise

    @property
    def pid(self) -> int:
        """The process that was started; it may have children."""
        return self._process.pid

    @property
    def stdin(self) -> IO[bytes]:
        """Its input, where it was started with pipes."""
        assert self._process.stdin is not None
        return self._process.stdin

    @property
    def stdout(self) -> IO[bytes]:
        """Its output, where it was started with pipes."""
        assert self._process.stdout is not None
        return self._process.stdout

    @property
    def running(self) -> bool:
        """Whether it has not ended yet."""
        return self._process.poll() is None

    def failed(self, what: str) -> ChildFailed:
        """Return the exception that says what went wrong, with the exit code and the last words."""
        code = self._process.poll()
        end = "it is running" if code is None else f"it ended with code {code}"
        return ChildFailed(f"{what}; {end}{self.last_words()}")

    def last_words(self) -> str:
        """Return the last that it wrote on stderr."""
        size = self._said.seek(0, os.SEEK_END)
        self._said.seek(max(0, size - 1000))
        text = self._said.read().decode(errors="replace").strip()
        self._said.seek(0, os.SEEK_END)
        return f" and last said: {text}" if text else ""

    def wait(self, seconds: float) -> int:
        """Return the exit code.  Raises `ChildFailed` if it does not end in time."""
        try:
            return self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            raise self.failed(f"{self.argv[0]} did not end in {seconds:g} s") from None

    def end(self, patience: float = PATIENCE) -> None:
        """End it and all that it started: its input ends, then it is asked to end, then it is killed."""
        others = _handles(family(self.pid)[1:]) if self.running else []
        try:
            self._ask_to_end(patience)
        finally:  # even if this is interrupted
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self.pid, signal.SIGKILL)
            self._process.wait()
            for handle in others:
                _kill(handle)
            if self._process.stdout is not None:
                self._process.stdout.close()
            self._said.close()

    def _ask_to_end(self, patience: float) -> None:
        if self._process.stdin is not None:
            with contextlib.suppress(OSError):
                self._process.stdin.close()
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(patience)
        if self.running:
            self._process.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(patience)


def _handles(pids: Sequence[int]) -> list[int]:
    """Return descriptors of processes: a number may be somebody else's later, a descriptor never is."""
    found: list[int] = []
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            found.append(os.pidfd_open(pid))
    return found


def _kill(handle: int) -> None:
    """Kill a process that may have ended already, and see it end."""
    try:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            signal.pidfd_send_signal(handle, signal.SIGKILL)
        gone = select.poll()
        gone.register(handle, select.POLLIN)
        gone.poll(1000)
    finally:
        os.close(handle)


@contextlib.contextmanager
def started(
    argv: Sequence[str], env: Mapping[str, str], *, pipes: bool = False, patience: float = PATIENCE
) -> Generator[Child]:
    """Start a program, and end it however the block is left."""
    child = Child(argv, env, pipes=pipes)
    try:
        yield child
    finally:
        child.end(patience)


def run(argv: Sequence[str], env: Mapping[str, str], within: float, text: bytes = b"") -> bytes:
    """Run a program to its end and return what it wrote.  Raises `ChildFailed`."""
    with started(argv, env, pipes=True) as child:
        child.stdin.write(text)
        child.stdin.close()
        written = child.stdout.read()
        if (code := child.wait(within)) != 0:
            raise child.failed(f"{' '.join(argv[:3])} failed with code {code}")
        return written
