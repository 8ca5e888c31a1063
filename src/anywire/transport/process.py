"""A child process, owned from its start to its end.

The child has a session of its own, so that the terminal's signals are for its owner alone; it is
started without a shell and with a small environment; its stderr is always drained and the last of
it kept; and on every path out it is ended with everything it started: stdin is closed, then its
group gets TERM, then KILL, each after a bounded wait.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import shlex
import signal
from collections import deque
from collections.abc import Callable, Mapping

import msgspec

from anywire.errors import ProcessExited, SpawnFailed
from anywire.transport.environment import base_environment

__all__ = ("ChildProcess", "Command")

_EOF_SECONDS = 2.0
_TERM_SECONDS = 2.0
_KILL_SECONDS = 2.0
_LAST_WORDS_SECONDS = 0.25
_TAIL_LINES = 20
_LINE_BYTES = 4096


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
        """Return the environment the child gets."""
        base = dict(os.environ) if self.inherit_env else base_environment(os.environ)
        return {**base, **self.env}


class ChildProcess(asyncio.SubprocessProtocol):
    """A running child.  `spawn` makes one; `end` must be awaited on every path."""

    def __init__(
        self,
        command: Command,
        *,
        on_output: Callable[[bytes], None],
        on_output_end: Callable[[], None],
        on_room: Callable[[], None],
        on_stderr: Callable[[bytes], None],
    ) -> None:
        self.command = command
        self._on_output = on_output
        self._on_output_end = on_output_end
        self._on_room = on_room
        self._on_stderr = on_stderr
        self._transport: asyncio.SubprocessTransport | None = None
        self._stdin: asyncio.WriteTransport | None = None
        self._stderr_line = bytearray()
        self._stderr_tail: deque[bytes] = deque(maxlen=_TAIL_LINES)
        self._output_ended = False
        self._stderr_ended = asyncio.Event()
        self._exited = asyncio.Event()
        self._ending: asyncio.Task[None] | None = None

    @classmethod
    async def spawn(
        cls,
        command: Command,
        *,
        on_output: Callable[[bytes], None],
        on_output_end: Callable[[], None],
        on_room: Callable[[], None],
        on_stderr: Callable[[bytes], None],
    ) -> ChildProcess:
        """Start the command.

        `on_output` gets what it writes on stdout, `on_output_end` comes once after the last of it,
        `on_room` when stdin takes more again, `on_stderr` gets each line of stderr (without its line
        feed).  Raises `SpawnFailed` with a sentence that says why.
        """
        child = cls(
            command, on_output=on_output, on_output_end=on_output_end, on_room=on_room, on_stderr=on_stderr
        )
        try:
            await asyncio.get_running_loop().subprocess_exec(
                lambda: child,
                *command.argv,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                env=command.environment(),
                cwd=command.cwd,
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            raise SpawnFailed(_why_not_started(command, error)) from error
        return child

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
        lines = [*self._stderr_tail, bytes(self._stderr_line)]
        return b"\n".join(lines).decode("utf-8", "replace").strip()

    def exit_error(self) -> ProcessExited:
        """Describe how the child ended."""
        return ProcessExited(str(self.command), self.returncode, self.stderr_tail)

    # Writing.

    @property
    def buffered(self) -> int:
        """The bytes that wait to be written to its stdin."""
        return self._stdin.get_write_buffer_size() if self._stdin is not None else 0

    def write(self, data: bytes) -> None:
        """Write to its stdin; dropped when that is closed."""
        if self._stdin is not None and not self._stdin.is_closing():
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

    def close_stdin(self) -> None:
        """Write what waits, then close its stdin: the polite request to leave."""
        if self._stdin is not None and self._stdin.can_write_eof() and not self._stdin.is_closing():
            self._stdin.write_eof()

    # The end.

    async def wait(self) -> int | None:
        """Wait until the child has exited, and for its last words; return its exit code."""
        await self._exited.wait()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_LAST_WORDS_SECONDS):
                await self._stderr_ended.wait()
        return self.returncode

    async def end(self) -> None:
        """End the child and all of its group.

        Idempotent and bounded; a caller that is cancelled meanwhile leaves the ending under way.
        """
        if self._ending is None:
            self._ending = asyncio.get_running_loop().create_task(self._end())
        await asyncio.shield(self._ending)

    async def _end(self) -> None:
        self.close_stdin()
        if not await self._exits_within(_EOF_SECONDS):
            self._signal_group(signal.SIGTERM)
            if not await self._exits_within(_TERM_SECONDS):
                self._signal_group(signal.SIGKILL)
                await self._exits_within(_KILL_SECONDS)
        self._signal_group(signal.SIGKILL)  # what it started and left behind
        if self._exited.is_set():
            await self.wait()
        if self._transport is not None:
            self._transport.close()

    async def _exits_within(self, seconds: float) -> bool:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._exited.wait()
        return self._exited.is_set()

    def _signal_group(self, number: signal.Signals) -> None:
        # The group has the child's pid for a name, and keeps it as long as it has a member.
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, number)

    # What asyncio calls.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the transport (called by asyncio)."""
        assert isinstance(transport, asyncio.SubprocessTransport)
        self._transport = transport
        stdin = transport.get_pipe_transport(0)
        assert isinstance(stdin, asyncio.WriteTransport)
        self._stdin = stdin

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        """Take output (called by asyncio)."""
        if fd == 1:
            self._on_output(data)
        else:
            self._take_stderr(data)

    def pipe_connection_lost(self, fd: int, exc: Exception | None) -> None:
        """Note that a pipe ended (called by asyncio)."""
        if fd == 0:
            self._on_room()
        elif fd == 1:
            self._end_output()
        else:
            self._stderr_ended.set()

    def process_exited(self) -> None:
        """Note the exit (called by asyncio)."""
        self._exited.set()

    def resume_writing(self) -> None:
        """Note that stdin takes more (called by asyncio)."""
        self._on_room()

    def _end_output(self) -> None:
        if not self._output_ended:
            self._output_ended = True
            self._on_output_end()

    def _take_stderr(self, data: bytes) -> None:
        *lines, rest = data.split(b"\n")
        for line in lines:
            self._stderr_line += line
            self._end_stderr_line()
        self._stderr_line += rest
        if len(self._stderr_line) > _LINE_BYTES:
            self._end_stderr_line()

    def _end_stderr_line(self) -> None:
        line = bytes(self._stderr_line).rstrip(b"\r")
        self._stderr_line.clear()
        self._stderr_tail.append(line[:_LINE_BYTES])
        self._on_stderr(line)


def _why_not_started(command: Command, error: OSError | ValueError) -> str:
    program = command.argv[0] if command.argv else ""
    if command.cwd is not None and not os.path.isdir(command.cwd):  # noqa: PTH112 no other use of paths here
        return f"{command} was not started: there is no folder {command.cwd}"
    match error:
        case FileNotFoundError():
            return f"{command} was not started: no program {program!r} was found"
        case PermissionError():
            return f"{command} was not started: {program!r} may not be executed"
        case _:
            return f"{command} was not started: {error}"
