"""Checks of what a server makes of headers, and of its general stream."""

from __future__ import annotations

import asyncio
from urllib.parse import urlsplit

from anywire.doctor.http_examination import HttpExamination
from anywire.protocol.features import Feature, has
from anywire.protocol.http.guard import is_loopback
from anywire.protocol.http.media import EVENT_STREAM, JSON

__all__ = ("accept", "guards", "stream", "version_header")

_EVIL = "evil.example"
_NO_VERSION = "1999-01-01"


async def accept(exam: HttpExamination) -> tuple[str, ...]:
    """Is a client served that accepts everything, or one of the two types only?"""
    for value in ("*/*", ""):
        answer, _ = await exam.ask("ping", headers={"Accept": value})
        if not 200 <= answer.status < 300:
            exam.find("accept-any", f"with Accept {value or '(empty)'} ping was answered with {answer}")
    for value in (JSON, EVENT_STREAM):
        answer, _ = await exam.ask("ping", headers={"Accept": value})
        if not 200 <= answer.status < 300:
            exam.find("accept-one", f"with Accept {value} ping was answered with {answer}")
        elif answer.media != value:
            exam.find("accept-ignored", f"with Accept {value} ping was answered with {answer.media}")
    return ("accept-any", "accept-one", "accept-ignored")


async def version_header(exam: HttpExamination) -> tuple[str, ...]:
    """Is a version that there is not refused with 400?"""
    if not has(Feature.HTTP_VERSION_HEADER, exam.subject.revision):
        return ()
    answer, _ = await exam.ask("ping", headers={"MCP-Protocol-Version": _NO_VERSION})
    if answer.status != 400:
        found = f"with MCP-Protocol-Version {_NO_VERSION} ping was answered with {answer}"
        exam.find("version-unchecked", found)
    return ("version-unchecked",)


async def stream(exam: HttpExamination) -> tuple[str, ...]:
    """Does GET offer a stream whose head comes at once and which stays open, or say that there is none?"""
    patience = exam.patience
    try:
        async with asyncio.timeout(patience.head_seconds + patience.stream_seconds):
            answer = await exam.subject.get(patience.stream_seconds)
    except TimeoutError:
        exam.find("stream-buffered", f"after {patience.head_seconds:g} s a GET had no answer")
        return ("stream-buffered",)
    found = f"a GET was answered with {answer}"
    if answer.status == 405:
        return ("get-status", "get-type")
    if not 200 <= answer.status < 300:
        exam.find("get-status", found)
    elif answer.media != EVENT_STREAM:
        exam.find("get-type", found)
    elif answer.ended:
        exam.find("get-ends", f"{found}, and had ended within {patience.stream_seconds:g} s")
    elif answer.head_seconds > patience.head_seconds:
        exam.find("stream-buffered", f"the head of the stream came after {answer.head_seconds:.1f} s")
    return ("get-status", "get-type", "get-ends", "stream-buffered")


async def guards(exam: HttpExamination) -> tuple[str, ...]:
    """Is a web page of anywhere kept out, by its origin and, on loopback, by the host it asks for?"""
    answer, _ = await exam.ask("ping", headers={"Origin": f"http://{_EVIL}"})
    if answer.status < 400:
        exam.find("origin", f"with Origin http://{_EVIL} ping was answered with HTTP {answer.status}")
    if not is_loopback(urlsplit(exam.subject.url).hostname or ""):
        return ("origin",)
    answer, _ = await exam.ask("ping", headers={"Host": _EVIL})
    if answer.status < 400:
        exam.find("host", f"with Host {_EVIL} ping was answered with HTTP {answer.status}")
    return ("origin", "host")
