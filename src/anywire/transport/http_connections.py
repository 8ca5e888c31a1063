"""The connections of a socket of ours: how many, and what they may cost before a request is there.

An application sees a request when its head is complete.  What comes before that, nobody else bounds:
heads that never end, connections on which nothing is asked, more connections than there is room for.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, Final, cast

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from anywire.transport.asgi import DEPARTURE
from anywire.transport.contract import ignore
from anywire.wire.limits import Limits

__all__ = ("BoundedConnection", "connection_class", "end_unfinished")

_BEGINNING: Final = b"HTTP/1.1 "
_REFUSALS: Final = {
    408: b"Request Timeout",
    431: b"Request Header Fields Too Large",
    503: b"Service Unavailable",
}


def _cycle(connection: HttpToolsProtocol) -> RequestResponseCycle | None:
    """Return the newest request, None while there is none, which its type does not tell."""
    return connection.cycle


class _Joining:
    """A transport on which the head of a response goes out together with what follows it at once.

    Otherwise each response would cost two calls of the system here, and two awakenings of its client.
    """

    def __init__(self, transport: asyncio.Transport) -> None:
        self._transport = transport
        self._loop = asyncio.get_running_loop()
        self._head = b""

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 whatever a transport has
        return getattr(self._transport, name)

    def write(self, data: bytes) -> None:
        """Write; the head of a response when it is joined by its body, or nothing else is to be done."""
        if self._head:
            data, self._head = self._head + data, b""
        elif data.startswith(_BEGINNING):
            self._head = data
            self._loop.call_soon(self._flush)
            return
        self._transport.write(data)

    def _flush(self) -> None:
        if self._head:
            head, self._head = self._head, b""
            self._transport.write(head)

    def close(self) -> None:
        """Close when everything has been written."""
        self._flush()
        self._transport.close()


class BoundedConnection(HttpToolsProtocol):
    """A connection of uvicorn's, within limits."""

    limits: Limits
    # Who wants to know that the client has gone; made when somebody does.
    _watchers: list[Callable[[], None]] | None = None
    _is_lost = False

    # What has begun and is not complete when a chunk has been handled: the scope of a request whose head
    # it is, or its cycle; how much of it has come; and when somebody looked first.
    _unfinished: Any = None
    _size = 0
    _since = 0.0

    def connection_made(self, transport: asyncio.Transport) -> None:
        """Take the connection, if there is room for it."""
        if len(self.connections) >= self.limits.server_connections:
            self.transport = transport
            self._refuse(503)
            return
        super().connection_made(cast("asyncio.Transport", _Joining(transport)))

    def connection_lost(self, exc: Exception | None) -> None:
        """Let everybody know that the client has gone."""
        super().connection_lost(exc)
        self._is_lost = True
        watchers, self._watchers = self._watchers or (), None
        for gone in watchers:
            gone()

    def on_message_begin(self) -> None:
        """Put into the scope of a request how to hear that its client has gone."""
        super().on_message_begin()
        cast("dict[str, Any]", self.scope)["extensions"] = {DEPARTURE: self._watch}

    def _watch(self, gone: Callable[[], None]) -> Callable[[], None]:
        if self._is_lost:
            self.loop.call_soon(gone)
            return ignore
        self.flow.resume_reading()  # which stops while a body is large: nothing would be heard
        watchers = self._watchers = self._watchers or []
        watchers.append(gone)
        return partial(watchers.remove, gone)

    def data_received(self, data: bytes) -> None:
        """Take a chunk."""
        super().data_received(data)
        cycle = _cycle(self)
        if cycle is None or self.scope is not cycle.scope or cycle.more_body:
            self._bound(len(data))

    def _bound(self, size: int) -> None:
        """End the connection if what is incomplete has become too large."""
        cycle = _cycle(self)
        answering = None if cycle is None or self.scope is not cycle.scope else cycle
        begun = answering or self.scope
        if begun is not self._unfinished:
            # Of the chunk in which it began, other requests may have had the most.
            self._unfinished, self._size, self._since = begun, 0, 0.0
            return
        self._size += size
        if answering is None:
            if self._size > self.limits.head_bytes:
                self._refuse(431)
        # A body that is too large is refused by the application, which does not see what is around it.
        elif not answering.response_complete and self._size > self._most_bytes:
            self.transport.close()

    @property
    def _most_bytes(self) -> int:
        return 2 * self.limits.body_bytes + self.limits.head_bytes

    def look(self, now: float) -> None:
        """End the connection if the same request has been incomplete for too long."""
        begun = self._waits_for()
        if begun is None:
            self._since = 0.0
        elif begun is not self._unfinished or not self._since:
            if begun is not self._unfinished:
                self._unfinished, self._size = begun, 0
            self._since = now
        elif now - self._since > self.limits.head_seconds:
            if begun is self.scope:
                self._refuse(408)
            else:
                self.transport.close()  # nothing was asked that could be answered

    def _waits_for(self) -> object:
        """Return what stands for a request that is incomplete and that nobody else waits for, else None."""
        cycle = _cycle(self)
        if cycle is None:
            return self.scope or self
        if self.scope is not cycle.scope:
            return self.scope
        return cycle if cycle.response_complete and cycle.more_body else None

    def _refuse(self, status: int) -> None:
        """Say why, if nobody else is talking, and end the connection."""
        if self.transport.is_closing():
            return
        cycle = _cycle(self)
        if cycle is None or cycle.response_complete:
            head = b"HTTP/1.1 %d %b\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"
            self.transport.write(head % (status, _REFUSALS[status]))
        self.transport.close()


def connection_class(limits: Limits) -> type[BoundedConnection]:
    """Return the class of connections within these limits."""
    return type("BoundedConnection", (BoundedConnection,), {"limits": limits})


def end_unfinished(connections: Iterable[object], now: float) -> None:
    """End those connections on which a request has been incomplete for too long."""
    for connection in list(connections):
        if isinstance(connection, BoundedConnection):
            connection.look(now)
