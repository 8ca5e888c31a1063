"""Checks in the middle of a conversation that is going well."""

from __future__ import annotations

import asyncio

from anywire.doctor.asked import Unfit
from anywire.doctor.era import PADDED
from anywire.doctor.reply import Reply, has_id
from anywire.doctor.shown import shown
from anywire.doctor.stdio.examination import Examination
from anywire.doctor.stdio.subject import Subject
from anywire.doctor.unknown import judge_unknown
from anywire.wire.codec import encode
from anywire.wire.framing import Framing
from anywire.wire.message import ErrorResponse, JsonRpcErrorCode, Notification, Request, Response

__all__ = ("again", "at_once", "ids", "long_message", "notifications", "ping", "unknown_method")

#: Ids as clients use them: text that looks like a number, nothing, less than that, and the largest
#: integer that is exact in every language.
_IDS = (b'"0"', b"0", b"-7", b"9007199254740991", b'"\xc3\xa9-7"')
_BIG_ID = b"9007199254740993"

_AT_ONCE = 4
# Below this, a few answers one after the other cannot be told from as many at once.
_MEASURABLE_SECONDS = 0.1


async def ping(exam: Examination) -> tuple[str, ...]:
    """Does it answer ping?  If not, another request has to show what it has handled."""
    subject = await exam.conversation()
    reply = await _ask_first(exam, subject)
    if isinstance(reply, ErrorResponse):
        detail = reply.detail()
        exam.find("ping", f"it answered with the error {detail.code}: {detail.message}")
    elif reply is None:
        exam.find("ping", f"no answer within {exam.answer_seconds:g} s")
        exam.fence_method = "tools/list"
        if not await exam.fence(subject):
            exam.find("tools-list", "after initialize it answered neither ping nor tools/list")
            raise Unfit
    return ("ping", "reads-pieces")


async def _ask_first(exam: Examination, subject: Subject) -> Reply | None:
    """Ping right behind a notification; raise `Unfit` where what arrives together is not told apart."""
    id, quick = subject.new_id(), exam.restart_seconds
    began = asyncio.get_running_loop().time()
    subject.send(exam.era.request(id, "ping"))
    reply = await subject.answer(id, quick)
    if reply is not None:
        exam.delay = asyncio.get_running_loop().time() - began
    if (reply is not None or _has_refused(subject)) and not subject.gone:
        await _judge_pieces(exam, subject)
    if reply is None:
        reply = await subject.answer(id, max(exam.answer_seconds - quick, 0.0))
    exam.check_alive(subject, "the request 'ping'")
    return reply


async def _judge_pieces(exam: Examination, subject: Subject) -> None:
    if exam.framing is not Framing.NEWLINE:
        return
    ids = subject.new_id(), subject.new_id()
    subject.send_raw(b"".join(encode(exam.era.request(id, "ping")) + b"\n" for id in ids), *ids)
    answered = await subject.answer(ids[-1], exam.restart_seconds) or subject.reply(ids[0])
    if answered is None and not subject.gone and await exam.fence(subject):
        exam.find("reads-pieces", "two requests in one write had no answer, and one by itself had one")
        raise Unfit


def _has_refused(subject: Subject) -> bool:
    """Say whether it has refused something that cannot be parsed, which was not sent."""
    strays = (stray for stray in subject.strays() if isinstance(stray, ErrorResponse))
    return any(stray.detail().code == JsonRpcErrorCode.ParseError for stray in strays)


async def again(exam: Examination) -> tuple[str, ...]:
    """Does it start a second time as it did the first time?"""
    await exam.conversation()
    return ("not-again",)


async def notifications(exam: Examination) -> tuple[str, ...]:
    """Does it leave notifications unanswered, those it does not know as well?"""
    subject = await exam.conversation()
    subject.send(Notification("notifications/anywire/unknown"))
    answered = await exam.fence(subject)
    exam.check_alive(subject, "a notification that it does not know")
    strays = subject.strays()
    if strays:
        exam.find("answers-notifications", f"it wrote {shown(strays[0].frame)}")
    elif not answered:
        exam.find("ping", "no answer to ping after a notification that it does not know")
        subject.fit = False
    return ("answers-notifications",)


async def unknown_method(exam: Examination) -> tuple[str, ...]:
    """Does it refuse a method that does not exist, with the code for that?"""
    subject = await exam.conversation()
    request = exam.era.request(subject.new_id(), "anywire/unknown")
    reply = await exam.ask_before_fence(subject, request)
    exam.check_alive(subject, "a method that it does not know")
    judge_unknown(exam, reply)
    return ("unknown-method", "unknown-method-code")


async def ids(exam: Examination) -> tuple[str, ...]:
    """Does each answer carry the id of its request, as it was written?"""
    wrong = [found for id in _IDS if (found := await _wrong_id(exam, id))]
    if exam.spoiled:
        return ()  # they cannot be read
    if wrong:
        exam.find("ids-changed", "; ".join(wrong))
        return ("ids-changed",)
    wrong_big = await _wrong_id(exam, _BIG_ID)
    if wrong_big:
        exam.find("big-ids", wrong_big)
    return ("ids-changed", "big-ids")


async def _wrong_id(exam: Examination, id: bytes) -> str:
    subject = await exam.conversation()
    known = len(subject.strays())
    reply = await exam.ask_before_fence(subject, exam.era.request(id, exam.fence_method))
    exam.check_alive(subject, f"a request with the id {id.decode()}")
    if reply is not None and has_id(reply, id):
        return ""
    if reply is not None:
        return f"the request with the id {id.decode()} was answered with {_id_of(reply)}"
    strays = subject.strays()[known:]
    what = f"was answered with {_id_of(strays[0])}" if strays else "had no answer"
    return f"the request with the id {id.decode()} {what}"


def _id_of(reply: Reply) -> str:
    return "no id" if reply.id is None else f"the id {reply.id.decode('utf-8', 'replace')}"


async def long_message(exam: Examination) -> tuple[str, ...]:
    """Does it take a request that is longer than usual?"""
    subject = await exam.conversation()
    request = exam.era.request(subject.new_id(), exam.fence_method, PADDED)
    reply = await _answer_to_long(exam, subject, request)
    if subject.gone:  # was it that, or what came before?
        ending = subject.exit()
        subject = await exam.conversation()
        reply = await _answer_to_long(exam, subject, request)
        if isinstance(reply, Response):
            exam.find("exits-later", f"by itself, some time after its last answer: {ending}")
            return ()
    if reply is None or (isinstance(reply, ErrorResponse) and "ping" not in exam.findings):
        wrong = subject.exit() if subject.gone else "no answer"
        if reply is not None:
            wrong = f"it answered with the error {reply.detail().code}: {reply.detail().message}"
        exam.find("long-message", f"after {request.method} of {len(PADDED) // 1024} KiB: {wrong}")
        subject.fit = False
    return ("long-message",)


async def _answer_to_long(exam: Examination, subject: Subject, request: Request) -> Reply | None:
    subject.send(request)
    return await subject.answer(request.id, exam.answer_seconds)


async def at_once(exam: Examination) -> tuple[str, ...]:
    """Are requests that come together served together?  To be seen only where one takes its time."""
    seconds, method = exam.slowest
    if seconds < _MEASURABLE_SECONDS:
        return ()
    subject = await exam.conversation()
    elapsed = await _together(exam, subject, method)
    if elapsed > 0.8 * _AT_ONCE * seconds:
        found = f"one {method!r} took {seconds:.1f} s, {_AT_ONCE} at once {elapsed:.1f} s"
        exam.find("serialised", found)
    return ("serialised",)


async def _together(exam: Examination, subject: Subject, method: str) -> float:
    """Ask the same several times at once; return the time until the last answer."""
    began = asyncio.get_running_loop().time()
    asked = [subject.new_id() for _ in range(_AT_ONCE)]
    for id in asked:
        subject.send(exam.era.request(id, method))
    for id in asked:
        await subject.answer(id, exam.answer_seconds)
    exam.check_alive(subject, f"{_AT_ONCE} requests at once")
    return asyncio.get_running_loop().time() - began
