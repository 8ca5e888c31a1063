"""Programs of this library, run as processes of their own and ended on every path."""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import subprocess
import sys
import time
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO

PROGRAMS = Path(__file__).resolve().parent / "programs"

#: Everything here ends long before; a busy machine may be slow.
PATIENCE = 30.0

Redirect = int | IO[bytes] | None


class Child:
    """A running program, with bounded waits."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self.process = process

    def write(self, data: bytes) -> None:
        """Write to its stdin."""
        assert self.process.stdin is not None
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def end_input(self) -> None:
        """Close its stdin."""
        assert self.process.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.close()

    def read_line(self) -> bytes:
        """Read one line of its stdout."""
        assert self.process.stdout is not None
        return read_line(self.process.stdout.fileno())

    def read_all(self) -> bytes:
        """Read its stdout to the end."""
        assert self.process.stdout is not None
        return read_all(self.process.stdout.fileno())

    def read_stderr(self) -> bytes:
        """Read its stderr to the end."""
        assert self.process.stderr is not None
        return read_all(self.process.stderr.fileno())

    def read_stderr_line(self) -> bytes:
        """Read one line of its stderr."""
        assert self.process.stderr is not None
        return read_line(self.process.stderr.fileno())

    def wait(self, seconds: float = PATIENCE) -> int:
        """Wait for its exit code."""
        return self.process.wait(seconds)


def read_line(fd: int) -> bytes:
    """Read one line of a descriptor, byte by byte; less at its end."""
    data = b""
    for chunk in _chunks(fd, 1):
        data += chunk
        if chunk == b"\n":
            break
    return data


def read_all(fd: int) -> bytes:
    """Read a descriptor to its end."""
    return b"".join(_chunks(fd, 65536))


def _chunks(fd: int, size: int) -> Iterator[bytes]:
    deadline = time.monotonic() + PATIENCE
    with selectors.DefaultSelector() as selector:
        selector.register(fd, selectors.EVENT_READ)
        while True:
            left = deadline - time.monotonic()
            assert left > 0, f"nothing more, and no end, within {PATIENCE} s"
            if not selector.select(left):
                continue
            try:
                chunk = os.read(fd, size)
            except OSError:
                return  # a terminal whose last program left
            if not chunk:
                return
            yield chunk


@contextmanager
def run(
    program: str,
    *arguments: str,
    stdin: Redirect = subprocess.PIPE,
    stdout: Redirect = subprocess.PIPE,
    stderr: Redirect = subprocess.PIPE,
    close: Sequence[int] = (),
) -> Generator[Child]:
    """Run one of the programs; at the end it is killed, if it is still there, with its group.

    `close` names descriptors that it must not have.
    """
    command = [sys.executable, "-W", "error", str(PROGRAMS / program), *arguments]
    if close:
        closing = " ".join(f"{fd}>&-" for fd in close)
        command = ["sh", "-c", f'exec "$@" {closing}', "sh", *command]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    process = subprocess.Popen(
        command, stdin=stdin, stdout=stdout, stderr=stderr, env=environment, start_new_session=True
    )
    try:
        yield Child(process)
    finally:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait(PATIENCE)
        for pipe in (process.stdin, process.stdout, process.stderr):
            if pipe is not None:
                with contextlib.suppress(BrokenPipeError):
                    pipe.close()
