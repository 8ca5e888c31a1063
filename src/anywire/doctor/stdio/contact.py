"""The first contact: can it be started, which framing does it speak, does it answer initialize?

Asked in lines first.  A server that stays silent is asked in headers, and then, with all patience, in
lines again: some only start slowly.  One that answers when its input ends had its answer all along.
"""

from __future__ import annotations

import asyncio
import re
from enum import Enum, auto

from anywire.doctor.asked import Unfit
from anywire.doctor.era import INITIALIZED, Era, initialize
from anywire.doctor.opening import judge_initialize, judge_slowness, tell_newest_refused, told
from anywire.doctor.reply import Reply
from anywire.doctor.shown import shown
from anywire.doctor.stateless import recognise
from anywire.doctor.stdio.examination import Examination
from anywire.doctor.stdio.subject import Subject, is_not_utf_8
from anywire.errors import SpawnFailed
from anywire.protocol.revisions import MCP_PROTOCOL_VERSIONS
from anywire.wire.codec import decode
from anywire.wire.framing import Framing
from anywire.wire.message import ErrorResponse, FaultKind, Request, Response

__all__ = ("first_contact",)

_ALWAYS = (
    "not-started",
    "exits-early",
    "echo",
    "buffered",
    "no-line-feed",
    "framing-given",
    "several-lines",
    "not-utf-8",
    "serves-http",
    "stderr-only",
    "no-answer",
    "silent",
    "header-framing",
    "slow-start",
    "very-slow-start",
    "bom-written",
    "stateless-only",
    "newest-refused",
    "initialize-refused",
    "initialize-result",
    "initialize-revision",
)


_BOM = b"\xef\xbb\xbf"
# The beginning of a message in UTF-16, whichever byte is first.
_UTF_16 = b'{\0"\0'
# How servers tell where they serve HTTP.
_ADDRESS = re.compile(r"^.*\bhttps?://(?:0\.0\.0\.0|127\.0\.0\.1|localhost|\[?::1?\]?)[:/].*$", re.MULTILINE)


class _Heard(Enum):
    ANSWER = auto()
    ECHO = auto()
    EXIT = auto()
    NOTHING = auto()


class _Try:
    """One start of the server, and what came of asking it to initialize."""

    def __init__(self, exam: Examination, subject: Subject) -> None:
        self.subject = subject
        self.id = subject.new_id()
        self.heard = _Heard.NOTHING
        #: What it had written when its input ended.
        self.before_end = b""
        self._exam = exam

    async def ask(self, seconds: float, *, patient: bool) -> _Heard:
        """Ask to initialize; without patience, a server that is silent and idle is not waited for."""
        loop = asyncio.get_running_loop()
        subject, patience = self.subject, self._exam.patience
        subject.send(initialize(self.id))
        began = busy = loop.time()
        work = -1
        while (heard := self._so_far()) is _Heard.NOTHING:
            now = loop.time()
            if patient:
                given_up = now - began >= seconds
            else:
                if subject.work != work:
                    work, busy = subject.work, now
                given_up = now - began >= seconds and now - busy >= patience.idle_seconds
            if given_up or now - began >= max(seconds, patience.start_seconds):
                break
            await subject.news()
        self.heard = heard
        return heard

    async def answers_at_the_end(self) -> bool:
        """End its input; say whether the answer comes out then."""
        patience = self._exam.patience
        self.before_end = bytes(self.subject.output)
        await self.subject.leave(patience.leave_seconds, 0.0)
        return self._so_far() is _Heard.ANSWER

    def _so_far(self) -> _Heard:
        if self.subject.reply(self.id) is not None:
            return _Heard.ANSWER
        if self.subject.echoes:
            return _Heard.ECHO
        return _Heard.EXIT if self.subject.gone else _Heard.NOTHING


async def first_contact(exam: Examination) -> tuple[str, ...]:
    """Bring the server to answer, or tell why it does not.  Raises `Unfit` then."""
    try:
        found = await _find_framing(exam)
    except SpawnFailed as error:
        exam.find("not-started", str(error))
        raise Unfit from error
    if found.heard is _Heard.ANSWER:
        _judge_start(exam, found)
        await _judge_answer(exam, found)
        return _ALWAYS
    if found.heard is _Heard.ECHO:
        exam.find("echo", f"it wrote {shown(found.subject.output)}")
    elif found.heard is _Heard.EXIT:
        output = found.subject.output
        wrote = f"; on stdout it had written {shown(output)}" if output else ""
        exam.find("exits-early", found.subject.exit() + wrote)
    else:
        await _explain_silence(exam, found)
    raise Unfit


async def _find_framing(exam: Examination) -> _Try:
    if exam.framing is not None:
        return await _try(exam, exam.framing, exam.patience.start_seconds, patient=True)
    silent = exam.patience.silent_seconds
    lines = await _try(exam, Framing.NEWLINE, silent, patient=False)
    if lines.heard in (_Heard.ANSWER, _Heard.ECHO):
        return lines
    if lines.heard is _Heard.NOTHING and await lines.answers_at_the_end():
        # Held back, or just in time: that shows when it gets more of it.
        again = await _try(exam, Framing.NEWLINE, 2 * silent, patient=False)
        if again.heard is _Heard.ANSWER or await again.answers_at_the_end():
            return again
    else:
        headers = await _try(exam, Framing.HEADERS, silent, patient=False)
        if headers.heard is _Heard.ANSWER or lines.heard is _Heard.EXIT:
            return headers if headers.heard is _Heard.ANSWER else lines
    return await _try(exam, Framing.NEWLINE, exam.patience.start_seconds, patient=True)


async def _try(exam: Examination, framing: Framing, seconds: float, *, patient: bool) -> _Try:
    attempt = _Try(exam, await exam.start(framing))
    await attempt.ask(seconds, patient=patient)
    return attempt


def _judge_start(exam: Examination, found: _Try) -> None:
    subject = found.subject
    elapsed = asyncio.get_running_loop().time() - subject.started_at
    if exam.framing is None and Framing.HEADERS in (subject.writing, subject.reading):
        reads = "reads and writes" if subject.writing is Framing.HEADERS else "writes"
        exam.find("header-framing", f"it {reads} Content-Length headers: {shown(subject.output, 60)}")
    exam.framing = subject.writing
    if subject.output.startswith(_BOM):
        exam.find("bom-written", f"it wrote {shown(subject.output, 60)}")
    judge_slowness(exam, elapsed)


async def _judge_answer(exam: Examination, found: _Try) -> None:
    """Judge the answer to initialize, and look for another way in where it is a refusal.  Raises `Unfit`."""
    subject, reply = found.subject, found.subject.reply(found.id)
    assert reply is not None
    if isinstance(reply, ErrorResponse):
        if await _speaks_without_handshake(exam, subject, reply):
            return
        older = await _shake_hands_as_older(exam, reply)
        if older is not None:
            subject, reply = older
    judge_initialize(exam, reply)
    subject.send(INITIALIZED)
    subject.fit = True


async def _speaks_without_handshake(exam: Examination, subject: Subject, refusal: ErrorResponse) -> bool:
    async def ask(request: Request) -> Reply | None:
        subject.send(request)
        return await subject.answer(request.id, exam.restart_seconds)

    era = await recognise(exam, ask)
    if era is None:
        return False
    exam.speak(era)
    exam.find("stateless-only", f"initialize was answered with {told(refusal)}")
    subject.fit = not subject.gone
    return True


async def _shake_hands_as_older(exam: Examination, refusal: ErrorResponse) -> tuple[Subject, Reply] | None:
    """Ask for each older revision, each time of a new server; None: it agrees to none."""
    for revision in MCP_PROTOCOL_VERSIONS[1:]:
        subject = await exam.start()
        id = subject.new_id()
        subject.send(initialize(id, revision))
        reply = await subject.answer(id, exam.restart_seconds)
        if isinstance(reply, Response):
            tell_newest_refused(exam, told(refusal), revision)
            exam.speak(Era(revision))
            return subject, reply
    return None


async def _explain_silence(exam: Examination, found: _Try) -> None:
    """Tell why a server that was started does not answer."""
    subject = found.subject
    if found.heard is _Heard.NOTHING and not subject.gone:
        await found.answers_at_the_end()
    seconds = exam.patience.start_seconds
    if _told_by_reply(exam, found):
        pass
    elif subject.reply(found.id) is not None:
        exam.find("buffered", f"its answer came only when its input ended: {shown(subject.output)}")
    elif _is_one_message(subject.output):
        exam.find("several-lines", f"put together, its output is a message: {shown(subject.output)}")
    elif _UTF_16 in subject.output:
        exam.find("not-utf-8", f"it wrote {shown(subject.output, 60)}")
    elif address := _ADDRESS.search(f"{subject.last_words}\n{subject.output.decode('utf-8', 'replace')}"):
        exam.find("serves-http", f"no answer within {seconds:g} s, but it wrote: {address.group().strip()}")
    elif subject.output:
        exam.find("no-answer", f"after {seconds:g} s it had written {shown(subject.output)}")
    elif subject.last_words:
        exam.find("stderr-only", f"no answer within {seconds:g} s; its last words: {subject.last_words}")
    else:
        exam.find("silent", f"no answer within {seconds:g} s, nothing on stdout and nothing on stderr")


def _told_by_reply(exam: Examination, found: _Try) -> bool:
    """Tell what is wrong where there are answers, and none is to initialize as it should be; False: none."""
    subject = found.subject
    strays = [reply for reply in subject.strays() if reply.id is not None]
    wrong = next((fault for fault in subject.faults if fault.kind is FaultKind.INVALID_REQUEST), None)
    if isinstance(decode(found.before_end.rpartition(b"\n")[2]), Response | ErrorResponse):
        exam.find("no-line-feed", f"it had written {shown(found.before_end)}, and no end of the line")
    elif exam.framing is Framing.HEADERS and subject.reading is Framing.NEWLINE:
        exam.find("framing-given", f"asked with headers it writes lines: {shown(subject.output)}")
    elif strays and subject.reply(found.id) is None:
        exam.find(
            "ids-changed",
            f"initialize with the id {found.id.decode()} was answered with {shown(strays[0].frame)}",
        )
    elif wrong is not None and wrong.data[:1] in (b"{", b"["):
        exam.find("bad-message", f"{wrong.reason}: {shown(wrong.data)}")
    elif any(map(is_not_utf_8, subject.faults)):
        exam.find("not-utf-8", f"it wrote {shown(subject.output, 60)}")
    else:
        return False
    return True


def _is_one_message(output: bytes | bytearray) -> bool:
    """Say whether lines of output, put together, are one message."""
    text = bytes(output).strip()
    return text.startswith(b"{") and b"\n" in text and isinstance(decode(text), Response | ErrorResponse)
