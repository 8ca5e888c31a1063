"""An exchange that notes which message travelled on which stream."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager

from anywire.transport.http_exchange import Exchange, HttpResponse
from anywire.wire.codec import decode
from anywire.wire.event_stream import EventStreamDecoder, ServerEvent
from anywire.wire.message import Batch, Fault, Message


class RecordingExchange:
    """Sends with another exchange; `stream_of` tells the request on which a message was last seen."""

    def __init__(self, inner: Exchange) -> None:
        self._inner = inner
        self._count = 0
        self._log: list[tuple[str, Message]] = []

    @asynccontextmanager
    async def open(
        self, method: str, url: str, headers: Mapping[str, str], body: bytes | None
    ) -> AsyncGenerator[HttpResponse, None]:
        """Send a request and note what goes and comes with it."""
        self._count += 1
        name = f"{method} {self._count}"
        if body is not None:
            self.note(name, body)
        async with self._inner.open(method, url, headers, body) as response:
            yield _Recorded(self, name, response)

    async def close(self) -> None:
        """Close all connections."""
        await self._inner.close()

    def note(self, name: str, body: bytes) -> None:
        """Note the messages of a body."""
        message = decode(body)
        for item in message.items if isinstance(message, Batch) else (message,):
            if not isinstance(item, Fault):
                self._log.append((name, item))

    def stream_of(self, message: Message) -> str | None:
        """Return the request on which an equal message travelled last."""
        return next((name for name, each in reversed(self._log) if each == message), None)


class _Recorded:
    def __init__(self, log: RecordingExchange, name: str, response: HttpResponse) -> None:
        self._log = log
        self._name = name
        self._response = response
        self._decoder = EventStreamDecoder()
        self._body = b""

    @property
    def status(self) -> int:
        return self._response.status

    @property
    def headers(self) -> Mapping[str, str]:
        return self._response.headers

    async def read(self) -> bytes:
        chunk = await self._response.read()
        if "event-stream" in self.headers.get("content-type", ""):
            for event in self._decoder.feed(chunk):
                if isinstance(event, ServerEvent) and event.data:
                    self._log.note(self._name, event.data)
        elif chunk:
            self._body += chunk
        elif self._body:
            self._log.note(self._name, self._body)
        return chunk
