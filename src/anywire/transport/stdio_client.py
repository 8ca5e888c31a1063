"""The calling end of stdio: a child process that is a server.

Reading never stops by itself, however full the way to the child is: two ends that both stop would
lock each other.  Senders wait instead.

Specification: MCP `basic/transports#stdio`, `basic/lifecycle#shutdown`.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Final

from anywire.errors import ConnectFailed, TransportClosed, TransportError
from anywire.transport.activity import cpu_ticks
from anywire.transport.process import ChildProcess, Command, Events
from anywire.transport.stream import StreamTransport
from anywire.transport.watchdog import tree_of
from anywire.wire.detect import new_framer
from anywire.wire.evidence import EvidenceFramer
from anywire.wire.framing import Framing
from anywire.wire.limits import DEFAULT_LIMITS, Limits
from anywire.wire.message import Batch, Message, Request

__all__ = ("StdioClientTransport",)

_log = logging.getLogger("anywire.child")

# Between a child's exit and the end of its output, or the other way round.
_LEAVING_SECONDS: Final = 0.5
# A child that used no processor time for so long is not starting, it is waiting.
_IDLE_SECONDS: Final = 1.0
_LOOK_SECONDS: Final = 0.25
_FIRST_BYTES: Final = 4096
#: Only what can be said twice without harm is said again to a child that was started again.
_REPEATABLE: Final = frozenset({"initialize", "ping", "server/discover"})

# The framing that each command turned out to read.  One entry a command line that was ever used
# with `framing=None`; the oldest go when there are too many.
_verdicts: dict[tuple[tuple[str, ...], str | None], Framing] = {}
_MAX_VERDICTS: Final = 256


class StdioClientTransport(StreamTransport):
    """Speaks to a child over its stdin and stdout; starts it, and ends it with its whole group.

    With a `framing` of None it is found out: the first message goes out newline-framed; a child that
    stays silent and idle for `Limits.probe_seconds` is ended and started once more with headers.
    What comes back is read in whichever framing it is.  The verdict is remembered for the command.

    `on_stderr` gets each line the child writes to stderr; by default they go to the log
    `anywire.child` with the command before them.  When the child leaves by itself, `on_close` gets a
    `ProcessExited` with its exit code and last words.
    """

    def __init__(
        self,
        command: Command,
        *,
        framing: Framing | None = Framing.NEWLINE,
        limits: Limits = DEFAULT_LIMITS,
        on_stderr: Callable[[bytes], None] | None = None,
    ) -> None:
        known = framing or _verdicts.get(_key(command))
        self._probing = known is None
        self._writing = known or Framing.NEWLINE
        self._evidence = None if framing else EvidenceFramer(self._writing, limits)
        super().__init__(str(command), self._evidence or new_framer(self._writing, limits), limits)
        self._command = command
        self._on_stderr = on_stderr or self._log_stderr
        self._child: ChildProcess | None = None
        self._watch: asyncio.Task[None] | None = None
        self._probe: asyncio.Task[None] | None = None
        self._output_ended = asyncio.Event()
        self._first_sent: list[Message | Batch] = []
        self._first_output = bytearray()
        self._silent_until_ended = True
        self._starting_again = False
        self._tried = [self._writing]

    @property
    def child(self) -> ChildProcess | None:
        """The child, None before `start()`."""
        return self._child

    async def start(self) -> None:
        """Start the child.  Raises `SpawnFailed`."""
        await self._spawn()

    async def _spawn(self) -> None:
        output_ended = self._output_ended = asyncio.Event()
        events = Events(self.receive, output_ended.set, self.room_again, self._on_stderr)
        child = await ChildProcess.spawn(self._command, events, self._limits)
        self._child = child
        if self._closing:  # meanwhile
            await child.end()
            raise TransportClosed(f"{self.name} was closed while it started")
        self.attach(child)
        self._watch = asyncio.get_running_loop().create_task(self._watch_exit(child, output_ended))

    # Messages.

    def receive(self, chunk: bytes) -> None:
        """Take output of the child."""
        if len(self._first_output) < _FIRST_BYTES:
            self._first_output += chunk[:_FIRST_BYTES]
            ending = self._closing or self._starting_again
            self._silent_until_ended = self._silent_until_ended and ending
        if self._starting_again:
            return  # whatever the old child says while it leaves, the new one is asked again
        super().receive(chunk)
        if self._probing and self._evidence is not None and self._evidence.framing is not None:
            self._conclude(self._evidence.framing)

    def post(self, message: Message | Batch, related: bytes | None = None) -> None:
        """Send without waiting for room."""
        super().post(message, related)
        if not self._first_sent or self._probing:
            self._first_sent.append(message)
        if self._probing and self._probe is None:
            self._probe = asyncio.get_running_loop().create_task(self._probe_framing())

    def pause_reading(self) -> None:
        """Stop reading the child's output; it will wait once the pipe is full."""
        if self._child is not None:
            self._child.pause_output()

    def resume_reading(self) -> None:
        """Read the child's output again."""
        if self._child is not None:
            self._child.resume_output()

    # Which framing does it read?

    def _conclude(self, reads_back: Framing) -> None:
        """The child has said something: that settles what it reads, if it can be an answer to it."""
        if reads_back is Framing.NEWLINE and self._writing is Framing.HEADERS and len(self._tried) == 2:
            self._probe = asyncio.get_running_loop().create_task(self._start_again(Framing.NEWLINE))
            return
        self._probing = False
        if len(_verdicts) >= _MAX_VERDICTS:
            del _verdicts[next(iter(_verdicts))]
        _verdicts[_key(self._command)] = self._writing

    async def _probe_framing(self) -> None:
        if await self._stays_silent() and all(map(_is_repeatable, self._first_sent)):
            await self._start_again(Framing.HEADERS)

    async def _stays_silent(self) -> bool:
        """Wait for the probe's time and until the child is idle; say whether it is still silent."""
        loop = asyncio.get_running_loop()
        began = busy = loop.time()
        used = -1
        while self._probing and not self._closing and self._child is not None:
            now_used = cpu_ticks(tree_of(self._child.pid)) + len(self._child.stderr_tail)
            if now_used != used:
                used, busy = now_used, loop.time()
            now = loop.time()
            if now - began >= self._limits.probe_seconds and now - busy >= _IDLE_SECONDS:
                return True
            await asyncio.sleep(_LOOK_SECONDS)
        return False

    async def _start_again(self, framing: Framing) -> None:
        """End the child and start another to which the same is said in the other framing."""
        assert self._child is not None
        if self._watch is not None:
            self._watch.cancel()
        self._tried.append(framing)
        _log.info("%s: silent; started again with %s framing", self.name, framing.value)
        self._starting_again = True
        await self._child.end()
        self._starting_again = False
        if self._closing:
            return
        if self._first_output and self._silent_until_ended:
            self.fire_close(ConnectFailed(f"{self.name}: {self.explain_silence()}"))
            return
        self._writing = framing
        self._framer = self._evidence = EvidenceFramer(framing, self._limits)
        self._first_output.clear()
        try:
            await self._spawn()
        except TransportError as error:
            if not self._closing:
                self.fire_close(error)
            return
        for message in self._first_sent:
            super().post(message)

    # The end.

    async def close(self) -> None:
        """End the child: first by the end of its stdin, then by TERM, then by KILL to its group."""
        self._closing = True
        if self._probe is not None and self._probe is not asyncio.current_task():
            self._probe.cancel()
        if self._child is not None:
            self.flush()
            await self._child.end()
        self.fire_close(None)
        if self._watch is not None and self._watch is not asyncio.current_task():
            self._watch.cancel()

    async def _watch_exit(self, child: ChildProcess, output_ended: asyncio.Event) -> None:
        """When the child leaves by itself, say so and end what it left behind."""
        leaving = asyncio.create_task(child.wait()), asyncio.create_task(output_ended.wait())
        try:
            await asyncio.wait(leaving, return_when=asyncio.FIRST_COMPLETED)
            # Exit code and last output come in any order, and a grandchild may keep the output open.
            await asyncio.wait(leaving, timeout=_LEAVING_SECONDS)
        finally:
            for task in leaving:
                task.cancel()
        self.receive_end()
        if not self._closing:
            self.fire_close(child.exit_error())
        await child.end()

    def input_ended(self) -> None:
        """The child's output has ended; `on_close` follows with the reason."""

    # What happened.

    def explain_silence(self) -> str:
        """Say in a sentence why a child that was started may not have answered.

        Meant for after `close()`, which shows whether its output was only held back.
        """
        first, child = bytes(self._first_output), self._child
        tail = child.stderr_tail if child is not None else ""
        if first and self._is_echo(first):
            return "it echoed our own bytes: a terminal, or `cat`, stands where the server should be"
        if first and self._silent_until_ended:
            return (
                "it answered only when its input ended: its output is block-buffered; "
                "make it flush after each message"
            )
        shown = first[:120].decode("utf-8", "backslashreplace")
        if first.lstrip()[:8].lower() == b"content-" and self._writing is Framing.NEWLINE:
            return f"it speaks another framing, with Content-Length headers: {shown!r}"
        if first:
            return f"what it wrote on stdout is no answer: {shown!r}"
        tried = " and ".join(framing.value for framing in self._tried)
        if tail:
            return f"it wrote to stderr only ({tried} framing tried); its last words: {tail}"
        return f"it runs, but wrote nothing at all ({tried} framing tried)"

    def _is_echo(self, first: bytes) -> bool:
        sent = self._first_sent[0] if self._first_sent else None
        return isinstance(sent, Request) and b'"method":"%b"' % sent.method.encode() in first

    def _log_stderr(self, line: bytes) -> None:
        _log.info("%s: %s", self.name, line.decode("utf-8", "replace"))


def _is_repeatable(message: Message | Batch) -> bool:
    return isinstance(message, Request) and message.method in _REPEATABLE


def _key(command: Command) -> tuple[tuple[str, ...], str | None]:
    """Leave the environment out: it may hold secrets, and does not change what a program reads."""
    return command.argv, command.cwd
