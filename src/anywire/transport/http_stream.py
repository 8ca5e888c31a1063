"""One outgoing stream of an HTTP session: what waits to be sent on it, and who sends it."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from typing import TypeAlias

import msgspec

from anywire.store.event_log import LoggedEvent
from anywire.transport.contract import ignore
from anywire.wire.limits import Limits

__all__ = ("OutgoingStream", "Waiting")

#: An event that waits: its id, empty where it has none, and its data.
Waiting: TypeAlias = tuple[str, bytes]


class OutgoingStream(msgspec.Struct, eq=False):
    """Events in order, for one reader at a time; the newest reader wins.

    A stream outlives the connection that carries it.  It ends when `end()` was called and everything
    has been taken.  `on_level` is called when more waits than a reader should have waiting, and when
    that is over; a stream that nobody reads is never full.
    """

    # A struct, since one of them that lives for a moment costs least so.
    _limits: Limits
    #: The stream's name, part of its events' ids; empty while it needs none.
    name: str = ""
    #: The keys of the requests whose replies are still to come on it.
    awaited: set[bytes] = msgspec.field(default_factory=set[bytes])
    on_level: Callable[[OutgoingStream], None] = ignore
    #: The event id from which a client would get everything that is on the stream; empty while no
    #: client can know of one, and nothing of the stream needs to be kept for it.
    start_id: str = ""
    #: The id of the last event that was taken.
    seen_id: str = ""
    #: The number of bytes that wait.
    size: int = 0
    ended: bool = False
    #: A reply was put on it: without one at its end, all of its requests were cancelled.
    replied: bool = False
    #: More waits than its reader should have waiting.
    full: bool = False
    #: Its reader has gone: what is put on it is kept elsewhere, until somebody reads again.
    abandoned: bool = False
    #: Its client is told how to come back from the first byte on, and when to.
    comes_back: bool = False
    #: The connection that carries it is to end now; the stream goes on, on the next one.
    resting: bool = False
    # Made for the first event: there may be very many streams that have none.
    _events: deque[Waiting] | None = None
    # Made when somebody waits: most streams have their reply before anybody does.
    _arrival: asyncio.Future[None] | None = None
    _taken: asyncio.Event | None = None
    _reader: int = 0

    def __len__(self) -> int:
        return len(self._events or ())

    @property
    def has_reader(self) -> bool:
        """Whether somebody reads it now."""
        return self._reader % 2 == 1

    # Writing.

    def put(self, data: bytes, id: str = "", *, last: bool = False) -> None:
        """Add an event, the last one or not."""
        if last:
            self.ended = True
        if not self.abandoned:
            if self._events is None:
                self._events = deque()
            self._events.append((id, data))
            self.size += len(data)
        self._changed()

    def end(self) -> None:
        """Nothing more will be added."""
        self.ended = True
        self._changed()

    def rest(self) -> None:
        """Let the connection that carries it end, if its client will come back for the rest."""
        if self.comes_back and not self.ended:
            self.resting = True
            self._changed()

    def drop(self) -> Waiting | None:
        """Take the oldest event away unread."""
        if not self._events:
            return None
        event = self._events.popleft()
        self.size -= len(event[1])
        self._changed()
        return event

    async def room(self) -> None:
        """Wait while too much waits and somebody reads it."""
        while self.full:
            self._taken = self._taken or asyncio.Event()
            self._taken.clear()
            await self._taken.wait()

    # Reading.

    def begin_reading(self) -> int:
        """Become the reader; whoever was it before stops.  Returns a ticket for the other calls."""
        if not self._reader:  # nobody was, and nobody waits
            self._reader = 1
            return 1
        self._reader += 2 if self._reader % 2 else 1
        self.resting = False
        self._changed()
        return self._reader

    def stop_reading(self, ticket: int) -> None:
        """Be no reader any more; nothing if somebody else is it by now."""
        if self._reader == ticket:
            self._reader += 1
            self._changed()

    def dismiss(self) -> None:
        """Let go whoever reads it."""
        self._reader += self._reader % 2
        self._changed()

    def abandon(self) -> None:
        """Its reader has gone: let go what waits, which is kept elsewhere."""
        self.abandoned = True
        self._events = None
        self.size = 0
        self._changed()

    def waiting(self) -> list[bytes]:
        """Return the data of what waits to be taken."""
        return [data for _, data in self._events or ()]

    def resume(self, events: list[LoggedEvent]) -> None:
        """Go on with these events in place of what waits."""
        self.abandoned = False
        self._events = deque((event.id, event.data) for event in events) if events else None
        self.size = sum(len(event.data) for event in events)
        self._changed()

    def take(self, ticket: int) -> Waiting | None:
        """Take the next event if there is one and the ticket holds."""
        event = self.drop() if self._reader == ticket else None
        if event is not None:
            self.seen_id = event[0]
        return event

    def take_last(self, ticket: int) -> bytes | None:
        """Take everything; return the data of the last event, None if there is none or no right to it."""
        if self._reader != ticket or not self._events:
            return None
        _, data = self._events[-1]
        self._events = None
        self.size = 0
        self._changed()
        return data

    async def until_ended(self, ticket: int) -> bool:
        """Wait for the end of the stream; say whether this is still its reader.

        What comes before the end is left out, so that nobody waits until it is read.
        """
        while self._reader == ticket and not self.ended:
            while self.drop() is not None:
                pass
            await self._change(asyncio.get_running_loop())
        return self._reader == ticket

    async def wait(self, ticket: int, seconds: float) -> bool:
        """Wait for an event or the end, at most so long; say whether this is still its reader.

        A stream that rests is waited for no longer.
        """
        loop = asyncio.get_running_loop()
        while self._reader == ticket and not self._events and not self.ended and not self.resting:
            timer = loop.call_later(seconds, self._wake)  # a third of what `asyncio.timeout` costs
            try:
                await self._change(loop)
            finally:
                timer.cancel()
            if loop.time() >= timer.when():
                break
        return self._reader == ticket

    def _change(self, loop: asyncio.AbstractEventLoop) -> asyncio.Future[None]:
        """Return what is done with the next change; who waited before has been replaced, and is let go."""
        self._wake()
        self._arrival = loop.create_future()
        return self._arrival

    def _wake(self) -> None:
        arrival, self._arrival = self._arrival, None
        if arrival is not None and not arrival.done():
            arrival.set_result(None)

    def _changed(self) -> None:
        """Let go whoever waits, and tell when the level has crossed a mark."""
        if self._arrival is not None:
            self._wake()
        if self.full or self.size > self._limits.write_high_bytes:
            self._note_level()

    def _note_level(self) -> None:
        mark = self._limits.write_low_bytes if self.full else self._limits.write_high_bytes
        full = self.has_reader and not self.ended and self.size > mark
        if full != self.full:
            self.full = full
            self.on_level(self)
        if not full and self._taken is not None:
            self._taken.set()
