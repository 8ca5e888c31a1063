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
    RemoteProtocolError,
    TransportBroken,
)
from anywire.protocol.http.client import Purpose, Reading
from anywire.protocol.http.old_sse import ENDPOINT_EVENT, resolve_endpoint
from anywire.transport.contract import Callbacks, call_back, refuse_when_closed
from anywire.transport.http_calls import HttpCalls, TokenHook
from anywire.transport.http_direct import DirectExchange
from anywire.transport.http_exchange import Exchange
from anywire.wire.codec import decode, encode
from anywire.wire.event_stream import EventStreamDecoder, ServerEvent
from anywire.wire.limits import DEFAULT_LIMITS, Limits
from anywire.wire.message import Batch, Fault, Message, Request

__all__ = ("SseClientTransport", "old_server")


class SseClientTransport:
    """A conversation over HTTP+SSE.  See `anywire.transport.contract.Transport`."""

    #: Only conversations that open with a handshake are carried.
    shakes_hands = True

    def __init__(
        self,
        url: str,
        *,
        headers: Mapping[str, str] | None = None,
        hook: TokenHook | None = None,
        exchange: Callable[[], Exchange] | None = None,
        limits: Limits = DEFAULT_LIMITS,
    ) -> None:
        self.callbacks = Callbacks()
        self._limits = limits
        self._calls = HttpCalls(url, headers, hook, exchange or (lambda: DirectExchange(limits)), limits)
        #: What this wire is called in errors.
        self.name = self._calls.name
        self._endpoint: asyncio.Future[str] | None = None
        self._reading: asyncio.Task[None] | None = None
        self._posts: set[asyncio.Task[None]] = set()
        self._last: asyncio.Task[None] | None = None
        self._closing: asyncio.Task[None] | None = None
        self._lost = False
        self._over = False  # nobody is called back any more

    @property
    def closed(self) -> bool:
        """True once the stream was lost or `close()` was called."""
        return self._lost or self._closing is not None

    async def start(self) -> None:
        """Open the stream and wait until it says where to POST.  Raises `ConnectFailed` or the like."""
        loop = asyncio.get_running_loop()
        self._calls.start()
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

    def hold_reading(self, reason: str) -> None:
        """Read no more of the stream, for one of several reasons that may hold at once."""
        self._calls.gate.hold(reason)

    def release_reading(self, reason: str) -> None:
        """That reason holds no longer."""
        self._calls.gate.release(reason)

    def _begin(self, message: Message | Batch) -> asyncio.Task[None]:
        refuse_when_closed(self.closed, self.name)
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
            if self._over:
                return  # whoever waited has been told why
            requests = [item for item in _items(message) if isinstance(item, Request)]
            for request in requests:
                call_back(self.callbacks.on_failed, request.id, error)
            if not requests:
                call_back(self.callbacks.on_error, error)

    async def _post(self, body: bytes) -> None:
        assert self._endpoint is not None
        url = self._endpoint.result()
        async with self._calls.open("POST", Purpose.NOTE, body, url=url) as (response, _):
            if not 200 <= response.status < 300:
                raise await self._calls.status_error(response)

    async def _read(self, endpoint: asyncio.Future[str]) -> None:
        """Read the stream to its end, which is the end of the conversation."""
        try:
            await self._read_stream(endpoint)
            error: AnywireError = TransportBroken(f"{self.name}: the server ended the stream")
        except AnywireError as failure:
            error = failure
        if not endpoint.done():
            endpoint.set_exception(error)
        elif not self.closed:
            self._lost = True
            self._fire_close(error)

    async def _read_stream(self, endpoint: asyncio.Future[str]) -> None:
        async with self._calls.open("GET", Purpose.STREAM) as (response, reading):
            if reading is not Reading.STREAM:
                raise await self._calls.status_error(response)
            decoder = EventStreamDecoder(self._limits)
            while chunk := await self._calls.read(response):
                for event in decoder.feed(chunk):
                    self._take(event, endpoint)
            for event in decoder.end():
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
        url = resolve_endpoint(self._calls.url, data)
        if url is None:
            shown = data[:200].decode("utf-8", "replace")
            raise RemoteProtocolError(
                f"{self.name}: the endpoint event names no address of this server: {shown!r}"
            )
        endpoint.set_result(url)

    async def close(self) -> None:
        """Send what is being sent, close the stream and all connections."""
        if self._closing is None:
            self._closing = asyncio.get_running_loop().create_task(self._close())
        await asyncio.shield(self._closing)

    async def _close(self) -> None:
        if self._posts and not self._lost:
            await asyncio.wait(self._posts, timeout=self._limits.shutdown_seconds)
        tasks = [*self._posts, *([self._reading] if self._reading is not None else [])]
        for task in tasks:
            task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.gather(*tasks, return_exceptions=True)
        await self._calls.close()
        if not self._lost:
            self._fire_close(None)

    def _fire_close(self, error: AnywireError | None) -> None:
        self._over = True
        call_back(self.callbacks.on_close, error)


async def old_server(calls: HttpCalls, limits: Limits) -> SseClientTransport | None:
    """Return a started conversation with the old server at an address, None when there is none."""
    old = SseClientTransport(
        calls.url, headers=calls.headers, hook=calls.hook, exchange=calls.make_exchange, limits=limits
    )
    try:
        await old.start()
    except AnywireError:
        return None
    return old


def _items(message: Message | Batch) -> tuple[Message | Fault, ...]:
    return message.items if isinstance(message, Batch) else (message,)
