"""Handshake clients of stateless servers: over each way to the bridge, and with either side played by a test."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

from anywire import Client, Server, connect
from anywire.bridge.relay import Relay
from anywire.bridge.translating.legacy_client import LegacyClientTransport
from anywire.errors import AnywireError
from anywire.testing import ScriptedPeer, byte_pair
from anywire.transport.contract import Transport
from anywire.transport.http_client import HttpClientTransport
from anywire.transport.http_server import HttpListener
from anywire.transport.memory import MemoryTransport, memory_pair
from anywire.wire.framing import Framing
from anywire.wire.limits import DEFAULT_LIMITS, Limits
from anywire.wire.message import Fault
from tests.http.in_process import AsgiExchange
from tests.interaction.talk import PATIENCE

#: A transport as it is, a pipe, a session over HTTP, and a server that is reached over HTTP.
WAYS = ("transport", "pipe", "session", "posts")
REVISION = "2026-07-28"
EVERYTHING: dict[str, Any] = {"sampling": {}, "elicitation": {"form": {}, "url": {}}, "roots": {}}


@asynccontextmanager
async def nothing_left() -> AsyncGenerator[None]:
    """In the end there is no task that was not there before."""
    before = asyncio.all_tasks()
    async with asyncio.timeout(PATIENCE):
        yield
        while left := asyncio.all_tasks() - before:
            await asyncio.wait(left)


@asynccontextmanager
async def meeting(server: Server, way: str = "transport", **options: Any) -> AsyncGenerator[Client]:
    """A client that shakes hands with a stateless server, over one of the ways."""
    async with nothing_left():
        async with reaching(server, way) as transport, connect(transport, era="legacy", **options) as client:
            yield client
        await server.close()


@asynccontextmanager
async def reaching(server: Server, way: str) -> AsyncGenerator[Transport]:
    """What a client that shakes hands is connected to."""
    match way:
        case "pipe":
            near, face = byte_pair(Framing.NEWLINE, Framing.NEWLINE, DEFAULT_LIMITS)
            async with _relays(server) as accept:
                accept(face)
                yield near
        case "session":
            async with _relays(server) as accept, _session(accept) as transport:
                yield transport
        case "posts":
            exchange = AsgiExchange(server.http_app(path="/mcp"))
            over_http = HttpClientTransport("http://127.0.0.1/mcp", exchange=lambda: exchange)
            yield LegacyClientTransport(over_http, mirrors=over_http.mirrors)
            assert (exchange.failures, exchange.calls) == ([], set())
        case _:
            yield LegacyClientTransport(line(server))


def line(server: Server) -> MemoryTransport:
    """A transport to a server."""
    mine, served = memory_pair()
    mine.on_start = lambda: server.accept(served)
    return mine


def transport_to(server: Server | Transport) -> LegacyClientTransport:
    """What a client shakes hands with instead of a server."""
    return LegacyClientTransport(line(server) if isinstance(server, Server) else server)


@asynccontextmanager
async def _relays(server: Server) -> AsyncGenerator[Any]:
    running: set[asyncio.Task[None]] = set()
    reports: list[str] = []

    def accept(face: Transport) -> None:
        relay = Relay(face, lambda: LegacyClientTransport(line(server)), reports.append)
        running.add(asyncio.create_task(relay.run()))

    yield accept
    await asyncio.gather(*running)
    assert reports == []


@asynccontextmanager
async def _session(accept: Any) -> AsyncGenerator[Transport]:
    listener = HttpListener(accept, lambda method: True, path="/mcp")
    exchange = AsgiExchange(listener)
    yield HttpClientTransport("http://127.0.0.1/mcp", exchange=lambda: exchange)
    await listener.close()
    assert (exchange.failures, exchange.calls) == ([], set())


class PlayedClient(ScriptedPeer):
    """A client that a test plays, with what it could not be answered."""

    def __init__(self, transport: LegacyClientTransport) -> None:
        super().__init__(transport, patience=PATIENCE)
        self.failed: list[tuple[bytes, AnywireError]] = []
        self.noise: list[Fault | AnywireError] = []
        transport.callbacks.on_failed = lambda id, error: self.failed.append((id, error))
        transport.callbacks.on_error = self.noise.append

    async def __aenter__(self) -> PlayedClient:
        await super().__aenter__()
        return self


class PlayedServer(ScriptedPeer):
    """A stateless server that a test plays."""

    async def __aenter__(self) -> PlayedServer:
        await super().__aenter__()
        return self

    async def discovered(self, capabilities: Any = None) -> Any:
        """Answer the question of who this is; return it."""
        asked = await self.hears("server/discover")
        offered: Any = {"tools": {}} if capabilities is None else capabilities
        await self.answer(asked, {"supportedVersions": [REVISION], "capabilities": offered})
        return asked

    async def hears(self, method: str) -> Any:
        """The next message, which is of that method."""
        message = await self.receive()
        assert message.get("method") == method, message
        return message

    async def wants(self, asked: Any, state: str | None = None, **requests: Any) -> None:
        """Answer a request with what it needs first."""
        wanted: dict[str, Any] = {"resultType": "input_required", "inputRequests": requests}
        await self.answer(asked, wanted if state is None else wanted | {"requestState": state})


@asynccontextmanager
async def played(
    capabilities: Any = None,
    limits: Limits = DEFAULT_LIMITS,
    *,
    revision: str = "2025-11-25",
    declared: Any = None,
) -> AsyncGenerator[tuple[PlayedServer, PlayedClient]]:
    """Both sides, after the handshake."""
    mine, served = memory_pair(limits)
    client = PlayedClient(LegacyClientTransport(mine, limits))
    async with nothing_left(), client, PlayedServer(served, patience=PATIENCE) as server:
        declares = EVERYTHING if declared is None else declared
        shaking = asyncio.create_task(client.initialize(revision, declares))
        await server.discovered(capabilities)
        await shaking
        yield server, client
