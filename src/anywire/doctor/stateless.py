"""Checks of the stateless era, 2026-07-28, on any wire.

Specification: MCP `basic/index`, `basic/versioning`, `server/discover`, 2026-07-28.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Final, cast

import msgspec

from anywire.doctor.asked import AskedStateless
from anywire.doctor.era import DISCOVER, NO_REVISION, STATELESS, Era, stateless_request
from anywire.doctor.reply import Reply
from anywire.doctor.shown import shown
from anywire.protocol.modern import LATEST_STATELESS_REVISION
from anywire.protocol.types.envelope import CLIENT_CAPABILITIES_KEY, SERVER_INFO_KEY
from anywire.protocol.types.error_data import McpErrorCode, UnsupportedVersionData
from anywire.protocol.types.reading import read
from anywire.wire.message import ErrorResponse, Request, Response
from anywire.wire.value import decode_value

__all__ = ("describe", "discover", "envelope", "recognise", "results", "version")

_LIST: Final = "tools/list"
#: Errors that only a server of this era has.
_STATELESS_ONLY: Final = frozenset(
    {
        McpErrorCode.HeaderMismatch,
        McpErrorCode.MissingRequiredClientCapability,
        McpErrorCode.UnsupportedProtocolVersion,
    }
)


class _Result(msgspec.Struct):
    type: object = msgspec.field(default=None, name="resultType")
    ttl: object = msgspec.field(default=None, name="ttlMs")
    scope: object = msgspec.field(default=None, name="cacheScope")


async def recognise(exam: AskedStateless, ask: Callable[[Request], Awaitable[Reply | None]]) -> Era | None:
    """Find out whether a server is of this era, and keep what it says of itself; None: it is of the other.

    What is wrong with how it says so is told.
    """
    reply = await ask(stateless_request(exam.new_id(), DISCOVER))
    described = describe(reply)
    if described is not None:
        exam.server = described
        return STATELESS
    era = STATELESS
    if _is_stateless(reply):
        exam.find("discover-result", f"{DISCOVER} was answered with {_told(reply)}")
    else:
        listed = await ask(stateless_request(exam.new_id(), _LIST))
        if not _is_stateless(listed):
            return None
        found = f"{DISCOVER} was answered with {_told(reply)}, and {_LIST} as in {LATEST_STATELESS_REVISION}"
        exam.find("discover-missing", found)
        era = msgspec.structs.replace(STATELESS, harmless=_LIST)
    exam.server = {"protocolVersion": LATEST_STATELESS_REVISION, "capabilities": {"tools": {}}}
    return era


def describe(reply: Reply | None) -> dict[str, object] | None:
    """Read an answer to `server/discover`; None where it names no version of this era."""
    result = _members(reply.result) if isinstance(reply, Response) else {}
    if not _names_version(result):
        return None
    meta = result.get("_meta")
    info = cast("dict[str, object]", meta).get(SERVER_INFO_KEY) if isinstance(meta, dict) else None
    capabilities = result.get("capabilities")
    return {
        "protocolVersion": LATEST_STATELESS_REVISION,
        "capabilities": capabilities,
        "serverInfo": info,
    }


def _names_version(result: dict[str, object]) -> bool:
    versions = result.get("supportedVersions")
    return isinstance(versions, list) and LATEST_STATELESS_REVISION in versions


def _is_stateless(reply: Reply | None) -> bool:
    """Say whether an answer can only be that of a server of this era."""
    if isinstance(reply, ErrorResponse):
        return reply.detail().code in _STATELESS_ONLY
    return reply is not None and _read(reply).type is not None


def _told(reply: Reply | None) -> str:
    if reply is None:
        return "nothing"
    return shown(reply.error if isinstance(reply, ErrorResponse) else reply.result)


async def discover(exam: AskedStateless) -> tuple[str, ...]:
    """Does it say of itself what a client must know?"""
    reply = await exam.talk(stateless_request(exam.new_id(), DISCOVER))
    if not isinstance(reply, Response):
        return ()
    result = _members(reply.result)
    missing = [] if isinstance(result.get("capabilities"), dict) else ["capabilities"]
    if not _names_version(result):
        missing.insert(0, f"supportedVersions with {LATEST_STATELESS_REVISION}")
    if missing:
        exam.find("discover-result", f"it lacks {', '.join(missing)}: {shown(reply.result)}")
    _judge_result(exam, DISCOVER, reply)
    return ("discover-missing", "discover-result", "result-type", "cache-hints")


async def results(exam: AskedStateless) -> tuple[str, ...]:
    """Do results say what they are and how long they hold?"""
    capabilities = exam.server.get("capabilities")
    if not isinstance(capabilities, dict) or "tools" not in capabilities:
        return ()
    reply = await exam.talk(stateless_request(exam.new_id(), _LIST))
    if not isinstance(reply, Response):
        return ()
    _judge_result(exam, _LIST, reply)
    return ("result-type", "cache-hints")


async def envelope(exam: AskedStateless) -> tuple[str, ...]:
    """Is a request refused that does not say what the client can do?"""
    request = stateless_request(exam.new_id(), exam.era.harmless, without=(CLIENT_CAPABILITIES_KEY,))
    reply = await exam.talk(request)
    if isinstance(reply, Response):
        exam.find("envelope-unchecked", f"{request.method} without {CLIENT_CAPABILITIES_KEY} was answered")
    return ("envelope-unchecked",)


async def version(exam: AskedStateless) -> tuple[str, ...]:
    """Does it say which versions it speaks, to who asks for another?"""
    request = stateless_request(exam.new_id(), exam.era.harmless, revision=NO_REVISION)
    reply = await exam.talk(request, NO_REVISION)
    asked = f"asked in version {NO_REVISION}"
    if isinstance(reply, Response):
        exam.find("version-ignored", f"{asked} it answered {shown(reply.result)}")
    elif wrong := _wrong_refusal(reply):
        exam.find("version-refusal", f"{asked} {wrong}")
    return ("version-refusal", "version-ignored")


def _wrong_refusal(reply: ErrorResponse | None) -> str:
    if reply is None:
        return "it did not answer"
    detail = reply.detail()
    if detail.code != McpErrorCode.UnsupportedProtocolVersion:
        return f"it answered with the error {detail.code}: {detail.message}"
    try:
        data = read(detail.data if isinstance(detail.data, msgspec.Raw) else b"null", UnsupportedVersionData)
    except msgspec.MsgspecError:
        return f"its error lacks data.supported: {shown(reply.error)}"
    return "" if data.supported else "its error names no version in data.supported"


def _judge_result(exam: AskedStateless, method: str, reply: Response) -> None:
    result = _read(reply)
    if result.type != "complete":
        exam.find("result-type", f"the result of {method} has resultType {result.type!r}")
    lacks = [] if _is_age(result.ttl) else ["ttlMs"]
    lacks += [] if result.scope in ("public", "private") else ["cacheScope"]
    if lacks:
        exam.find("cache-hints", f"the result of {method} has no usable {' and no usable '.join(lacks)}")


def _is_age(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _read(reply: Response) -> _Result:
    try:
        return decode_value(reply.result, _Result)
    except msgspec.MsgspecError:
        return _Result()


def _members(result: bytes) -> dict[str, object]:
    try:
        return decode_value(result, dict[str, object])
    except msgspec.MsgspecError:
        return {}
