"""What waits to be sent to a server that several clients share: each of them has its turn.

Messages of one client keep their order; between clients there is none.
"""

from __future__ import annotations

from collections import deque

from anywire.wire.message import Batch, Fault, Message, Request

__all__ = ("FairQueue", "size_of")


class FairQueue:
    """Messages by the key of whose they are."""

    def __init__(self) -> None:
        # The one whose turn it is comes first; nobody without messages is in it.
        self._waiting: dict[int, deque[Message]] = {}
        self._bytes: dict[int, int] = {}
        self._requests: set[bytes] = set()

    def __bool__(self) -> bool:
        return bool(self._waiting)

    def waiting_bytes(self, key: int) -> int:
        """Return how much waits of one client."""
        return self._bytes.get(key, 0)

    def put(self, key: int, message: Message) -> None:
        """Take a message of a client's; ids of requests are unique among all."""
        self._waiting.setdefault(key, deque()).append(message)
        self._bytes[key] = self._bytes.get(key, 0) + size_of(message)
        if isinstance(message, Request):
            self._requests.add(message.id)

    def withdraw(self, id: bytes) -> bool:
        """Take a request back; say whether it was still here."""
        if id not in self._requests:
            return False
        self._requests.discard(id)
        return True

    def take(self) -> tuple[int, Message] | None:
        """Return the next message and whose it is: clients take turns."""
        while self._waiting:
            key = next(iter(self._waiting))
            messages = self._waiting.pop(key)
            message = messages.popleft()
            self._bytes[key] -= size_of(message)
            if messages:
                self._waiting[key] = messages
            else:
                del self._bytes[key]
            if isinstance(message, Request):
                if message.id not in self._requests:
                    continue  # withdrawn
                self._requests.discard(message.id)
            return key, message
        return None


def size_of(message: Message | Batch | Fault) -> int:
    """Return about how many bytes a message takes."""
    if isinstance(message, Batch):
        return sum(map(size_of, message.items))
    if isinstance(message, Fault):
        return len(message.data)
    if message.frame:
        return len(message.frame)
    value = (
        getattr(message, "params", None) or getattr(message, "result", None) or getattr(message, "error", b"")
    )
    return 64 + len(value)
