"""The control channel of a coding agent: which lines there are, and what they carry.

An agent's command-line program (the host) and the program that embeds it (the SDK) write JSON lines to
each other.  Besides the host's own lines there are control requests and their responses, both ways; a
control request `mcp_message` carries one message of an MCP conversation, so that a server can live in the
SDK's process.  Nothing here does I/O or raises on what a peer sends; messages inside stay the bytes they are.

Read as hosts write it: the discriminator of a request or a response is `subtype` or `type`; a request is
taken back with `control_cancel_request` or `control_cancel`; keep-alives are `keep_alive` or `keepalive`.
"""

from __future__ import annotations

import re
from typing import TypeAlias, TypeGuard

import msgspec
from msgspec import UNSET, Raw, UnsetType

from anywire.wire.limits import DEFAULT_LIMITS, Limits
from anywire.wire.message import Fault, FaultKind
from anywire.wire.scan import Scan, depth_exceeds, scan_object, syntax_error
from anywire.wire.value import decode_value, encode_value

__all__ = (
    "ControlAnswer",
    "ControlCancel",
    "ControlFailure",
    "ControlLine",
    "ControlRequest",
    "KeepAlive",
    "OtherLine",
    "control_answer",
    "control_cancel",
    "control_failure",
    "control_request",
    "decode_control",
    "named",
)

_NAMES = frozenset({"type", "request_id", "request", "response"})
_INNER_NAMES = frozenset({"subtype", "type", "request_id", "response", "error"})
_REQUEST, _RESPONSE = "control_request", "control_response"
_CANCELS = frozenset({"control_cancel_request", "control_cancel"})
_KEEP_ALIVES = frozenset({"keep_alive", "keepalive"})
_ID_START = frozenset(b'"-0123456789')
_IN_RESPONSE = re.compile(rb'"response"[ \t\r\n]*+:[ \t\r\n]*+(?=\{)')
# Levels of nesting that the envelope puts around a message.
_ENVELOPE_DEPTH = 4


class ControlRequest(msgspec.Struct, frozen=True, gc=False):
    """The other side asks for something; `id` is the raw `request_id`, `request` the raw object."""

    id: bytes
    subtype: str
    request: bytes


class ControlAnswer(msgspec.Struct, frozen=True, gc=False):
    """A request of ours has succeeded; `response` is raw JSON or absent."""

    id: bytes
    response: bytes | None = None


class ControlFailure(msgspec.Struct, frozen=True, gc=False):
    """A request of ours has failed, and why."""

    id: bytes
    error: str


class ControlCancel(msgspec.Struct, frozen=True, gc=False):
    """The other side no longer waits for the answer to its request of that raw id."""

    id: bytes


class KeepAlive(msgspec.Struct, frozen=True, gc=False):
    """A line that says nothing but that somebody is there."""


class OtherLine(msgspec.Struct, frozen=True, gc=False):
    """A line that is no part of the control protocol, and the business of the program.

    `type` is empty where it has none.
    """

    type: str
    line: bytes


#: What one line of the channel is.
ControlLine: TypeAlias = (
    ControlRequest | ControlAnswer | ControlFailure | ControlCancel | KeepAlive | OtherLine
)


class _Line(msgspec.Struct):
    type: str | UnsetType = UNSET
    request_id: Raw | UnsetType = UNSET
    request: Raw | UnsetType = UNSET
    response: Raw | UnsetType = UNSET


class _Inner(msgspec.Struct):
    """The object inside a request or a response."""

    subtype: str | UnsetType = UNSET
    type: str | UnsetType = UNSET
    request_id: Raw | UnsetType = UNSET
    response: Raw | UnsetType = UNSET
    error: Raw | UnsetType = UNSET


_decode_line = msgspec.json.Decoder(_Line).decode
_decode_inner = msgspec.json.Decoder(_Inner).decode


# Reading.


def decode_control(line: bytes, limits: Limits = DEFAULT_LIMITS) -> ControlLine | Fault:
    """Say what a line of the channel is.  Never raises.

    A `Fault` has the raw `request_id` as its id where it could be read; `is_reply` says that the line was
    a response, which must not be answered.
    """
    try:
        outer = _decode_line(line)
        if not line.isascii():
            line.decode()
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError):
        return _decode_carefully(line, limits)
    if outer.type == _REQUEST:
        if len(line) > 2 * limits.depth and depth_exceeds(line, limits.depth + _ENVELOPE_DEPTH):
            return _decode_carefully(line, limits)
        return _request(_raw(outer.request_id), _raw(outer.request), line, limits)
    if outer.type == _RESPONSE:
        return _response(_raw(outer.request_id), _raw(outer.response), line, limits)
    return _simple(outer.type or "", _raw(outer.request_id), line, limits)


def _simple(type: str, id: bytes | None, line: bytes, limits: Limits) -> ControlLine | Fault:
    if type in _CANCELS:
        return (
            ControlCancel(id) if _is_id(id) else _fault("a cancellation without a request_id", line, limits)
        )
    if type in _KEEP_ALIVES:
        return KeepAlive()
    return OtherLine(type, line)


def _request(id: bytes | None, request: bytes | None, line: bytes, limits: Limits) -> ControlLine | Fault:
    if not _is_id(id):
        return _fault("a control request without a request_id", line, limits)
    inner = _inner(request)
    subtype = inner and _first(inner.subtype, inner.type)
    if request is None or not subtype:
        return _fault("a control request has an object 'request' with a 'subtype'", line, limits, id)
    return ControlRequest(id, subtype, request)


def _response(id: bytes | None, response: bytes | None, line: bytes, limits: Limits) -> ControlLine | Fault:
    inner = _inner(response)
    if inner is None:
        found = id if _is_id(id) else None
        return _fault("a control response has an object 'response'", line, limits, found, is_reply=True)
    inner_id = _raw(inner.request_id)
    id = inner_id if _is_id(inner_id) else id
    if not _is_id(id):
        return _fault("a control response without a request_id", line, limits, is_reply=True)
    kind = _first(inner.subtype, inner.type)
    if kind == "error" or (kind is None and inner.error is not UNSET):
        return ControlFailure(id, _text(_raw(inner.error)))
    return ControlAnswer(id, _raw(inner.response))


def _inner(raw: bytes | None) -> _Inner | None:
    if raw is None:
        return None
    try:
        return _decode_inner(raw)
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError):
        pass
    scan = scan_object(raw, _INNER_NAMES)
    if scan.stopped != -1:
        return None
    values = _values(raw, scan)
    texts = {name: _string(values.get(name)) for name in ("subtype", "type")}
    raws = {name: _as_raw(values.get(name)) for name in ("request_id", "response", "error")}
    return _Inner(texts["subtype"], texts["type"], raws["request_id"], raws["response"], raws["error"])


def _decode_carefully(line: bytes, limits: Limits) -> ControlLine | Fault:
    text = line.strip(b" \t\r\n")
    scan = scan_object(text, _NAMES, limits.members)
    values = _values(text, scan)
    type, id = _string(values.get("type")) or "", values.get("request_id")
    trouble = _not_json(text, limits)
    if trouble is None and text[:1] == b"{" and not scan.crowded:
        if type == _REQUEST:
            return _request(id, values.get("request"), line, limits)
        if type == _RESPONSE:
            return _response(id, values.get("response"), line, limits)
        return _simple(type, id, line, limits)
    reason = trouble or ("a line is a JSON object" if text[:1] != b"{" else "a line of too many members")
    fault = _fault(reason, text, limits, kind=FaultKind.PARSE_ERROR if trouble else FaultKind.INVALID_REQUEST)
    return named(fault)


def named(fault: Fault) -> Fault:
    """Return a fault of the channel with the `request_id` that its first bytes show, if they do.

    So that what was cut, or too large to keep, fails at once and is not waited for.
    """
    data = fault.data
    if data[:1] != b"{":
        return fault
    values = _values(data, scan_object(data, _NAMES))
    type, id = _string(values.get("type")), values.get("request_id")
    if type == _RESPONSE and not _is_id(id) and (found := _IN_RESPONSE.search(data)) is not None:
        inner = data[found.end() :]
        id = _values(inner, scan_object(inner, _INNER_NAMES)).get("request_id")
    if type not in (_REQUEST, _RESPONSE):
        return fault
    whole = _is_id(id) and id.isascii() and syntax_error(id) is None
    return msgspec.structs.replace(fault, id=id if whole else None, is_reply=type == _RESPONSE)


def _not_json(text: bytes, limits: Limits) -> str | None:
    try:
        text.decode()
    except UnicodeDecodeError as error:
        return f"not valid UTF-8 at byte {error.start}"
    if depth_exceeds(text, limits.depth + _ENVELOPE_DEPTH):
        return f"nested deeper than {limits.depth} levels"
    trouble = syntax_error(text)
    return None if trouble is None else f"{trouble[0]} at byte {trouble[1]}"


def _fault(
    reason: str,
    line: bytes,
    limits: Limits,
    id: bytes | None = None,
    *,
    is_reply: bool = False,
    kind: FaultKind = FaultKind.INVALID_REQUEST,
) -> Fault:
    return Fault(kind, reason, id, is_reply, line[: limits.excerpt_bytes], len(line))


def _values(data: bytes, scan: Scan) -> dict[str, bytes]:
    return {member.name: data[member.value_start : member.value_end] for member in scan.members}


def _is_id(token: bytes | None) -> TypeGuard[bytes]:
    return bool(token) and token[0] in _ID_START


def _raw(value: Raw | UnsetType) -> bytes | None:
    return None if value is UNSET else bytes(value)


def _as_raw(value: bytes | None) -> Raw | UnsetType:
    return UNSET if value is None else Raw(value)


def _string(raw: bytes | None) -> str | UnsetType:
    if raw is None or raw[:1] != b'"':
        return UNSET
    try:
        return decode_value(raw, str)
    except msgspec.MsgspecError:
        return UNSET


def _first(one: str | UnsetType, other: str | UnsetType) -> str | None:
    chosen = one if one is not UNSET else other
    return None if chosen is UNSET else chosen


def _text(raw: bytes | None) -> str:
    if raw is None:
        return "no reason was given"
    text = _string(raw)
    return raw[:1000].decode("utf-8", "replace") if text is UNSET else text


# Writing.


def control_request(id: bytes, subtype: str, members: bytes = b"{}") -> bytes:
    """Write a request; `members` is a raw object of what it holds besides its subtype."""
    inner = members.strip()[1:]
    comma = b"" if inner.lstrip()[:1] == b"}" else b","
    body = b'{"subtype":%b%b%b' % (encode_value(subtype), comma, inner)
    return b'{"type":"control_request","request_id":%b,"request":%b}' % (id, body)


def control_answer(id: bytes, response: bytes | None = None) -> bytes:
    """Write that a request has succeeded, with what came of it."""
    body = b"" if response is None else b',"response":' + response
    return b'{"type":"control_response","response":{"subtype":"success","request_id":%b%b}}' % (id, body)


def control_failure(id: bytes, error: str) -> bytes:
    """Write that a request has failed, and why."""
    return b'{"type":"control_response","response":{"subtype":"error","request_id":%b,"error":%b}}' % (
        id,
        encode_value(error),
    )


def control_cancel(id: bytes) -> bytes:
    """Write that a request of ours need not be answered any more."""
    return b'{"type":"control_cancel_request","request_id":%b}' % id
