"""Checks with what a server does not expect: other revisions, odd lines, a client of another era."""

from __future__ import annotations

import msgspec

from anywire.doctor.era import DISCOVER, INITIALIZED, NO_REVISION, STATELESS, initialize, stateless_request
from anywire.doctor.reply import Reply
from anywire.doctor.shown import shown
from anywire.doctor.stateless import describe, discover
from anywire.doctor.stdio.examination import Examination
from anywire.wire.codec import encode
from anywire.wire.framing import Framing
from anywire.wire.message import ErrorResponse, JsonRpcErrorCode, Response
from anywire.wire.value import decode_value

__all__ = ("malformed", "odd_lines", "probe", "stateless", "unknown_revision")

_CUT = b'{"jsonrpc":"2.0","id":"anywire-cut","method":"ping"'


class _Initialized(msgspec.Struct):
    revision: object = msgspec.field(default=None, name="protocolVersion")


async def unknown_revision(exam: Examination) -> tuple[str, ...]:
    """What does it answer to a client of a revision that there is not?"""
    subject = await exam.start()
    id = subject.new_id()
    subject.send(initialize(id, NO_REVISION))
    reply = await subject.answer(id, exam.restart_seconds)
    if reply is None:
        how = subject.exit() if subject.gone else f"no answer within {exam.restart_seconds:.1f} s"
        await exam.conversation()  # or it is the second start that fails, whatever the revision
        exam.find("revision-silence", f"asked for {NO_REVISION}: {how}")
    elif isinstance(reply, ErrorResponse):
        detail = reply.detail()
        found = f"asked for {NO_REVISION} it answered with the error {detail.code}: {detail.message}"
        exam.find("revision-refused", found)
    else:
        if _revision(reply) == NO_REVISION:
            exam.find("revision-echoed", f"asked for {NO_REVISION} it agreed to it")
        subject.send(INITIALIZED)
        subject.fit = True
    return ("revision-silence", "revision-refused", "revision-echoed")


def _revision(reply: Response) -> object:
    try:
        return decode_value(reply.result, _Initialized).revision
    except msgspec.MsgspecError:
        return None


async def odd_lines(exam: Examination) -> tuple[str, ...]:
    """Does it read what clients on Windows write?"""
    if exam.framing is not Framing.NEWLINE:
        return ()
    for check, before, after in (("crlf", b"", b"\r\n"), ("bom", b"\xef\xbb\xbf", b"\n")):
        subject = await exam.conversation()
        id = subject.new_id()
        subject.send_raw(before + encode(exam.era.request(id, exam.fence_method)) + after, id)
        reply = await exam.overdue(subject, id)
        if reply is None or _is_parse_error(reply):
            exam.find(
                check, f"it exited: {subject.exit()}" if subject.gone else "such a request had no answer"
            )
            subject.fit = False
    return ("crlf", "bom")


async def malformed(exam: Examination) -> tuple[str, ...]:
    """Does one line that is not JSON cost that line only, and does it say what was wrong?"""
    subject = await exam.conversation()
    await exam.fence(subject)  # what it says to anything else comes before
    known = len(subject.strays())
    # The id may be read from what is there of the message.
    head = b"Content-Length: %d\r\n\r\n" % len(_CUT) if exam.framing is Framing.HEADERS else b""
    subject.send_raw(head + _CUT + (b"" if head else b"\n"), b'"anywire-cut"')
    answered = await exam.fence(subject)
    if subject.gone:
        exam.find("malformed-fatal", f"after {shown(_CUT)}: {subject.exit()}")
    elif not answered:
        exam.find("malformed-fatal", f"after {shown(_CUT)} the next request had no answer")
    if not answered:
        subject.fit = False
        return ("malformed-fatal",)
    reply = subject.reply(b'"anywire-cut"') or next(iter(subject.strays()[known:]), None)
    if reply is None:
        exam.find("malformed-unanswered", "it said nothing")
    elif not _is_parse_error(reply):
        exam.find("malformed-unanswered", f"it answered {shown(reply.frame)}")
    return ("malformed-fatal", "malformed-unanswered")


def _is_parse_error(reply: Reply) -> bool:
    return isinstance(reply, ErrorResponse) and reply.detail().code == JsonRpcErrorCode.ParseError


async def probe(exam: Examination) -> tuple[str, ...]:
    """Does it take a request that it does not know before initialize, as newer clients send it?"""
    subject = await exam.start()
    probing = stateless_request(exam.new_id(), DISCOVER)
    subject.send(probing)
    reply = await subject.answer(probing.id, exam.restart_seconds)
    if subject.gone:
        exam.find("probe-fatal", f"asked for server/discover: {subject.exit()}")
        return ("probe-fatal",)
    if describe(reply) is not None:
        exam.also_stateless = subject.fit = True  # and there is no initialize then
        return ("probe-fatal", "probe-silence")
    if reply is None:
        waited = f"{exam.restart_seconds:.1f} s"
        exam.find("probe-silence", f"asked for server/discover it said nothing for {waited}")
    id = subject.new_id()
    subject.send(exam.era.opening(id))
    opened = await subject.answer(id, exam.patience.answer_seconds)
    if isinstance(opened, Response):
        subject.send(INITIALIZED)
        subject.fit = True
    elif subject.gone:
        exam.find("probe-fatal", f"initialized after server/discover: {subject.exit()}")
    else:
        how = "had no answer" if opened is None else f"was answered with {shown(opened.frame)}"
        exam.find("probe-breaks", f"after server/discover, initialize {how}")
    return ("probe-fatal", "probe-silence", "probe-breaks")


async def stateless(exam: Examination) -> tuple[str, ...]:
    """What does it say of itself to a client that shakes no hands?  From now on it is spoken to as by one."""
    exam.speak(STATELESS)
    return await discover(exam)
