"""A server under examination: its process, what is said to it and everything that comes back.

Nothing here judges.  Bytes go out as they are given, also those that no client would send; what
comes in is kept, messages and noise apart.
"""

from __future__ import annotations

import asyncio

import msgspec

from anywire.doctor.reply import Reply, find_reply
from anywire.doctor.stdio.departure import Departure, WatchedChild
from anywire.doctor.strict import strict_faults
from anywire.transport.process import Command, Events
from anywire.wire.codec import decode, encode
from anywire.wire.evidence import EvidenceFramer
from anywire.wire.framing import Framing
from anywire.wire.limits import DEFAULT_LIMITS
from anywire.wire.message import (
    NULL_ID,
    Batch,
    ErrorResponse,
    Fault,
    FaultKind,
    JsonRpcErrorCode,
    Message,
    Notification,
    Request,
    Response,
    create_error_response,
    folded_key,
    id_key,
)

__all__ = ("Subject", "is_not_utf_8")

# Enough of the output to say what it is, and of what is no message.
_OUTPUT_BYTES = 64 * 1024
_FAULTS = 100
_LOOK_SECONDS = 0.1
# A server that exits closes its stdout first.
_MUTE_SECONDS = 0.5


def is_not_utf_8(fault: Fault) -> bool:
    """Say whether something was meant as a message, and written in another encoding."""
    return fault.kind is FaultKind.PARSE_ERROR and "UTF-8" in fault.reason and fault.data[:1] in (b"{", b"[")


class Subject:
    """One running server.  `start` makes one; `end` must be awaited on every path."""

    def __init__(self, command: Command, writing: Framing) -> None:
        self._command = command
        self._framer = EvidenceFramer(writing, DEFAULT_LIMITS)
        self._child: WatchedChild | None = None
        self._watch: asyncio.Task[None] | None = None
        self._news = asyncio.Event()
        self._asked: set[bytes] = set()
        self._next_id = 0
        self._output_ended_at: float | None = None
        self._is_ending = False
        #: When it was started, on the loop's clock.
        self.started_at = 0.0
        #: The framing in which it is spoken to.
        self.writing = writing
        #: What was sent since the last answer: methods, and `…` for bytes as they were given.
        self.unanswered: list[str] = []
        #: The first of our own messages that came back.
        self.echo = b""
        #: The first request that was answered a second time.
        self.doubled = b""
        #: Every answer, in order.
        self.replies: list[Reply] = []
        #: What came that is no message: the first of it, and how many in all.
        self.faults: list[Fault] = []
        self.fault_count = 0
        #: The first of its output, as it came.
        self.output = bytearray()
        #: The bytes on its stderr.
        self.stderr_bytes = 0
        #: True when it has exited and all it wrote has been read.
        self.gone = False
        #: True when it has exited while nothing was asked, and nobody ended it.
        self.left_unasked = False
        #: True while it can be used for another check.
        self.fit = False

    @classmethod
    async def start(cls, command: Command, writing: Framing) -> Subject:
        """Start the command.  Raises `SpawnFailed`."""
        subject = cls(command, writing)
        events = Events(
            output=subject._receive,
            output_end=subject._end_output,
            room=lambda: None,
            stderr=subject._receive_stderr,
        )
        subject.started_at = asyncio.get_running_loop().time()
        child = await WatchedChild.spawn(command, events)
        assert isinstance(child, WatchedChild)
        subject._child = child
        subject._watch = asyncio.get_running_loop().create_task(subject._watch_exit())
        return subject

    # Saying.

    def new_id(self) -> bytes:
        """Return an id that was not used before."""
        self._next_id += 1
        return str(self._next_id).encode()

    def send(self, message: Message) -> None:
        """Send a message in the subject's framing."""
        if isinstance(message, Request):
            self._asked.add(id_key(message.id))
        if isinstance(message, Request | Notification):
            self.unanswered.append(message.method)
        self._write(self._framer.frame(encode(message)))

    def send_raw(self, data: bytes, *ids: bytes) -> None:
        """Send bytes as they are; `ids` are those of the requests in them."""
        self._asked.update(map(id_key, ids))
        self.unanswered.append("…")
        self._write(data)

    def _write(self, data: bytes) -> None:
        if self._child is not None:
            self._child.write(data)

    # Hearing.

    @property
    def reading(self) -> Framing | None:
        """The framing in which it speaks, None until it has."""
        return self._framer.framing

    @property
    def echoes(self) -> bool:
        """Whether it sent one of our own requests back."""
        return bool(self.echo)

    @property
    def is_mute(self) -> bool:
        """Whether its stdout has been closed for a while, so that no answer can come."""
        ended = self._output_ended_at
        return ended is not None and asyncio.get_running_loop().time() - ended >= _MUTE_SECONDS

    @property
    def work(self) -> int:
        """A number that grows while it does anything."""
        return self._child.work if self._child is not None else 0

    @property
    def last_words(self) -> str:
        """The last lines on its stderr."""
        return self._child.stderr_tail if self._child is not None else ""

    def exit(self) -> str:
        """Say how it exited."""
        return str(self._child.exit_error()) if self._child is not None else "it was not started"

    def strays(self) -> list[Reply]:
        """Return the answers to nothing that was asked."""
        asked = {folded_key(key) for key in self._asked}
        return [
            reply for reply in self.replies if reply.id is None or folded_key(id_key(reply.id)) not in asked
        ]

    def reply(self, id: bytes) -> Reply | None:
        """Return the answer to a request, None while there is none."""
        return find_reply(self.replies, id)

    async def answer(self, id: bytes, seconds: float) -> Reply | None:
        """Wait for the answer to a request; None when there is none in time or ever."""
        loop = asyncio.get_running_loop()
        until = loop.time() + seconds
        while (reply := self.reply(id)) is None and not self.gone and loop.time() < until:
            if self.is_mute:
                break
            ending = self._output_ended_at is not None
            await self.news(_LOOK_SECONDS if ending else until - loop.time())
        return reply

    async def news(self, seconds: float = _LOOK_SECONDS) -> None:
        """Wait until anything happens, at most so long."""
        self._news.clear()
        try:
            async with asyncio.timeout(seconds):
                await self._news.wait()
        except TimeoutError:
            pass

    async def exits_within(self, seconds: float) -> bool:
        """Leave it alone for so long; say whether it exits."""
        loop = asyncio.get_running_loop()
        until = loop.time() + seconds
        while not self.gone and (left := until - loop.time()) > 0:
            await self.news(left)
        return self.gone

    # The end.

    async def leave(self, eof_seconds: float, stragglers_seconds: float) -> Departure:
        """End its input, then insist; say what it took."""
        assert self._child is not None
        self._is_ending = True
        departure = await self._child.leave(eof_seconds, stragglers_seconds)
        await self.end()
        return departure

    async def end(self, *, at_once: bool = False) -> None:
        """End it with all it started.  Idempotent."""
        self.fit = False
        self._is_ending = True
        if self._child is not None:
            if at_once:
                self._child.kill()
            await self._child.end()
        if self._watch is not None:
            # The exit was seen, or it will never be.
            await asyncio.wait([self._watch], timeout=_LOOK_SECONDS)
            self._watch.cancel()

    # What the child calls.

    def _receive(self, chunk: bytes) -> None:
        self.output += chunk[: _OUTPUT_BYTES - len(self.output)]
        self._take(self._framer.feed(chunk))

    def _end_output(self) -> None:
        self._output_ended_at = asyncio.get_running_loop().time()
        self._news.set()

    def _receive_stderr(self, line: bytes) -> None:
        self.stderr_bytes += len(line) + 1
        self._news.set()

    async def _watch_exit(self) -> None:
        assert self._child is not None
        await self._child.wait()
        self._take(self._framer.end())
        self.gone = True
        self.left_unasked = self.fit and not self.unanswered and not self._is_ending
        self.fit = False
        self._news.set()

    def _take(self, frames: list[bytes | Fault]) -> None:
        for frame in frames:
            message = frame if isinstance(frame, Fault) else decode(frame)
            for fault in strict_faults(message):
                self._take_item(fault)
            for item in message.items if isinstance(message, Batch) else (message,):
                self._take_item(item)
        self._news.set()

    def _take_item(self, item: Message | Fault) -> None:
        match item:
            case Fault():
                self.fault_count += 1
                if len(self.faults) < _FAULTS:
                    self.faults.append(item)
            case Request():
                self._serve(item)
            case Response() | ErrorResponse():
                self._take_reply(item)
            case Notification():
                pass

    def _take_reply(self, reply: Reply) -> None:
        self.replies.append(reply)
        if reply.id is not None and not self.doubled:
            key = folded_key(id_key(reply.id))
            asked = sum(folded_key(each) == key for each in self._asked)
            ids = (other.id for other in self.replies if other.id is not None)
            if 0 < asked < sum(folded_key(id_key(id)) == key for id in ids):
                self.doubled = reply.frame
        self.unanswered.clear()

    def _serve(self, request: Request) -> None:
        """Answer a request of the server's as a client without any features does."""
        if request.method in ("initialize", "server/discover"):
            self.echo = self.echo or request.frame  # servers ask for neither: it is our own
        elif request.method == "ping":
            self.send(Response(request.id, b"{}"))
        else:
            reason = f"Method not found: {request.method}"
            error = create_error_response(None, JsonRpcErrorCode.MethodNotFound, reason)
            self.send(msgspec.structs.replace(error, id=request.id or NULL_ID))
