"""Checks of what a server makes of headers, and of its general stream."""

from __future__ import annotations

import asyncio
from urllib.parse import urlsplit

from anywire.doctor.era import PADDED
from anywire.doctor.http.examination import HttpExamination
from anywire.protocol.features import Feature, has
from anywire.protocol.http.guard import is_loopback
from anywire.protocol.http.media import EVENT_STREAM, JSON
from anywire.wire.message import ErrorResponse

__all__ = ("accept", "coding", "guards", "long_message", "stream", "version_header")

_EVIL = "evil.example"
_NO_VERSION = "1999-01-01"


async def accept(exam: HttpExamination) -> tuple[str, ...]:
    """Is a client served that accepts everything, or one of the two types only?"""
    for value in ("*/*", ""):
        answer, _ = await exam.ask(exam.era.harmless, headers={"Accept": value})
        if not 200 <= answer.status < 300:
            exam.find(
                "accept-any",
                f"with Accept {value or '(empty)'} {exam.era.harmless} was answered with {answer}",
            )
    for value in (JSON, EVENT_STREAM):
        answer, _ = await exam.ask(exam.era.harmless, headers={"Accept": value})
        if not 200 <= answer.status < 300:
            exam.find("accept-one", f"with Accept {value} {exam.era.harmless} was answered with {answer}")
        elif answer.media != value:
            exam.find(
                "accept-ignored", f"with Accept {value} {exam.era.harmless} was answered with {answer.media}"
            )
    return ("accept-any", "accept-one", "accept-ignored")


async def long_message(exam: HttpExamination) -> tuple[str, ...]:
    """Does it take a request that is longer than usual?"""
    answer, id = await exam.ask(exam.era.harmless, PADDED)
    reply = answer.reply(id)
    if reply is None or (isinstance(reply, ErrorResponse) and "ping" not in exam.findings):
        size = len(PADDED) // 1024
        exam.find("long-message", f"{exam.era.harmless} of {size} KiB was answered with {answer}")
    return ("long-message",)


async def version_header(exam: HttpExamination) -> tuple[str, ...]:
    """Is a version that there is not refused with 400?"""
    if not has(Feature.HTTP_VERSION_HEADER, exam.subject.revision):
        return ()
    answer, _ = await exam.ask(exam.era.harmless, headers={"MCP-Protocol-Version": _NO_VERSION})
    if answer.status != 400:
        found = f"with MCP-Protocol-Version {_NO_VERSION} {exam.era.harmless} was answered with {answer}"
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
    if not answer.ended:
        exam.judge_head(answer, "a GET")
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


async def coding(exam: HttpExamination) -> tuple[str, ...]:
    """Is an answer left as it is where that is wanted?"""
    answer, _ = await exam.ask(exam.era.harmless, headers={"Accept-Encoding": "identity"})
    name = answer.headers.get("content-encoding", "")
    if name not in ("", "identity"):
        found = f"with Accept-Encoding identity {exam.era.harmless} was answered with Content-Encoding {name}"
        exam.find("coding-unwanted", found)
    return ("coding-unwanted", "stream-compressed", "stream-collected")


async def guards(exam: HttpExamination) -> tuple[str, ...]:
    """Is a web page of anywhere kept out, by its origin and, on loopback, by the host it asks for?

    And is nobody else kept out on loopback?
    """
    url = urlsplit(exam.subject.url)
    if await _served(exam, "Origin", f"http://{_EVIL}"):
        exam.find("origin", f"with Origin http://{_EVIL} {exam.era.harmless} was answered all the same")
    if not is_loopback(url.hostname or ""):
        return ("origin",)
    if await _served(exam, "Host", _EVIL):
        exam.find("host", f"with Host {_EVIL} {exam.era.harmless} was answered all the same")
    own = f"{url.scheme}://{url.netloc.rpartition('@')[2]}"
    if not await _served(exam, "Origin", own):
        exam.find("origin-strict", f"with Origin {own} {exam.era.harmless} was refused")
    other = "localhost" if url.hostname != "localhost" else "127.0.0.1"
    host = other if url.port is None else f"{other}:{url.port}"
    if not await _served(exam, "Host", host):
        exam.find("host-strict", f"with Host {host} {exam.era.harmless} was refused")
    return ("origin", "host", "origin-strict", "host-strict")


async def _served(exam: HttpExamination, header: str, value: str) -> bool:
    answer, _ = await exam.ask(exam.era.harmless, headers={header: value})
    return answer.status < 400
