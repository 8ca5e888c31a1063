"""The first contact over HTTP: is anybody there, and does what is there take `initialize`?"""

from __future__ import annotations

import re
import socket
import ssl
from typing import Final
from urllib.parse import urljoin

from anywire.doctor.asked import Unfit
from anywire.doctor.era import DISCOVER, Era, initialize, stateless_request
from anywire.doctor.http.authorization import judge_authorization
from anywire.doctor.http.elsewhere import find_elsewhere
from anywire.doctor.http.examination import CODING_SIGN, HttpExamination
from anywire.doctor.http.remedy import find_remedy
from anywire.doctor.http.session_id import speaks_of_a_session
from anywire.doctor.http.subject import Answer
from anywire.doctor.opening import judge_initialize, judge_slowness, tell_newest_refused
from anywire.doctor.stateless import recognise
from anywire.errors import AnywireError, ConfigError, ConnectFailed, DeadlineExceeded
from anywire.protocol.http.client import is_same_origin
from anywire.protocol.revisions import MCP_PROTOCOL_VERSIONS
from anywire.transport.redact import without_secrets
from anywire.wire.message import ErrorResponse, Request, Response

__all__ = ("first_contact",)

_REACHED = (
    "not-resolved",
    "not-connected",
    "tls",
    "no-http",
    "body-length",
    "no-first-byte",
    "coding-broken",
)
_ANSWERED = (
    "authorization",
    "challenge",
    "metadata",
    "old-transport",
    "endpoint-missing",
    "host-refused",
    "origin-wanted",
    "accept-refused",
    "body-type-refused",
    "version-wanted",
    "wrong-path",
    "redirect",
    "redirect-method",
    "redirect-loop",
    "redirect-elsewhere",
    "html",
    "server-error",
    "status",
    "content-type",
    "no-reply",
    "event-unfinished",
    "bom-written",
    "bad-message",
    "session-id",
    "slow-start",
    "very-slow-start",
    "stateless-only",
    "newest-refused",
    "initialize-refused",
    "initialize-result",
    "initialize-revision",
)
#: With one of these a request that is well-formed has been refused.
_REFUSALS: Final = frozenset(
    {"host-refused", "one-client", "origin-wanted", "accept-refused", "body-type-refused", "version-wanted"}
)
_MOST_REDIRECTS: Final = 5
#: What stands in an error where the rest of a message was taken for the next response.
_BODY_AS_STATUS: Final = re.compile(r"status line.*\bjsonrpc\b", re.DOTALL)


async def first_contact(exam: HttpExamination) -> tuple[str, ...]:
    """Shake hands, or tell why that is not possible.  Raises `Unfit` then."""
    request = initialize(exam.new_id())
    try:
        answer = await _ask(exam, request)
    except ConfigError:
        raise  # this is no URL
    except AnywireError as error:
        _tell_unreached(exam, error)
        raise Unfit from error
    judge_slowness(exam, answer.head_seconds)
    if not isinstance(answer.reply(request.id), Response):
        if await _speaks_without_handshake(exam, answer):
            return (*_REACHED, *_ANSWERED)
        answer, request = await _shake_hands_as_older(exam, answer, request)
    await _judge_answer(exam, answer, request)
    reply = answer.reply(request.id)
    assert reply is not None
    judge_initialize(exam, reply)
    _take_session(exam, answer)
    return (*_REACHED, *_ANSWERED)


async def _ask(exam: HttpExamination, request: Request) -> Answer:
    """Send the first request, to wherever a client may be led."""
    answer = await exam.subject.post(request)
    for _ in range(_MOST_REDIRECTS):
        if not 300 <= answer.status < 400:
            return answer
        _judge_redirect(exam, answer)
        answer = await exam.subject.post(request)
    if 300 <= answer.status < 400:
        where = without_secrets(exam.subject.url)
        exam.find("redirect-loop", f"after {_MOST_REDIRECTS} redirects {where} was answered with {answer}")
        raise Unfit
    return answer


async def _speaks_without_handshake(exam: HttpExamination, answer: Answer) -> bool:
    refused = answer.status == 200 and answer.replies
    if not refused and answer.status not in (400, 404, 405):
        return False
    try:
        era = await recognise(exam, exam.talk)
    except AnywireError:
        return False
    if era is None:
        if answer.replies and all(isinstance(reply, ErrorResponse) for reply in answer.replies):
            await _judge_wanted_session(exam)
        return False
    exam.speak(era)
    exam.find("stateless-only", f"initialize was answered with {answer}")
    return True


async def _judge_wanted_session(exam: HttpExamination) -> None:
    """Raise `Unfit` where a server of the stateless era wants a session, and tell it."""
    request = stateless_request(exam.new_id(), DISCOVER)
    answer = await exam.put(request)
    if isinstance(answer.reply(request.id), ErrorResponse) and speaks_of_a_session(answer):
        exam.find("session-missing", f"{DISCOVER} was answered with {answer}")
        raise Unfit


async def _shake_hands_as_older(
    exam: HttpExamination, refusal: Answer, refused: Request
) -> tuple[Answer, Request]:
    """Ask for each older revision; return the answer that agrees to one, or the refusal."""
    if refusal.status == 400 or refusal.reply(refused.id) is not None:
        for revision in MCP_PROTOCOL_VERSIONS[1:]:
            request = initialize(exam.new_id(), revision)
            try:
                answer = await exam.subject.post(request)
            except AnywireError:
                break
            if isinstance(answer.reply(request.id), Response):
                tell_newest_refused(exam, str(refusal), revision)
                exam.speak(Era(revision))
                return answer, request
    return refusal, refused


def _tell_unreached(exam: HttpExamination, error: AnywireError) -> None:
    causes: list[BaseException] = [error]
    while causes[-1].__cause__ is not None:
        causes.append(causes[-1].__cause__)
    if isinstance(error, DeadlineExceeded):
        id = "no-first-byte"
    elif any(isinstance(cause, socket.gaierror) for cause in causes):
        id = "not-resolved"
    elif CODING_SIGN in str(error).lower():
        id = "coding-broken"
    elif any(isinstance(cause, ssl.SSLError) for cause in causes):
        id = "tls"
    elif isinstance(error, ConnectFailed):
        id = "not-connected"
    elif _BODY_AS_STATUS.search(str(error)):
        id = "body-length"
    else:
        id = "no-http"
    exam.find(id, str(error))


def _judge_redirect(exam: HttpExamination, answer: Answer) -> None:
    """Follow a redirect where a client may.  Raises `Unfit` elsewhere."""
    here = exam.subject.url
    location = answer.headers.get("location", "")
    try:
        target = urljoin(here, location)
    except ValueError:
        target = location
    found = f"{without_secrets(here)} was answered with HTTP {answer.status}, to {without_secrets(target)}"
    if answer.status not in (307, 308):
        exam.find("redirect-method", found)
    elif location and target == here:
        exam.find("redirect-loop", found)
    elif not location or not is_same_origin(here, target):
        exam.find("redirect-elsewhere", found)
    else:
        exam.find("redirect", found)
        exam.subject.url = target
        return
    raise Unfit


async def _judge_answer(exam: HttpExamination, answer: Answer, request: Request) -> None:
    """Tell what is wrong with an answer that is none.  Raises `Unfit` for one."""
    found = f"{without_secrets(exam.subject.url)} was answered with {answer}"
    reply = answer.reply(request.id)
    is_page = answer.media == "text/html" and not answer.start.lstrip().startswith((b"{", b"[{", b"data:"))
    if answer.status in (401, 407):
        await judge_authorization(exam, answer, found)
    elif not isinstance(reply, Response) and await find_remedy(exam, answer, found):
        pass
    elif answer.status == 403 and answer.media != "text/html":
        await judge_authorization(exam, answer, found)
    elif 200 <= answer.status < 300 and not is_page:
        exam.judge_head(answer, "initialize")
        exam.judge_shape(answer, request.id, "initialize")
    elif answer.status in (400, 404, 405, 501) and reply is None:
        await find_elsewhere(exam, answer, found)
    elif answer.status >= 500:
        exam.find("server-error", found)
    elif answer.media == "text/html":
        exam.find("html", found)
    elif reply is None:
        exam.find("status", found)
    if reply is None or answer.status in (401, 403, 407) or exam.findings.keys() & _REFUSALS:
        raise Unfit


def _take_session(exam: HttpExamination, answer: Answer) -> None:
    revision = exam.server.get("protocolVersion")
    exam.subject.revision = revision if isinstance(revision, str) else None
    id = answer.headers.get("mcp-session-id")
    if id is None:
        return
    exam.subject.session_id = id
    if not id or any(not "!" <= character <= "~" for character in id):
        exam.find("session-id", f"it issued {id!r}")
