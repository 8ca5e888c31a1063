"""The first contact over HTTP: is anybody there, and does what is there take `initialize`?"""

from __future__ import annotations

import socket
import ssl
from typing import Final
from urllib.parse import urljoin, urlsplit

from anywire.doctor.contact import judge_initialize
from anywire.doctor.examination import Unfit, initialize
from anywire.doctor.http_examination import HttpExamination
from anywire.doctor.http_subject import Answer
from anywire.errors import AnywireError, ConfigError, ConnectFailed, DeadlineExceeded
from anywire.protocol.http.client import is_same_origin
from anywire.protocol.http.media import EVENT_STREAM
from anywire.transport.redact import without_secrets
from anywire.wire.message import Request

__all__ = ("first_contact",)

_REACHED = ("not-resolved", "not-connected", "tls", "no-http", "no-first-byte")
_ANSWERED = (
    "authorization",
    "challenge",
    "old-transport",
    "wrong-path",
    "redirect",
    "redirect-method",
    "redirect-elsewhere",
    "html",
    "server-error",
    "status",
    "content-type",
    "no-reply",
    "bad-message",
    "session-id",
    "initialize-refused",
    "initialize-result",
    "initialize-revision",
)
#: Where a server often is.
_PATHS: Final = ("/mcp", "/mcp/", "/sse")
_ENDPOINT: Final = b"endpoint"
_MOST_REDIRECTS: Final = 5


async def first_contact(exam: HttpExamination) -> tuple[str, ...]:
    """Shake hands, or tell why that is not possible.  Raises `Unfit` then."""
    request = Request(exam.subject.new_id(), "initialize", initialize(b"0").params)
    try:
        answer = await exam.subject.post(request)
        for _ in range(_MOST_REDIRECTS):
            if not 300 <= answer.status < 400:
                break
            _judge_redirect(exam, answer)
            answer = await exam.subject.post(request)
    except ConfigError:
        raise  # this is no URL
    except AnywireError as error:
        _tell_unreached(exam, error)
        raise Unfit from error
    exam.first_answer_seconds = answer.head_seconds
    await _judge_answer(exam, answer, request)
    reply = answer.reply(request.id)
    assert reply is not None
    judge_initialize(exam, reply)
    _take_session(exam, answer)
    return (*_REACHED, *_ANSWERED)


def _tell_unreached(exam: HttpExamination, error: AnywireError) -> None:
    causes: list[BaseException] = [error]
    while causes[-1].__cause__ is not None:
        causes.append(causes[-1].__cause__)
    if isinstance(error, DeadlineExceeded):
        id = "no-first-byte"
    elif any(isinstance(cause, socket.gaierror) for cause in causes):
        id = "not-resolved"
    elif any(isinstance(cause, ssl.SSLError) for cause in causes):
        id = "tls"
    elif isinstance(error, ConnectFailed):
        id = "not-connected"
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
    if answer.status in (401, 403):
        _judge_authorization(exam, answer, found)
    elif 200 <= answer.status < 300 and answer.media != "text/html":
        exam.judge_shape(answer, request.id, "initialize")
    elif answer.status in (400, 404, 405) and reply is None:
        await _find_elsewhere(exam, answer, found)
    elif answer.status >= 500:
        exam.find("server-error", found)
    elif answer.media == "text/html":
        exam.find("html", found)
    elif reply is None:
        exam.find("status", found)
    if reply is None or answer.status in (401, 403):
        raise Unfit


def _judge_authorization(exam: HttpExamination, answer: Answer, found: str) -> None:
    challenge = answer.headers.get("www-authenticate")
    exam.find("authorization", found + (f"; WWW-Authenticate: {challenge}" if challenge else ""))
    if answer.status == 401 and not challenge:
        exam.find("challenge", "401 came without WWW-Authenticate")


async def _find_elsewhere(exam: HttpExamination, answer: Answer, found: str) -> None:
    """No message is taken here: is this an old server, or is the server at another path?"""
    if await _is_old(exam, exam.subject.url):
        exam.find("old-transport", f"a GET of {without_secrets(exam.subject.url)} names an endpoint")
        return
    for url in _neighbours(exam.subject.url):
        if await _takes_messages(exam, url):
            exam.find("wrong-path", f"{found}; at {without_secrets(url)} a server answers")
            return
        if await _is_old(exam, url):
            exam.find("old-transport", f"{found}; a GET of {without_secrets(url)} names an endpoint")
            return
    if answer.status == 400:
        exam.find("html" if answer.media == "text/html" else "status", found)
    else:
        exam.find("wrong-path", f"{found}; nor does anything answer at {', '.join(_PATHS)} there")


def _neighbours(url: str) -> list[str]:
    """Return other addresses on the same server at which it may be meant."""
    parts = urlsplit(url)
    path = parts.path or "/"
    slash = path.rstrip("/") if path.endswith("/") and path != "/" else f"{path.rstrip('/')}/"
    paths = [each for each in (slash, *_PATHS) if each != path]
    return [parts._replace(path=each).geturl() for each in dict.fromkeys(paths)]


async def _takes_messages(exam: HttpExamination, url: str) -> bool:
    request = Request(exam.subject.new_id(), "initialize", initialize(b"0").params)
    try:
        answer = await exam.subject.post(request, url=url)
    except AnywireError:
        return False
    return answer.status in (401, 403) or answer.reply(request.id) is not None


async def _is_old(exam: HttpExamination, url: str) -> bool:
    """Say whether a GET gives a stream whose first event names where to POST."""
    try:
        answer = await exam.subject.get(exam.patience.head_seconds, url=url, until=_ENDPOINT)
    except AnywireError:
        return False
    return answer.status == 200 and answer.media == EVENT_STREAM and _ENDPOINT in answer.start


def _take_session(exam: HttpExamination, answer: Answer) -> None:
    revision = exam.server.get("protocolVersion")
    exam.subject.revision = revision if isinstance(revision, str) else None
    id = answer.headers.get("mcp-session-id")
    if id is None:
        return
    exam.subject.session_id = id
    if not id or any(not "!" <= character <= "~" for character in id):
        exam.find("session-id", f"it issued {id!r}")
