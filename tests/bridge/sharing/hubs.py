"""Hubs before a server of ours, and before one that a test plays; in one process."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Hashable
from contextlib import asynccontextmanager
from typing import Any, TypeVar

from anywire import Client, Server, connect
from anywire.bridge.sharing.hub import Hub
from anywire.protocol.revisions import MCP_LATEST_PROTOCOL_VERSION
from anywire.testing import ScriptedPeer, byte_pair
from anywire.transport.contract import Transport
from anywire.transport.memory import memory_pair
from anywire.wire.framing import Framing
from anywire.wire.limits import DEFAULT_LIMITS, Limits

T = TypeVar("T")

PATIENCE = 20.0

ANSWER: dict[str, Any] = {
    "protocolVersion": MCP_LATEST_PROTOCOL_VERSION,
    "capabilities": {"tools": {}, "resources": {"subscribe": True}, "logging": {}},
    "serverInfo": {"name": "played", "version": "1"},
}


def note(method: str, params: object = None) -> dict[str, Any]:
    """A notification."""
    return {"jsonrpc": "2.0", "method": method, **({} if params is None else {"params": params})}


def answered(id: object, result: object) -> dict[str, Any]:
    """A reply."""
    return {"jsonrpc": "2.0", "id": id, "result": result}


class Shared:
    """A hub, what it reported, and the servers' ends of the transports that it made."""

    def __init__(self, limits: Limits, **options: Any) -> None:
        self.limits = limits
        self.reports: list[str] = []
        self.made: list[Transport] = []
        self.hub = Hub(self.make, self.reports.append, limits, **options)

    def make(self) -> Transport:
        """Make a transport to a new server."""
        raise NotImplementedError

    def client(self, owner: Hashable = None, **options: Any) -> Client:
        """Return a client of the hub, of an owner of its own unless one is named."""
        options.setdefault("era", "legacy")
        return connect(self.hub.connect(object() if owner is None else owner), **options)

    def raw(self, owner: Hashable = None) -> ScriptedPeer:
        """Return a client that the test plays."""
        return ScriptedPeer(self.hub.connect(object() if owner is None else owner), patience=PATIENCE)


class Served(Shared):
    """... before a server of ours."""

    def __init__(self, server: Server, limits: Limits, **options: Any) -> None:
        super().__init__(limits, **options)
        self.server = server

    def make(self) -> Transport:
        """Make a transport to it; each is a conversation of its own."""
        client, server = memory_pair(self.limits)
        client.on_start = lambda: self.server.accept(server)
        self.made.append(server)
        return client


class Played(Shared):
    """... before servers that the test plays."""

    def __init__(self, limits: Limits, **options: Any) -> None:
        super().__init__(limits, **options)
        self._peers: asyncio.Queue[ScriptedPeer] = asyncio.Queue()

    def make(self) -> Transport:
        """Make a transport to a new one, with bytes in between."""
        client, server = byte_pair(Framing.NEWLINE, Framing.NEWLINE, self.limits)
        self.made.append(server)
        self._peers.put_nowait(ScriptedPeer(server, write=server.write, patience=PATIENCE))
        return client

    async def server(self) -> ScriptedPeer:
        """Return the next server that is started."""
        peer = await soon(self._peers.get())
        await peer.start()
        return peer

    async def greeted(self, *clients: ScriptedPeer, capabilities: Any = None) -> ScriptedPeer:
        """Start these clients and let them shake hands with a new server; return that."""
        for client in clients:
            await client.start()
        asking = [asyncio.ensure_future(client.initialize(capabilities=capabilities)) for client in clients]
        server = await self.server()
        await server.answer(await server.receive(), ANSWER)
        await soon(asyncio.gather(*asking))
        await server.expect({"jsonrpc": "2.0", "method": "notifications/initialized"})
        return server


async def soon(awaitable: Awaitable[T]) -> T:
    """Await it, within bounds."""
    async with asyncio.timeout(PATIENCE):
        return await awaitable


@asynccontextmanager
async def served(server: Server, limits: Limits = DEFAULT_LIMITS, **options: Any) -> AsyncGenerator[Served]:
    """A hub before that server, which leaves nothing."""
    async with _leaving_nothing(Served(server, limits, **options)) as hub:
        yield hub


@asynccontextmanager
async def played(limits: Limits = DEFAULT_LIMITS, **options: Any) -> AsyncGenerator[Played]:
    """A hub before servers that the test plays, which leaves nothing."""
    async with _leaving_nothing(Played(limits, **options)) as hub:
        yield hub


S = TypeVar("S", bound=Shared)


@asynccontextmanager
async def _leaving_nothing(shared: S) -> AsyncGenerator[S]:
    before = asyncio.all_tasks()
    try:
        yield shared
    finally:
        await soon(shared.hub.close())
    for end in shared.made:
        await soon(end.close())
    left = asyncio.all_tasks() - before
    if left:
        await asyncio.wait(left, timeout=PATIENCE)
    assert not [task for task in left if not task.done()]
    assert not len(shared.hub)
    assert not shared.hub.running
