"""A child process, owned from its start to its end.

The child has a session of its own, so that the terminal's signals are for its owner alone; it is
started without a shell and with a small environment; its stderr is always drained and the last of
it kept; and on every path out it is ended with everything it started: stdin is closed, then its
group gets TERM, then KILL, each after a bounded wait.  So is a child whose event loop is shut down
first.  When this process is killed before it can do any of that, a watchdog does it
(`anywire.transport.watchdog`, which also tells what belongs to a child's tree).

Specification: MCP `basic/lifecycle#shutdown`.
"""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Callable, Coroutine
from typing import Any, Final, cast

import msgspec

from anywire.errors import ProcessExited, SpawnFailed
from anywire.transport.activity import cpu_ticks
from anywire.transport.command import Command, why_not_started
from anywire.transport.guardian import guardian
from anywire.transport.posix_fds import FdWriter
from anywire.transport.stderr_tail import StderrTail
from anywire.transport.watchdog import MARK_VARIABLE, Tree
from anywire.wire.limits import DEFAULT_LIMITS, Limits

__all__ = ("ChildProcess", "Command", "Events")

#: Each step of the ending waits so long for the child before the next one.
EOF_SECONDS: Final = 2.0
TERM_SECONDS: Final = 2.0
KILL_SECONDS: Final = 2.0
# What a child left behind saw the end of stdin when the child did: it may be leaving as well.
_LEFT_BEHIND_SECONDS: Final = 0.3
_POLL_SECONDS: Final = 0.02
_LAST_WORDS_SECONDS: Final = 0.25


class Events(msgspec.Struct, frozen=True):
    """What a child calls, from the event loop.

    `output` gets what it writes on stdout; `output_end` comes once, after the last of it; `room`
    when its stdin takes more again; `stderr` gets each line of stderr, without the line feed;
    `input_closed` comes when it no longer reads, which a child that leaves does first.
    """

    output: Callable[[bytes], None]
    output_end: Callable[[], None]
    room: Callable[[], None]
    stderr: Callable[[bytes], None]
    input_closed: Callable[[], None] = lambda: None


class ChildProcess(asyncio.SubprocessProtocol):
    """A running child.  `spawn` makes one; `end` must be awaited on every path."""

    def __init__(self, command: Command, events: Events, limits: Limits) -> None:
        self.command = command
        #: True when something that was written to its stdin never reached it.
        self.lost_input = False
        self._events = events
        self._limits = limits
        self._transport: asyncio.SubprocessTransport | None = None
        self._mark = guardian.new_mark()
        self._tree = Tree(self._mark)
        self._stdin: FdWriter | None = None
        self._unwritten = 0
        self._stderr = StderrTail(self._stderr_line)
        self._output_ended = asyncio.Event()
        self._stderr_ended = asyncio.Event()
        self._exited = asyncio.Event()
        self._life: asyncio.Task[None] | None = None
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
            # Whoever cancels a second time does not stop this.
            await asyncio.shield(asyncio.get_running_loop().create_task(child._undo(starting)))
            raise
        return child

    async def _undo(self, starting: asyncio.Task[None]) -> None:
        await asyncio.wait([starting])
        if not starting.cancelled() and starting.exception() is None:
            await self.end()

    async def _start(self) -> None:
        guardian.starting(self._mark)
        try:
            write_end = await self._exec()
            self._tree.started(self.pid)
            self._life = asyncio.get_running_loop().create_task(self._live())
            self._stdin = self._writer_of(write_end)
            guardian.started(self._mark, self.pid, self._stdin.fileno())
        except (OSError, ValueError) as error:
            await self._undo_start()
            raise SpawnFailed(why_not_started(self.command, error)) from error
        except BaseException:
            self.kill()  # an interrupt can come anywhere
            raise

    def _writer_of(self, write_end: int) -> FdWriter:
        try:
            return FdWriter(write_end, self._limits.write_low_bytes, self._has_room, self._stdin_broken)
        except OSError:
            os.close(write_end)
            raise

    async def _undo_start(self) -> None:
        if self._transport is not None:
            await self.end()
        guardian.forget(self._mark)

    async def _exec(self) -> int:
        """Start the program; return the descriptor on which its stdin is written."""
        read_end, write_end = os.pipe()
        try:
            self._transport, _ = await asyncio.get_running_loop().subprocess_exec(
                lambda: self,
                *self.command.argv,
                stdin=read_end,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                env={**self.command.environment(), MARK_VARIABLE: self._mark},
                cwd=self.command.cwd,
                start_new_session=True,
            )
        except BaseException:
            os.close(write_end)
            raise
        finally:
            os.close(read_end)
        return write_end

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

    @property
    def work(self) -> int:
        """A number that grows while the child or what it started does anything: runs, writes to stderr."""
        return cpu_ticks(self._tree.alive()) + self._stderr.size

    @property
    def cpu_seconds(self) -> float:
        """The processor time that the child and what it started have used so far."""
        return cpu_ticks(self._tree.alive()) / os.sysconf("SC_CLK_TCK")

    def exit_error(self, *, unanswered: bool = False, output: str = "") -> ProcessExited:
        """Describe how the child ended; the options are those of the error."""
        tail = self.stderr_tail
        return ProcessExited(str(self.command), self.returncode, tail, unanswered=unanswered, output=output)

    # Its stdin, stdout and stderr.

    @property
    def buffered(self) -> int:
        """The bytes that wait to be written to its stdin."""
        return self._stdin.buffered if self._stdin is not None else 0

    def write(self, data: bytes) -> None:
        """Write to its stdin; dropped when that is closed."""
        if self._stdin is not None:
            self._stdin.write(data)
            self._unwritten = self._stdin.buffered
            self.lost_input = self.lost_input or self._stdin.broken

    def _has_room(self) -> None:
        self._unwritten = self.buffered
        if self._stdin is None or not self._stdin.broken:  # else the end of it will tell why
            self._events.room()

    def _stdin_broken(self, error: OSError) -> None:
        self.lost_input = self.lost_input or self._unwritten > 0
        self._events.input_closed()

    def pause_output(self) -> None:
        """Stop reading its stdout."""
        if (pipe := self._output_pipe()) is not None:
            pipe.pause_reading()

    def resume_output(self) -> None:
        """Read its stdout again."""
        if (pipe := self._output_pipe()) is not None:
            pipe.resume_reading()

    def _output_pipe(self) -> asyncio.ReadTransport | None:
        pipe = self._transport.get_pipe_transport(1) if self._transport is not None else None
        # Not every event loop derives its transports from asyncio's classes.
        return cast("asyncio.ReadTransport", pipe) if pipe is not None and not pipe.is_closing() else None

    def _stderr_line(self, line: bytes) -> None:
        try:
            self._events.stderr(line)
        except Exception as error:  # noqa: BLE001 stderr must be drained whatever becomes of its lines
            context = {"message": f"a line of stderr of {self.command} was not taken", "exception": error}
            asyncio.get_running_loop().call_exception_handler(context)

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
        """End the child and all of its tree.

        Idempotent and bounded; a caller that is cancelled meanwhile leaves the ending under way.
        """
        if self._ending is None:
            self._ending = asyncio.get_running_loop().create_task(self._end())
        await asyncio.shield(self._ending)

    def kill(self) -> None:
        """End the child and all of its tree without any grace, and without waiting for it."""
        self._tree.signal(signal.SIGKILL)
        guardian.forget(self._mark)

    async def _live(self) -> None:
        """Wait for the exit.  Nobody cancels this but a loop that is shut down with the child alive."""
        try:
            await self._exited.wait()
        except asyncio.CancelledError:
            await self.end()
            raise

    async def _end(self) -> None:
        try:
            self._tree.alive()  # who belongs to it is seen best while all are there
            if not await self._leaves_by_eof():
                await self._leaves_by_signal()
            await self._end_what_it_left()
            if self._exited.is_set():
                await self.wait()
            guardian.forget(self._mark)
        except BaseException as error:
            self.kill()  # the loop is shut down, or an interrupt came
            if isinstance(error, asyncio.CancelledError):
                await _within(KILL_SECONDS, self._exited.wait())
            raise
        finally:
            self._close_stdin()
            if self._life is not None:
                self._life.cancel()
            if self._transport is not None:
                self._transport.close()

    async def _leaves_by_eof(self) -> bool:
        """Close its stdin, after what still waits to be written; say whether it left."""
        loop = asyncio.get_running_loop()
        until = loop.time() + EOF_SECONDS
        if self._stdin is not None and not self._exited.is_set():
            await self._stdin.drain(EOF_SECONDS)
        self._close_stdin()
        return await _within(max(until - loop.time(), 0.05), self._exited.wait())

    async def _leaves_by_signal(self) -> None:
        for number, seconds in ((signal.SIGTERM, TERM_SECONDS), (signal.SIGKILL, KILL_SECONDS)):
            self._tree.signal(number)
            if await _within(seconds, self._exited.wait()):
                return

    def _close_stdin(self) -> None:
        if self._stdin is not None:
            guardian.input_closed(self._mark)
            self._stdin.close()

    async def _end_what_it_left(self) -> None:
        """End the members of its tree that outlive it."""
        if await _within(_LEFT_BEHIND_SECONDS, self._tree_gone()):
            return
        self._tree.signal(signal.SIGTERM)
        if not await _within(_LEFT_BEHIND_SECONDS, self._tree_gone()):
            await _within(KILL_SECONDS, self._tree_gone(signal.SIGKILL))

    async def _tree_gone(self, number: int = 0) -> None:
        """Wait until nothing of the tree lives, and send a signal to what does, again and again."""
        while self._tree.exists():
            if number:
                self._tree.signal(number)  # also to what was started since
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
