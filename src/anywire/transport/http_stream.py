"""One outgoing stream of an HTTP session: what waits to be sent on it, and who sends it."""

from __future__ import annotations

import asyncio
from collections import deque

from anywire.store.event_log import LoggedEvent

__all__ = ("OutgoingStream",)


class OutgoingStream:
    """Events in order, for one reader at a time; the newest reader wins.

    A stream outlives the connection that carries it: what was put on it while nobody read is there
    for the next reader.  It ends when `end()` was called and everything has been taken.
    """

    def __init__(self, name: str, awaited: set[bytes] | None = None, start_id: str = "") -> None:
        #: The stream's name, part of its events' ids.
        self.name = name
        #: The event id from which a client would get everything that is on the stream.
        self.start_id = start_id
        #: The keys of the requests whose replies are still to come on it.
        self.awaited = awaited or set()
        #: The number of bytes that wait.
        self.size = 0
        self.ended = False
        #: A request was cancelled, so that its reply will not come.
        self.cancelled = False
        self._events: deque[LoggedEvent] = deque()
        self._arrival = asyncio.Event()
        self._taken = asyncio.Event()
        self._reader = 0

    def __len__(self) -> int:
        return len(self._events)

    @property
    def has_reader(self) -> bool:
        """Whether somebody reads it now."""
        return self._reader % 2 == 1

    def put(self, event: LoggedEvent) -> None:
        """Add an event."""
        self._events.append(event)
        self.size += len(event.data)
        self._arrival.set()

    def end(self) -> None:
        """Nothing more will be added."""
        self.ended = True
        self._arrival.set()
        self._taken.set()

    def begin_reading(self) -> int:
        """Become the reader; whoever was it before stops.  Returns a ticket for the other calls."""
        self._reader += 2 if self.has_reader else 1
        self._arrival.set()
        return self._reader

    def stop_reading(self, ticket: int) -> None:
        """Be no reader any more; nothing if somebody else is it by now."""
        if self._reader == ticket:
            self._reader += 1
            self._taken.set()
            self._arrival.set()

    def drop(self) -> LoggedEvent | None:
        """Take the oldest event away unread."""
        if not self._events:
            return None
        event = self._events.popleft()
        self.size -= len(event.data)
        self._taken.set()
        return event

    def replace(self, events: list[LoggedEvent]) -> None:
        """Start over with these events, for a reader that says where it stopped."""
        self._events = deque(events)
        self.size = sum(len(event.data) for event in events)
        self._arrival.set()

    def take(self, ticket: int) -> LoggedEvent | None:
        """Take the next event if there is one and the ticket holds."""
        return self.drop() if self._reader == ticket else None

    async def room(self, size: int) -> None:
        """Wait while more than `size` bytes wait and somebody reads them."""
        while self.size > size and self.has_reader and not self.ended:
            self._taken.clear()
            await self._taken.wait()

    async def until_ended(self, ticket: int) -> bool:
        """Wait for the end of the stream; say whether this is still its reader."""
        while self._reader == ticket and not self.ended:
            self._arrival.clear()
            await self._arrival.wait()
        return self._reader == ticket

    async def wait(self, ticket: int, seconds: float) -> bool:
        """Wait for an event or the end, at most so long; say whether this is still its reader."""
        while self._reader == ticket and not self._events and not self.ended:
            self._arrival.clear()
            try:
                async with asyncio.timeout(seconds):
                    await self._arrival.wait()
            except TimeoutError:
                return True
        return self._reader == ticket
