"""What one incoming message means for the conversation it belongs to."""

from __future__ import annotations

from typing import Final, TypeAlias

import msgspec

from anywire.errors import AnywireError
from anywire.wire.codec import decode_value
from anywire.wire.message import ErrorResponse, Notification, Request, Response, id_key
from anywire.wire.splice import get_member

__all__ = (
    "CANCELLED",
    "CancelReceived",
    "Event",
    "Outcome",
    "ProgressReceived",
    "Refused",
    "Settled",
    "Unmatched",
    "read_cancel",
)

#: The method of the notification that takes a request back.
CANCELLED: Final = "notifications/cancelled"

#: What became of a request of ours: its raw result, or why there is none.
Outcome: TypeAlias = bytes | AnywireError


class Settled(msgspec.Struct, frozen=True):
    """A request of ours came to its end.

    `send` is a message that must go out because of it (the cancellation of one that timed out).
    `folded`: the reply's id had the right digits and the wrong type.
    """

    key: bytes
    outcome: Outcome
    send: Notification | None = None
    folded: bool = False


class CancelReceived(msgspec.Struct, frozen=True):
    """The peer no longer wants the answer to its request `key`; it is out of the table already."""

    key: bytes
    reason: str


class ProgressReceived(msgspec.Struct, frozen=True):
    """A request of ours made progress; `params` is raw JSON (`progress`, `total`, `message`)."""

    key: bytes
    params: bytes


class Refused(msgspec.Struct, frozen=True):
    """A request that must not be handled; `reply` says why and must be sent."""

    reply: ErrorResponse


class Unmatched(msgspec.Struct, frozen=True):
    """A reply that answers nothing that is in flight."""

    message: Response | ErrorResponse


#: What one incoming message means.  A request or a notification that is for the layer above is
#: returned as it is.
Event: TypeAlias = Request | Notification | Settled | CancelReceived | ProgressReceived | Refused | Unmatched


class _CancelParams(msgspec.Struct):
    reason: object = None


_cancel_decoder = msgspec.json.Decoder(_CancelParams)


def read_cancel(message: Notification) -> CancelReceived | None:
    """Read which request a `notifications/cancelled` is about; None for anything else or malformed."""
    if message.method != CANCELLED:
        return None
    try:
        params = decode_value(message.params or b"{}", _CancelParams, _cancel_decoder)
    except msgspec.MsgspecError:
        return None
    reason = params.reason if isinstance(params.reason, str) and params.reason else "cancelled by client"
    id = get_member(message.params or b"{}", "requestId") or b""  # as it stands there: it may be half a pair
    return CancelReceived(id_key(id), reason)
