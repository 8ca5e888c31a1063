"""A relay whose client and whose servers, one after the other, are played by a test."""

from __future__ import annotations

import asyncio
from typing import Any

from anywire.bridge.relay import Relay
from anywire.errors import AnywireError, ProcessExited, SpawnFailed
from anywire.testing.byte_wire import ByteTransport
from anywire.testing.peer import ScriptedPeer, scripted_peer
from anywire.wire.limits import Limits

REVISION = "2025-11-25"
CAPABILITIES = {
    "tools": {"listChanged": True},
    "prompts": {},
    "resources": {"subscribe": True, "listChanged": True},
    "logging": {},
}
CRASH = ProcessExited("server", 3, "the disk is full")
LEFT = ProcessExited("server", 0)
#: What a client hears when its server has a successor.
LISTS = ("notifications/tools/list_changed", "notifications/resources/list_changed")


class Server:
    """One server behind the relay: what it hears and says, and how it is lost."""

    def __init__(self, peer: ScriptedPeer, wire: ByteTransport, limits: Limits) -> None:
        self.peer = peer
        #: The relay's end of the wire.
        self.wire = wire
        self._limits = limits

    def lose(self, error: AnywireError | None = CRASH) -> None:
        """End, for that reason, in the midst of whatever it was doing."""
        self.wire.fire_close(error)
        self.wire._end()

    async def hears(self, method: str) -> dict[str, Any]:
        """Wait for the next message, which is of that method; return it."""
        message = await self.peer.receive()
        assert message.get("method") == method, f"{method} was expected, not {message!r}"
        return message

    async def answers(self, method: str, result: object = None) -> dict[str, Any]:
        """Wait for a request of that method, and answer it; return it."""
        request = await self.hears(method)
        await self.peer.answer(request, {} if result is None else result)
        return request

    async def opens(self, revision: str = REVISION) -> dict[str, Any]:
        """Answer the handshake; return the request with which it began."""
        result = {
            "protocolVersion": revision,
            "capabilities": CAPABILITIES,
            "serverInfo": {"name": "played", "version": "1"},
        }
        return await self.answers("initialize", result)


class Stage:
    """A client, a relay that runs, and its servers in the order in which they were made."""

    def __init__(self, limits: Limits | None = None, *, chance: float = 1.0, **options: bool) -> None:
        self.limits = limits or Limits()
        self.client, self.face = scripted_peer(limits=self.limits, patience=600.0)
        self.reports: list[str] = []
        #: How many of the next servers cannot be started.
        self.failing = 0
        self._made: asyncio.Queue[Server] = asyncio.Queue()
        self.servers: list[Server] = []
        self.relay = Relay(
            self.face, self._make, self.reports.append, self.limits, chance=lambda: chance, **options
        )
        self.running: asyncio.Task[None] | None = None

    def _make(self) -> ByteTransport:
        if self.failing:
            self.failing -= 1
            raise SpawnFailed("no program was found")
        peer, wire = scripted_peer(limits=self.limits, patience=600.0)
        server = Server(peer, wire, self.limits)
        self.servers.append(server)
        self._made.put_nowait(server)
        return wire

    async def __aenter__(self) -> Stage:
        self.running = asyncio.get_running_loop().create_task(self.relay.run())
        await self.client.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self.running is not None
        self.running.cancel()
        await asyncio.gather(self.running, return_exceptions=True)
        left = asyncio.all_tasks() - {asyncio.current_task()}
        assert not left, f"tasks are left: {left}"

    async def next_server(self) -> Server:
        """Wait for the next server to be made, and start it."""
        async with asyncio.timeout(600):
            server = await self._made.get()
        await server.peer.start()
        return server

    async def opened(self) -> Server:
        """Shake hands; return the server."""
        server = await self.next_server()
        shaking = asyncio.ensure_future(self.client.initialize(REVISION))
        await server.opens()
        await shaking
        await server.hears("notifications/initialized")
        return server

    async def taken_over(self) -> Server:
        """Wait for a successor, and let it answer what the client had said in its handshake."""
        server = await self.next_server()
        await server.opens()
        await server.hears("notifications/initialized")
        return server

    async def ended(self) -> AnywireError | None:
        """Wait until the relay has ended; return why."""
        assert self.running is not None
        try:
            async with asyncio.timeout(600):
                await asyncio.shield(self.running)
        except AnywireError as error:
            return error
        return None

    async def hears_of(self, *methods: str) -> list[dict[str, Any]]:
        """The client's next messages are notifications of these methods, in order."""
        heard = await self.client.receive_many(len(methods))
        assert [each.get("method") for each in heard] == list(methods)
        return heard
