"""Events that can be sent again to a client that lost its stream.

An event is logged before it is sent, under an id that names its stream, so that a client which
comes back with the last id it saw gets what it missed of that stream and of no other.

Specification: MCP `basic/transports#resumability-and-redelivery`, 2025-03-26 to 2025-11-25.
"""

from __future__ import annotations

import re
from collections import deque
from typing import Final, Protocol

import msgspec

__all__ = ("EventLog", "LoggedEvent", "MemoryEventLog", "SharedBudget", "stream_of")

# As they are written below, and no longer than any that will ever be.
_NUMBER: Final = re.compile(r"0|[1-9][0-9]{0,14}")
#: What an event costs besides its data, about.
_EVENT_COST: Final = 256


class LoggedEvent(msgspec.Struct, frozen=True, gc=False):
    """One event: its id, the stream it belongs to, and its data (a JSON text; empty: priming)."""

    id: str
    stream: str
    data: bytes


class EventLog(Protocol):
    """The events of one session."""

    def append(self, stream: str, data: bytes) -> LoggedEvent:
        """Keep an event and return it with its id, unique in the session."""
        ...

    def mark(self, stream: str) -> str:
        """Return the id of this moment in a stream: `after` it comes whatever is appended later."""
        ...

    def after(self, event_id: str) -> list[LoggedEvent] | None:
        """Return the later events of the stream that this event belongs to.

        None when the id is not known here, or so old that events after it may have been dropped.
        """
        ...

    def rest(self, event_id: str) -> tuple[str, list[LoggedEvent]]:
        """Return what is left of the later events of that stream, and an id that `after` takes for them."""
        ...

    def close(self) -> None:
        """Let everything go, and keep nothing from now on: nobody can come back."""
        ...


class SharedBudget:
    """What several logs may keep together; the one that has been silent longest gives way first."""

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        # Those that keep anything; the silent ones come first.
        self._logs: dict[MemoryEventLog, None] = {}
        #: What is kept, with what it costs to keep it.
        self.size = 0

    def took(self, log: MemoryEventLog, size: int) -> None:
        """A log has kept an event of that many bytes: others let go what is too much now."""
        self.size += size + _EVENT_COST
        self._logs[log] = self._logs.pop(log, None)
        while self.size > self._max_bytes:
            first = next(iter(self._logs))
            if first is log and len(first) == 1:
                return  # the newest event: somebody may come back for it
            first.drop_oldest()

    def gave(self, log: MemoryEventLog, size: int) -> None:
        """A log has let an event go."""
        self.size -= size + _EVENT_COST
        if not len(log):
            self._logs.pop(log, None)


class MemoryEventLog:
    """An event log in memory, bounded in number and size: the oldest go first.

    The newest event is kept whatever its size: it may be the reply that somebody comes back for.  As
    many streams are known as there may be events; the one that has been silent longest is forgotten.
    A `budget` bounds it together with other logs.
    """

    __slots__ = ("_budget", "_bytes", "_closed", "_events", "_known", "_max_bytes", "_max_events", "_next")

    def __init__(self, max_events: int, max_bytes: int, budget: SharedBudget | None = None) -> None:
        self._max_events = max_events
        self._max_bytes = max_bytes
        self._budget = budget
        self._closed = False
        # Made for the first event: there may be very many logs that have none.
        self._events: deque[tuple[int, LoggedEvent]] | tuple[()] = ()
        self._bytes = 0
        self._next = 1
        # From which number on each stream is known: that before its first event, or of the last one that
        # was dropped.  The streams that are silent come first.
        self._known: dict[str, int] = {}

    def __len__(self) -> int:
        return len(self._events)

    def append(self, stream: str, data: bytes) -> LoggedEvent:
        """Keep an event."""
        event = LoggedEvent(f"{stream}_{self._next}", stream, data)
        if self._closed:
            return event
        self._know(stream)
        events = self._events = self._events or deque()
        events.append((self._next, event))
        self._next += 1
        self._bytes += len(data)
        while len(events) > 1 and (len(events) > self._max_events or self._bytes > self._max_bytes):
            self.drop_oldest()
        if self._budget is not None:
            self._budget.took(self, len(data))
        return event

    def mark(self, stream: str) -> str:
        """Return the id of this moment in a stream."""
        self._know(stream)
        return f"{stream}_{self._next - 1}"

    def after(self, event_id: str) -> list[LoggedEvent] | None:
        """Return the later events of the same stream."""
        stream, _, number = event_id.rpartition("_")
        since = self._known.get(stream)
        if since is None or not _NUMBER.fullmatch(number):
            return None
        seen = int(number)
        if not since <= seen < self._next:
            return None
        return [event for place, event in self._events if place > seen and event.stream == stream]

    def rest(self, event_id: str) -> tuple[str, list[LoggedEvent]]:
        """Return what is left of the later events of the same stream."""
        stream, _, number = event_id.rpartition("_")
        self._know(stream)
        seen = max(int(number), self._known[stream])
        events = [event for place, event in self._events if place > seen and event.stream == stream]
        return f"{stream}_{seen}", events

    def close(self) -> None:
        """Let everything go, and keep nothing from now on."""
        self._closed = True
        while self._events:
            self.drop_oldest()
        self._known.clear()

    def _know(self, stream: str) -> None:
        """Note that a stream was used; forget another if there are too many."""
        self._known[stream] = self._known.pop(stream, self._next - 1)
        if len(self._known) > max(self._max_events, 1):
            del self._known[next(iter(self._known))]

    def drop_oldest(self) -> None:
        """Let go the oldest event."""
        assert self._events
        place, event = self._events.popleft()
        self._bytes -= len(event.data)
        if event.stream in self._known:
            self._known[event.stream] = place
        if self._budget is not None:
            self._budget.gave(self, len(event.data))


def stream_of(event_id: str) -> str:
    """Return the stream that an event id belongs to."""
    return event_id.rpartition("_")[0]
