"""Change or drop members of a JSON object and leave the bytes of the others as they are.

A relay may have to change an id, a progress token or one key of `_meta`.  It must not change what
it does not know: big integers, `1.0e-5`, escapes, the order of keys.  So nothing is decoded here; the
span of one value is found and other bytes are put in its place.
"""

from __future__ import annotations

import re
from typing import Final

import msgspec
from msgspec import Raw

from anywire.wire.codec import encode_value
from anywire.wire.scan import quick_values, scan_array, scan_object

__all__ = ("drop_members", "get_items", "get_member", "set_member", "with_progress_token")

_OBJECT = re.compile(rb"[ \t\r\n]*+\{")
_EMPTY = re.compile(rb"[ \t\r\n]*+\}")
_read_items: Final = msgspec.json.Decoder(list[Raw]).decode


def get_member(data: bytes, name: str) -> bytes | None:
    """Return the raw value of a member of a JSON object, None where there is none or it is no object."""
    values = quick_values(data)
    if values:
        value = values.get(name)
        return None if value is None else bytes(value)
    member = scan_object(data, frozenset({name}), known=values).find(name)
    return None if member is None else data[member.value_start : member.value_end]


def get_items(data: bytes) -> list[bytes] | None:
    """Return the raw items of a JSON array, None for a JSON value of another kind."""
    if data.lstrip(b" \t\r\n")[:1] != b"[":
        return None
    try:
        return [bytes(item) for item in _read_items(data)]
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return scan_array(data, len(data))  # half a surrogate pair in it, say


def set_member(data: bytes, name: str, value: bytes) -> bytes:
    """Return the object with one member set to a raw value; a new member comes first.

    `data` is a JSON object.
    """
    values = quick_values(data)
    if values and name not in values:
        return _put_first(data, encode_value(name), value)
    member = scan_object(data, frozenset({name}), known=values).find(name)
    if member is not None:
        return data[: member.value_start] + value + data[member.value_end :]
    return _put_first(data, encode_value(name), value)


def _put_first(data: bytes, name: bytes, value: bytes) -> bytes:
    start = data.index(b"{") + 1
    comma = b"" if _EMPTY.match(data, start) else b","
    return b"%b%b:%b%b%b" % (data[:start], name, value, comma, data[start:])


def drop_members(data: bytes, *names: str) -> bytes:
    """Return the object without its members of these names; what is no object stays as it is."""
    scan = scan_object(data)
    if scan.stopped != -1 or not any(member.name in names for member in scan.members):
        return data
    parts: list[bytes] = []
    end = scan.members[0].start  # each member that stays brings what stands before it, but for the first
    for member in scan.members:
        if member.name not in names:
            parts.append(data[end if parts else member.start : member.value_end])
        end = member.value_end
    return b"%b%b%b" % (data[: scan.members[0].start], b"".join(parts), data[end:])


def with_progress_token(params: bytes | None, token: bytes) -> bytes:
    """Return request params that carry a progress token (raw JSON) in their `_meta`.

    Params that are no object have no place for one and are returned as they are.

    Specification: MCP `basic/utilities/progress`.
    """
    # The usual case, on the hot path: `find` is quicker there than `in`.
    if params is not None and params[:2] == b'{"' and params.find(b"_meta") < 0 and params.find(b"\\u") < 0:
        return b'{"_meta":{"progressToken":%b},%b' % (token, params[1:])
    meta = b'{"progressToken":%b}' % token
    if params is None:
        return b'{"_meta":%b}' % meta
    if not _OBJECT.match(params):
        return params
    if b'"_meta"' not in params and b"\\u" not in params:
        return _put_first(params, b'"_meta"', meta)
    present = get_member(params, "_meta")
    if present is not None and present[:1] == b"{":
        meta = set_member(present, "progressToken", token)
    return set_member(params, "_meta", meta)
