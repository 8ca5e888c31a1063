r"""Bytes to message and back.

`decode` turns one frame into a message, a batch or a fault, and never raises.  The usual frame
takes one pass of the fast decoder; whatever is unusual takes the careful path, which scans the
envelope by itself.  Both agree on every frame that the fast one accepts, but
that only the careful one, which takes its time for each, minds how many members there are
(`Limits.members`).

What is decided here, once:

* `-32700` answers what is not JSON or not UTF-8, `-32600` what is JSON but no message.
* The id is echoed whenever it could be read, also from a message that is cut or malformed later.
* A message with `result` or `error` is never answered.
* A byte order mark and white space around a message are tolerated.
* NaN and Infinity are not JSON.  Integers of any length pass, as the bytes they are.
* A lone surrogate escape (`\ud800`) is JSON and passes a relay; a typed reader sees U+FFFD.
* Nesting beyond `Limits.depth` is refused.
* A second `id`, `method`, `jsonrpc`, `params`, `result` or `error` is refused: two readers could
  take two different messages from it.  Other duplicates are the business of whoever reads them.
* A batch is one value with its items; who accepts batches is decided above.

Specification: JSON-RPC 2.0 §4–6; MCP 2025-03-26 `basic/index#batching`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Literal

import msgspec
from msgspec import UNSET, Raw, UnsetType

from anywire.wire.limits import DEFAULT_LIMITS, Limits
from anywire.wire.message import (
    Batch,
    ErrorResponse,
    Fault,
    FaultKind,
    Message,
    Notification,
    Request,
    Response,
)
from anywire.wire.scan import Scan, depth_exceeds, scan_array, scan_object, syntax_error
from anywire.wire.value import decode_value, encode_value, value_reader

__all__ = (
    "body",
    "decode",
    "decode_value",
    "encode",
    "encode_value",
    "fault_from_excerpt",
    "value_reader",
)

_ENVELOPE_NAMES = frozenset({"jsonrpc", "id", "method", "params", "result", "error"})
_SAYING = _ENVELOPE_NAMES - {"jsonrpc", "id"}
_QUOTED_NAMES = tuple(f'"{name}"'.encode() for name in sorted(_ENVELOPE_NAMES))
_BOM = b"\xef\xbb\xbf"
_SPACE = b" \t\r\n"
_ID_START = b'"-0123456789'
# The first byte of whatever is an id is smaller than this, that of any other value is greater.
_BEYOND_IDS = b":"
_TELLING_NAME = re.compile(rb'"(?:(result|error)|method|params)"[ \t\r\n]*+:')
# What stands in a long message before the value that usually makes up most of a message.
_BEFORE_VALUE = re.compile(
    rb"[ \t\r\n]*+\{[ \t\r\n]*+"
    rb'(?:"(?:jsonrpc|id|method)"[ \t\r\n]*+:[ \t\r\n]*+(?:"[^"\\]*+"|[-+.eE0-9]++)[ \t\r\n]*+,[ \t\r\n]*+)*+'
    rb'"(?:params|result)"[ \t\r\n]*+:[ \t\r\n]*+'
)
_LONG = 512

# The length of the members that a message has around their values, when nothing is between them:
# a frame of exactly that length has no white space, no unknown member and no member twice.
_NOTIFICATION = len('{"jsonrpc":"2.0","method":""}')
_WITH_PARAMS = len('{"jsonrpc":"2.0","method":"","params":}')
_ID = len(',"id":')
_RESPONSE = len('{"jsonrpc":"2.0","id":,"result":}')


class _Envelope(msgspec.Struct, gc=False):
    jsonrpc: Literal["2.0"]
    id: Raw | UnsetType = UNSET
    method: str | UnsetType = UNSET
    params: Raw | UnsetType = UNSET
    result: Raw | UnsetType = UNSET
    error: Raw | UnsetType = UNSET


_decode_envelope = msgspec.json.Decoder(_Envelope).decode
# Joining one is the shortest way from a `Raw` to its bytes.
_join = b"".join


def decode(frame: bytes, limits: Limits = DEFAULT_LIMITS) -> Message | Batch | Fault:
    """Turn one frame (a JSON text, UTF-8) into a message, a batch or a fault.  Never raises."""
    try:
        envelope = _decode_envelope(frame)
        if not frame.isascii():
            frame.decode()
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError):
        return _decode_carefully(frame, limits)
    size = len(frame)
    if size <= 2 * limits.depth or not depth_exceeds(frame, limits.depth):
        message, bare_size = _from_envelope(envelope, frame)
        if message is not None and (bare_size == size or not _may_repeat_a_name(frame, message)):
            return message
    return _decode_carefully(frame, limits)


def _from_envelope(envelope: _Envelope, frame: bytes) -> tuple[Message | None, int]:
    """Build the message of a well-formed envelope, with the size it has when written bare."""
    id, method, result = envelope.id, envelope.method, envelope.result
    token = b"" if id is UNSET else _join((id,))
    if token >= _BEYOND_IDS or envelope.error is not UNSET:
        return None, 0
    if method is UNSET:
        if result is UNSET or not token:
            return None, 0
        raw = _join((result,))
        return Response(token, raw, frame), _RESPONSE + len(token) + len(raw)
    if not method or result is not UNSET:
        return None, 0
    params = envelope.params
    raw = None if params is UNSET else _join((params,))
    size = len(method) + (_NOTIFICATION if raw is None else _WITH_PARAMS + len(raw))
    if not token:
        return Notification(method, raw, frame), size
    return Request(token, method, raw, frame), size + _ID + len(token)


def _may_repeat_a_name(frame: bytes, message: Message) -> bool:
    if len(frame) >= _LONG and not isinstance(message, ErrorResponse):
        value = message.result if isinstance(message, Response) else message.params
        before = _BEFORE_VALUE.match(frame)
        if value and before and frame[before.end() + len(value) :].strip(_SPACE) == b"}":
            # All that follows is the value, so that no name of the envelope is behind its beginning.
            frame = before[0]
    return b"\\u" in frame or any(frame.count(name) > 1 for name in _QUOTED_NAMES)


def _decode_carefully(frame: bytes, limits: Limits) -> Message | Batch | Fault:
    text = frame.strip(_SPACE)
    if text.startswith(_BOM):
        text = text[len(_BOM) :].strip(_SPACE)
    scan = scan_object(text, _ENVELOPE_NAMES, limits.members)
    trouble = _not_json(text, limits)
    if trouble is not None:
        return _fault(FaultKind.PARSE_ERROR, trouble[0], text, scan, limits, trouble[1])
    if text[:1] == b"[":
        return _decode_batch(text, limits)
    if text[:1] != b"{":
        return _fault(FaultKind.INVALID_REQUEST, "a message is a JSON object", text, scan, limits)
    if scan.crowded:
        reason = f"an envelope has fewer than {limits.members} members"
        return _fault(FaultKind.INVALID_REQUEST, reason, text, scan, limits)
    repeated = scan.duplicates(_ENVELOPE_NAMES)
    if repeated:
        return _fault(FaultKind.INVALID_REQUEST, f"member {repeated[0]!r} occurs twice", text, scan, limits)
    return _from_scan(text, scan, limits)


def _not_json(text: bytes, limits: Limits) -> tuple[str, int] | None:
    """Say why a text is not acceptable JSON, and where; None when it is."""
    try:
        text.decode()
    except UnicodeDecodeError as error:
        return "not valid UTF-8", error.start
    if depth_exceeds(text, limits.depth):
        return f"nested deeper than {limits.depth} levels", -1
    return syntax_error(text)


def _from_scan(text: bytes, scan: Scan, limits: Limits) -> Message | Fault:
    """Build the message of an object that is JSON, or say which member is wrong."""
    values = {member.name: text[member.value_start : member.value_end] for member in scan.members}
    for name, other in (("error", "result"), ("result", "error")):
        if values.get(name) == b"null" and other in values:
            del values[name]  # peers raised on JSON-RPC 1.0 write both, one of them null
    wrong = _wrong_member(values)
    if wrong is not None:
        return _fault(FaultKind.INVALID_REQUEST, wrong, text, scan, limits)
    id = values.get("id")
    if "method" in values:
        method = decode_value(values["method"], str)
        if id is None:
            return Notification(method, values.get("params"), text)
        return Request(id, method, values.get("params"), text)
    if "error" in values:
        return ErrorResponse(id, values["error"], text)
    return Response(id or b"", values["result"], text)


def _wrong_member(values: Mapping[str, bytes]) -> str | None:
    id = values.get("id")
    version = values.get("jsonrpc", b"")
    if version[:1] != b'"' or decode_value(version, str) != "2.0":
        return "member 'jsonrpc' must be \"2.0\""
    if sum(name in values for name in ("method", "result", "error")) != 1:
        return "a message has exactly one of 'method', 'result' and 'error'"
    if "method" in values and not (values["method"][:1] == b'"' and len(values["method"]) > 2):
        return "member 'method' must be a string that is not empty"
    if id is None and "result" in values:
        return "a result must have an id"
    if id is not None and id[0] not in _ID_START and not ("error" in values and id == b"null"):
        return "member 'id' must be a string or a number"
    return None


def _decode_batch(text: bytes, limits: Limits) -> Batch | Fault:
    items = scan_array(text, limits.batch_messages + 1)
    if not items:
        return _fault(FaultKind.INVALID_REQUEST, "a batch must not be empty", text, Scan(()), limits)
    if len(items) > limits.batch_messages:
        reason = f"a batch may have {limits.batch_messages} messages, this one has more"
        return _fault(FaultKind.INVALID_REQUEST, reason, text, Scan(()), limits)
    return Batch(tuple(_decode_item(item, limits) for item in items), text)


def _decode_item(item: bytes, limits: Limits) -> Message | Fault:
    if item[:1] == b"[":
        return _fault(FaultKind.INVALID_REQUEST, "a batch inside a batch", item, Scan(()), limits)
    message = decode(item, limits)
    assert not isinstance(message, Batch), "it begins with no bracket"
    return message


def _fault(
    kind: FaultKind, reason: str, text: bytes, scan: Scan, limits: Limits, position: int = -1
) -> Fault:
    id, is_reply = _concerned(text, scan)
    where = f" at byte {position}" if position >= 0 else ""
    return Fault(
        kind=kind,
        reason=f"{'Parse error' if kind is FaultKind.PARSE_ERROR else 'Invalid Request'}: {reason}{where}",
        id=id,
        is_reply=is_reply,
        data=text[: limits.excerpt_bytes],
        size=len(text),
        position=position,
        is_bare=id is not None and not is_reply and scan.stopped < 0 and not _says_anything(scan),
    )


def _says_anything(scan: Scan) -> bool:
    return any(member.name in _SAYING for member in scan.members)


def _concerned(text: bytes, scan: Scan) -> tuple[bytes | None, bool]:
    """Read from a partial envelope whose message it was: its id, and whether it was a reply."""
    if text[:1] == b"[":
        return None, _begins_with_reply(text)
    members = [member for member in scan.members if member.name == "id"]
    if len(members) != 1:
        return None, _is_reply(text, scan)
    token = text[members[0].value_start : members[0].value_end]
    return (token if _is_id(token) else None), _is_reply(text, scan)


def _is_reply(text: bytes, scan: Scan) -> bool:
    """Say whether a message that is cut or malformed was to be a reply, as far as can be told.

    Its members tell.  Where none of the telling ones could be read, the first of their names behind
    the trouble does: better to leave a strange request without an answer than to answer a reply.
    Of text that is no object only a line out of one, written over several, is recognized.
    """
    names = {member.name for member in scan.members} | {scan.stopped_in}
    if "result" in names or "error" in names:
        return True
    if "method" in names or "params" in names or scan.stopped < 0:
        return False
    look = _TELLING_NAME.search if text[:1] == b"{" else _TELLING_NAME.match
    found = look(text, scan.stopped)
    return found is not None and found[1] is not None


def _begins_with_reply(text: bytes) -> bool:
    """Say whether the first item of an array, which may be cut, is a reply."""
    first = text[1:].lstrip(_SPACE + b"[")
    return first[:1] == b"{" and _is_reply(first, scan_object(first, _ENVELOPE_NAMES))


def _is_id(token: bytes) -> bool:
    if not token or token[0] not in _ID_START:
        return False
    try:
        token.decode()
    except UnicodeDecodeError:
        return False
    return syntax_error(token) is None


def fault_from_excerpt(
    kind: FaultKind, reason: str, head: bytes, tail: bytes, size: int, position: int = -1
) -> Fault:
    """Build the fault of a message that was too large to keep, or cut, from its two ends.

    The id is read from the head, or from the tail when it stands behind the large member; `tail` is
    empty where the end of the message never came.  `position` is that of the message in the stream.
    """
    text = head.lstrip(_SPACE + _BOM)
    id, is_reply = _concerned(text, scan_object(text, _ENVELOPE_NAMES))
    if id is None:
        id, ends_as_reply = _concerned_at_end(tail)
        is_reply = is_reply or ends_as_reply
    return Fault(kind, reason, id, is_reply, head, size, position)


def _concerned_at_end(tail: bytes) -> tuple[bytes | None, bool]:
    """Find a top-level id behind the large member: `…,"id":7}` or `…,"id":7,"jsonrpc":"2.0"}`."""
    start = tail.rfind(b'"id"')
    if start < 0 or tail[:start].rstrip(_SPACE)[-1:] not in (b",", b"{"):
        return None, False  # not there, or part of a string
    rest = b"{" + tail[start:]
    scan = scan_object(rest, _ENVELOPE_NAMES)
    if scan.stopped != -1:
        return None, False  # what ends here is an object inside the message
    return _concerned(rest, scan)


def encode(message: Message | Batch) -> bytes:
    """Write a message as JSON (UTF-8); one that was read goes back as it came, white space included.

    A batch is one array of its messages.
    """
    if message.frame:
        return message.frame
    if type(message) is Response:
        return b'{"jsonrpc":"2.0","id":%b,"result":%b}' % (message.id, message.result)
    if type(message) is Request or type(message) is Notification:
        start = b'"id":%b,"method":' % message.id if type(message) is Request else b'"method":'
        method = encode_value(message.method)
        if message.params is None:
            return b'{"jsonrpc":"2.0",%b%b}' % (start, method)
        return b'{"jsonrpc":"2.0",%b%b,"params":%b}' % (start, method, message.params)
    if type(message) is ErrorResponse:
        id = b"" if message.id is None else b'"id":%b,' % message.id
        return b'{"jsonrpc":"2.0",%b"error":%b}' % (id, message.error)
    return b"[%b]" % b",".join(encode(item) for item in message.items if type(item) is not Fault)


def body(message: Message | Mapping[str, object]) -> bytes:
    """Write a message, or plain JSON data in the shape of one, as JSON."""
    return encode_value(message) if isinstance(message, Mapping) else encode(message)
