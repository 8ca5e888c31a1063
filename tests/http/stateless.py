"""A stage for the stateless era: a server on a socket, and a caller whose headers say what its bodies say."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Annotated, Any

import msgspec

from anywire import Context, Server
from anywire.transport.http_server import HttpListener
from anywire.wire.limits import Limits
from tests.http.raw import Answer, Caller, Connection, ask
from tests.http.serving import QUICK, on_socket, until

VERSION = "2026-07-28"
PREFIX = "io.modelcontextprotocol/"
SERVER_INFO = PREFIX + "serverInfo"
SUBSCRIPTION = PREFIX + "subscriptionId"
CAPABLE: dict[str, Any] = {"sampling": {}, "elicitation": {}, "roots": {}}

Mirrored = msgspec.Meta(extra_json_schema={"x-mcp-header": "Region"})


class Name(msgspec.Struct):
    """A form."""

    name: str


def envelope(**more: Any) -> dict[str, Any]:
    """What a request says of itself."""
    return {PREFIX + "protocolVersion": VERSION, PREFIX + "clientCapabilities": CAPABLE, **more}


class StatelessCaller(Caller):
    """Speaks to one URL, one request of the stateless era a connection."""

    def message(self, id: object, method: str, params: Any = None, **meta: Any) -> dict[str, object]:
        """A request with its envelope, or with the `_meta` that its params have."""
        given: dict[str, Any] = params or {}
        return ask(id, method, {"_meta": envelope(**meta), **given})

    def mirrored(self, message: Any) -> dict[str, str | None]:
        """The headers that go with it."""
        params: dict[str, Any] = message.get("params") or {}
        name = params.get("uri" if message["method"] == "resources/read" else "name")
        return {"MCP_Protocol_Version": VERSION, "Mcp_Method": message["method"], "Mcp_Name": name}

    async def ask(
        self, id: object, method: str, params: Any = None, *, meta: Any = None, **headers: str | None
    ) -> Answer:
        """Make a request and read the whole response."""
        message = self.message(id, method, params, **(meta or {}))
        return await self.post(message, **(self.mirrored(message) | headers))

    async def call(self, id: object, tool: str, arguments: Any = None, **more: Any) -> Answer:
        """Call a tool, with further params."""
        return await self.ask(id, "tools/call", {"name": tool, "arguments": arguments or {}, **more})

    @asynccontextmanager
    async def begin_ask(
        self, id: object, method: str, params: Any = None, **meta: Any
    ) -> AsyncGenerator[Connection]:
        """Make a request and leave the reading to the test."""
        message = self.message(id, method, params, **meta)
        async with self.begin("POST", message, **self.mirrored(message)) as opened:
            yield opened

    @asynccontextmanager
    async def subscribe(self, id: object, **wanted: Any) -> AsyncGenerator[Connection]:
        """Listen, and be acknowledged."""
        async with self.begin_ask(id, "subscriptions/listen", {"notifications": wanted}) as stream:
            head = await stream.head()
            assert (head.status, head["content-type"]) == (200, "text/event-stream")
            assert (await stream.message()).message == {
                "jsonrpc": "2.0",
                "method": "notifications/subscriptions/acknowledged",
                "params": {"_meta": {SUBSCRIPTION: id}, "notifications": wanted},
            }
            yield stream


class Stage:
    """A server that is served, a caller of it, and what its handlers did."""

    def __init__(self, limits: Limits, options: dict[str, Any]) -> None:
        self.server = Server("stage", limits=limits, **options)
        self.app: HttpListener = self.server.http_app(path="/mcp")
        self.caller = StatelessCaller("http://nowhere/mcp")
        #: What happened in handlers.
        self.seen: Counter[str] = Counter()
        #: What holds them.
        self.gate = asyncio.Event()
        _offer_calls(self)
        _offer_questions(self)

    async def until(self, what: str, count: int = 1) -> None:
        """Wait until something has happened in handlers."""
        await until(lambda: self.seen[what] >= count, f"{what}, {count} times")

    @property
    def is_idle(self) -> bool:
        """Whether nothing is kept for any client."""
        server = self.server
        return not (server._sessions or server._accepted or len(server.held) or len(self.app.sessions))


@asynccontextmanager
async def stage(limits: Limits = QUICK, **options: Any) -> AsyncGenerator[Stage]:
    """Serve on a socket; at the end nothing of it may be left, and no task."""
    here = Stage(limits, options)
    before = asyncio.all_tasks()
    async with on_socket(here.app) as origin:
        here.caller = StatelessCaller(f"{origin}/mcp")
        yield here
    await until(lambda: here.is_idle, "nothing is kept")
    await until(lambda: asyncio.all_tasks() <= before, "no task is left")


async def _hold(here: Stage) -> str:
    here.seen["held"] += 1
    try:
        await here.gate.wait()
    except asyncio.CancelledError:
        here.seen["cancelled"] += 1
        raise
    return "let go"


def _offer_calls(here: Stage) -> None:
    server = here.server

    @server.tool
    async def hold() -> str:
        """Wait until the test lets go."""
        return await _hold(here)

    @server.tool
    async def step_then_hold(context: Context) -> str:
        """Report progress, then wait."""
        await context.progress(1, 2)
        return await _hold(here)

    @server.tool
    async def steps(context: Context, count: int, size: int = 0) -> str:
        """Report progress so many times."""
        for number in range(count):
            await context.progress(number + 1, count, "x" * size)
            here.seen["steps"] += 1
        return f"{count} steps"

    @server.tool(inline=True)
    def region(region: Annotated[str, Mirrored] = "") -> str:
        """Return an argument that a header repeats."""
        return region

    @server.resource("a://b", mime_type="text/plain")
    def held() -> str:
        """A resource."""
        return "held"

    @server.prompt
    def hello() -> str:
        """A prompt."""
        return "Hello"


def _offer_questions(here: Stage) -> None:
    @here.server.tool
    async def sample(context: Context) -> str:
        """Ask the client's model."""
        return (await context.sample("Hi", key="said")).model

    @here.server.tool
    async def ask_then_hold(context: Context) -> str:
        """Ask the client's user, then wait."""
        who = await context.elicit("Who?", Name, key="who")
        assert who.content is not None
        await context.progress(1)
        return f"{who.content.name}, {await _hold(here)}"
