"""What one would have to change for a server to take `initialize` that refuses it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final
from urllib.parse import urlsplit

import msgspec

from anywire.doctor.era import initialize
from anywire.doctor.http.examination import HttpExamination
from anywire.doctor.http.subject import Answer
from anywire.errors import AnywireError
from anywire.protocol.http.media import EVENT_STREAM, JSON
from anywire.protocol.revisions import MCP_LATEST_PROTOCOL_VERSION
from anywire.wire.message import Response

__all__ = ("find_remedy",)

#: What a status says by itself.
_BY_STATUS: Final = {406: "accept-refused", 415: "body-type-refused", 421: "host-refused"}
_ABOUT_HOST: Final = re.compile(rb"\b(?:in?valid|un?known|blocked|forbidden|not allowed)?[ -]*host\b", re.I)
_ABOUT_ANOTHER: Final = re.compile(rb"already (?:initialized|connected)", re.I)


class _Remedy(msgspec.Struct, frozen=True):
    """A header that may help, and what is wrong with the server if it does."""

    check: str
    header: str
    value: str


async def find_remedy(exam: HttpExamination, answer: Answer, found: str) -> bool:
    """Tell why it refuses, by a change that helps or by what it says; False: neither is known."""
    for remedy in _remedies(exam, answer.status):
        if await _helps(exam, remedy):
            exam.find(remedy.check, f"{found}; with {remedy.header}: {remedy.value} it is taken")
            return True
    id = _BY_STATUS.get(answer.status)
    if id is None and answer.status in (400, 403) and _ABOUT_HOST.search(answer.start):
        id = "host-refused"
    if answer.status == 400 and _ABOUT_ANOTHER.search(answer.start):
        id = "one-client"
    if id is not None:
        exam.find(id, found)
    return id is not None


def _remedies(exam: HttpExamination, status: int) -> Iterator[_Remedy]:
    url = urlsplit(exam.subject.url)
    host = url.netloc.rpartition("@")[2]
    port = "" if url.port is None else f":{url.port}"
    if status in (400, 403, 421):
        for name in ("localhost", "127.0.0.1"):
            if f"{name}{port}" != host:
                yield _Remedy("host-refused", "Host", f"{name}{port}")
    if status in (400, 403):
        yield _Remedy("origin-wanted", "Origin", f"{url.scheme}://{host}")
    if status == 400:
        yield _Remedy("version-wanted", "MCP-Protocol-Version", MCP_LATEST_PROTOCOL_VERSION)
    if status in (400, 406):
        for accept in (f"{EVENT_STREAM}, {JSON}", JSON, EVENT_STREAM, "*/*"):
            yield _Remedy("accept-refused", "Accept", accept)
    if status in (400, 415):
        yield _Remedy("body-type-refused", "Content-Type", f"{JSON}; charset=utf-8")


async def _helps(exam: HttpExamination, remedy: _Remedy) -> bool:
    request = initialize(exam.new_id(), exam.era.revision)
    try:
        answer = await exam.subject.post(request, {remedy.header: remedy.value})
        if not isinstance(answer.reply(request.id), Response):
            return False
        session = answer.headers.get("mcp-session-id")
        if session is not None:  # nothing is left behind where that can be helped
            await exam.subject.delete({"Mcp-Session-Id": session, remedy.header: remedy.value})
    except AnywireError:
        return False
    return True
