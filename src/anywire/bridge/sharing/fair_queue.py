"""What waits to be sent to a server that several clients share: each of them has its turn.

Messages of one client keep their order.  Between clients there is none, but for what concerns others
as well, which keeps one order for all.
"""

from __future__ import annotations

from collections import OrderedDict

from anywire.wire.message import Batch, Fault, Message, Request

__all__ = ("FairQueue", "size_of")


class _Line:
    """What waits of one client, by the number under which it was put."""

    __slots__ = ("messages", "size")

    def __init__(self) -> None:
        self.messages: OrderedDict[int, Message] = OrderedDict()
        self.size = 0


class FairQueue:
    """Messages by the key of whose they are."""

    def __init__(self) -> None:
        self._lines: dict[int, _Line] = {}
        self._turns: OrderedDict[int, None] = OrderedDict()  # who can go, the next one first
        # The numbers of what keeps one order, and who waits until a number is the first of them.
        self._ordered: OrderedDict[int, None] = OrderedDict()
        self._blocked: dict[int, int] = {}
        self._requests: dict[bytes, tuple[int, int]] = {}
        self._last = 0
        self._size = 0

    def __bool__(self) -> bool:
        return bool(self._lines)

    @property
    def size(self) -> int:
        """How many bytes wait of all clients."""
        return self._size

    def size_of(self, key: int) -> int:
        """Return how many bytes wait of one client."""
        line = self._lines.get(key)
        return 0 if line is None else line.size

    def put(self, key: int, message: Message, *, ordered: bool = False) -> None:
        """Take a message of a client's; ids of requests are unique among all.

        What is `ordered` goes before all that is and was put later, whosever that is.
        """
        self._last += 1
        line = self._lines.get(key)
        if line is None:
            line = self._lines[key] = _Line()
            self._turns[key] = None
        line.messages[self._last] = message
        line.size += size_of(message)
        self._size += size_of(message)
        if ordered:
            self._ordered[self._last] = None
        elif isinstance(message, Request):
            self._requests[message.id] = key, self._last

    def withdraw(self, id: bytes) -> bool:
        """Take back a request that is not `ordered`; say whether it was still here."""
        found = self._requests.get(id)
        if found is None:
            return False
        self._remove(*found)
        return True

    def forget(self, key: int) -> None:
        """Drop what waits of a client and concerns no other."""
        line = self._lines.get(key)
        for number in [] if line is None else list(line.messages):
            if number not in self._ordered:
                self._remove(key, number)

    def take(self) -> tuple[int, Message] | None:
        """Return the next message and whose it is: clients take turns."""
        while self._turns:
            key, _ = self._turns.popitem(last=False)
            number = next(iter(self._lines[key].messages))
            if number in self._ordered and number != next(iter(self._ordered)):
                self._blocked[number] = key
                continue
            self._turns[key] = None
            return key, self._remove(key, number)
        return None

    def _remove(self, key: int, number: int) -> Message:
        line = self._lines[key]
        message = line.messages.pop(number)
        line.size -= size_of(message)
        self._size -= size_of(message)
        if not line.messages:
            del self._lines[key]
            self._turns.pop(key, None)
        if number in self._ordered:
            del self._ordered[number]
            self._let_next_go()
        elif isinstance(message, Request):
            self._requests.pop(message.id, None)
        return message

    def _let_next_go(self) -> None:
        """Whoever waits with what comes next in the one order may go again."""
        first = next(iter(self._ordered), 0)
        key = self._blocked.pop(first, None)
        if key is not None:
            self._turns[key] = None


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
