"""HTTP+SSE, the transport of 2024-11-05, the calling end.

Everything from the server comes on one stream; its first event says where to POST.  The stream cannot
be resumed: when it is lost, so is the conversation.

Specification: MCP 2024-11-05 `basic/transports#http-with-sse`.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Mapping

from anywire.errors import (
    AnywireError,
    ConnectFailed,
    HttpStatusError,
    RemoteProtocolError,
    TransportBroken,
)
from anywire.protocol.http.client import Purpose, Reading, read_head, request_headers
from anywire.protocol.http.old_sse import ENDPOINT_EVENT, resolve_endpoint
from anywire.transport.contract import Callbacks, call_back, refuse_when_closed
from anywire.transport.http_exchange import AiohttpExchange, Exchange
from anywire.transport.http_request import TokenHook
from anywire.wire.codec import decode, encode
from anywire.wire.event_stream import EventStreamDecoder, ServerEvent
from anywire.wire.limits import DEFAULT_LIMITS, Limits
from anywire.wire.message import Batch, Fault, Message, Request

__all__ = ("SseClientTransport",)


class SseClientTransport:
    """A conversation over HTTP+SSE.  See `anywire.transport.contract.Transport`."""

    def __init__(
        self,
        url: str,
        *,
        headers: Mapping[str, str] | None = None,
        hook: TokenHook | None = None,
        exchange: Callable[[], Exchange] | None = None,
        limits: Limits = DEFAULT_LIMITS,
        callbacks: Callbacks | None = None,
    ) -> None:
        self.callbacks = callbacks or Callbacks()
        #: What this wire is called in errors.
        self.name = url
        self._headers = dict(headers or {})
        self._hook = hook
        self._limits = limits
        self._new_exchange = exchange or (lambda: AiohttpExchange(limits))
        self._exchange: Exchange | None = None
        self._endpoint: asyncio.Future[str] | None = None
        self._reading: asyncio.Task[None] | None = None
        self._posts: set[asyncio.Task[None]] = set()
        self._last: asyncio.Task[None] | None = None
        self._closed = False

    @property
    def closed(self) -> bool:
        """True once the stream was lost or `close()` was called."""
        return self._closed

    async def start(self) -> None:
        """Open the stream and wait until it says where to POST.  Raises `ConnectFailed` or the like."""
        loop = asyncio.get_running_loop()
        self._exchange = self._new_exchange()
        self._endpoint = loop.create_future()
        self._reading = loop.create_task(self._read(self._endpoint))
        try:
            async with asyncio.timeout(self._limits.connect_seconds):
                await asyncio.shield(self._endpoint)
        except TimeoutError as error:
            await self.close()
            seconds = self._limits.connect_seconds
            raise ConnectFailed(f"{self.name}: no endpoint event within {seconds:g} s") from error
        except BaseException:
            await self.close()
            raise

    def post(self, message: Message | Batch, related: bytes | None = None) -> None:
        """Send without waiting for its arrival."""
        self._begin(message)

    async def send(self, message: Message | Batch, related: bytes | None = None) -> None:
        """Send; the message has arrived when this returns."""
        await asyncio.shield(self._begin(message))

    def _begin(self, message: Message | Batch) -> asyncio.Task[None]:
        refuse_when_closed(self._closed, self.name)
        # One after the other: the order of POSTs on several connections is anybody's guess.
        task = asyncio.get_running_loop().create_task(self._deliver(message, self._last))
        self._last = task
        self._posts.add(task)
        task.add_done_callback(self._posts.discard)
        return task

    async def _deliver(self, message: Message | Batch, before: asyncio.Task[None] | None) -> None:
        if before is not None and not before.done():
            await asyncio.wait([before])
        try:
            await self._post(encode(message))
        except AnywireError as error:
            if isinstance(message, Request):
                call_back(self.callbacks.on_failed, message.id, error)
            else:
                call_back(self.callbacks.on_error, error)

    async def _post(self, body: bytes) -> None:
        assert self._exchange is not None
        assert self._endpoint is not None
        url = self._endpoint.result()
        headers = await self._headers_for(Purpose.NOTE)
        async with self._exchange.open("POST", url, headers, body) as response:
            if not 200 <= response.status < 300:
                start = b""
                async for chunk in response.chunks():
                    start += chunk
                    if len(start) > 300:
                        break
                raise HttpStatusError(
                    url, response.status, response.headers.get("content-type", ""), start[:300]
                )

    async def _headers_for(self, purpose: Purpose) -> dict[str, str]:
        protocol = request_headers(purpose, session_id=None, revision=None)
        return {**self._headers, **protocol, **(await self._hook() if self._hook is not None else {})}

    async def _read(self, endpoint: asyncio.Future[str]) -> None:
        """Read the stream to its end, which is the end of the conversation."""
        try:
            await self._read_stream(endpoint)
            error: AnywireError = TransportBroken(f"{self.name}: the server ended the stream")
        except AnywireError as failure:
            error = failure
        if not endpoint.done():
            endpoint.set_exception(error)
        elif not self._closed:
            self._closed = True
            call_back(self.callbacks.on_close, error)

    async def _read_stream(self, endpoint: asyncio.Future[str]) -> None:
        assert self._exchange is not None
        headers = await self._headers_for(Purpose.STREAM)
        async with self._exchange.open("GET", self.name, headers, None) as response:
            reading = read_head(Purpose.STREAM, response.status, response.headers, had_session=False)
            if reading is not Reading.STREAM:
                content = response.headers.get("content-type", "")
                raise HttpStatusError(self.name, response.status, content, b"")
            decoder = EventStreamDecoder(self._limits)
            async for chunk in response.chunks():
                for event in decoder.feed(chunk):
                    self._take(event, endpoint)

    def _take(self, event: ServerEvent | Fault, endpoint: asyncio.Future[str]) -> None:
        if isinstance(event, ServerEvent) and event.event == ENDPOINT_EVENT:
            if not endpoint.done():
                self._take_endpoint(event.data, endpoint)
            return
        if isinstance(event, ServerEvent) and not event.data:
            return
        message = event if isinstance(event, Fault) else decode(event.data, self._limits)
        if isinstance(message, Fault):
            call_back(self.callbacks.on_error, message)
        else:
            call_back(self.callbacks.on_message, message)

    def _take_endpoint(self, data: bytes, endpoint: asyncio.Future[str]) -> None:
        url = resolve_endpoint(self.name, data)
        if url is None:
            shown = data[:200].decode("utf-8", "replace")
            raise RemoteProtocolError(f"{self.name}: the endpoint leads to another origin: {shown}")
        endpoint.set_result(url)

    async def close(self) -> None:
        """Send what is being sent, close the stream and all connections."""
        was_closed, self._closed = self._closed, True
        if self._posts:
            await asyncio.wait(self._posts, timeout=self._limits.shutdown_seconds)
        tasks = [*self._posts, *([self._reading] if self._reading is not None else [])]
        for task in tasks:
            task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.gather(*tasks, return_exceptions=True)
        if self._exchange is not None:
            await self._exchange.close()
        if not was_closed:
            call_back(self.callbacks.on_close, None)
