"""The kit proves the transports over HTTP, over sockets and without them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager

import pytest

from anywire.errors import TransportClosed
from anywire.testing import check_transport
from anywire.testing.transport_kit import Pair
from anywire.transport.contract import Callbacks, Transport, ignore
from anywire.transport.http_calls import HttpSession
from anywire.transport.http_client import HttpClientTransport
from anywire.transport.http_direct import DirectExchange
from anywire.transport.http_exchange import Exchange
from anywire.transport.http_server import HttpListener
from anywire.transport.http_session import HttpServerTransport
from anywire.transport.sse_client import SseClientTransport
from anywire.transport.sse_server import SseListener, SseServerTransport
from anywire.wire.limits import Limits
from anywire.wire.message import Batch, Message
from tests.http.in_process import AsgiExchange
from tests.http.recording import RecordingExchange
from tests.http.serving import App, on_socket, until

#: The kit's messages are up to 5 MiB and thousands at a time.
ROOMY = Limits(
    body_bytes=64 * 1024 * 1024,
    replay_bytes=64 * 1024 * 1024,
    replay_events=20_000,
    reconnect_seconds=0.05,
    reconnect_most_seconds=0.2,
    shutdown_seconds=0.4,
)

#: Makes an exchange to the application.
MakeExchange = Callable[[], Exchange]
Place = Callable[[App], AbstractAsyncContextManager[tuple[str, MakeExchange]]]


@asynccontextmanager
async def at_socket(app: App) -> AsyncGenerator[tuple[str, MakeExchange]]:
    async with on_socket(app) as origin:
        yield origin, lambda: DirectExchange(ROOMY)


@asynccontextmanager
async def in_process(app: App) -> AsyncGenerator[tuple[str, MakeExchange]]:
    yield "http://127.0.0.1", lambda: AsgiExchange(app)


PLACES: dict[str, Place] = {"over sockets": at_socket, "in process": in_process}


class InSession(HttpClientTransport):
    """A client whose handshake has been done: its session is there from the start."""

    def __init__(self, url: str, session: HttpServerTransport, exchange: MakeExchange) -> None:
        super().__init__(url, exchange=exchange, limits=ROOMY)
        self._at_server = session

    async def start(self) -> None:
        await super().start()
        self._handshake.session = HttpSession(self._at_server.id, "2025-03-26")
        self._general.open(self._handshake.session)
        await until(lambda: self._at_server.is_read or self._at_server.closed, "the general stream is open")


@pytest.mark.parametrize("place", PLACES)
async def test_kit_proves_streamable_http(place: str) -> None:
    """A session and the client that has it keep every promise of a transport with several streams."""
    listener = HttpListener(ignore, lambda _: True, limits=ROOMY)
    async with PLACES[place](listener) as (origin, exchange):

        @asynccontextmanager
        async def pair() -> AsyncGenerator[Pair]:
            session = listener.sessions.create()
            assert session is not None
            recording = RecordingExchange(exchange())
            client = InSession(origin, session, lambda: recording)
            yield client, session, recording.stream_of
            await client.close()
            await recording.close()

        await check_transport(pair, patience=60.0)


class Accepted:
    """The server's end of a wire whose session begins when the client's end starts."""

    def __init__(self, accepted: asyncio.Queue[SseServerTransport]) -> None:
        self.callbacks = Callbacks()
        self._accepted = accepted
        self._inner: SseServerTransport | None = None
        self._closed = False

    @property
    def closed(self) -> bool:
        return self._closed if self._inner is None else self._inner.closed

    async def start(self) -> None:
        inner = await self._accepted.get()
        inner.callbacks = self.callbacks
        self._inner = inner
        await inner.start()

    def post(self, message: Message | Batch, related: bytes | None = None) -> None:
        if self._inner is None:
            raise TransportClosed("it never started")
        self._inner.post(message, related)

    async def send(self, message: Message | Batch, related: bytes | None = None) -> None:
        if self._inner is None:
            raise TransportClosed("it never started")
        await self._inner.send(message, related)

    async def close(self) -> None:
        if self._inner is not None:
            await self._inner.close()
        elif not self._closed:
            self._closed = True
            self.callbacks.on_close(None)


@pytest.mark.parametrize("place", PLACES)
async def test_kit_proves_the_old_transport(place: str) -> None:
    """HTTP+SSE keeps every promise at both ends."""
    accepted: asyncio.Queue[SseServerTransport] = asyncio.Queue()

    def accept(transport: Transport) -> None:
        assert isinstance(transport, SseServerTransport)
        accepted.put_nowait(transport)

    listener = SseListener(accept, limits=ROOMY)
    async with PLACES[place](listener) as (origin, exchange):

        @asynccontextmanager
        async def pair() -> AsyncGenerator[Pair]:
            while not accepted.empty():
                await accepted.get_nowait().close()
            client = SseClientTransport(f"{origin}/sse", exchange=exchange, limits=ROOMY)
            yield client, Accepted(accepted)
            await client.close()
            await until(lambda: not len(listener), "the session has ended")

        await check_transport(pair, patience=60.0)
