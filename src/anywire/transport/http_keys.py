"""Which requests a message asks, answers or takes back, for whoever has several streams to send on."""

from __future__ import annotations

from typing import Final, TypeAlias

import msgspec

from anywire.wire.message import (
    NULL_ID,
    Batch,
    ErrorResponse,
    Fault,
    JsonRpcErrorCode,
    Message,
    Notification,
    Request,
    Response,
    create_error_response,
    id_key,
)
from anywire.wire.peer import read_cancel

__all__ = ("ReplyKeys", "cancelled_keys", "reply_keys", "request_ids", "session_ended")

#: The keys of the requests that a message answers; None for one whose id could not be read.
ReplyKeys: TypeAlias = tuple[bytes | None, ...]
_ENDED: Final = "the session ended before the request was answered"


def _items(message: Message | Batch) -> tuple[Message | Fault, ...]:
    return message.items if isinstance(message, Batch) else (message,)


def session_ended(key: bytes) -> ErrorResponse:
    """Return the answer to the request of that key when its session ends before there is another."""
    error = create_error_response(None, JsonRpcErrorCode.InternalError, _ENDED)
    return msgspec.structs.replace(error, id=key)


def request_ids(message: Message | Batch) -> tuple[bytes, ...]:
    """Return the raw ids of the requests in a message."""
    if type(message) is Request:
        return (message.id,)
    return tuple([item.id for item in _items(message) if isinstance(item, Request)])


def cancelled_keys(message: Message | Batch) -> tuple[bytes, ...]:
    """Return the keys of the requests that a message cancels."""
    cancels = [read_cancel(item) for item in _items(message) if isinstance(item, Notification)]
    return tuple([cancel.key for cancel in cancels if cancel is not None])


def reply_keys(message: Message | Batch) -> ReplyKeys:
    """Return the keys of the requests that a message answers; None for one whose id could not be read."""
    if type(message) is Response:
        return (id_key(message.id) if message.id != NULL_ID else None,)
    ids = [item.id for item in _items(message) if isinstance(item, Response | ErrorResponse)]
    return tuple([None if id is None or id == NULL_ID else id_key(id) for id in ids])
