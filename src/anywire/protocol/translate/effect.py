"""What a translator wants done: messages for either side, and what is to be told of besides.

The machines do no I/O; each call of theirs returns such things, to be done in that order.
"""

from __future__ import annotations

from typing import TypeAlias

import msgspec

from anywire.errors import AnywireError
from anywire.wire.message import Batch, Fault, Message, Notification, Request

__all__ = ("Effect", "Failed", "Noise", "ToClient", "ToServer")


class ToServer(msgspec.Struct, frozen=True):
    """Send this to the server."""

    message: Request | Notification


class ToClient(msgspec.Struct, frozen=True):
    """Send this to the client; `related` is the raw id of the client's request that it is about, if known."""

    message: Message | Batch
    related: bytes | None = None


class Failed(msgspec.Struct, frozen=True):
    """The client's request of that raw id cannot be answered any more, and this is why."""

    id: bytes
    error: AnywireError


class Noise(msgspec.Struct, frozen=True):
    """Something came that is for nobody."""

    error: Fault | AnywireError


#: One thing to be done.
Effect: TypeAlias = ToServer | ToClient | Failed | Noise
