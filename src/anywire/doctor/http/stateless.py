"""Checks of a server over HTTP in the stateless era: its headers, its statuses, its streams.

Specification: MCP `basic/transports/streamable-http`, 2026-07-28.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Final

from anywire.doctor import stateless
from anywire.doctor.asked import Unfit
from anywire.doctor.era import DISCOVER, STATELESS, stateless_request
from anywire.doctor.http.examination import HttpExamination
from anywire.doctor.http.subject import Answer
from anywire.doctor.reply import Reply
from anywire.errors import AnywireError, ConnectFailed
from anywire.protocol.http.media import EVENT_STREAM
from anywire.protocol.revisions import MCP_LATEST_PROTOCOL_VERSION
from anywire.protocol.types.error_data import McpErrorCode
from anywire.wire.message import ErrorResponse, JsonRpcErrorCode, Request, Response
from anywire.wire.value import encode_value

__all__ = ("listen", "mirrors", "probe", "unknown_status")

#: What a client of this era takes for a server of the other.
_FALLBACKS: Final = frozenset({200, 202, 400, 404, 405})
#: Headers that do not fit a harmless request.
_WRONG: Final = (("Mcp-Method", "prompts/list"), ("MCP-Protocol-Version", MCP_LATEST_PROTOCOL_VERSION))
_ACKNOWLEDGED: Final = b"notifications/subscriptions/acknowledged"
#: What a client can listen to, by the capability that goes with it.
_CHANGES: Final = {"tools": "toolsListChanged", "prompts": "promptsListChanged"}


async def probe(exam: HttpExamination) -> tuple[str, ...]:
    """What does a client of this era find?  A server of both is spoken to without a handshake from now on."""
    exam.subject.session_id = exam.subject.revision = None
    request = stateless_request(exam.new_id(), DISCOVER)
    try:
        answer = await exam.put(request)
    except ConnectFailed:
        raise  # it is gone
    except AnywireError as error:
        exam.find("probe-fails", f"asked for {DISCOVER}: {error}")
        return ("probe-fails",)
    if stateless.describe(answer.reply(request.id)) is not None:
        exam.also_stateless = True
        exam.speak(STATELESS)
    elif _is_mismatch(answer.reply(request.id)):
        _tell_refused(exam, request, exam.mirrored(request), answer)
    elif answer.status not in _FALLBACKS:
        exam.find("probe-fails", f"{DISCOVER} was answered with {answer}")
    return ("probe-fails",)


def _is_mismatch(reply: Reply | None) -> bool:
    return isinstance(reply, ErrorResponse) and reply.detail().code == McpErrorCode.HeaderMismatch


def _tell_refused(
    exam: HttpExamination, request: Request, headers: Mapping[str, str], answer: Answer
) -> None:
    sent = ", ".join(f"{name}: {value}" for name, value in headers.items())
    exam.find("mirror-refused", f"{request.method} with {sent} was answered with {answer}")


async def mirrors(exam: HttpExamination) -> tuple[str, ...]:
    """Does it compare the headers with the body, and take those that say the same?  Raises `Unfit` if not."""
    await _judge_right_headers(exam)
    for header, value in _WRONG:
        answer, id = await exam.ask(exam.era.harmless, headers={header: value})
        if isinstance(answer.reply(id), Response):
            found = f"{exam.era.harmless} with {header}: {value} was answered all the same"
            exam.find("mirror-unchecked", found)
    answer, _ = await exam.ask(exam.era.harmless)
    session = answer.headers.get("mcp-session-id")
    if session is not None:
        exam.find("session-minted", f"{exam.era.harmless} was answered with Mcp-Session-Id {session}")
    return ("mirror-refused", "mirror-unchecked", "session-minted")


async def _judge_right_headers(exam: HttpExamination) -> None:
    plain = stateless_request(exam.new_id(), exam.era.harmless)
    named = stateless_request(exam.new_id(), "prompts/get", b'{"name":"anywire-\xc3\xa9"}')
    for request in (plain, named):
        headers = {name.lower(): value for name, value in exam.mirrored(request).items()}
        answer = await exam.subject.post(request, headers)
        if _is_mismatch(answer.reply(request.id)):
            _tell_refused(exam, request, headers, answer)
            raise Unfit


async def unknown_status(exam: HttpExamination) -> tuple[str, ...]:
    """Does the status say, too, that a method does not exist?"""
    answer, id = await exam.ask("anywire/unknown")
    reply = answer.reply(id)
    refused = isinstance(reply, ErrorResponse) and reply.detail().code == JsonRpcErrorCode.MethodNotFound
    if refused and answer.status != 404:
        exam.find("unknown-status", f"asked for the method 'anywire/unknown' it answered with {answer}")
    return ("unknown-status",)


async def listen(exam: HttpExamination) -> tuple[str, ...]:
    """Does the first event of a stream come at once?  To be seen where there is something to listen to."""
    wanted = {name: True for capability, name in _CHANGES.items() if _tells_changes(exam, capability)}
    if not wanted:
        return ()
    params = encode_value({"notifications": wanted})
    request = stateless_request(exam.new_id(), "subscriptions/listen", params)
    seconds = exam.patience.head_seconds
    try:
        async with asyncio.timeout(2 * seconds):
            headers = exam.mirrored(request)
            answer = await exam.subject.listen(request, headers, seconds, until=_ACKNOWLEDGED)
    except TimeoutError:
        exam.find("listen-buffered", f"after {2 * seconds:g} s subscriptions/listen had no answer")
        return ("listen-buffered",)
    exam.judge_head(answer, "subscriptions/listen")
    if answer.media == EVENT_STREAM and not answer.ended and _ACKNOWLEDGED not in answer.start:
        found = f"{seconds:g} s after the head of its stream subscriptions/listen was not acknowledged"
        exam.find("listen-buffered", found)
    return ("listen-buffered",)


def _tells_changes(exam: HttpExamination, capability: str) -> bool:
    capabilities = exam.server.get("capabilities")
    told: object = capabilities.get(capability) if isinstance(capabilities, dict) else None  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType] it is looked at
    return isinstance(told, dict) and told.get("listChanged") is True  # pyright: ignore[reportUnknownMemberType] it is looked at
