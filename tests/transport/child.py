"""Programs of this library, run as processes of their own and ended on every path."""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import subprocess
import sys
import time
from collections.abc import Generator, Sequence
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
        return read_until(self.process.stdout.fileno(), lambda data: data.endswith(b"\n"))

    def read_all(self) -> bytes:
        """Read its stdout to the end."""
        assert self.process.stdout is not None
        return read_until(self.process.stdout.fileno(), lambda _: False)

    def read_stderr(self) -> bytes:
        """Read its stderr to the end."""
        assert self.process.stderr is not None
        return read_until(self.process.stderr.fileno(), lambda _: False)

    def wait(self, seconds: float = PATIENCE) -> int:
        """Wait for its exit code."""
        return self.process.wait(seconds)


def read_until(fd: int, done: object) -> bytes:
    """Read a descriptor byte by byte where it matters, until `done` says so, or to its end."""
    assert callable(done)
    deadline = time.monotonic() + PATIENCE
    data = b""
    with selectors.DefaultSelector() as selector:
        selector.register(fd, selectors.EVENT_READ)
        while not done(data):
            left = deadline - time.monotonic()
            assert left > 0, f"waited {PATIENCE} s for more than {data[-200:]!r}"
            if not selector.select(left):
                continue
            try:
                chunk = os.read(fd, 1 if done(b"\n") else 65536)
            except OSError:
                chunk = b""  # a terminal whose last program left
            if not chunk:
                break
            data += chunk
    return data


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
