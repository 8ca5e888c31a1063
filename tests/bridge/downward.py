"""Stateless clients of handshake servers: over each way to the bridge, and with either side played by a test."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from typing import Any

from anywire import Client, Server, connect
from anywire.bridge.relay import Relay
from anywire.bridge.translating.held_connections import HeldConnections
from anywire.bridge.translating.modern_client import ModernClientTransport
from anywire.errors import AnywireError
from anywire.protocol.http.stateless import StatelessFace
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

#: A transport as it is, a pipe, and one POST for each request.
WAYS = ("transport", "pipe", "posts")


class Behind:
    """What is behind a bridge: a handshake server, a connection for each that asks for one."""

    def __init__(self, accept: Callable[[Transport], None], limits: Limits = DEFAULT_LIMITS) -> None:
        self.limits = limits
        self.held = HeldConnections(limits)
        #: The ends of the bridge, in order.
        self.connections: list[MemoryTransport] = []
        self._accept = accept

    def connect(self) -> Transport:
        """A new connection."""
        mine, served = memory_pair(self.limits)
        mine.on_start = lambda: self._accept(served)
        self.connections.append(mine)
        return mine

    def transport(self) -> ModernClientTransport:
        """What stateless requests are sent on."""
        return ModernClientTransport(self.connect, self.held, self.limits, name="behind")

    def relay(self, face: Transport, reports: list[str]) -> Relay:
        """A bridge of one client."""
        return Relay(face, self.transport, reports.append, self.limits)


@asynccontextmanager
async def nothing_left(behind: Behind) -> AsyncGenerator[None]:
    """In the end there is neither a task nor a call that waits."""
    before = asyncio.all_tasks()
    async with asyncio.timeout(PATIENCE):
        yield
        await behind.held.close()
        assert len(behind.held) == 0
        assert all(connection.closed for connection in behind.connections)
        while left := asyncio.all_tasks() - before:
            await asyncio.wait(left)


@asynccontextmanager
async def meeting(server: Server, way: str = "transport", **options: Any) -> AsyncGenerator[Client]:
    """A stateless client of a server that shakes hands, over one of the ways."""
    behind = Behind(server.accept, options.get("limits", DEFAULT_LIMITS))
    reports: list[str] = []
    async with (
        nothing_left(behind),
        _way(behind, way, reports) as transport,
        connect(transport, era="modern", **options) as client,
    ):
        yield client
    await server.close()
    assert reports == []


@asynccontextmanager
async def _way(behind: Behind, way: str, reports: list[str]) -> AsyncGenerator[Transport]:
    match way:
        case "pipe":
            near, face = byte_pair(Framing.NEWLINE, Framing.NEWLINE, behind.limits)
            running = asyncio.create_task(behind.relay(face, reports).run())
            yield near
            await running
        case "posts":
            async with _posts(behind, reports) as transport:
                yield transport
        case _:
            yield behind.transport()


@asynccontextmanager
async def _posts(behind: Behind, reports: list[str]) -> AsyncGenerator[Transport]:
    running: set[asyncio.Task[None]] = set()

    def accept(face: Transport) -> None:
        task = asyncio.create_task(behind.relay(face, reports).run())
        running.add(task)
        task.add_done_callback(running.discard)

    def serves(method: str) -> bool:
        return True

    listener = HttpListener(
        accept, serves, path="/mcp", stateless=StatelessFace(serves, lambda _: ()), limits=behind.limits
    )
    exchange = AsgiExchange(listener)
    yield HttpClientTransport("http://127.0.0.1/mcp", exchange=lambda: exchange, limits=behind.limits)
    await listener.close()
    if running:
        await asyncio.wait(running)
    assert (exchange.failures, exchange.calls) == ([], set())


class Bridge:
    """A bridge whose both sides a test plays: the client, and the server of each connection."""

    def __init__(self, limits: Limits = DEFAULT_LIMITS) -> None:
        self.behind = Behind(self._take, limits)
        self._servers: asyncio.Queue[ScriptedPeer] = asyncio.Queue()

    def _take(self, served: Transport) -> None:
        self._servers.put_nowait(ScriptedPeer(served, patience=PATIENCE))

    def client(self) -> PlayedClient:
        """One more client."""
        return PlayedClient(self.behind.transport())

    async def server(self) -> ScriptedPeer:
        """The server of the next connection, before it has heard anything."""
        peer = await self._servers.get()
        await peer.start()
        return peer

    async def greeted(self, capabilities: Any = None, version: str = "2025-11-25") -> ScriptedPeer:
        """The server of the next connection, after the handshake."""
        peer = await self.server()
        greeting = await peer.receive()
        assert greeting["method"] == "initialize"
        offered: Any = {"tools": {}, "logging": {}} if capabilities is None else capabilities
        info = {"name": "played", "version": "1"}
        told: Any = {"protocolVersion": version, "capabilities": offered, "serverInfo": info}
        await peer.answer(greeting, told)
        await peer.expect({"jsonrpc": "2.0", "method": "notifications/initialized"})
        return peer


class PlayedClient(ScriptedPeer):
    """A stateless client that a test plays, with what it could not be answered."""

    def __init__(self, transport: ModernClientTransport) -> None:
        super().__init__(transport, patience=PATIENCE)
        self.failed: list[tuple[bytes, AnywireError]] = []
        self.noise: list[Fault | AnywireError] = []
        self.failure = asyncio.Event()
        transport.callbacks.on_failed = self._fail
        transport.callbacks.on_error = self.noise.append

    async def __aenter__(self) -> PlayedClient:
        await super().__aenter__()
        return self

    def _fail(self, id: bytes, error: AnywireError) -> None:
        self.failed.append((id, error))
        self.failure.set()

    async def fails(self) -> tuple[bytes, str]:
        """The next request that cannot be answered, and why."""
        await self.failure.wait()
        self.failure.clear()
        id, error = self.failed[-1]
        return id, str(error)


@asynccontextmanager
async def played(limits: Limits = DEFAULT_LIMITS) -> AsyncGenerator[tuple[Bridge, PlayedClient]]:
    """A bridge and a client of it."""
    bridge = Bridge(limits)
    async with nothing_left(bridge.behind), bridge.client() as client:
        yield bridge, client
