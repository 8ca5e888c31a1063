"""Starting programs so that none outlives its test, and waiting with a deadline.

A test that hangs tells nothing, and a process that is left behind spoils the tests after it. So
every wait here ends by itself, and `watch` looks at the whole tree of processes below the test,
those that lost their parent on the way included.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

PR_SET_CHILD_SUBREAPER = 36
PR_GET_CHILD_SUBREAPER = 37
POLL_INTERVAL = 0.01
LEAVE_WITHIN = 6.0
"""How long a process may take to go after its test has ended: the shutdown grace and a little more."""


def wait_until(condition: Callable[[], bool], *, within: float) -> bool:
    """Ask again and again until `condition` holds; `False` when it did not in time."""
    deadline = time.monotonic() + within
    while not condition():
        if time.monotonic() >= deadline:
            return False
        time.sleep(POLL_INTERVAL)
    return True


@dataclass(frozen=True)
class Finished:
    """What a program left when it had ended."""

    returncode: int
    stdout: bytes
    stderr: str

    def __str__(self) -> str:
        return f"exit code {self.returncode}\n{self.stdout[-4000:]!r}\n{self.stderr[-4000:]}"


def run(
    argv: Sequence[str | Path],
    *,
    within: float,
    stdin: bytes = b"",
    env: Mapping[str, str] | None = None,
    cwd: Path | None = None,
) -> Finished:
    """Run a program to its end; one that takes too long is killed with its group and fails the test."""
    with spawn(argv, env=env, cwd=cwd) as process:
        try:
            stdout, stderr = process.communicate(stdin, timeout=within)
        except subprocess.TimeoutExpired:
            kill_group(process)
            stdout, stderr = process.communicate(timeout=within)
            said = stderr.decode(errors="replace")[-4000:]
            message = f"{argv} had not ended after {within} s; it wrote {stdout[-2000:]!r} and said:\n{said}"
            raise AssertionError(message) from None
    return Finished(process.returncode, stdout, stderr.decode(errors="replace"))


@contextlib.contextmanager
def spawn(
    argv: Sequence[str | Path],
    *,
    stderr: int = subprocess.PIPE,
    env: Mapping[str, str] | None = None,
    cwd: Path | None = None,
) -> Generator[subprocess.Popen[bytes]]:
    """A program with pipes, in a session of its own; it is killed when the block is left."""
    process = subprocess.Popen(
        [str(part) for part in argv],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=stderr,
        env={**os.environ, **(env or {})},
        cwd=cwd,
        start_new_session=True,
        bufsize=0,
    )
    try:
        yield process
    finally:
        if process.poll() is None:
            kill_group(process)
        process.wait(timeout=10)
        for pipe in (process.stdin, process.stdout, process.stderr):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()


def kill_group(process: subprocess.Popen[bytes]) -> None:
    """Kill a process started by `spawn`, and what it started in the same group."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)


@contextlib.contextmanager
def watch() -> Generator[None]:
    """Fail when a process that was started inside the block is still there after it.

    While the block runs, this process adopts orphans, so a grandchild whose parent died is seen
    too. What is left is killed, then the test fails with its command lines. Linux only; elsewhere
    `spawn` still kills what it started.
    """
    if not Path("/proc/self/stat").exists():
        yield
        return
    before = set(descendants())
    adopted_before = adopt_orphans(wanted=True)
    try:
        yield
        gone = wait_until(lambda: not left_over(before), within=LEAVE_WITHIN)
        found = [] if gone else [f"{pid}: {command_line(pid)}" for pid in left_over(before)]
    finally:
        wait_until(lambda: not kill_all(left_over(before)), within=LEAVE_WITHIN)
        adopt_orphans(wanted=adopted_before)
    assert not found, f"processes were left behind {LEAVE_WITHIN} s after the test: {found}"


def adopt_orphans(*, wanted: bool) -> bool:
    """Make this process the one that orphans below it are handed to, or not; tells what it was before."""
    libc = ctypes.CDLL(None, use_errno=True)
    was = ctypes.c_int(0)
    libc.prctl(PR_GET_CHILD_SUBREAPER, ctypes.byref(was), 0, 0, 0)
    libc.prctl(PR_SET_CHILD_SUBREAPER, int(wanted), 0, 0, 0)
    return bool(was.value)


def left_over(before: set[int]) -> list[int]:
    """The processes below this one that were not there before; dead orphans are collected."""
    found: list[int] = []
    for pid, state in descendants().items():
        if pid in before:
            continue
        if state == "Z":
            with contextlib.suppress(ChildProcessError):
                os.waitpid(pid, os.WNOHANG)
        else:
            found.append(pid)
    return found


def kill_all(pids: Sequence[int]) -> Sequence[int]:
    """Kill each of these processes, by its number; give back who they were."""
    for pid in pids:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(pid, signal.SIGKILL)
    return pids


def descendants() -> dict[int, str]:
    """Each process below this one, with the letter of its state."""
    children: dict[int, list[tuple[int, str]]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):
                state, parent = (
                    (entry / "stat")
                    .read_text(encoding="utf-8", errors="replace")
                    .rpartition(")")[2]
                    .split()[:2]
                )
                children.setdefault(int(parent), []).append((int(entry.name), state))
    found: dict[int, str] = {}
    waiting = [os.getpid()]
    while waiting:
        for pid, state in children.get(waiting.pop(), []):
            found[pid] = state
            waiting.append(pid)
    return found


def command_line(pid: int) -> str:
    """How a process was started, for a failure's text."""
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace").strip()
    return "gone meanwhile"


def anywire(*arguments: str | Path) -> list[str]:
    """The command line of the command under test."""
    return [sys.executable, "-m", "anywire", *(str(argument) for argument in arguments)]
