"""The kit proves the transports over HTTP, over sockets and without them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager

import pytest

from anywire.testing import check_transport
from anywire.testing.transport_kit import Pair
from anywire.transport.contract import Transport, ignore
from anywire.transport.http_client import HttpClientTransport
from anywire.transport.http_exchange import AiohttpExchange, Exchange
from anywire.transport.http_calls import HttpSession
from anywire.transport.http_server import HttpListener
from anywire.transport.sse_client import SseClientTransport
from anywire.transport.sse_server import SseListener
from anywire.wire.limits import Limits
from tests.http.in_process import AsgiExchange
from tests.http.recording import RecordingExchange
from tests.http.serving import App, listener_of, on_socket

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
    async with on_socket(app, limits=ROOMY) as origin:
        yield origin, lambda: AiohttpExchange(ROOMY)


@asynccontextmanager
async def in_process(app: App) -> AsyncGenerator[tuple[str, MakeExchange]]:
    yield "http://127.0.0.1", lambda: AsgiExchange(app)


PLACES: dict[str, Place] = {"over sockets": at_socket, "in process": in_process}


class InSession(HttpClientTransport):
    """A client whose handshake has been done: its session is there from the start."""

    def __init__(self, url: str, session_id: str, exchange: MakeExchange) -> None:
        super().__init__(url, exchange=exchange, limits=ROOMY)
        self._has = HttpSession(session_id, "2025-03-26")

    async def start(self) -> None:
        await super().start()
        self._handshake.session = self._has
        self._general.open(self._has)


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
            client = InSession(origin, session.id, lambda: recording)
            yield client, session, recording.stream_of
            await client.close()
            await recording.close()

        await check_transport(pair, patience=60.0)


@pytest.mark.parametrize("place", PLACES)
async def test_kit_proves_the_old_transport(place: str) -> None:
    """HTTP+SSE keeps every promise at both ends."""
    accepted: asyncio.Queue[Transport] = asyncio.Queue()
    listener = SseListener(accepted.put_nowait, limits=ROOMY)
    async with PLACES[place](listener) as (origin, exchange):

        @asynccontextmanager
        async def pair() -> AsyncGenerator[Pair]:
            client = SseClientTransport(f"{origin}/sse", exchange=exchange, limits=ROOMY)
            yield client, Accepted(accepted)
            await client.close()

        await check_transport(pair, patience=60.0)
