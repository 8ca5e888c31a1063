"""The calling end of stdio: a child process that is a server.

Reading never stops by itself, however full the way to the child is: two ends that both stop would
lock each other.  Senders wait instead.

Specification: MCP `basic/transports#stdio`, `basic/lifecycle#shutdown`.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from functools import partial
from typing import Final

from anywire.errors import AnywireError, TransportBroken, TransportClosed, TransportError
from anywire.transport.attempt import Attempt, is_answer, is_message, is_refusal
from anywire.transport.contract import refuse_when_closed
from anywire.transport.process import ChildProcess, Command, Events
from anywire.transport.silence import explain
from anywire.transport.stream import StreamTransport
from anywire.wire.codec import decode, encode
from anywire.wire.detect import new_framer
from anywire.wire.evidence import EvidenceFramer
from anywire.wire.framing import Frame, Framing
from anywire.wire.limits import DEFAULT_LIMITS, Limits
from anywire.wire.message import Batch, Fault, Message, Request

__all__ = ("StdioClientTransport",)

_log = logging.getLogger("anywire.child")

# Between a child's exit and the end of its output, or the other way round.
_LEAVING_SECONDS: Final = 0.5
# A child that used no processor time for so long is not starting, it is waiting.
_IDLE_SECONDS: Final = 1.0
_LOOK_SECONDS: Final = 0.25
#: Only what can be said twice without harm is said again to a child that was started again.
_REPEATABLE: Final = frozenset({"server/discover", "initialize", "ping"})

# The framing that each command turned out to read.  One entry a command line that was ever used
# with `framing=None`; the oldest go when there are too many.
_verdicts: dict[tuple[tuple[str, ...], str | None], Framing] = {}
_MAX_VERDICTS: Final = 256


class StdioClientTransport(StreamTransport):
    """Speaks to a child over its stdin and stdout; starts it, and ends it with its whole tree.

    With a `framing` of None it is found out: the first message goes out newline-framed; a child that
    stays silent and idle for `Limits.probe_seconds` is ended and started once more with headers.
    What comes back is read in whichever framing it is.  The verdict is remembered for the command.

    `on_stderr` gets each line the child writes to stderr; by default they go to the log
    `anywire.child` with the command before them.  When the child leaves by itself, `on_close` gets a
    `ProcessExited` with its exit code and last words; when it closes its stdin and runs on, a
    `TransportBroken`.
    """

    def __init__(
        self,
        command: Command,
        *,
        framing: Framing | None = Framing.NEWLINE,
        limits: Limits = DEFAULT_LIMITS,
        on_stderr: Callable[[bytes], None] | None = None,
    ) -> None:
        self._remembered = None if framing else _verdicts.get(_key(command))
        self._undecided = framing is None and self._remembered is None
        writing = framing or self._remembered or Framing.NEWLINE
        framer = new_framer(writing, limits) if framing else EvidenceFramer(writing, limits)
        super().__init__(str(command), framer, limits)
        self._command = command
        self._on_stderr = on_stderr or self._log_stderr
        self._attempt = Attempt(writing, framer)
        self._tried = [writing]
        self._first: Message | Batch | None = None
        self._said: list[Message | Batch] = []  # while it is not known what the child reads
        self._heard = False  # a message at least
        self._asked = False  # in this turn of the loop
        self._busy_seconds = 0.0
        self._spawned = asyncio.Event()
        self._spawned.set()
        self._watch: asyncio.Task[None] | None = None
        self._probe: asyncio.Task[None] | None = None
        self._starting_again: asyncio.Task[None] | None = None
        self._close: asyncio.Task[None] | None = None

    @property
    def child(self) -> ChildProcess | None:
        """The child, None before `start()`."""
        return self._attempt.child

    async def start(self) -> None:
        """Start the child.  Raises `SpawnFailed`."""
        refuse_when_closed(self._closing, self.name)
        await self._spawn(self._attempt)

    async def _spawn(self, attempt: Attempt) -> None:
        events = Events(
            output=partial(self._output, attempt),
            output_end=attempt.output_ended.set,
            room=self.room_again,
            stderr=self._on_stderr,
            input_closed=partial(self._input_closed, attempt),
        )
        self._spawned.clear()
        try:
            child = await ChildProcess.spawn(self._command, events, self._limits)
            if self._closing:  # meanwhile
                await child.end()
                raise TransportClosed(f"{self.name} was closed while it started")
        finally:
            self._spawned.set()
        self._attempt, self._framer = attempt, attempt.framer
        self.attach(child)
        attempt.child = child
        self._watch = asyncio.get_running_loop().create_task(self._watch_exit(attempt, child))
        if attempt.early:
            self.receive(bytes(attempt.early))

    # Messages.

    def _output(self, attempt: Attempt, chunk: bytes) -> None:
        """Take output of a child, which may be one that is being replaced."""
        attempt.words.note(chunk, asyncio.get_running_loop().time())
        if attempt.child is None:
            attempt.early += chunk
        elif attempt is self._attempt and self._starting_again is None:
            self.receive(chunk)
        else:
            # Whatever the old child says while it leaves, the new one is asked again.
            attempt.answered = attempt.answered or any(map(is_answer, attempt.framer.feed(chunk)))

    def receive(self, chunk: bytes) -> None:
        """Take output of the child."""
        frames = self._framer.feed(chunk)
        if not self._heard:
            self._heard = any(is_message(frame, self._limits) for frame in frames)
        self._deliver(self._decide(frames) if self._undecided else frames)

    def post(self, message: Message | Batch, related: bytes | None = None) -> None:
        """Send without waiting for room."""
        if self._closing:
            refuse_when_closed(True, self.name)
        if self._attempt.deaf:
            raise TransportBroken(_deaf(self.name))
        if self._first is None:
            self._first = message
        if not self._undecided:
            if type(message) is Request:
                self._ask(message)
            else:
                super().post(message, related)
            return
        self._said.append(message)
        if self._starting_again is None:  # else it is said to the next child
            self._say(message)
        if self._probe is None:
            self._probe = asyncio.get_running_loop().create_task(self._probe_framing(self._attempt))

    def _ask(self, request: Request) -> None:
        """Send a request: the first of a turn of the loop at once, those of other callers in one write."""
        assert self._outbox is not None, "post() before start()"
        self._outbox.put(encode(request), not self._asked)
        if not self._asked:
            self._asked = True
            # While the child reads the first one: nobody waits for this.
            asyncio.get_running_loop().call_soon(self._next_turn)

    def _next_turn(self) -> None:
        self._asked = False

    def _say(self, message: Message | Batch) -> None:
        """Say something to a child of which it is not known what it reads.

        Behind headers it ends in a newline, so that a child which reads lines finds it as well.
        """
        if self._attempt.writing is Framing.HEADERS and not isinstance(message, Batch):
            assert self._outbox is not None, "post() before start()"
            self._outbox.put(encode(message) + b"\n", True)
        else:
            super().post(message)

    def pause_reading(self) -> None:
        """Stop reading the child's output; it will wait once the pipe is full."""
        if self.child is not None:
            self.child.pause_output()

    def resume_reading(self) -> None:
        """Read the child's output again."""
        if self.child is not None:
            self.child.resume_output()

    # Which framing does it read?

    def _decide(self, frames: list[Frame | Fault]) -> list[Frame | Fault]:
        """Conclude from what came back what the child reads; return what is to be handed on.

        A message in the framing that it was spoken to in, or an answer in any, settles it.  An error
        without an id in the other framing says that it did not understand.
        """
        attempt, kept = self._attempt, list[Frame | Fault]()
        for frame in frames:
            message = frame if isinstance(frame, Fault) else decode(frame, self._limits)
            if self._undecided and not isinstance(message, Fault) and attempt.reading is not attempt.writing:
                if is_refusal(message):
                    if Framing.HEADERS not in self._tried and self._can_repeat():
                        self._start_again(Framing.HEADERS)
                        return kept
                    if attempt.writing is Framing.HEADERS:
                        continue  # the headers before a line are no lines
                elif is_answer(frame):
                    # Written with headers and read as a line, see `_say`; or written as a line.
                    self._conclude(Framing.NEWLINE)
            elif self._undecided and not isinstance(message, Fault):
                self._conclude(attempt.writing)
            kept.append(frame)
        return kept

    def _conclude(self, reads: Framing) -> None:
        self._undecided = False
        self._said.clear()
        self._attempt.writing = reads
        if isinstance(self._framer, EvidenceFramer):
            self.flush()  # what was said so far is framed as it was
            self._framer.write_in(reads)
        if len(_verdicts) >= _MAX_VERDICTS:
            del _verdicts[next(iter(_verdicts))]
        _verdicts[_key(self._command)] = reads

    def _can_repeat(self) -> bool:
        return all(isinstance(said, Request) and said.method in _REPEATABLE for said in self._said)

    async def _probe_framing(self, attempt: Attempt) -> None:
        if await self._stays_silent(attempt) and self._can_repeat():
            self._start_again(Framing.HEADERS)

    async def _stays_silent(self, attempt: Attempt) -> bool:
        """Wait for the probe's time and until the child is idle; say whether it is still silent."""
        loop = asyncio.get_running_loop()
        began = busy = loop.time()
        work = -1
        while self._is_waiting(attempt) and attempt.child is not None:
            now = loop.time()
            if (done := attempt.child.work) != work:
                work, busy = done, now
            if now - began >= self._limits.probe_seconds and now - busy >= _IDLE_SECONDS:
                return True
            await asyncio.sleep(_LOOK_SECONDS)
        return False

    def _is_waiting(self, attempt: Attempt) -> bool:
        return self._undecided and not self._closing and attempt is self._attempt and not self._starting_again

    def _start_again(self, framing: Framing) -> None:
        """End the child and start another to which the same is said."""
        restart = self._replace(self._attempt, framing)
        self._starting_again = asyncio.get_running_loop().create_task(restart)

    async def _replace(self, old: Attempt, framing: Framing) -> None:
        assert old.child is not None
        if self._watch is not None:
            self._watch.cancel()
        await self._end_child(old)
        if self._closing:
            return
        if old.answered:  # it had understood, and was only slow, or held its output back
            framing = old.writing
        self._tried.append(framing)
        _log.info("%s: no answer; started again with %s framing", self.name, framing.value)
        try:
            await self._spawn(Attempt(framing, EvidenceFramer(framing, self._limits)))
        except TransportError as error:
            if not self._closing:
                self.fire_close(error)
            return
        self._starting_again = None
        self.room_again()
        for message in list(self._said):
            self._say(message)

    # The end.

    async def close(self) -> None:
        """End the child: first by the end of its stdin, then by TERM, then by KILL to its tree."""
        self._closing = True
        if self._close is None:
            self._close = asyncio.get_running_loop().create_task(self._close_all())
        await asyncio.shield(self._close)

    async def _close_all(self) -> None:
        for task in (self._probe, self._starting_again):
            if task is not None:
                task.cancel()
                await asyncio.wait([task])
        await self._spawned.wait()
        self.flush()
        self._forget_wrong_verdict()
        await self._end_child(self._attempt)
        self.fire_close(None)
        if self._watch is not None:
            self._watch.cancel()

    async def _end_child(self, attempt: Attempt) -> None:
        if attempt.child is None:
            return
        if attempt.reading is None and not attempt.words.text:
            self._busy_seconds = attempt.child.cpu_seconds
        attempt.words.input_ended = asyncio.get_running_loop().time()
        await attempt.child.end()

    def _forget_wrong_verdict(self) -> None:
        """A command that says nothing in the framing it once spoke is tried in both the next time."""
        if self._remembered is not None and self._attempt.reading is not self._remembered:
            _verdicts.pop(_key(self._command), None)

    async def _watch_exit(self, attempt: Attempt, child: ChildProcess) -> None:
        """When the child leaves by itself, say so and end what it left behind."""
        loop = asyncio.get_running_loop()
        waits = [child.wait(), attempt.output_ended.wait(), attempt.useless.wait()]
        tasks = [loop.create_task(wait) for wait in waits]
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            # Exit code and last output come in any order, and a grandchild may keep the output open.
            await asyncio.wait(tasks[:2], timeout=_LEAVING_SECONDS)
        finally:
            for task in tasks:
                task.cancel()
        if self._tried == [Framing.NEWLINE, Framing.HEADERS] and self._is_waiting(attempt):
            self._start_again(Framing.NEWLINE)  # headers were too much for it
            return
        self.receive_end()
        if not self._closing:
            self._forget_wrong_verdict()
            self.fire_close(self._why_it_ended(attempt, child))
        await child.end()

    def _why_it_ended(self, attempt: Attempt, child: ChildProcess) -> AnywireError:
        if attempt.useless.is_set() and child.returncode is None:
            return TransportBroken(_deaf(self.name))
        if self._heard:
            return child.exit_error()
        return child.exit_error(unanswered=self._first is not None, output=attempt.words.shown)

    def _input_closed(self, attempt: Attempt) -> None:
        """It closed its stdin.  Whether it is leaving shows soon; else nothing can be told to it any more."""
        asyncio.get_running_loop().call_later(_LEAVING_SECONDS, self._runs_on_deaf, attempt)

    def _runs_on_deaf(self, attempt: Attempt) -> None:
        if attempt.child is not None and attempt.child.returncode is None:
            attempt.deaf = True
            if attempt.child.lost_input:
                attempt.useless.set()

    def input_ended(self) -> None:
        """The child's output has ended; `on_close` follows with the reason."""

    # What happened.

    def explain_silence(self) -> str:
        """Say in a sentence why a child that was started may not have answered.

        Meant for after `close()`, which shows whether its output was only held back.
        """
        child = self.child
        return explain(
            self._attempt.words,
            stderr=child.stderr_tail if child is not None else "",
            asked=self._first.method.encode() if isinstance(self._first, Request) else None,
            tried=self._tried,
            busy_seconds=self._busy_seconds,
        )

    def _log_stderr(self, line: bytes) -> None:
        _log.info("%s: %s", self.name, line.decode("utf-8", "replace"))


def _deaf(name: str) -> str:
    return f"{name} has closed its input, so that nothing more can be told to it, and runs on"


def _key(command: Command) -> tuple[tuple[str, ...], str | None]:
    """Leave the environment out: it may hold secrets, and does not change what a program reads."""
    return command.argv, command.cwd
