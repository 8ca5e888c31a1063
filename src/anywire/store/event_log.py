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

__all__ = ("EventLog", "LoggedEvent", "MemoryEventLog", "stream_of")

# As they are written below, and no longer than any that will ever be.
_NUMBER: Final = re.compile(r"0|[1-9][0-9]{0,14}")


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


class MemoryEventLog:
    """An event log in memory, bounded in number and size: the oldest go first.

    The newest event is kept whatever its size: it may be the reply that somebody comes back for.  As
    many streams are known as there may be events; the one that has been silent longest is forgotten.
    """

    def __init__(self, max_events: int, max_bytes: int) -> None:
        self._max_events = max_events
        self._max_bytes = max_bytes
        self._events: deque[tuple[int, LoggedEvent]] = deque()
        self._bytes = 0
        self._next = 1
        # From which number on each stream is known: that before its first event, or of the last one that
        # was dropped.  The streams that are silent come first.
        self._known: dict[str, int] = {}

    def append(self, stream: str, data: bytes) -> LoggedEvent:
        """Keep an event."""
        event = LoggedEvent(f"{stream}_{self._next}", stream, data)
        self._know(stream)
        self._events.append((self._next, event))
        self._next += 1
        self._bytes += len(data)
        while len(self._events) > 1 and (
            len(self._events) > self._max_events or self._bytes > self._max_bytes
        ):
            self._drop_oldest()
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

    def _know(self, stream: str) -> None:
        """Note that a stream was used; forget another if there are too many."""
        self._known[stream] = self._known.pop(stream, self._next - 1)
        if len(self._known) > max(self._max_events, 1):
            del self._known[next(iter(self._known))]

    def _drop_oldest(self) -> None:
        place, event = self._events.popleft()
        self._bytes -= len(event.data)
        if event.stream in self._known:
            self._known[event.stream] = place


def stream_of(event_id: str) -> str:
    """Return the stream that an event id belongs to."""
    return event_id.rpartition("_")[0]
