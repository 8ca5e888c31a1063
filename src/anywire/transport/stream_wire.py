"""The response to an HTTP request, as an event stream: what there is, what comes, and comments between.

Specification: HTML `server-sent-events`; MCP `basic/transports#streamable-http`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from typing import Final

from anywire.transport.asgi import Headers, Receive, Send, Wire, ending_politely
from anywire.transport.http_stream import OutgoingStream
from anywire.wire.event_stream import encode_comment, encode_event
from anywire.wire.limits import Limits

__all__ = ("StreamWire",)

#: Events that wait are sent together up to so many bytes.
_CHUNK_BYTES: Final = 64 * 1024


class StreamWire(Wire):
    """See `Wire`; besides, it can send an `OutgoingStream`, and notice meanwhile that the client has gone."""

    #: How to hear that the client has gone without a task for it, where the server can tell.
    departure: Callable[[Callable[[], None]], Callable[[], None]] | None = None
    _stop_watching: Callable[[], object] | None = None

    def __init__(self, receive: Receive, send: Send, limits: Limits) -> None:
        super().__init__(receive, send)
        self._limits = limits

    def stop_watching(self) -> None:
        """The response is complete: the client may go."""
        if self._stop_watching is not None:
            self._stop_watching()
            self._stop_watching = None

    def watch(self, stream: OutgoingStream, ticket: int) -> None:
        """From now on, stop reading the stream when the client disconnects."""
        if self._stop_watching is not None:
            return
        if self.departure is not None:
            self._stop_watching = self.departure(partial(self._client_left, stream, ticket))
            return
        task = asyncio.get_running_loop().create_task(self._until_disconnected(stream, ticket))
        self._stop_watching = task.cancel

    async def _until_disconnected(self, stream: OutgoingStream, ticket: int) -> None:
        await self.disconnected()
        stream.stop_reading(ticket)

    def _client_left(self, stream: OutgoingStream, ticket: int) -> None:
        self._gone, self._stop_watching = True, None
        stream.stop_reading(ticket)

    def primer(self, stream: OutgoingStream) -> bytes:
        """From its first byte on a stream can be resumed, and its client knows how soon."""
        return encode_event(b"", id=stream.start_id, retry=round(self._limits.reconnect_seconds * 1000))

    async def send_stream(
        self, stream: OutgoingStream, ticket: int, begin: bytes, headers: Headers | None = None
    ) -> None:
        """Send what begins it, then its events until it ends or rests or another reader takes over."""
        await self.start_stream(headers)
        rest = b""
        with ending_politely():
            rest = await self._send_events(stream, ticket, begin)
        await self.end_stream(rest)

    async def _send_events(self, stream: OutgoingStream, ticket: int, begin: bytes) -> bytes:
        """Send what there is and what comes; return what is to go out with the end of the response."""
        chunk = begin
        while True:
            events = [chunk]
            size = len(chunk)
            while size < _CHUNK_BYTES and (event := stream.take(ticket)) is not None:
                id, data = event
                events.append(encode_event(data, id=id, event="message"))
                size += len(events[-1])
            chunk = b"".join(events)
            if (stream.ended or stream.resting) and not len(stream):
                return chunk
            if chunk:
                await self.more(chunk)
            if not await stream.wait(ticket, self._limits.keep_alive_seconds):
                return b""
            idle = not len(stream) and not stream.ended and not stream.resting
            chunk = encode_comment("keep-alive") if idle else b""
