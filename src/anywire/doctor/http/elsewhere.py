"""Where a server is that takes no messages at the address that was given."""

from __future__ import annotations

import asyncio
from enum import Enum, auto
from typing import Final
from urllib.parse import urlsplit

from anywire.doctor.era import initialize
from anywire.doctor.http.examination import HttpExamination
from anywire.doctor.http.subject import Answer
from anywire.errors import AnywireError
from anywire.protocol.http.media import EVENT_STREAM
from anywire.transport.redact import without_secrets

__all__ = ("find_elsewhere",)

#: Where a server often is.
_PATHS: Final = ("/mcp", "/mcp/", "/sse", "/")
_ENDPOINT: Final = b"endpoint"


class _Stream(Enum):
    """What a GET gives."""

    NONE = auto()
    #: A stream of HTTP+SSE, which says where to POST.
    OLD = auto()
    #: One that ought to say so, and does not.
    SILENT = auto()


async def find_elsewhere(exam: HttpExamination, answer: Answer, found: str) -> None:
    """No message is taken here: is this an old server, or is the server at another path?"""
    here = exam.subject.url
    # A stream without an endpoint may be one of Streamable HTTP, where messages are taken somehow.
    may_be_silent = answer.status != 400
    if await _is_told_old(exam, here, f"a GET of {without_secrets(here)}", may_be_silent=may_be_silent):
        return
    for url in _neighbours(here):
        if await _takes_messages(exam, url):
            exam.find("wrong-path", f"{found}; at {without_secrets(url)} a server answers")
            return
        get = f"{found}; a GET of {without_secrets(url)}"
        if await _is_told_old(exam, url, get, may_be_silent=may_be_silent):
            return
    if answer.status == 400:
        exam.find("html" if answer.media == "text/html" else "status", found)
        return
    allowed = answer.headers.get("allow")
    told = f" (Allow: {allowed})" if allowed else ""
    exam.find("wrong-path", f"{found}{told}; nor does anything answer at {', '.join(_PATHS)} there")


def _neighbours(url: str) -> list[str]:
    """Return other addresses on the same server at which it may be meant."""
    parts = urlsplit(url)
    path = parts.path or "/"
    bare = path.rstrip("/")
    slash = bare if path.endswith("/") and bare else f"{bare}/"
    below = [] if bare.endswith(("/mcp", "/sse")) else [f"{bare}/mcp", f"{bare}/sse"]
    paths = [each for each in (slash, *below, *_PATHS) if each != path]
    return [parts._replace(path=each).geturl() for each in dict.fromkeys(paths)]


async def _takes_messages(exam: HttpExamination, url: str) -> bool:
    request = initialize(exam.new_id())
    try:
        answer = await exam.subject.post(request, url=url)
    except AnywireError:
        return False
    return answer.status in (401, 403) or answer.reply(request.id) is not None


async def _is_told_old(exam: HttpExamination, url: str, get: str, *, may_be_silent: bool) -> bool:
    """Tell of a server of HTTP+SSE at that address, if there is one."""
    match await _stream_at(exam, url):
        case _Stream.OLD:
            exam.find("old-transport", f"{get} names an endpoint")
        case _Stream.SILENT if may_be_silent:
            seconds = exam.patience.head_seconds
            exam.find("endpoint-missing", f"{get} had no event `endpoint` within {seconds:g} s")
        case _:
            return False
    return True


async def _stream_at(exam: HttpExamination, url: str) -> _Stream:
    seconds = exam.patience.head_seconds
    try:
        async with asyncio.timeout(2 * seconds):
            answer = await exam.subject.get(seconds, url=url, until=_ENDPOINT)
    except TimeoutError:
        return _Stream.SILENT
    except AnywireError:
        return _Stream.NONE
    if answer.status != 200 or answer.media != EVENT_STREAM:
        return _Stream.NONE
    if _ENDPOINT in answer.start:
        return _Stream.OLD
    return _Stream.NONE if answer.ended else _Stream.SILENT
