"""The response to an HTTP request, as an event stream: what there is, what comes, and comments between.

Specification: HTML `server-sent-events`; MCP `basic/transports#streamable-http`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from typing import Any, Final

from anywire.transport.asgi import DEPARTURE, Headers, Scope, Wire, told_to_end
from anywire.transport.http_stream import OutgoingStream
from anywire.wire.event_stream import encode_comment, encode_event
from anywire.wire.limits import Limits

__all__ = ("StreamWire",)

_NONE: Final[dict[str, Any]] = {}

#: Events that wait are sent together up to so many bytes.
_CHUNK_BYTES: Final = 64 * 1024


class StreamWire(Wire, eq=False, kw_only=True):
    """See `Wire`; besides, it can send an `OutgoingStream`, and notice meanwhile that the client has gone."""

    #: What its server knows of the request.
    scope: Scope
    #: The limits in force.
    limits: Limits
    #: Whether somebody is to tell when the client has gone.
    is_watching: bool = False
    _stop_watching: Callable[[], object] | None = None

    def stop_watching(self) -> None:
        """The response is complete: the client may go."""
        if self._stop_watching is not None:
            self._stop_watching()
            self._stop_watching = None
        self.is_watching = False

    def watch(self, stream: OutgoingStream, ticket: int) -> None:
        """From now on, stop reading the stream when the client disconnects."""
        if self._stop_watching is not None:
            return
        self.is_watching = True
        departure = self.scope.get("extensions", _NONE).get(DEPARTURE)
        if departure is not None:  # so no task is needed to hear of it
            self._stop_watching = departure(partial(self._client_left, stream, ticket))
            return
        task = asyncio.get_running_loop().create_task(self._until_disconnected(stream, ticket))
        self._stop_watching = task.cancel

    async def _until_disconnected(self, stream: OutgoingStream, ticket: int) -> None:
        while (await self._receive())["type"] != "http.disconnect":  # by itself: there may be very many
            pass
        self._client_left(stream, ticket)

    def _client_left(self, stream: OutgoingStream, ticket: int) -> None:
        self._gone, self._stop_watching = True, None
        stream.stop_reading(ticket)

    def primer(self, stream: OutgoingStream) -> bytes:
        """From its first byte on a stream can be resumed, and its client knows how soon."""
        return encode_event(b"", id=stream.start_id, retry=round(self.limits.reconnect_seconds * 1000))

    async def send_stream(
        self, stream: OutgoingStream, ticket: int, begin: bytes, headers: Headers | None = None
    ) -> None:
        """Send what begins it, then its events until it ends or rests or another reader takes over."""
        await self.start_stream(headers)
        rest = begin
        try:
            # What waits here is one frame and not several: there may be very many that do.
            while True:
                rest = _with_events(rest, stream, ticket)
                if (stream.ended or stream.resting) and not len(stream):
                    break
                if rest:
                    await self.more(rest)
                    rest = b""
                if not await stream.wait(ticket, self.limits.keep_alive_seconds):
                    break
                if not len(stream) and not stream.ended and not stream.resting:
                    rest = encode_comment("keep-alive")
        except asyncio.CancelledError:
            told_to_end()
            rest = b""
        await self.end_stream(rest)


def _with_events(begin: bytes, stream: OutgoingStream, ticket: int) -> bytes:
    """Return what is to be sent, with the events that wait, as many as fit into a chunk."""
    events = [begin]
    size = len(begin)
    while size < _CHUNK_BYTES and (event := stream.take(ticket)) is not None:
        id, data = event
        events.append(encode_event(data, id=id, event="message"))
        size += len(events[-1])
    return b"".join(events)
