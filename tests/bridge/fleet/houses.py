"""A fleet of servers of ours, and of servers that a test plays, with clients of both eras; in one process."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any, Literal

from anywire import Client, Server, connect
from anywire.bridge.fleet.fleet import Fleet
from anywire.bridge.meeting.era import Era
from anywire.bridge.meeting.upstream import Sharing, Upstream
from anywire.errors import AnywireError, ProcessExited
from anywire.testing import ScriptedPeer, scripted_peer
from anywire.testing.byte_wire import ByteTransport
from anywire.transport.contract import Transport
from anywire.transport.memory import memory_pair
from anywire.wire.limits import DEFAULT_LIMITS, Limits

LIMITS = DEFAULT_LIMITS.replace(era_seconds=0.2, connect_seconds=5.0)
CRASH = ProcessExited("server", 3, "the disk is full")
Choice = Literal["legacy", "modern"]

CAPABILITIES: dict[str, Any] = {
    "tools": {"listChanged": True},
    "prompts": {},
    "resources": {"subscribe": True, "listChanged": True},
    "logging": {},
    "completions": {},
}


class Ours:
    """Makes transports to a server of ours, and counts them."""

    def __init__(self, server: Server) -> None:
        self.server = server
        self.made = 0

    def __call__(self) -> Transport:
        self.made += 1
        client, server = memory_pair()
        client.on_start = lambda: self.server.accept(server)
        return client


class Play:
    """One process of a server that a test plays."""

    def __init__(self, peer: ScriptedPeer, wire: ByteTransport) -> None:
        self.peer = peer
        self.wire = wire

    def lose(self, error: AnywireError = CRASH) -> None:
        """End, for that reason, in the midst of whatever it was doing."""
        self.wire.fire_close(error)
        self.wire._end()

    async def hears(self, method: str) -> dict[str, Any]:
        """Wait for the next message, which is of that method."""
        message = await self.peer.receive()
        assert message.get("method") == method, f"{method} was expected, not {message!r}"
        return message

    async def answers(self, method: str, result: object = None) -> dict[str, Any]:
        """Wait for a request of that method, and answer it."""
        request = await self.hears(method)
        await self.peer.answer(request, {} if result is None else result)
        return request

    async def opens(self, revision: str = "2025-11-25", **more: object) -> dict[str, Any]:
        """Shake hands; return the request."""
        info = {"name": "played", "version": "1"}
        result = {"protocolVersion": revision, "capabilities": CAPABILITIES, "serverInfo": info, **more}
        request = await self.answers("initialize", result)
        await self.hears("notifications/initialized")
        return request

    async def lists(self, *tools: str) -> None:
        """Answer for the list of tools."""
        listed = [{"name": tool, "inputSchema": {"type": "object"}} for tool in tools]
        await self.answers("tools/list", {"tools": listed})


class Played:
    """Makes transports to processes that a test plays; `failing` of the next cannot be started."""

    def __init__(self, limits: Limits = LIMITS) -> None:
        self.limits = limits
        self.made = 0
        self.errors: list[AnywireError] = []
        self._plays: asyncio.Queue[Play] = asyncio.Queue()

    def __call__(self) -> Transport:
        self.made += 1
        if self.errors:
            raise self.errors.pop(0)
        peer, wire = scripted_peer(limits=self.limits, patience=600.0)
        self._plays.put_nowait(Play(peer, wire))
        return wire

    async def next(self, patience: float = 600.0) -> Play:
        """Wait for the next process."""
        async with asyncio.timeout(patience):
            play = await self._plays.get()
        await play.peer.start()
        return play


class House:
    """A fleet, and one way to it for all clients."""

    def __init__(self, limits: Limits, sharing: Sharing, **options: Any) -> None:
        self.limits = limits
        self.reports: list[str] = []
        options.setdefault("chance", lambda: 1.0)
        self.fleet = Fleet(limits, **options)
        self.upstream = Upstream(
            self.fleet.target, self.reports.append, limits, sharing=sharing, era=Era.HANDSHAKE
        )
        self.upstreams: dict[str, Upstream] = {}

    def have(self, makers: Mapping[str, Callable[[], Transport]]) -> dict[str, Upstream]:
        """Have these servers; those that are there already stay."""
        new = {
            name: self.upstreams.get(name) or Upstream(make, self.reports.append, self.limits)
            for name, make in makers.items()
        }
        retired = dict(self.fleet.replace(new))
        self.upstreams = new
        return retired

    def maker(self, name: str) -> Played:
        """What makes the processes of a server that the test plays."""
        maker = self.upstreams[name]._make
        assert isinstance(maker, Played)
        return maker

    def client(self, era: Choice = "legacy", **options: Any) -> Client:
        """A client of that era."""
        return connect(self.upstream.target(), era=era, limits=self.limits, **options)

    def raw(self) -> ScriptedPeer:
        """A client that the test plays."""
        return ScriptedPeer(self.upstream.target(), patience=600.0)


@asynccontextmanager
async def house(
    makers: Mapping[str, Callable[[], Transport]],
    *,
    limits: Limits = LIMITS,
    sharing: Sharing = Sharing.STATELESS,
    keeps_lists: bool = True,
    discreet: bool = False,
) -> AsyncGenerator[House]:
    """A fleet of which nothing is left."""
    before = asyncio.all_tasks()
    ours = House(limits, sharing, keeps_lists=keeps_lists, discreet=discreet)
    ours.have(makers)
    try:
        yield ours
    finally:
        await ours.upstream.close()
        await ours.fleet.close()
        for upstream in ours.upstreams.values():
            await upstream.close()
    async with asyncio.timeout(5):
        while left := asyncio.all_tasks() - before:
            await asyncio.wait(left)
