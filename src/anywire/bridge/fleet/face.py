"""What the relay to one server takes for its client.

Each message goes on in the context of whoever sent it, since headers of its request may travel in that.
What a server does not read waits here and holds nobody else up, until it is too much.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict, deque
from collections.abc import Callable
from contextvars import Context, copy_context
from typing import TypeAlias

from anywire.bridge.sharing.fair_queue import size_of
from anywire.transport.contract import Callbacks, call_back, ignore, refuse_when_closed
from anywire.wire.limits import Limits
from anywire.wire.message import Batch, Message, Request, id_key

__all__ = ("MemberFace",)

_Waiting: TypeAlias = tuple[Message, Context]


class MemberFace:
    """See `anywire.transport.contract.Transport`; a relay has it, and `put` is the other end.

    `hear` gets what the server says, with the raw id of the request that it belongs to where that is known.
    `filled` hears that too much waits for the server, and that it does no longer.
    """

    def __init__(
        self,
        name: str,
        hear: Callable[[Message | Batch, bytes | None], None],
        filled: Callable[[bool], None],
        limits: Limits,
    ) -> None:
        self.callbacks = Callbacks()
        self.name = name
        #: The client does not read: called by whoever holds it, heard by the relay.
        self.on_full: Callable[[], None] = ignore
        self.on_room: Callable[[], None] = ignore
        self._hear = hear
        self._filled = filled
        self._limits = limits
        self._opening: deque[_Waiting] = deque()
        self._queue: OrderedDict[int, _Waiting] = OrderedDict()
        self._requests: dict[bytes, int] = {}  # where in the queue the request of a key stands
        self._last = 0
        self._waiting_bytes = 0
        self._full = False
        self._open = False
        self._started = False
        self._scheduled = False
        self._ended = False
        self._holds: set[str] = set()
        self._closed = False

    @property
    def closed(self) -> bool:
        """True from the moment `close()` was called."""
        return self._closed

    @property
    def started(self) -> bool:
        """Whether the relay has a server."""
        return self._started

    @property
    def is_open(self) -> bool:
        """Whether `open()` was called."""
        return self._open

    # The relay's end.

    async def start(self) -> None:
        """Hand on what waits, and go on with that."""
        self._started = True
        self._schedule()

    def post(self, message: Message | Batch, related: bytes | None = None) -> None:
        """Take something that the server says."""
        refuse_when_closed(self._closed, self.name)
        # Not from here: this may be inside a callback of the client's.
        asyncio.get_running_loop().call_soon(self._hear, message, related)

    async def send(self, message: Message | Batch, related: bytes | None = None) -> None:
        """As `post`: the client has been held, or takes it."""
        self.post(message, related)

    def hold_reading(self, reason: str) -> None:
        """The server does not read: let what is for it wait."""
        self._holds.add(reason)

    def release_reading(self, reason: str) -> None:
        """That reason holds no longer."""
        self._holds.discard(reason)
        self._schedule()

    async def close(self) -> None:
        """Nothing goes to the server any more, and what it says is heard by nobody."""
        if not self._closed:
            self._closed = True
            self._opening.clear()
            self._queue.clear()
            self._requests.clear()
            self._measure(-self._waiting_bytes)
            call_back(self.callbacks.on_close, None)

    # The other end.

    def greet(self, message: Message) -> None:
        """Send what opens the conversation; the rest waits until `open()`."""
        self._opening.append((message, copy_context()))
        self._schedule()

    def open(self) -> None:
        """The server knows whom it speaks to: what waits may go."""
        self._open = True
        self._schedule()

    def put(self, message: Message) -> bool:
        """Send something; False where a request was not taken, since too much waits already.

        What a server waits for, and what spares it work, is taken in any case.
        """
        size = size_of(message)
        too_much = self._waiting_bytes and self._waiting_bytes + size > self._limits.unread_bytes
        if self._closed or (too_much and isinstance(message, Request)):
            return False
        self._last += 1
        self._queue[self._last] = message, copy_context()
        if isinstance(message, Request):
            self._requests[id_key(message.id)] = self._last
        self._measure(size)
        self._schedule()
        return True

    def withdraw(self, key: bytes) -> bool:
        """Take back the request of that key; False where it is not here any more."""
        number = self._requests.get(key)
        if number is None:
            return False
        self._take(number)
        return True

    def _take(self, number: int) -> _Waiting:
        waiting = self._queue.pop(number)
        message = waiting[0]
        if isinstance(message, Request):
            self._requests.pop(id_key(message.id), None)
        self._measure(-size_of(message))
        return waiting

    def end(self) -> None:
        """Say that no more will come; the relay ends when what was asked is answered."""
        if not self._ended:
            self._ended = True
            call_back(self.callbacks.on_end)

    def _measure(self, change: int) -> None:
        self._waiting_bytes += change
        if not self._full and self._waiting_bytes > self._limits.write_high_bytes:
            self._full = True
            self._filled(True)
        elif self._full and self._waiting_bytes <= self._limits.write_low_bytes:
            self._full = False
            self._filled(False)

    def _schedule(self) -> None:
        ready = self._opening or (self._open and self._queue and not self._holds)
        if ready and self._started and not self._scheduled and not self._closed:
            self._scheduled = True
            asyncio.get_running_loop().call_soon(self._deliver)

    def _deliver(self) -> None:
        self._scheduled = False
        while self._opening:
            self._hand_over(self._opening.popleft())
        for _ in range(len(self._queue)):
            if not (self._queue and self._open) or self._holds:
                break
            self._hand_over(self._take(next(iter(self._queue))))
        self._schedule()

    def _hand_over(self, waiting: _Waiting) -> None:
        message, context = waiting
        context.run(call_back, self.callbacks.on_message, message)
