"""An examination: the server, what was found so far, and how a step asks its questions."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final

import msgspec

from anywire.doctor.asked import Broken, Unfit
from anywire.doctor.check import Finding, finding_of
from anywire.doctor.era import INITIALIZED, Era
from anywire.doctor.patience import Patience
from anywire.doctor.reply import Reply
from anywire.doctor.stdio.check import STDIO_CHECKS
from anywire.doctor.stdio.subject import Subject, is_not_utf_8
from anywire.errors import SpawnFailed
from anywire.protocol.modern import LATEST_STATELESS_REVISION
from anywire.transport.process import Command
from anywire.wire.framing import Framing
from anywire.wire.message import Fault, Request, Response

__all__ = ("Examination", "Step")


#: What a server that exits for another reason seems to do wrong as well.
_MAY_FOLLOW: Final = frozenset(
    {
        "not-again",
        "ping",
        "malformed-fatal",
        "long-message",
        "crlf",
        "bom",
        "exit-code",
        "probe-fatal",
        "probe-silence",
        "probe-breaks",
        "revision-silence",
    }
)


class Step(msgspec.Struct, frozen=True):
    """One part of an examination; `run` returns the ids of the checks that it could make."""

    title: str
    run: Callable[[Examination], Awaitable[tuple[str, ...]]]


class Examination:
    """What is known of a server so far.

    Steps ask with `conversation()`, `ask()` and `fence()`, and tell with `find()`.
    """

    def __init__(self, command: Command, framing: Framing | None, patience: Patience) -> None:
        self.command = command
        self.patience = patience
        #: The framing in which it is spoken to, None until that is known.
        self.framing = framing
        #: How it is spoken to, and whether it can be spoken to without a handshake as well.
        self.era = Era()
        self.also_stateless = False
        #: What was found, by the id of the check.
        self.findings: dict[str, Finding] = {}
        #: What it says of itself, as plain JSON data.
        self.server: dict[str, object] = {}
        #: From the start to the first answer.
        self.first_answer_seconds: float | None = None
        #: How often it was started, and the first of our own messages that it sent back.
        self.starts = 0
        self.echo = b""
        #: The first request that it answered a second time.
        self.doubled = b""
        #: What became of a request that has no answer.
        self.silence = f"had no answer within {patience.answer_seconds:g} s"
        #: The longest that an answer took, also behind something else.
        self.delay = 0.0
        #: The slowest answer to a simple request, and its method.
        self.slowest: tuple[float, str] = (0.0, "ping")
        #: The method whose answer shows that everything before it has been handled.
        self.fence_method = self.era.harmless
        #: What came on stdout that is no message, of all starts: the first of it, and how many in all.
        self.faults: list[Fault] = []
        self.fault_count = 0
        #: The most that one start wrote on stderr.
        self.stderr_bytes = 0
        self._subject: Subject | None = None
        self._next_id = 0

    def find(self, id: str, found: str) -> None:
        """Tell what is wrong; the first word on each check counts.

        Raises `Broken` for what may only follow from an exit that was told before.
        """
        if id in _MAY_FOLLOW and self.has_broken:
            raise Broken
        self.findings.setdefault(id, finding_of(STDIO_CHECKS[id], found))

    def speak(self, era: Era) -> None:
        """From now on speak to it in this way."""
        self.era, self.fence_method = era, era.harmless

    def new_id(self) -> bytes:
        """Return an id that was not used before."""
        self._next_id += 1
        return b'"anywire-%d"' % self._next_id

    # Servers.

    @property
    def has_broken(self) -> bool:
        """Whether it has ended a conversation by itself."""
        return bool(self.findings.keys() & {"exits-later", "closes-stdout"})

    @property
    def spoiled(self) -> bool:
        """Whether the running server has written messages in another encoding."""
        return self._subject is not None and any(map(is_not_utf_8, self._subject.faults))

    @property
    def answer_seconds(self) -> float:
        """How long an answer may take, also behind another one: longer where answers were slow."""
        return self.patience.answer_seconds + 2 * self.delay

    @property
    def restart_seconds(self) -> float:
        """How long a new start gets to answer something it may not answer: twice what is usual."""
        return 2 * ((self.first_answer_seconds or 0.0) + self.patience.silent_seconds)

    async def start(self, writing: Framing | None = None) -> Subject:
        """Start the server anew, after ending the last one.  Raises `SpawnFailed`."""
        await self.drop()
        self.starts += 1
        self._subject = await Subject.start(self.command, writing or self.framing or Framing.NEWLINE)
        return self._subject

    async def drop(self) -> None:
        """End the server that is running, and keep what it wrote besides messages."""
        subject, self._subject = self._subject, None
        if subject is not None:
            if subject.left_unasked and not self.has_broken:
                self.find("exits-later", f"by itself, after its last answer: {subject.exit()}")
            self.echo = self.echo or subject.echo
            self.doubled = self.doubled or subject.doubled
            await subject.end(at_once="ignores-eof" in self.findings)
            self.faults += subject.faults
            self.fault_count += subject.fault_count
            self.stderr_bytes = max(self.stderr_bytes, subject.stderr_bytes)

    async def conversation(self) -> Subject:
        """Return a server that is fit to be asked: the running one, or a new one.

        Raises `Unfit` when a new one does not answer as the first one did, or breaks off as one did before.
        """
        if self._subject is not None and self._subject.fit:
            return self._subject
        try:
            subject = await self.start()
        except SpawnFailed as error:
            self.find("not-again", str(error))
            raise Unfit from error
        id = subject.new_id()
        opening = self.era.opening(id)
        subject.send(opening)
        if not isinstance(await subject.answer(id, self.patience.start_seconds), Response):
            how = subject.exit() if subject.gone else f"{opening.method} was not answered as it was before"
            if not self.has_broken:
                self.find("not-again", how)
            raise Unfit
        if not self.era.stateless:
            subject.send(INITIALIZED)
        subject.fit = True
        if self.has_broken and not await self.fence(subject):
            raise Unfit
        return subject

    # Questions.

    async def ask(self, subject: Subject, method: str, params: bytes | None = None) -> Reply | None:
        """Ask and wait for the answer; None when there is none.

        Raises `Broken` when the server exits instead, which is a finding.
        """
        id = subject.new_id()
        subject.send(self.era.request(id, method, params))
        began = asyncio.get_running_loop().time()
        reply = await subject.answer(id, self.answer_seconds)
        self.check_alive(subject, f"the request {method!r}")
        if reply is not None:
            seconds = asyncio.get_running_loop().time() - began
            self.slowest, self.delay = max(self.slowest, (seconds, method)), max(self.delay, seconds)
        return reply

    async def request(self, method: str, params: bytes | None = None) -> Reply | None:
        """Ask in a conversation that is going well; None: no answer came.

        Raises `Unfit` and `Broken`.
        """
        return await self.ask(await self.conversation(), method, params)

    async def talk(self, request: Request, revision: str = LATEST_STATELESS_REVISION) -> Reply | None:
        """Send a request of the stateless era, with all that it says of itself; None: it has no answer.

        Raises `Unfit` and `Broken`.
        """
        subject = await self.conversation()
        subject.send(request)
        reply = await subject.answer(request.id, self.restart_seconds)
        self.check_alive(subject, f"the request {request.method!r} in version {revision}")
        return reply

    async def fence(self, subject: Subject) -> bool:
        """Ask something harmless; when it is answered, so should be everything that was asked before."""
        id = subject.new_id()
        subject.send(self.era.request(id, self.fence_method))
        return await subject.answer(id, self.answer_seconds) is not None

    async def ask_before_fence(self, subject: Subject, request: Request) -> Reply | None:
        """Ask, and wait no longer than it takes to answer something harmless that was asked after it."""
        subject.send(request)
        return await self.overdue(subject, request.id)

    async def overdue(self, subject: Subject, id: bytes) -> Reply | None:
        """Return the answer to what was asked before; what has none when a fence has is overdue."""
        waiting = self.patience.overdue_seconds + self.delay if await self.fence(subject) else 0.0
        reply = await subject.answer(id, waiting)
        if reply is None and not waiting:
            subject.fit = False
        return reply

    def check_alive(self, subject: Subject, after: str) -> None:
        """Raise `Broken` for a server that has exited or takes its leave, and tell after what."""
        if INITIALIZED.method in subject.unanswered:
            after = f"{INITIALIZED.method} and {after}"
        if subject.gone:
            self.find("exits-later", f"after {after}: {subject.exit()}")
            raise Broken
        if subject.is_mute:
            subject.fit = False
            self.find("closes-stdout", f"after {after} it was still there, and its stdout was closed")
            raise Broken
