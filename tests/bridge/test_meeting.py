"""Which way a client's messages take to the server behind a bridge: each era before each, with a server of one's own or a shared one."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any, Literal

import msgspec
import pytest

from anywire import Client, Context, PeerError, Server, connect
from anywire.bridge.meeting.era import Era, ask_era
from anywire.bridge.meeting.opened import Opened
from anywire.bridge.meeting.upstream import Sharing, Upstream
from anywire.protocol.modern import Envelope
from anywire.protocol.types.elicitation import ElicitFormParams, ElicitParams
from anywire.protocol.types.initialize import ClientCapabilities, Implementation
from anywire.testing import ScriptedPeer
from anywire.transport.contract import Transport, ignore
from anywire.transport.http_client import HttpClientTransport
from anywire.transport.memory import MemoryTransport, memory_pair
from anywire.wire.codec import encode_value
from anywire.wire.limits import DEFAULT_LIMITS
from anywire.wire.message import Batch, Fault, FaultKind, Message, Notification, Request, Response
from tests.http.in_process import AsgiExchange

Choice = Literal["legacy", "modern"]
LIMITS = DEFAULT_LIMITS.replace(era_seconds=0.2, connect_seconds=5.0)

each_client = pytest.mark.parametrize("client", ["legacy", "modern"])
each_server = pytest.mark.parametrize("eras", [("legacy",), ("modern",), ("legacy", "modern")])
own_or_shared = pytest.mark.parametrize("shared", [False, True], ids=["own", "shared"])


#: What a stateless client says with each request.
META: dict[str, Any] = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {"elicitation": {}},
    "io.modelcontextprotocol/clientInfo": {"name": "ada", "version": "1"},
}


ADA = Envelope("2026-07-28", ClientCapabilities(), Implementation("ada", "1"))


class Name(msgspec.Struct):
    """A form."""

    name: str


def inn(*eras: Choice) -> Server:
    """A server that asks its guests."""
    server = Server("inn", eras=eras)

    @server.tool
    async def book(ctx: Context, nights: int) -> str:
        who = await ctx.elicit("Who are you?", Name)
        assert who.content is not None
        return f"{who.content.name}, {nights}"

    return server


async def ada(asked: ElicitParams) -> dict[str, str]:
    """Fill in the form."""
    assert isinstance(asked, ElicitFormParams)
    return {"name": "Ada"}


class Backyard:
    """Makes transports to a server, and notes what is said on them."""

    def __init__(self, server: Server) -> None:
        self.server = server
        self.made = 0
        self.heard: list[str] = []

    def __call__(self) -> Transport:
        self.made += 1
        client, server = memory_pair()
        client.on_start = lambda: self._serve(server)
        return client

    def _serve(self, end: MemoryTransport) -> None:
        self.server.accept(end)
        listen = end.callbacks.on_message

        def hear(message: Message | Batch) -> None:
            if isinstance(message, Request):
                self.heard.append(message.method)
            listen(message)

        end.callbacks.on_message = hear


@asynccontextmanager
async def bridged(yard: Backyard, shared: bool = False, era: Era | None = None) -> AsyncGenerator[Upstream]:
    """A server behind a bridge; nothing is left of it."""
    before = asyncio.all_tasks()
    sharing = Sharing.ALL if shared else Sharing.STATELESS
    upstream = Upstream(yard, lambda sentence: None, LIMITS, sharing=sharing, era=era)
    try:
        yield upstream
    finally:
        await upstream.close()
    async with asyncio.timeout(5):
        while left := asyncio.all_tasks() - before:
            await asyncio.wait(left)


def caller(upstream: Upstream, client: Choice) -> Client:
    """A client of one era."""
    return connect(upstream.target(), era=client, on_elicit=ada, limits=LIMITS)


@each_client
@each_server
@own_or_shared
async def test_every_client_meets_every_server(
    client: Choice, eras: tuple[Choice, ...], shared: bool
) -> None:
    """A call with a question in it works, whatever the two sides speak."""
    yard = Backyard(inn(*eras))
    async with asyncio.timeout(20), bridged(yard, shared) as upstream, caller(upstream, client) as ours:
        assert (await ours.call_tool("book", {"nights": 2})).text == "Ada, 2"


@each_client
@each_server
async def test_clients_of_one_bridge_share_a_server_where_they_shall(
    client: Choice, eras: tuple[Choice, ...]
) -> None:
    """Two of them at once cost one server."""
    yard = Backyard(inn(*eras))
    async with (
        asyncio.timeout(20),
        bridged(yard, shared=True) as upstream,
        caller(upstream, client) as one,
        caller(upstream, client) as other,
    ):
        first = await one.call_tool("book", {"nights": 1})
        second = await other.call_tool("book", {"nights": 2})
    assert (first.text, second.text) == ("Ada, 1", "Ada, 2")
    assert yard.made == 1


async def test_a_question_that_nobody_answers_keeps_no_other_call_from_asking() -> None:
    """Each request stands for itself, over HTTP, and the calls that wait have a server each."""
    yard = Backyard(inn("legacy"))
    async with asyncio.timeout(20), bridged(yard) as upstream:
        for number in (1, 2, 3):
            async with ScriptedPeer(upstream.shared_target()) as client:
                await client.call(1, "book", {"nights": number}, META)
                reply = await client.receive()
                assert reply["result"]["resultType"] == "input_required"
    assert yard.made == 3


async def test_calls_one_after_the_other_have_the_same_server() -> None:
    """So that it may keep something for its client."""
    yard = Backyard(inn("legacy"))
    async with asyncio.timeout(20), bridged(yard) as upstream:
        for method in ("tools/list", "tools/call", "tools/list", "tools/call"):
            async with ScriptedPeer(upstream.shared_target()) as client:
                params = {"name": "book", "arguments": {"nights": "many"}, "_meta": META}
                await client.ask(1, method, params)
                assert "result" in await client.receive()
    assert yard.made == 1


async def test_a_client_that_shakes_hands_reaches_a_server_that_does_without_any_question() -> None:
    """Nothing is said that the client did not say."""
    yard = Backyard(inn("legacy"))
    async with asyncio.timeout(20), bridged(yard) as upstream, caller(upstream, "legacy") as ours:
        await ours.tools()
    assert yard.heard == ["initialize", "tools/list"]


async def test_a_stateless_client_has_the_server_asked_before_anything_else() -> None:
    """A server that shakes hands gets no request without one."""
    yard = Backyard(inn("legacy"))
    async with asyncio.timeout(20), bridged(yard) as upstream, caller(upstream, "modern") as ours:
        await ours.tools()
    assert yard.heard[:2] == ["server/discover", "initialize"]
    assert yard.made == 1


@each_client
async def test_a_server_is_asked_once_for_its_era(client: Choice) -> None:
    """The second client of a bridge finds it known."""
    yard = Backyard(inn("legacy"))
    async with asyncio.timeout(20), bridged(yard) as upstream:
        for _ in range(2):
            async with caller(upstream, client) as ours:
                await ours.tools()
    assert yard.heard.count("server/discover") == (1 if client == "modern" else 0)


async def test_nobody_is_asked_where_the_era_was_said() -> None:
    """The user knows his server."""
    yard = Backyard(inn("legacy"))
    async with (
        asyncio.timeout(20),
        bridged(yard, era=Era.HANDSHAKE) as upstream,
        caller(upstream, "modern") as ours,
    ):
        await ours.tools()
    assert "server/discover" not in yard.heard


async def test_a_refusal_to_shake_hands_that_has_other_reasons_is_handed_on() -> None:
    """The client reads what the server said."""
    client, server = memory_pair()
    upstream = Upstream(lambda: client, lambda sentence: None, LIMITS)
    async with asyncio.timeout(20), ScriptedPeer(server) as peer:
        failing = asyncio.create_task(_fails_to_connect(upstream))
        for method in ("initialize", "server/discover"):
            request = await peer.receive()
            assert request["method"] == method
            error = {"code": -32000, "message": f"no {method} today"}
            await peer.send({"jsonrpc": "2.0", "id": request["id"], "error": error})
        assert await failing == "no initialize today"
        await upstream.close()


async def test_a_client_that_is_refused_after_the_era_was_found_out_is_served_nevertheless() -> None:
    """Two clients shake hands at once; when the second is refused, the first has had the server asked."""
    client, server = memory_pair()
    yard, lines = Backyard(inn("modern")), [client]
    upstream = Upstream(lambda: lines.pop() if lines else yard(), lambda sentence: None, LIMITS)
    async with asyncio.timeout(20), ScriptedPeer(server) as peer:
        late = caller(upstream, "legacy")
        opening = asyncio.create_task(late.__aenter__())
        initialize = await peer.receive()
        async with caller(upstream, "legacy") as ours:
            await ours.tools()
        error = {"code": -32022, "message": "no handshakes", "data": {"supported": ["2026-07-28"]}}
        await peer.send({"jsonrpc": "2.0", "id": initialize["id"], "error": error})
        asked = await peer.receive()
        assert asked["method"] == "server/discover"
        await peer.answer(asked, {"supportedVersions": ["2026-07-28"], "capabilities": {}})
        await opening
        await late.close()
        await upstream.close()


@each_client
async def test_what_a_server_says_before_it_is_asked_reaches_who_asks(client: Choice) -> None:
    """Noise and notifications, in the order in which they came."""
    near, server = memory_pair()
    upstream = Upstream(lambda: near, lambda sentence: None, LIMITS)
    said: asyncio.Queue[object] = asyncio.Queue()
    target = upstream.target()
    target.callbacks.on_message = said.put_nowait
    target.callbacks.on_error = said.put_nowait
    async with asyncio.timeout(20), ScriptedPeer(server) as peer:
        await target.start()
        fault, note = Fault(FaultKind.PARSE_ERROR, "noise"), Notification("notifications/message", b"{}")
        near.callbacks.on_error(fault)
        near.callbacks.on_message(note)
        meta = META if client == "modern" else None
        target.post(Request(b"1", "tools/list", encode_value({"_meta": meta} if meta else {})))
        near.callbacks.on_message(note)
        asked = await peer.receive()
        assert asked["method"] == ("server/discover" if client == "modern" else "tools/list")
        await peer.answer(asked, {"supportedVersions": ["2026-07-28"], "capabilities": {}})
        if client == "modern":
            await peer.answer(await peer.receive(), {})
        assert [await said.get() for _ in range(3)] == [fault, note, note]
        assert isinstance(await said.get(), Response)
        await target.close()
    await upstream.close()


async def test_a_child_that_is_busy_is_waited_for_longer_than_one_that_ignores_the_question() -> None:
    """A server of the stateless era may take its time to start."""
    near, server = memory_pair()
    busy = Busy()
    setattr(near, "child", busy)  # noqa: B010 as a wire to a process has it
    opened = Opened(near, ignore)
    limits = LIMITS.replace(era_seconds=0.01)
    async with asyncio.timeout(20), ScriptedPeer(server) as peer:
        await opened.open()
        asking = asyncio.create_task(ask_era(opened, ADA, limits))
        question = await peer.receive()
        await busy.was_looked_at.wait()
        await peer.answer(question, {"supportedVersions": ["2026-07-28"], "capabilities": {}})
        assert await asking is Era.STATELESS
        await opened.close()


class Busy:
    """A process that computes."""

    def __init__(self) -> None:
        self.looks = 0
        self.was_looked_at = asyncio.Event()

    @property
    def work(self) -> int:
        """Another number at each look."""
        self.looks += 1
        if self.looks == 3:
            self.was_looked_at.set()
        return self.looks


async def _fails_to_connect(upstream: Upstream) -> str:
    with pytest.raises(PeerError) as caught:
        async with connect(upstream.target(), era="legacy", limits=LIMITS):
            raise AssertionError
    return caught.value.message


async def test_a_client_that_gives_up_asking_and_shakes_hands_has_the_server_it_began_with() -> None:
    """A server that is silent when it is asked costs no second one."""
    client, server = memory_pair()
    lines = iter((client,))
    upstream = Upstream(lambda: next(lines), lambda sentence: None, LIMITS.replace(era_seconds=5.0))
    impatient = LIMITS.replace(era_seconds=0.05)
    async with asyncio.timeout(20), ScriptedPeer(server) as peer:
        ours = connect(upstream.target(), limits=impatient)
        opening = asyncio.create_task(ours.__aenter__())
        assert (await peer.receive())["method"] == "server/discover"
        initialize = await peer.receive()
        assert initialize["method"] == "initialize"
        who = {"name": "old", "version": "1"}
        await peer.answer(
            initialize, {"protocolVersion": "2025-11-25", "capabilities": {}, "serverInfo": who}
        )
        await opening
        await ours.close()
        await upstream.close()


@pytest.mark.parametrize("shared", [False, True])
async def test_arguments_that_headers_repeat_are_known_whoever_shares_the_server(shared: bool) -> None:
    """A client that shakes hands knows of no headers; the list of tools tells the bridge."""
    server = Server("marked", eras=("modern",))
    schema = {"type": "object", "properties": {"region": {"type": "string", "x-mcp-header": "Region"}}}
    server.tool(name="where", input_schema=schema)(_region)
    exchange = AsgiExchange(server.http_app(path="/mcp"))

    def make() -> Transport:
        return HttpClientTransport("http://127.0.0.1/mcp", exchange=lambda: exchange)

    sharing = Sharing.ALL if shared else Sharing.STATELESS
    upstream = Upstream(make, lambda sentence: None, LIMITS, sharing=sharing, era=Era.STATELESS)
    async with asyncio.timeout(20), caller(upstream, "legacy") as ours:
        assert [tool.name for tool in await ours.tools()] == ["where"] == list(upstream.mirrors)
        assert (await ours.call_tool("where", {"region": "eu"})).text == "eu"
    await upstream.close()
    assert exchange.failures == []


async def _region(arguments: dict[str, str]) -> str:
    return arguments["region"]


@each_server
async def test_a_batch_of_stateless_requests_is_refused(eras: tuple[Choice, ...]) -> None:
    """Each of them, whatever is behind; the era has no batches."""
    async with (
        asyncio.timeout(20),
        bridged(Backyard(inn(*eras))) as upstream,
        ScriptedPeer(upstream.target()) as client,
    ):
        ask = {"jsonrpc": "2.0", "method": "tools/list", "params": {"_meta": META}}
        await client.send([{**ask, "id": 1}, {**ask, "id": 2}])
        refused = [await client.receive() for _ in range(2)]
        assert [(each["id"], each["error"]["code"]) for each in refused] == [(1, -32600), (2, -32600)]
        await client.ask(3, "tools/list", {"_meta": META})
        assert "result" in await client.receive()
