"""An inn behind a bridge, and guests who come to it over HTTP, each way there is.

What the inn says on behalf of a guest names that guest, so that what reaches the wrong one is seen.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, Literal

import msgspec

from anywire import Context, Server
from anywire.bridge.http_face import HttpFace
from anywire.bridge.meeting.upstream import Sharing, Upstream
from anywire.protocol.http.stateless import StatelessFace
from anywire.testing import ScriptedPeer
from anywire.transport.contract import Transport
from anywire.transport.http_client import HttpClientTransport
from anywire.transport.http_server import HttpListener
from anywire.transport.memory import memory_pair
from anywire.transport.sse_client import SseClientTransport
from anywire.transport.sse_server import SseListener
from anywire.wire.limits import DEFAULT_LIMITS
from tests.http.in_process import AsgiExchange

Era = Literal["legacy", "modern"]
PATIENCE = 20.0
LIMITS = DEFAULT_LIMITS.replace(era_seconds=2.0)
PROGRESS, LOG = "notifications/progress", "notifications/message"
UPDATED = "notifications/resources/updated"


class Name(msgspec.Struct):
    """A form."""

    name: str


class Inn:
    """A server, and what has happened in it."""

    def __init__(self, era: Era) -> None:
        # Nobody waits for what a client left behind.
        self.server = Server("inn", eras=(era,), limits=LIMITS.replace(drain_seconds=0.01))
        #: Who has been waiting, and whose waiting was cancelled.
        self.waiting: list[str] = []
        self.cancelled: list[str] = []
        self.released = asyncio.Event()
        self.news = asyncio.Condition()
        self._offer_tools()
        self.server.resource("rooms://{name}")(self._room)

    def _offer_tools(self) -> None:
        for tool in (self.stay, self.wait, self.book, self.change):
            self.server.tool(tool)

    async def _room(self, name: str) -> str:
        return name

    async def stay(self, guest: str, context: Context) -> str:
        """Tell of it before and after all who stay are there."""
        await context.progress(1, 2, guest)
        await context.log("debug", guest)
        await self._note(self.waiting, guest)
        await self.until(lambda: len(self.waiting) >= 2)
        await context.progress(2, 2, guest)
        return guest

    async def wait(self, guest: str) -> str:
        """Wait for somebody else."""
        await self._note(self.waiting, guest)
        try:
            await self.released.wait()
        except asyncio.CancelledError:
            await self._note(self.cancelled, guest)
            raise
        return guest

    async def book(self, guest: str, context: Context) -> str:
        """Ask for a name."""
        asked = await context.elicit(f"Who are you, {guest}?", Name)
        return f"{guest} is {asked.content.name if asked.content else 'nobody'}"

    async def change(self, rooms: list[str]) -> str:
        """Change rooms."""
        for room in rooms:
            self.server.resource_updated(f"rooms://{room}")
        return "changed"

    async def _note(self, where: list[str], guest: str) -> None:
        async with self.news:
            where.append(guest)
            self.news.notify_all()

    async def until(self, happened: Callable[[], bool]) -> None:
        """Wait for something to happen."""
        async with asyncio.timeout(PATIENCE), self.news:
            await self.news.wait_for(happened)


class Guest:
    """A client that a test plays, with ids and tokens of the test's choice."""

    def __init__(self, name: str, transport: Transport) -> None:
        self.name = name
        self.peer = ScriptedPeer(transport, patience=PATIENCE)
        #: All that it has heard, and what of it nobody has waited for.
        self.heard: list[Any] = []
        self._left: list[Any] = []

    async def hears(self, wanted: Callable[[Any], bool]) -> Any:
        """Wait for a message of that kind, and leave the others for who wants them."""
        for each in self._left:
            if wanted(each):
                self._left.remove(each)
                return each
        while True:
            message = await self.peer.receive()
            self.heard.append(message)
            if wanted(message):
                return message
            self._left.append(message)

    async def reply(self, id: object) -> Any:
        """Wait for the reply to a request."""
        return await self.hears(
            lambda each: "method" not in each and (type(each["id"]), each["id"]) == (type(id), id)
        )

    async def text(self, id: object) -> str:
        """Wait for what a tool has said."""
        return str((await self.reply(id))["result"]["content"][0]["text"])

    async def told(self, method: str) -> Any:
        """Wait for a notification; return its params."""
        return (await self.hears(lambda each: each.get("method") == method))["params"]

    def all_told(self, method: str) -> list[Any]:
        """Return the params of the notifications that it has heard."""
        return [each["params"] for each in self.heard if each.get("method") == method]

    async def nothing_more(self) -> None:
        """Everything that was on its way has come: it is among what was heard."""
        await self.asks("last", "tools/list")
        await self.reply("last")
        self._left.clear()

    async def calls(
        self, id: object, tool: str, arguments: dict[str, Any] | None = None, token: object = None
    ) -> None:
        """Call a tool, by name unless there are other arguments."""
        given = {"guest": self.name} if arguments is None else arguments
        meta = {} if token is None else {"_meta": {"progressToken": token}}
        await self.asks(id, "tools/call", {"name": tool, "arguments": given, **meta})

    async def cancels(self, id: object) -> None:
        """Want no answer any more."""
        await self.peer.notify("notifications/cancelled", {"requestId": id})

    # What differs from era to era.

    async def enters(self) -> None:
        """Begin the conversation."""
        raise NotImplementedError

    async def leaves(self) -> None:
        """End the conversation."""
        await self.peer.close()

    async def asks(self, id: object, method: str, params: dict[str, Any] | None = None) -> None:
        """Send a request."""
        raise NotImplementedError

    async def wants_logs(self, level: str) -> None:
        """Hear of logs from that level on."""
        raise NotImplementedError

    async def follows(self, id: object, room: str) -> None:
        """Hear of a room's changes, by a request of that id."""
        raise NotImplementedError

    async def follows_no_more(self, id: object, room: str) -> None:
        """Hear of them no more."""
        raise NotImplementedError

    async def is_asked(self, id: object) -> Any:
        """Wait for the question of a call; return it."""
        raise NotImplementedError

    async def answers(self, id: object, question: Any, name: str) -> object:
        """Answer it; return the id of the request whose reply ends the call."""
        raise NotImplementedError


class HandshakeGuest(Guest):
    """... who shakes hands."""

    async def enters(self) -> None:
        await self.peer.start()
        await self.peer.initialize(capabilities={"elicitation": {}})

    async def asks(self, id: object, method: str, params: dict[str, Any] | None = None) -> None:
        await self.peer.ask(id, method, params)

    async def wants_logs(self, level: str) -> None:
        await self.asks("level", "logging/setLevel", {"level": level})
        await self.reply("level")

    async def follows(self, id: object, room: str) -> None:
        await self.asks(id, "resources/subscribe", {"uri": f"rooms://{room}"})
        assert "result" in await self.reply(id)

    async def follows_no_more(self, id: object, room: str) -> None:
        await self.asks("no more", "resources/unsubscribe", {"uri": f"rooms://{room}"})
        assert "result" in await self.reply("no more")

    async def is_asked(self, id: object) -> Any:
        return await self.hears(lambda each: each.get("method") == "elicitation/create")

    async def answers(self, id: object, question: Any, name: str) -> object:
        await self.peer.answer(question, {"action": "accept", "content": {"name": name}})
        return id


class StatelessGuest(Guest):
    """... who says with each request what there is to know."""

    def __init__(self, name: str, transport: Transport) -> None:
        super().__init__(name, transport)
        self._level: str | None = None

    async def enters(self) -> None:
        await self.peer.start()

    async def asks(self, id: object, method: str, params: dict[str, Any] | None = None) -> None:
        given = params or {}
        meta: dict[str, Any] = {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {"elicitation": {}},
            "io.modelcontextprotocol/clientInfo": {"name": self.name, "version": "1"},
            **({} if self._level is None else {"io.modelcontextprotocol/logLevel": self._level}),
            **given.get("_meta", {}),
        }
        await self.peer.ask(id, method, {**given, "_meta": meta})

    async def wants_logs(self, level: str) -> None:
        self._level = level

    async def follows(self, id: object, room: str) -> None:
        wanted = {"notifications": {"resourceSubscriptions": [f"rooms://{room}"]}}
        await self.asks(id, "subscriptions/listen", wanted)
        told = await self.told("notifications/subscriptions/acknowledged")
        assert told["_meta"] == {"io.modelcontextprotocol/subscriptionId": id}

    async def follows_no_more(self, id: object, room: str) -> None:
        await self.cancels(id)

    async def is_asked(self, id: object) -> Any:
        result = (await self.reply(id))["result"]
        assert result["resultType"] == "input_required", result
        return result

    async def answers(self, id: object, question: Any, name: str) -> object:
        given = {"action": "accept", "content": {"name": name}}
        params: dict[str, Any] = {
            "name": "book",
            "arguments": {"guest": self.name},
            "inputResponses": dict.fromkeys(question["inputRequests"], given),
            "requestState": question["requestState"],
        }
        await self.asks("again", "tools/call", params)
        return "again"


@dataclass(frozen=True)
class Way:
    """How guests come to the inn: over which face, to a server of which era, a shared one or not."""

    face: Literal["session", "events", "posts"]
    era: Era
    shared: bool

    def __str__(self) -> str:
        return f"{self.face}-{self.era}-{'shared' if self.shared else 'own'}"

    @property
    def asks_one_at_a_time(self) -> bool:
        """Whether nobody can tell of two calls at once which of them a question is about."""
        return self.shared and self.era == "legacy"


class House:
    """The inn, the bridge before it, and the way in."""

    def __init__(self, way: Way) -> None:
        self.way = way
        self.inn = Inn(way.era)
        sharing = Sharing.ALL if way.shared else Sharing.STATELESS
        self.reports: list[str] = []
        self.upstream = Upstream(self._make, self.reports.append, LIMITS, sharing=sharing)
        self.face = HttpFace(self.upstream)
        self.listener = self._listener()
        self.guests: list[Guest] = []
        self.exchanges: list[AsgiExchange] = []

    def _make(self) -> Transport:
        near, far = memory_pair(LIMITS)
        near.on_start = lambda: self.inn.server.accept(far)
        return near

    def _listener(self) -> HttpListener | SseListener:
        if self.way.face == "events":
            return SseListener(self.face.accept, limits=LIMITS)
        stateless = StatelessFace(lambda method: True, self.upstream.mirrors_of)
        return HttpListener(
            self.face.accept, lambda method: True, path="/mcp", stateless=stateless, limits=LIMITS
        )

    async def guest(self, name: str) -> Guest:
        """Let a guest in."""
        exchange = AsgiExchange(self.listener)
        self.exchanges.append(exchange)
        if self.way.face == "events":
            transport: Transport = SseClientTransport(
                "http://127.0.0.1/sse", exchange=lambda: exchange, limits=LIMITS
            )
        else:
            transport = HttpClientTransport("http://127.0.0.1/mcp", exchange=lambda: exchange, limits=LIMITS)
        kind = StatelessGuest if self.way.face == "posts" else HandshakeGuest
        guest = kind(name, transport)
        self.guests.append(guest)
        await guest.enters()
        return guest

    async def close(self) -> None:
        """End everything."""
        for guest in self.guests:
            await guest.leaves()
        await self.listener.close()
        await self.face.close()
        await self.inn.server.close()


@asynccontextmanager
async def house(way: Way) -> AsyncGenerator[House]:
    """A house that leaves nothing, and in which no guest has heard of another."""
    before = asyncio.all_tasks()
    here = House(way)
    async with asyncio.timeout(PATIENCE):
        try:
            yield here
            for guest in here.guests:
                others = [other.name for other in here.guests if other is not guest]
                assert not [each for each in guest.heard if any(name in str(each) for name in others)]
        finally:
            await here.close()
        while left := asyncio.all_tasks() - before:
            await asyncio.wait(left)
    assert [each.failures for each in here.exchanges] == [[]] * len(here.exchanges)
