"""What is to be done because of a message: the routes decide it, the hub does it."""

from __future__ import annotations

from typing import Final, TypeAlias

import msgspec

from anywire.errors import AnywireError
from anywire.wire.message import Batch, Message

__all__ = ("OURS", "Delivery", "Failed", "Note", "Reopened", "ToClient", "ToServer")

#: The key of what is said to the server on behalf of no connection, or of several.
OURS: Final = 0


class ToServer(msgspec.Struct, frozen=True):
    """Send a message to the server, on behalf of the connection `of`, or `OURS`.

    `cancels` is the raw id of the request that it takes back: where that was not sent yet, neither is.
    `ordered`: it concerns others as well, so that these go in one order, whosever they are.
    """

    of: int
    message: Message
    cancels: bytes | None = None
    ordered: bool = False


class ToClient(msgspec.Struct, frozen=True):
    """Hand a message to the connection `to`."""

    to: int
    message: Message | Batch


class Failed(msgspec.Struct, frozen=True):
    """Tell the connection `to` that its request of that raw id cannot have an answer any more."""

    to: int
    id: bytes
    error: AnywireError


class Reopened(msgspec.Struct, frozen=True):
    """Tell the connection `to` that the server had lost the conversation."""

    to: int


class Note(msgspec.Struct, frozen=True):
    """Tell whoever runs the bridge."""

    sentence: str


#: One thing to do.
Delivery: TypeAlias = ToServer | ToClient | Failed | Reopened | Note
