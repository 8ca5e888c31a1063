"""One outgoing stream of an HTTP session: what waits to be sent on it, and who sends it."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable

from anywire.store.event_log import LoggedEvent
from anywire.transport.contract import ignore
from anywire.wire.limits import Limits

__all__ = ("OutgoingStream",)


class OutgoingStream:
    """Events in order, for one reader at a time; the newest reader wins.

    A stream outlives the connection that carries it.  It ends when `end()` was called and everything
    has been taken.  `on_level` is called when more waits than a reader should have waiting, and when
    that is over; a stream that nobody reads is never full.
    """

    def __init__(
        self,
        name: str,
        limits: Limits,
        *,
        awaited: set[bytes] | None = None,
        start_id: str = "",
        on_level: Callable[[OutgoingStream], None] = ignore,
    ) -> None:
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
        #: Its client is told how to come back from the first byte on, and when to.
        self.comes_back = False
        #: The connection that carries it is to end now; the stream goes on, on the next one.
        self.resting = False
        #: More waits than its reader should have waiting.
        self.full = False
        #: Its reader has gone: what is put on it is kept elsewhere, until somebody reads again.
        self.abandoned = False
        self._high, self._low = limits.write_high_bytes, limits.write_low_bytes
        self._on_level = on_level
        self._events: deque[LoggedEvent] = deque()
        # Made when somebody waits: most streams have their reply before anybody does.
        self._arrival: asyncio.Event | None = None
        self._taken: asyncio.Event | None = None
        self._reader = 0

    def __len__(self) -> int:
        return len(self._events)

    @property
    def has_reader(self) -> bool:
        """Whether somebody reads it now."""
        return self._reader % 2 == 1

    # Writing.

    def put(self, event: LoggedEvent) -> None:
        """Add an event."""
        if not self.abandoned:
            self._events.append(event)
            self.size += len(event.data)
            self._changed()

    def end(self) -> None:
        """Nothing more will be added."""
        self.ended = True
        self._changed()

    def drop(self) -> LoggedEvent | None:
        """Take the oldest event away unread."""
        if not self._events:
            return None
        event = self._events.popleft()
        self.size -= len(event.data)
        self._changed()
        return event

    async def room(self) -> None:
        """Wait while too much waits and somebody reads it."""
        while self.full:
            self._taken = self._taken or asyncio.Event()
            self._taken.clear()
            await self._taken.wait()

    def rest(self) -> None:
        """Let the connection that carries it end, if its client will come back for the rest."""
        if self.comes_back and not self.ended:
            self.resting = True
            self._changed()

    # Reading.

    def begin_reading(self) -> int:
        """Become the reader; whoever was it before stops.  Returns a ticket for the other calls."""
        self._reader += 2 if self.has_reader else 1
        self._changed()
        self.resting = False
        return self._reader

    def stop_reading(self, ticket: int) -> None:
        """Be no reader any more; nothing if somebody else is it by now."""
        if self._reader == ticket:
            self._reader += 1
            self._changed()

    def abandon(self) -> None:
        """Its reader has gone: let go what waits, which is kept elsewhere."""
        self.abandoned = True
        self._events.clear()
        self.size = 0
        self._changed()

    def resume(self, events: list[LoggedEvent]) -> None:
        """Go on with these events, for a reader that says where it stopped."""
        self.abandoned = False
        self._events = deque(events)
        self.size = sum(len(event.data) for event in events)
        self._changed()

    def take(self, ticket: int) -> LoggedEvent | None:
        """Take the next event if there is one and the ticket holds."""
        return self.drop() if self._reader == ticket else None

    async def until_ended(self, ticket: int) -> bool:
        """Wait for the end of the stream; say whether this is still its reader."""
        while self._reader == ticket and not self.ended:
            await self._news()
        return self._reader == ticket

    async def wait(self, ticket: int, seconds: float) -> bool:
        """Wait for an event or the end, at most so long; say whether this is still its reader.

        A stream that rests is waited for no longer.
        """
        while self._reader == ticket and not self._events and not self.ended and not self.resting:
            try:
                async with asyncio.timeout(seconds):
                    await self._news()
            except TimeoutError:
                break
        return self._reader == ticket

    async def _news(self) -> None:
        self._arrival = self._arrival or asyncio.Event()
        self._arrival.clear()
        await self._arrival.wait()

    def _changed(self) -> None:
        """Let go whoever waits, and tell when the level has crossed a mark."""
        if self._arrival is not None:
            self._arrival.set()
        full = self.has_reader and not self.ended and self.size > (self._low if self.full else self._high)
        if full != self.full:
            self.full = full
            self._on_level(self)
        if not full and self._taken is not None:
            self._taken.set()
