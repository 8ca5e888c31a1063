"""A client and a server of this library, and a client against a server that a test plays."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from anywire import Context, DeadlineExceeded, PeerError, Server, connect
from anywire.errors import (
    ConfigError,
    ConnectFailed,
    RemoteProtocolError,
    SessionError,
    TransportClosed,
)
from anywire.protocol.modern import LATEST_STATELESS_REVISION
from anywire.protocol.revisions import MCP_LATEST_PROTOCOL_VERSION
from anywire.testing import ScriptedPeer, in_virtual_time, scripted_peer
from anywire.wire.limits import DEFAULT_LIMITS
from anywire.wire.message import Notification
from tests.interaction.clients import ANSWER, cancelled, played, served
from tests.interaction.talk import (
    PATIENCE,
    WIRES,
    Gate,
    error,
    in_each_revision,
    over_each_wire,
    result,
)

# With a server of ours.


def shop() -> Server:
    server = Server("shop", "2", instructions="Ask for tea.")

    @server.tool
    async def price(item: str, ctx: Context) -> str:
        """Tell the price."""
        await ctx.progress(1, 2, "looking")
        await ctx.log("info", {"asked": item})
        await ctx.progress(2, 2)
        return f"{item}: 3"

    @server.tool
    async def fails() -> None:
        raise RuntimeError("sold out")

    return server


async def test_a_server_of_this_process_is_reached_by_its_object() -> None:
    """`connect(server)`: no process, no bytes, and the whole protocol."""
    async with connect(shop()) as client:
        assert (client.server.server_info.name, client.server.server_info.version) == ("shop", "2")
        assert client.server.instructions == "Ask for tea."
        assert client.revision == LATEST_STATELESS_REVISION
        assert [tool.name for tool in await client.tools()] == ["price", "fails"]
        assert (await client.call_tool("price", {"item": "tea"})).text == "tea: 3"
        await client.ping()


@over_each_wire
async def test_a_client_calls_tools_over_each_wire(wire: str) -> None:
    """Results, failures, progress and log messages come as they should."""
    logged: list[dict[str, Any]] = []
    progress: list[tuple[float, float | None, str | None]] = []
    server = shop()
    client_end, server_end, _ = WIRES[wire](DEFAULT_LIMITS)
    serving = asyncio.ensure_future(server.serve(server_end))
    async with connect(client_end, on_log=logged.append, era="legacy") as client:
        tools = await client.tools()
        answer = await client.call_tool(
            "price",
            {"item": "tea"},
            on_progress=lambda done, total, words: progress.append((done, total, words)),
        )
        failed = await client.call_tool("fails")
        unknown = await client.call_tool("prize")

    await serving
    assert tools[0].description == "Tell the price."
    assert (answer.text, answer.is_error, answer.structured) == ("tea: 3", False, None)
    assert answer.raw == b'{"content":[{"type":"text","text":"tea: 3"}]}'
    assert progress == [(1.0, 2.0, "looking"), (2.0, 2.0, None)]
    assert logged == [{"level": "info", "data": {"asked": "tea"}}]
    assert (failed.text, failed.is_error) == ("Error in tool 'fails': sold out", True)
    assert unknown.is_error


@over_each_wire
async def test_many_calls_at_once_get_their_own_answers(wire: str) -> None:
    """Each future has the answer to its own request."""
    server = Server("s")

    @server.tool
    async def double(number: int) -> str:
        for _ in range(number % 5):
            await asyncio.sleep(0)
        return str(2 * number)

    async with served(server, wire) as client:
        answers = await asyncio.gather(*(client.call_tool("double", {"number": n}) for n in range(100)))

    assert [answer.text for answer in answers] == [str(2 * number) for number in range(100)]


@over_each_wire
async def test_a_cancelled_caller_stops_the_handler(wire: str) -> None:
    """From the caller's task to the handler's, over the wire."""
    server, gate = Server("s"), Gate()
    stopped: asyncio.Future[str] = asyncio.get_running_loop().create_future()

    @server.tool
    async def slow(ctx: Context) -> None:
        try:
            await gate.wait()
        except asyncio.CancelledError:
            stopped.set_result(ctx.cancel_reason)
            raise

    async with served(server, wire) as client:
        calling = asyncio.ensure_future(client.call_tool("slow"))
        await gate.reached.wait()
        calling.cancel()
        with pytest.raises(asyncio.CancelledError):
            await calling
        async with asyncio.timeout(PATIENCE):
            assert await stopped == "cancelled"
        await client.ping()


@pytest.mark.parametrize("wire", WIRES)
@in_virtual_time
async def test_a_call_that_times_out_stops_the_handler(wire: str) -> None:
    """The error says what was waited for and how long; the server is told."""
    server, gate = Server("s"), Gate()
    stopped = asyncio.Event()

    @server.tool
    async def slow() -> None:
        try:
            await gate.wait()
        finally:
            stopped.set()

    async with served(server, wire) as client:
        with pytest.raises(DeadlineExceeded, match="no answer to tools/call within 3 s"):
            await client.call_tool("slow", timeout=3)
        async with asyncio.timeout(PATIENCE):
            await stopped.wait()
        await client.ping()


@in_virtual_time
async def test_progress_restarts_the_clock_of_a_call() -> None:
    """Whoever reports is waited for, longer than the timeout says."""
    server = Server("s")

    @server.tool
    async def reports(ctx: Context) -> str:
        for number in range(10):
            await asyncio.sleep(2)
            await ctx.progress(number)
        return "done"

    async with connect(server) as client:
        assert (await client.call_tool("reports", timeout=3)).text == "done"
        assert asyncio.get_running_loop().time() >= 20


@in_virtual_time
async def test_progress_is_no_way_to_live_for_ever() -> None:
    """There is a limit to the whole as well."""
    limits = DEFAULT_LIMITS.replace(request_seconds=3.0, request_total_seconds=30.0)
    server = Server("s")

    @server.tool
    async def reports(ctx: Context) -> str:
        for number in range(100):
            await asyncio.sleep(2)
            await ctx.progress(number)
        return "done"

    async with connect(server, limits=limits) as client:
        with pytest.raises(DeadlineExceeded, match="tools/call did not end within 30 s"):
            await client.call_tool("reports")


@over_each_wire
async def test_closing_the_client_ends_the_servers_conversation(wire: str) -> None:
    """And twice is once."""
    server = Server("s")
    async with served(server, wire) as client:
        await client.ping()
        await client.close()
        await client.close()

    assert repr(server) == "<Server s, 0 tools, 0 conversations>"


# With a server that the test plays.


@over_each_wire
@in_each_revision
async def test_the_client_opens_as_specified(wire: str, revision: str) -> None:
    """`initialize` with the newest revision, then the notification; the answer's revision holds."""
    client_end, server_end, _ = WIRES[wire](DEFAULT_LIMITS)
    client = connect(client_end, era="legacy")
    async with ScriptedPeer(server_end, patience=PATIENCE) as peer:
        opening = asyncio.ensure_future(client.open())
        request = await peer.receive()

        assert request["method"] == "initialize"
        assert request["params"]["protocolVersion"] == MCP_LATEST_PROTOCOL_VERSION
        assert request["params"]["capabilities"] == {}
        assert request["params"]["clientInfo"]["name"] == "anywire"
        assert "_meta" not in request["params"]
        await peer.expect_silence()
        await peer.send(result(request["id"], ANSWER | {"protocolVersion": revision}))
        await opening
        await peer.expect({"jsonrpc": "2.0", "method": "notifications/initialized"})
        assert client.revision == revision
        await client.close()
        await peer.expect_end()


@pytest.mark.parametrize(
    "answer",
    [
        {},
        [],
        {"protocolVersion": "1999-01-01"},
        ANSWER | {"protocolVersion": "2026-07-28"},
        ANSWER | {"serverInfo": 5},
    ],
)
async def test_an_unusable_answer_to_initialize_is_an_error_and_closes(answer: object) -> None:
    """A revision that is not spoken is a reason to leave."""
    client_end, server_end, _ = WIRES["memory"](DEFAULT_LIMITS)
    client = connect(client_end, era="legacy")
    async with ScriptedPeer(server_end, patience=PATIENCE) as peer:
        opening = asyncio.ensure_future(client.open())
        await peer.send(result((await peer.receive())["id"], answer))

        with pytest.raises(RemoteProtocolError, match="the answer to initialize cannot be used"):
            await opening
        await peer.expect_end()


async def test_a_refused_initialize_is_the_servers_error() -> None:
    """With its code, its message and its data."""
    client_end, server_end, _ = WIRES["memory"](DEFAULT_LIMITS)
    client = connect(client_end, era="legacy")
    async with ScriptedPeer(server_end, patience=PATIENCE) as peer:
        opening = asyncio.ensure_future(client.open())
        request = await peer.receive()
        refusal = error(request["id"], -32602, "Unsupported protocol version")
        refusal["error"]["data"] = {"supported": ["2024-11-05"]}
        await peer.send(refusal)

        with pytest.raises(PeerError) as raised:
            await opening
        assert (raised.value.code, raised.value.message) == (-32602, "Unsupported protocol version")
        assert raised.value.data == b'{"supported":["2024-11-05"]}'
        await peer.expect_end()


@in_virtual_time
async def test_initialize_that_times_out_is_not_cancelled_on_the_wire() -> None:
    """The specification forbids it; the wire is closed instead."""
    client_end, server_end, _ = WIRES["memory"](DEFAULT_LIMITS)
    client = connect(client_end, era="legacy")
    async with ScriptedPeer(server_end, patience=100) as peer:
        opening = asyncio.ensure_future(client.open())
        await peer.receive()
        await peer.expect_end()

        with pytest.raises(ConnectFailed, match="no answer to initialize within 10 s"):
            await opening
        assert not peer.inbox


async def test_opening_that_is_cancelled_is_not_cancelled_on_the_wire() -> None:
    """Nor is it then."""
    client_end, server_end, _ = WIRES["memory"](DEFAULT_LIMITS)
    client = connect(client_end, era="legacy")
    async with ScriptedPeer(server_end, patience=PATIENCE) as peer:
        opening = asyncio.ensure_future(client.open())
        await peer.receive()
        opening.cancel()
        with pytest.raises(asyncio.CancelledError):
            await opening
        await peer.expect_end()

        assert not peer.inbox


@over_each_wire
async def test_a_servers_error_comes_through_unchanged(wire: str) -> None:
    """Code, message and data, whatever they are."""
    async with played(wire) as (client, peer):
        calling = asyncio.ensure_future(client.request("any/method", {"x": 1}))
        request = await peer.receive()
        assert request["method"] == "any/method"
        assert request["params"]["x"] == 1
        reply = f'{{"jsonrpc":"2.0","id":{request["id"]},"error":{{"code":-32063,"message":"no","data":[1.0,"x"]}}}}'
        await peer.send(reply)

        with pytest.raises(PeerError, match=r"no \(code -32063\)") as raised:
            await calling
        assert (raised.value.code, raised.value.message, raised.value.data) == (-32063, "no", b'[1.0,"x"]')


@over_each_wire
async def test_the_servers_requests_are_answered(wire: str) -> None:
    """`ping` always; nothing else is offered."""
    async with played(wire) as (_, peer):
        await peer.ask("p", "ping")
        await peer.ask(0, "roots/list")

        await peer.expect(result("p", {}), error(0, -32601, "Method not found: roots/list"))


@pytest.mark.parametrize("wire", WIRES)
@in_virtual_time
async def test_a_request_that_times_out_is_cancelled_on_the_wire_once(wire: str) -> None:
    """A late reply is ignored, and the conversation goes on."""
    async with played(wire) as (client, peer):
        calling = asyncio.ensure_future(client.request("slow", timeout=5))
        request = await peer.receive()
        await peer.expect(cancelled(request["id"], "timed out"))
        with pytest.raises(DeadlineExceeded, match="no answer to slow within 5 s"):
            await calling
        await peer.send(result(request["id"], "late"))
        pinging = asyncio.ensure_future(client.ping())
        ping = await peer.receive()
        assert ping["id"] != request["id"]
        await peer.send(result(ping["id"], {}))
        await pinging
        await peer.expect_silence()


@over_each_wire
async def test_a_cancelled_request_is_cancelled_on_the_wire_once(wire: str) -> None:
    """With the request's own id."""
    async with played(wire) as (client, peer):
        calling = asyncio.ensure_future(client.request("slow"))
        request = await peer.receive()
        calling.cancel()
        with pytest.raises(asyncio.CancelledError):
            await calling

        await peer.expect(cancelled(request["id"], "cancelled"))
        await peer.send(error(request["id"], -1, "cancelled"))
        await peer.expect_silence()


@over_each_wire
@pytest.mark.parametrize("end", ["client", "server"])
async def test_the_end_settles_what_is_pending(wire: str, end: str) -> None:
    """Whoever ends it: every caller hears of it, once, and later calls fail at once."""
    async with played(wire) as (client, peer):
        calls = [asyncio.ensure_future(client.request("slow", {"n": n})) for n in range(3)]
        await peer.receive_many(3)
        await (client.close() if end == "client" else peer.close())
        outcomes = await asyncio.wait_for(asyncio.gather(*calls, return_exceptions=True), PATIENCE)

        assert [type(outcome) for outcome in outcomes] == [TransportClosed] * 3
        with pytest.raises(TransportClosed):
            await client.ping()


async def test_a_reply_that_is_no_message_settles_its_request() -> None:
    """The caller does not wait for a time-out to learn that the answer was damaged."""
    peer, transport = scripted_peer()
    client = connect(transport, era="legacy")
    async with peer:
        opening = asyncio.ensure_future(client.open())
        await peer.send(result((await peer.receive())["id"], ANSWER))
        await opening
        await peer.receive()
        calling = asyncio.ensure_future(client.request("any"))
        request = await peer.receive()
        await peer.send_bytes(b"noise before\n")
        await peer.send_bytes(b'{"jsonrpc":"1.0","id":%d,"result":{}}\n' % request["id"])

        with pytest.raises(RemoteProtocolError, match="the reply to any could not be used"):
            await calling
        await client.close()


@pytest.mark.parametrize("answer", [[], {"tools": 5}, {"tools": [], "nextCursor": 5}])
async def test_an_unusable_list_is_an_error(answer: object) -> None:
    """The peer broke the rules, and the error says what was wrong."""
    async with played() as (client, peer):
        listing = asyncio.ensure_future(client.tools())
        await peer.send(result((await peer.receive())["id"], answer))

        with pytest.raises(RemoteProtocolError, match="the server's answer cannot be read"):
            await listing


@pytest.mark.parametrize("answer", [[], {"content": "text"}, {"content": [], "isError": "yes"}])
async def test_an_unusable_result_of_a_tool_is_an_error(answer: object) -> None:
    """With the tool's name."""
    async with played() as (client, peer):
        calling = asyncio.ensure_future(client.call_tool("odd"))
        await peer.send(result((await peer.receive())["id"], answer))

        with pytest.raises(RemoteProtocolError, match="the result of tool 'odd' cannot be read"):
            await calling


async def test_blocks_of_kinds_unknown_today_are_kept() -> None:
    """And structured content, and the whole result as it came."""
    async with played() as (client, peer):
        calling = asyncio.ensure_future(client.call_tool("new"))
        id = (await peer.receive())["id"]
        raw = (
            '{"content":[{"type":"text","text":"a"},{"type":"hologram","x":1.0},{"type":"text","text":"b"}],'
            '"structuredContent":{"n":[1]},"later":true}'
        )
        await peer.send(f'{{"jsonrpc":"2.0","id":{id},"result":{raw}}}')
        answer = await calling

    assert answer.raw == raw.encode()
    assert answer.text == "a\nb"
    assert answer.content[1] == {"type": "hologram", "x": 1.0}
    assert answer.structured == {"n": [1]}


@over_each_wire
async def test_a_batch_from_the_server_is_each_of_its_messages(wire: str) -> None:
    """As a server of 2025-03-26 may send them."""
    told: list[Notification] = []
    async with played(wire, on_notification=told.append) as (client, peer):
        calls = [asyncio.ensure_future(client.request("any", {"n": n})) for n in range(2)]
        ids = [request["id"] for request in await peer.receive_many(2)]
        await peer.send(
            [
                result(ids[1], "second"),
                {"jsonrpc": "2.0", "method": "notifications/x"},
                result(ids[0], "first"),
            ]
        )

        assert await asyncio.gather(*calls) == [b'"first"', b'"second"']
        assert [each.method for each in told] == ["notifications/x"]


async def test_notifications_reach_who_listens() -> None:
    """Unknown ones too, log messages in both ways; unreadable ones do no harm."""
    told: list[Notification] = []
    logged: list[dict[str, Any]] = []
    async with played(on_notification=told.append, on_log=logged.append) as (client, peer):
        await peer.notify("notifications/tools/list_changed")
        await peer.notify("notifications/message", {"level": "info", "data": 1})
        await peer.notify("notifications/message", [])
        await peer.notify("notifications/progress", {"progressToken": "unknown", "progress": 1})
        await peer.notify("notifications/cancelled", {"requestId": 99})
        await peer.ask(1, "ping")
        await peer.expect(result(1, {}))

        assert logged == [{"level": "info", "data": 1}]
        assert [each.method for each in told][:3] == [
            "notifications/tools/list_changed",
            "notifications/message",
            "notifications/message",
        ]
        assert client.revision == MCP_LATEST_PROTOCOL_VERSION


async def test_all_pages_of_tools_are_read() -> None:
    """A cursor that comes twice ends it; a tool that cannot be read costs itself alone."""
    async with played() as (client, peer):
        listing = asyncio.ensure_future(client.tools())
        pages: list[dict[str, Any]] = [
            {"tools": [{"name": "a", "inputSchema": {}}, {"name": 5}], "nextCursor": "1"},
            {"tools": [], "nextCursor": "2"},
            {"tools": [{"name": "b", "inputSchema": {}}], "nextCursor": "1"},
        ]
        for page in pages:
            request = await peer.receive()
            await peer.send(result(request["id"], page))

        assert [tool.name for tool in await listing] == ["a", "b"]
        await peer.expect_silence()


async def test_a_client_that_is_not_open_says_so() -> None:
    """Calls before `open()` are a fault of the program."""
    client = connect(Server("s"))
    with pytest.raises(SessionError, match="has not been opened"):
        await client.ping()
    with pytest.raises(SessionError, match="has not been opened"):
        _ = client.server
    assert client.revision is None
    await client.close()


async def test_a_client_is_opened_once() -> None:
    """A second handshake needs a second client."""
    client = connect(Server("s"))
    async with client:
        with pytest.raises(SessionError, match="opened once"):
            await client.open()
        await client.ping()


@pytest.mark.parametrize("target", [[], "python server.py", 5, None])
def test_what_cannot_be_connected_to_is_refused(target: Any) -> None:
    """With the ways there are."""
    with pytest.raises(ConfigError, match="cannot connect to"):
        connect(target)
