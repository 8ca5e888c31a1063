"""Listening to what a server tells: an iterator of events.

A listener is fed from the moment it is made.  How a server is asked to tell is the business of a
`Source`: until 2025-11-25 it tells of lists and logs unasked and of resources that are subscribed to;
where all of it comes on a request of its own, that request is the source.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Sequence
from types import TracebackType
from typing import Protocol
from weakref import WeakSet

from anywire.client.event import ClientEvent, EventsMissed, ResourceUpdated, read_event
from anywire.errors import AnywireError, TransportClosed
from anywire.wire.message import Notification

__all__ = ("Listener", "Listeners", "Source")


class Source(Protocol):
    """What makes a server tell."""

    async def open(self, listener: Listener) -> None:
        """Ask the server to tell of what the listener wants to hear."""
        ...

    async def close(self, listener: Listener) -> None:
        """The listener wants to hear no more.  Raises nothing of the server's."""
        ...

    def drop(self, resources: Sequence[str]) -> None:
        """The same for a listener that nobody holds any more, in whichever thread."""
        ...


class Listener:
    """The events of a server, for one who takes them: `async for event in client.listen()`.

    With resources, use it as `async with` too, so that their subscriptions end when you have heard
    enough.  It ends when the client is closed or the server has gone; when the wire broke, it raises
    the reason after the last event.
    """

    def __init__(self, source: Source, resources: Sequence[str], most: int) -> None:
        self._source = source
        self._most = most
        self._events: deque[ClientEvent] = deque()
        self._missed = 0
        self._news = asyncio.Event()
        self._opened = False
        self._closed = False
        self._over = False
        self._error: AnywireError | None = None
        #: The resources whose changes are wanted.
        self.resources = tuple(dict.fromkeys(resources))

    def __del__(self) -> None:
        if self._opened and not self._closed and not self._over:
            self._source.drop(self.resources)

    async def __aenter__(self) -> Listener:
        await self.open()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    def __aiter__(self) -> Listener:
        return self

    async def __anext__(self) -> ClientEvent:
        event = await self.next()
        if event is None:
            raise StopAsyncIteration
        return event

    async def open(self) -> None:
        """Subscribe to the resources; the first event asked for does so as well.  Idempotent.

        Raises the server's `PeerError`, after unsubscribing from what it had taken.
        """
        if not self._opened and not self._closed and not self._over:
            self._opened = True
            try:
                await self._source.open(self)
            except BaseException:
                self._opened = False
                raise

    async def close(self) -> None:
        """Listen no more; the subscriptions end.  Idempotent."""
        if self._closed:
            return
        self._closed = True
        self._news.set()
        if self._opened and not self._over:
            await self._source.close(self)

    async def next(self) -> ClientEvent | None:
        """Return the next event; None at the end."""
        await self.open()
        while not self._closed:
            if self._events:
                return self._take()
            if self._over:
                if self._error is not None:
                    raise self._error.with_traceback(None)
                return None
            self._news.clear()
            await self._news.wait()
        return None

    def hear(self, event: ClientEvent) -> None:
        """Take an event for who listens; one too many is left out, and where it was is marked."""
        if self._closed or not self._wants(event):
            return
        if self._missed or len(self._events) >= self._most:
            self._missed += 1
        else:
            self._events.append(event)
        self._news.set()

    def end(self, error: AnywireError | None) -> None:
        """The server tells no more; None, or `TransportClosed`: it is in order."""
        self._over = True
        self._error = None if isinstance(error, TransportClosed) else error
        self._news.set()

    def _take(self) -> ClientEvent:
        event = self._events.popleft()
        if self._missed:  # what comes next stands behind those that were left out
            last = self._events[-1] if self._events else None
            if isinstance(last, EventsMissed):
                self._events[-1] = EventsMissed(last.count + self._missed)
            else:
                self._events.append(EventsMissed(self._missed))
            self._missed = 0
        return event

    def _wants(self, event: ClientEvent) -> bool:
        """Say whether an event is meant for this listener: of resources it hears of those it named."""
        if not isinstance(event, ResourceUpdated) or not self.resources:
            return True
        return any(event.uri.startswith(uri) for uri in self.resources)


class Listeners:
    """All listeners of a client; one that nobody holds is forgotten."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._all: WeakSet[Listener] = WeakSet()
        self._ended: tuple[AnywireError | None] | None = None

    def add(self, source: Source, resources: Sequence[str]) -> Listener:
        """Return a new listener; where the wire has ended it ends at once."""
        listener = Listener(source, resources, self._most)
        if self._ended is None:
            self._all.add(listener)
        else:
            listener.end(*self._ended)
        return listener

    def hear(self, notification: Notification) -> None:
        """The server has told something."""
        if self._all:
            event = read_event(notification)
            for listener in list(self._all):
                listener.hear(event)

    def end(self, error: AnywireError | None) -> None:
        """The server tells no more, for that reason."""
        if self._ended is None:
            self._ended = (error,)
            for listener in list(self._all):
                listener.end(error)
