"""A child process, owned from its start to its end.

The child has a session of its own, so that the terminal's signals are for its owner alone; it is
started without a shell and with a small environment; its stderr is always drained and the last of
it kept; and on every path out it is ended with everything it started: stdin is closed, then its
group gets TERM, then KILL, each after a bounded wait.  When this process is killed before it can do
any of that, a watchdog does it (`anywire.transport.watchdog`).

Specification: MCP `basic/lifecycle#shutdown`.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import shlex
import signal
from collections.abc import Callable, Coroutine, Mapping
from pathlib import Path
from typing import Any, Final

import msgspec

from anywire.errors import ProcessExited, SpawnFailed
from anywire.transport.environment import base_environment
from anywire.transport.guardian import guardian
from anywire.transport.posix_fds import FdWriter
from anywire.transport.stderr_tail import StderrTail
from anywire.transport.watchdog import group_is_alive, signal_tree, tree_of
from anywire.wire.limits import DEFAULT_LIMITS, Limits

__all__ = ("ChildProcess", "Command", "Events")

#: Each step of the ending waits so long for the child before the next one.
EOF_SECONDS: Final = 2.0
TERM_SECONDS: Final = 2.0
KILL_SECONDS: Final = 2.0
# What a child left behind in its group has had its chance with the child.
_LEFT_BEHIND_SECONDS: Final = 0.3
_POLL_SECONDS: Final = 0.02
_LAST_WORDS_SECONDS: Final = 0.25


class Command(msgspec.Struct, frozen=True):
    """What to start: `argv` without a shell, `env` merged over the base environment, `cwd`.

    `inherit_env` takes this process's whole environment for the base.
    """

    argv: tuple[str, ...]
    env: Mapping[str, str] = msgspec.field(default_factory=dict[str, str])
    cwd: str | None = None
    inherit_env: bool = False

    def __str__(self) -> str:
        return shlex.join(self.argv)

    def environment(self) -> dict[str, str]:
        """Return the environment the child gets.

        Python writes in blocks to a pipe unless told otherwise, which would keep replies back.
        """
        base = dict(os.environ) if self.inherit_env else base_environment(os.environ)
        return {"PYTHONUNBUFFERED": "1", **base, **self.env}


class Events(msgspec.Struct, frozen=True):
    """What a child calls, from the event loop.

    `output` gets what it writes on stdout; `output_end` comes once, after the last of it; `room`
    when its stdin takes more again; `stderr` gets each line of stderr, without the line feed.
    """

    output: Callable[[bytes], None]
    output_end: Callable[[], None]
    room: Callable[[], None]
    stderr: Callable[[bytes], None]


class ChildProcess(asyncio.SubprocessProtocol):
    """A running child.  `spawn` makes one; `end` must be awaited on every path."""

    def __init__(self, command: Command, events: Events, limits: Limits) -> None:
        self.command = command
        self._events = events
        self._limits = limits
        self._transport: asyncio.SubprocessTransport | None = None
        self._stdin: FdWriter | None = None
        self._stderr = StderrTail(events.stderr)
        self._output_ended = asyncio.Event()
        self._stderr_ended = asyncio.Event()
        self._exited = asyncio.Event()
        self._ending: asyncio.Task[None] | None = None

    @classmethod
    async def spawn(cls, command: Command, events: Events, limits: Limits = DEFAULT_LIMITS) -> ChildProcess:
        """Start the command.

        Raises `SpawnFailed` with a sentence that says why.  A caller that is cancelled meanwhile
        leaves no child behind.
        """
        child = cls(command, events, limits)
        starting = asyncio.get_running_loop().create_task(child._start())
        try:
            await asyncio.shield(starting)
        except asyncio.CancelledError:
            with contextlib.suppress(SpawnFailed):
                await starting
                await child.end()
            raise
        return child

    async def _start(self) -> None:
        command = self.command
        read_end, write_end = os.pipe()
        try:
            transport, _ = await asyncio.get_running_loop().subprocess_exec(
                lambda: self,
                *command.argv,
                stdin=read_end,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                env=command.environment(),
                cwd=command.cwd,
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            os.close(write_end)
            raise SpawnFailed(_why_not_started(command, error)) from error
        finally:
            os.close(read_end)
        self._transport = transport
        guardian.watch(transport.get_pid())
        self._stdin = FdWriter(write_end, self._limits.write_low_bytes, self._events.room, self._stdin_broken)

    @property
    def pid(self) -> int:
        """The process id of the child, which is also its group's."""
        assert self._transport is not None
        return self._transport.get_pid()

    @property
    def returncode(self) -> int | None:
        """The exit code, negative for a signal, None while it runs."""
        return self._transport.get_returncode() if self._transport is not None else None

    @property
    def stderr_tail(self) -> str:
        """The last lines of stderr."""
        return self._stderr.text

    def exit_error(self) -> ProcessExited:
        """Describe how the child ended."""
        return ProcessExited(str(self.command), self.returncode, self.stderr_tail)

    # Its stdin and stdout.

    @property
    def buffered(self) -> int:
        """The bytes that wait to be written to its stdin."""
        return self._stdin.buffered if self._stdin is not None else 0

    def write(self, data: bytes) -> None:
        """Write to its stdin; dropped when that is closed."""
        if self._stdin is not None:
            self._stdin.write(data)

    def pause_output(self) -> None:
        """Stop reading its stdout."""
        pipe = self._transport.get_pipe_transport(1) if self._transport is not None else None
        if isinstance(pipe, asyncio.ReadTransport) and not pipe.is_closing():
            pipe.pause_reading()

    def resume_output(self) -> None:
        """Read its stdout again."""
        pipe = self._transport.get_pipe_transport(1) if self._transport is not None else None
        if isinstance(pipe, asyncio.ReadTransport) and not pipe.is_closing():
            pipe.resume_reading()

    def _stdin_broken(self, error: OSError) -> None:
        """It closed its stdin.  Whether it is leaving shows soon; nothing can be told to it any more."""

    # The end.

    async def wait(self) -> int | None:
        """Wait until the child has exited, and for its last words; return its exit code.

        A grandchild may hold its pipes open, so its last words are waited for within bounds.
        """
        await self._exited.wait()
        await _within(_LAST_WORDS_SECONDS, self._last_words())
        return self.returncode

    async def _last_words(self) -> None:
        await self._output_ended.wait()
        await self._stderr_ended.wait()

    async def end(self) -> None:
        """End the child and all of its group.

        Idempotent and bounded; a caller that is cancelled meanwhile leaves the ending under way.
        """
        if self._ending is None:
            self._ending = asyncio.get_running_loop().create_task(self._end())
        await asyncio.shield(self._ending)

    async def _end(self) -> None:
        if not await self._leaves_by_eof():
            for number, seconds in ((signal.SIGTERM, TERM_SECONDS), (signal.SIGKILL, KILL_SECONDS)):
                signal_tree(self.pid, number, tree_of(self.pid))
                if await _within(seconds, self._exited.wait()):
                    break
        await self._end_what_it_left()
        guardian.forget(self.pid)
        if self._exited.is_set():
            await self.wait()
        if self._transport is not None:
            self._transport.close()

    async def _leaves_by_eof(self) -> bool:
        """Close its stdin, after what still waits to be written; say whether it left."""
        loop = asyncio.get_running_loop()
        until = loop.time() + EOF_SECONDS
        if self._stdin is not None:
            if not self._exited.is_set():
                await self._stdin.drain(EOF_SECONDS)
            self._stdin.close()
        return await _within(max(until - loop.time(), 0.05), self._exited.wait())

    async def _end_what_it_left(self) -> None:
        """End the members of its group that outlive it."""
        for number in (signal.SIGTERM, signal.SIGKILL):
            if not group_is_alive(self.pid):
                return
            signal_tree(self.pid, number, tree_of(self.pid))
            await _within(_LEFT_BEHIND_SECONDS, self._group_gone())

    async def _group_gone(self) -> None:
        while group_is_alive(self.pid):  # noqa: ASYNC110 nothing tells of the end of another's child
            await asyncio.sleep(_POLL_SECONDS)

    # What asyncio calls.

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        """Take output (called by asyncio)."""
        if fd == 1:
            self._events.output(data)
        else:
            self._stderr.feed(data)

    def pipe_connection_lost(self, fd: int, exc: Exception | None) -> None:
        """Note that a pipe ended (called by asyncio)."""
        if fd == 2:
            self._stderr.end()
            self._stderr_ended.set()
        elif not self._output_ended.is_set():
            self._output_ended.set()
            self._events.output_end()

    def process_exited(self) -> None:
        """Note the exit (called by asyncio)."""
        self._exited.set()


async def _within(seconds: float, something: Coroutine[Any, Any, object]) -> bool:
    """Await something, at most so long; say whether it came about."""
    try:
        async with asyncio.timeout(seconds):
            await something
    except TimeoutError:
        return False
    return True


def _why_not_started(command: Command, error: OSError | ValueError) -> str:
    program = command.argv[0] if command.argv else ""
    if command.cwd is not None and not Path(command.cwd).is_dir():
        return f"{command} was not started: there is no folder {command.cwd}"
    match error:
        case FileNotFoundError():
            path = command.environment().get("PATH", "")
            where = "" if "/" in program else f" on the PATH {path!r}"
            return f"{command} was not started: no program {program!r} was found{where}"
        case PermissionError():
            return f"{command} was not started: {program!r} may not be executed"
        case _:
            return f"{command} was not started: {error}"
