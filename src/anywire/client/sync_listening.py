"""Listening without `async`: a plain iterator of what a server tells."""

from __future__ import annotations

from collections.abc import Coroutine
from typing import Any, Protocol, TypeVar

from anywire.client.event import ClientEvent
from anywire.client.listening import Listener
from anywire.errors import SessionError

__all__ = ("SyncListener", "Waiting")

T = TypeVar("T")


class Waiting(Protocol):
    """Who runs coroutines for others: a `SyncClient`."""

    @property
    def closed(self) -> bool:
        """Whether it runs nothing any more."""
        ...

    def wait_for(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Run one to its end."""
        ...


class SyncListener:
    """A `Listener` that waits: `for event in client.listen()`, in a thread that has nothing else to do.

    It ends when the client is closed, by another thread perhaps.
    """

    def __init__(self, client: Waiting, listener: Listener) -> None:
        self._client = client
        self._listener = listener

    def __enter__(self) -> SyncListener:
        self.open()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __iter__(self) -> SyncListener:
        return self

    def __next__(self) -> ClientEvent:
        event = self.next()
        if event is None:
            raise StopIteration
        return event

    def open(self) -> None:
        """Ask the server to tell; see `Listener.open`."""
        self._client.wait_for(self._listener.open())

    def next(self) -> ClientEvent | None:
        """Return the next event; None at the end."""
        try:
            return self._client.wait_for(self._listener.next())
        except SessionError:
            if self._client.closed:
                return None
            raise

    def close(self) -> None:
        """Listen no more; the subscriptions end.  Idempotent."""
        if not self._client.closed:
            self._client.wait_for(self._listener.close())
