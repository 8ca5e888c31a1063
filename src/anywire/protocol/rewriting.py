"""Messages under another name: one member of an envelope, of params or of a result is changed.

Every other byte stays what it was, in the frame of a message as in its fields.
"""

from __future__ import annotations

import re
from typing import Final, TypeVar

import msgspec

from anywire.protocol.types.envelope import SUBSCRIPTION_ID_KEY
from anywire.wire.message import ErrorResponse, Notification, Request, Response
from anywire.wire.scan import scan_object
from anywire.wire.splice import get_member, set_member

__all__ = (
    "progress_token",
    "repeats",
    "repeats_token",
    "replaced",
    "subscription_tag",
    "swap_progress_token",
    "with_error",
    "with_id",
    "with_member",
    "with_params",
    "with_result",
    "with_subscription_tag",
)

_Asking = TypeVar("_Asking", bound=Request | Notification)
_Named = TypeVar("_Named", bound=Request | Response | ErrorResponse)
_Tagged = TypeVar("_Tagged", Notification, Response)

_TOKEN: Final = "progressToken"  # noqa: S105 a name, no secret
_TOKEN_NAME: Final = re.compile(rb'"progressToken"[ \t\r\n]*+:[ \t\r\n]*+')
# Where nearly all programs write the id: first, behind the version, or at the very end.  To find it
# there costs nothing, however long the message is.
_ID_FIRST: Final = re.compile(rb'[ \t\r\n]*+\{ ?(?:"jsonrpc" ?: ?"2\.0" ?, ?)?"id" ?: ?')
_ID_LAST: Final = (b',"id":%b}', b', "id": %b}')
# A letter of a name, or a slash, may be written as an escape.
_ESCAPED: Final = re.compile(rb"\\(?:u00[2-7]|/)")


def with_id(message: _Named, id: bytes) -> _Named:
    """Return the message with another raw id."""
    frame = _frame_with_id(message.frame, message.id, id) if message.frame else b""
    return msgspec.structs.replace(message, id=id, frame=frame)


def _frame_with_id(frame: bytes, old: bytes | None, new: bytes) -> bytes:
    if old is not None:
        first = _ID_FIRST.match(frame)
        if first is not None and frame.startswith(old, first.end()):
            return frame[: first.end()] + new + frame[first.end() + len(old) :]
        for last in _ID_LAST:
            end = last % old
            if frame.endswith(end):
                return frame[: -len(end)] + last % new
    return set_member(frame, "id", new)


def with_member(message: _Asking, name: str, value: bytes) -> _Asking:
    """Return the message with one member of its params set to a raw value; without params: as it is."""
    if message.params is None or message.params[:1] != b"{":
        return message
    return with_params(message, set_member(message.params, name, value))


def with_params(message: _Asking, params: bytes) -> _Asking:
    """Return a message that has params with others."""
    frame = message.frame and replaced(message.frame, "params", message.params or b"", params)
    return msgspec.structs.replace(message, params=params, frame=frame)


def with_result(reply: Response, result: bytes) -> Response:
    """Return a reply with another raw result."""
    frame = reply.frame and replaced(reply.frame, "result", reply.result, result)
    return msgspec.structs.replace(reply, result=result, frame=frame)


def with_error(reply: ErrorResponse, error: bytes) -> ErrorResponse:
    """Return an error with another raw `error`."""
    frame = reply.frame and replaced(reply.frame, "error", reply.error, error)
    return msgspec.structs.replace(reply, error=error, frame=frame)


def replaced(data: bytes, name: str, old: bytes, new: bytes) -> bytes:
    """Return an object with a value in the place of `old`, which is that of a member.

    Where those bytes stand but once it is not looked for member by member.
    """
    start = data.find(old)
    if start >= 0 and data.rfind(old) == start:
        return data[:start] + new + data[start + len(old) :]
    return set_member(data, name, new)


# What is inside `_meta`.


def progress_token(params: bytes | None) -> bytes | None:
    """Return the raw progress token that params carry in their `_meta`, None where there is none."""
    return _in_meta(params, _TOKEN)


def swap_progress_token(message: _Asking, token: bytes) -> tuple[_Asking, bytes | None]:
    """Return a message with another progress token in its `_meta`, and the one that it had.

    Without one it stays as it is.
    """
    params = message.params
    meta = get_member(params, "_meta") if params is not None and _may_have(params, _TOKEN) else None
    old = None if meta is None else get_member(meta, _TOKEN)
    if params is None or meta is None or old is None:
        return message, None
    name = _TOKEN_NAME.search(meta)
    if name is not None and b"\\" not in meta and meta.count(b'"progressToken"') == 1:
        changed = meta[: name.end()] + token + meta[name.end() + len(old) :]
    else:
        changed = set_member(meta, _TOKEN, token)
    return with_params(message, replaced(params, "_meta", meta, changed)), old


def subscription_tag(params: bytes | None) -> bytes | None:
    """Return the raw id of the `subscriptions/listen` that params or a result are tagged with."""
    return _in_meta(params, SUBSCRIPTION_ID_KEY)


def with_subscription_tag(message: _Tagged, id: bytes) -> _Tagged:
    """Return a tagged notification, or a tagged final result, with another raw id on its tag."""
    if isinstance(message, Notification):
        return _with_meta(message, SUBSCRIPTION_ID_KEY, id)
    return with_result(message, _set_in_meta(message.result, SUBSCRIPTION_ID_KEY, id))


def repeats(params: bytes | None, *names: str) -> bool:
    """Say whether one of these members occurs twice: two readers could take two different values."""
    wanted = frozenset(names)
    return bool(scan_object(params or b"", wanted).duplicates(wanted))


def repeats_token(params: bytes | None) -> bool:
    """Say whether two readers could take two different progress tokens from these params."""
    if params is None or not _may_have(params, _TOKEN):
        return False
    if params.count(b'"_meta"') + params.count(b'"progressToken"') <= 2 and not _ESCAPED.search(params):
        return False
    return repeats(params, "_meta") or repeats(get_member(params, "_meta"), _TOKEN)


def _in_meta(data: bytes | None, name: str) -> bytes | None:
    if data is None or not _may_have(data, name):
        return None
    return get_member(get_member(data, "_meta") or b"", name)


def _may_have(data: bytes, name: str) -> bool:
    """Say whether the name occurs at all: most params are spared the search for it."""
    return name.encode() in data or (b"\\" in data and _ESCAPED.search(data) is not None)


def _with_meta(message: _Asking, name: str, value: bytes) -> _Asking:
    if message.params is None:
        return message
    return with_params(message, _set_in_meta(message.params, name, value))


def _set_in_meta(data: bytes, name: str, value: bytes) -> bytes:
    meta = get_member(data, "_meta")
    if meta is None or meta[:1] != b"{":
        return data
    return set_member(data, "_meta", set_member(meta, name, value))
