"""The calling end of stdio: a child process that is a server.

Reading never stops, however full the way to the child is: two ends that both stop would lock each
other.  Senders wait instead.

Specification: MCP `basic/transports#stdio`, `basic/lifecycle#shutdown`.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

from anywire.transport.process import ChildProcess, Command
from anywire.transport.stream import StreamTransport
from anywire.wire.detect import new_framer
from anywire.wire.framing import Framing
from anywire.wire.limits import DEFAULT_LIMITS, Limits

__all__ = ("StdioClientTransport",)

# Between a child's exit and the end of its output, or the other way round.
_LEAVING_SECONDS = 0.5

_log = logging.getLogger("anywire.child")


class StdioClientTransport(StreamTransport):
    """Speaks to a child over its stdin and stdout; starts it, and ends it with its whole group.

    `on_stderr` gets each line the child writes to stderr; by default they go to the log
    `anywire.child` with the command before them.  When the child exits by itself, `on_close` gets a
    `ProcessExited` with its exit code and last words.
    """

    def __init__(
        self,
        command: Command,
        *,
        framing: Framing = Framing.NEWLINE,
        limits: Limits = DEFAULT_LIMITS,
        on_stderr: Callable[[bytes], None] | None = None,
    ) -> None:
        super().__init__(str(command), new_framer(framing, limits), limits)
        self._command = command
        self._on_stderr = on_stderr or self._log_stderr
        self._child: ChildProcess | None = None
        self._watch: asyncio.Task[None] | None = None
        self._output_ended = asyncio.Event()

    async def start(self) -> None:
        """Start the child.  Raises `SpawnFailed`."""
        self._child = await ChildProcess.spawn(
            self._command,
            on_output=self.receive,
            on_output_end=self.receive_end,
            on_room=self.room_again,
            on_stderr=self._on_stderr,
        )
        self.attach(self._child)
        self._watch = asyncio.get_running_loop().create_task(self._watch_exit(self._child))

    def end_sending(self) -> None:
        """Tell the child that no more will be sent: its stdin ends after what was sent."""
        self.flush()
        if self._child is not None:
            self._child.close_stdin()

    async def close(self) -> None:
        """End the child: first by the end of its stdin, then by TERM, then by KILL to its group."""
        self._closing = True
        if self._child is None:
            self.fire_close(None)
            return
        self.flush()
        await self._child.end()
        self.fire_close(None)
        if self._watch is not None and self._watch is not asyncio.current_task():
            self._watch.cancel()

    def input_ended(self) -> None:
        """The child closed its output: it has exited, is about to, or will be ended for it."""
        self._output_ended.set()

    def pause_reading(self) -> None:
        """Stop reading the child's output; it will wait once the pipe is full."""
        if self._child is not None:
            self._child.pause_output()

    def resume_reading(self) -> None:
        """Read the child's output again."""
        if self._child is not None:
            self._child.resume_output()

    async def _watch_exit(self, child: ChildProcess) -> None:
        """When the child leaves by itself, say so and end what it left behind."""
        leaving = asyncio.create_task(child.wait()), asyncio.create_task(self._output_ended.wait())
        await asyncio.wait(leaving, return_when=asyncio.FIRST_COMPLETED)
        # Exit code and last output come in any order, and a grandchild may keep the output open.
        await asyncio.wait(leaving, timeout=_LEAVING_SECONDS)
        for task in leaving:
            task.cancel()
        self.receive_end()
        if not self._closing:
            self.fire_close(child.exit_error())
        await child.end()

    def _log_stderr(self, line: bytes) -> None:
        _log.info("%s: %s", self.name, line.decode("utf-8", "replace"))
