"""Checks of the session over HTTP: the messages in it, its id, its revision, its end."""

from __future__ import annotations

import msgspec

from anywire.doctor.asked import Unfit
from anywire.doctor.era import NO_REVISION, initialize
from anywire.doctor.http.examination import HttpExamination
from anywire.doctor.http.session_id import SESSION_CHECKS, judge_session
from anywire.doctor.http.subject import Answer
from anywire.doctor.reply import has_id
from anywire.doctor.unknown import judge_unknown
from anywire.wire.message import ErrorResponse, Response
from anywire.wire.value import decode_value

__all__ = ("end", "ids", "notifications", "ping", "unknown_method", "unknown_revision", "unknown_session")

_IDS = (b'"0"', b"0", b"-7", b"9007199254740991", b'"\xc3\xa9-7"')
_BIG_ID = b"9007199254740993"
_NO_SESSION = "00000000-0000-4000-8000-000000000000"


class _Initialized(msgspec.Struct):
    revision: object = msgspec.field(default=None, name="protocolVersion")


async def notifications(exam: HttpExamination) -> tuple[str, ...]:
    """Are notifications, the unknown ones as well, taken with 202 and no body?

    Raises `Unfit` where one is not taken because the session is not known.
    """
    for method in ("notifications/initialized", "notifications/anywire/unknown"):
        answer = await exam.tell(method)
        found = f"{method} was answered with {answer}"
        if not 200 <= answer.status < 300:
            if answer.status in (400, 404) and not exam.era.stateless:
                await judge_session(exam)
            exam.find("notification-refused", found)
        elif answer.status != 202 or answer.start:
            exam.find("notification-answer", found)
    return ("notification-refused", "notification-answer")


async def ping(exam: HttpExamination) -> tuple[str, ...]:
    """Are requests after the handshake taken, and ping answered?  Raises `Unfit` if none is."""
    await judge_session(exam)
    answer, id = await exam.ask("ping")
    exam.judge_shape(answer, id, "ping")
    reply = answer.reply(id)
    if isinstance(reply, ErrorResponse):
        detail = reply.detail()
        exam.find("ping", f"it answered with the error {detail.code}: {detail.message}")
    elif reply is None and not 200 <= answer.status < 300:
        session = "without a session" if exam.subject.session_id is None else "in its session"
        exam.find("request-refused", f"ping {session} was answered with {answer}")
    elif reply is None and not exam.findings.keys() & {"content-type", "bad-message", "no-reply"}:
        exam.find("ping", f"it was answered with {answer}")
    if reply is None:
        raise Unfit
    return (*SESSION_CHECKS, "request-refused", "ping")


async def unknown_method(exam: HttpExamination) -> tuple[str, ...]:
    """Is a method that does not exist refused, with the code for that?"""
    answer, id = await exam.ask("anywire/unknown")
    judge_unknown(exam, answer.reply(id), str(answer))
    return ("unknown-method", "unknown-method-code")


async def ids(exam: HttpExamination) -> tuple[str, ...]:
    """Does each answer carry the id of its request, as it was written?"""
    wrong: list[str] = []
    for id in (*_IDS, _BIG_ID):
        answer, _ = await exam.ask(exam.era.harmless, id=id)
        reply = answer.reply(id)
        if reply is not None and has_id(reply, id):
            continue
        found = f"the request with the id {id.decode()} was answered with {answer}"
        if id != _BIG_ID:
            wrong.append(found)
        elif not wrong:
            exam.find("big-ids", found)
    if wrong:
        exam.find("ids-changed", "; ".join(wrong))
        return ("ids-changed",)
    return ("ids-changed", "big-ids")


async def unknown_session(exam: HttpExamination) -> tuple[str, ...]:
    """Is a session that never was answered with 404?  To be seen only where there are sessions."""
    if exam.subject.session_id is None or exam.findings.keys() & {"tools-list", "no-reply"}:
        return ()
    answer, _ = await exam.ask("tools/list", headers={"Mcp-Session-Id": _NO_SESSION})
    if answer.status != 404:
        exam.find("session-unknown", f"tools/list in a session that never was was answered with {answer}")
    return ("session-unknown",)


async def unknown_revision(exam: HttpExamination) -> tuple[str, ...]:
    """What does it answer to a client of a revision that there is not?"""
    session, revision = exam.subject.session_id, exam.subject.revision
    exam.subject.session_id = exam.subject.revision = None
    try:
        request = initialize(exam.new_id(), NO_REVISION)
        answer = await exam.subject.post(request)
        reply = answer.reply(request.id)
        if not isinstance(reply, Response) and (refusal := await _second_client(exam)) is not None:
            exam.find("one-client", f"asked to initialize once more it answered with {refusal}")
        elif not isinstance(reply, Response):
            exam.find("revision-refused", f"asked for {NO_REVISION} it answered with {answer}")
        elif _revision(reply) == NO_REVISION:
            exam.find("revision-echoed", f"asked for {NO_REVISION} it agreed to it")
        exam.subject.session_id = answer.headers.get("mcp-session-id")
        if exam.subject.session_id is not None:
            await exam.subject.delete()  # nothing is left behind where that can be helped
    finally:
        exam.subject.session_id, exam.subject.revision = session, revision
    return ("one-client", "revision-refused", "revision-echoed")


async def _second_client(exam: HttpExamination) -> Answer | None:
    """Shake hands as another client would; return the refusal, if it is one."""
    request = exam.era.opening(exam.new_id())
    answer = await exam.subject.post(request)
    if not isinstance(answer.reply(request.id), Response):
        return answer
    session = answer.headers.get("mcp-session-id")
    if session is not None:
        await exam.subject.delete({"Mcp-Session-Id": session})
    return None


def _revision(reply: Response) -> object:
    try:
        return decode_value(reply.result, _Initialized).revision
    except msgspec.MsgspecError:
        return None


async def end(exam: HttpExamination) -> tuple[str, ...]:
    """Does DELETE end the session, or is it said that it does not?"""
    if exam.subject.session_id is None:
        return ()
    answer = await exam.subject.delete()
    if answer.status == 405:
        return ("delete",)
    if not 200 <= answer.status < 300:
        exam.find("delete", f"DELETE was answered with {answer}")
        return ("delete",)
    after, id = await exam.ask("ping")
    if 200 <= after.status < 300 and isinstance(
        after.reply(id), Response
    ):  # how it is refused is another check's
        exam.find("delete-ignored", f"after DELETE (HTTP {answer.status}), ping was answered with {after}")
    return ("delete", "delete-ignored")
