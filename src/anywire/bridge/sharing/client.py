"""One connection of a client, as far as it decides which messages are its."""

from __future__ import annotations

from collections.abc import Hashable
from typing import TYPE_CHECKING

from anywire.protocol.types.logging import LogLevel
from anywire.wire.batch import BatchReplies

if TYPE_CHECKING:
    from anywire.bridge.sharing.flights import Flight
    from anywire.bridge.sharing.questions import Question

__all__ = ("Client",)


class Client:
    """What is known of a connection.  Those of one owner are the same client to us."""

    __slots__ = ("batches", "capabilities", "flights", "handshaken", "key", "level", "owner", "questions")

    def __init__(self, key: int, owner: Hashable) -> None:
        #: Which connection it is: 1, 2, …; 0 is this side.
        self.key = key
        #: Whose it is.
        self.owner = owner
        #: Its requests that are unanswered, by the key of its own id.
        self.flights: dict[bytes, Flight] = {}
        #: What the server has asked it, by the id under which it was asked.
        self.questions: dict[bytes, Question] = {}
        #: The replies to its batches.
        self.batches = BatchReplies()
        #: It has got its answer to `initialize`.
        self.handshaken = False
        #: What it said it can do, raw JSON.
        self.capabilities = b"{}"
        #: The least severe log messages that it wants, None before it said so.
        self.level: LogLevel | None = None
