"""The stateless era over HTTP: each POST stands for itself, beside sessions or without them."""

from __future__ import annotations

import asyncio
import json
from contextlib import AsyncExitStack
from typing import Any

import pytest

from tests.http.raw import Caller, ask, connection, initialize, note, text_of
from tests.http.serving import QUICK, until
from tests.http.stateless import (
    CAPABLE,
    PREFIX,
    SERVER_INFO,
    SUBSCRIPTION,
    VERSION,
    Stage,
    StatelessCaller,
    envelope,
    stage,
)

NO_CAPABILITIES: dict[str, Any] = {PREFIX + "clientCapabilities": {}}
SIGNED = {SERVER_INFO: {"name": "stage", "version": "0"}}
ACCEPT_WHO = {"who": {"action": "accept", "content": {"name": "Ada"}}}


# Replies.


async def test_a_reply_is_one_json_text() -> None:
    """Without a session, and signed."""
    async with stage() as here:
        answer = await here.caller.ask("x", "tools/call", {"name": "region"})
    assert (answer.status, answer["content-type"]) == (200, "application/json")
    assert "mcp-session-id" not in answer
    assert answer.message == {
        "jsonrpc": "2.0",
        "id": "x",
        "result": {"content": [{"type": "text", "text": ""}], "resultType": "complete", "_meta": SIGNED},
    }


async def test_what_precedes_a_reply_makes_it_a_stream() -> None:
    """Its events have no ids, since nobody comes back for them; it ends with the reply."""
    async with stage() as here:
        params = {"name": "steps", "arguments": {"count": 2}}
        async with here.caller.begin_ask(1, "tools/call", params, progressToken="t") as post:
            head = await post.head()
            events = [await post.event() for _ in range(4)]
            assert await post.event() is None
    assert (head["content-type"], head["x-accel-buffering"]) == ("text/event-stream", "no")
    comment, *told = [event for event in events if event is not None]
    assert comment.comment is not None
    assert [set(event.fields) for event in told] == [{"event", "data"}] * 3
    methods = [event.message.get("method") for event in told]
    assert methods == ["notifications/progress", "notifications/progress", None]
    assert text_of(told[-1].message) == "2 steps"


@pytest.mark.parametrize(
    ("accept", "kind"), [("application/json", "application/json"), ("text/event-stream", "text/event-stream")]
)
async def test_a_client_gets_what_it_can_read(accept: str, kind: str) -> None:
    """What precedes the reply is left out where it has no place."""
    async with stage() as here:
        params = {"name": "steps", "arguments": {"count": 3}}
        answer = await here.caller.ask(1, "tools/call", params, meta={"progressToken": 1}, Accept=accept)
    assert (answer.status, answer["content-type"]) == (200, kind)
    assert b"3 steps" in answer.body


async def test_a_slow_reply_is_announced_and_kept_alive() -> None:
    """By comments, which proxies and clients pass over."""
    limits = QUICK.replace(stream_open_seconds=0.01, keep_alive_seconds=0.01)
    async with stage(limits) as here, here.caller.begin_ask(1, "tools/call", {"name": "hold"}) as post:
        assert (await post.head())["content-type"] == "text/event-stream"
        comments = [event.comment for event in [await post.event() for _ in range(3)] if event]
        assert comments[1:] == ["keep-alive", "keep-alive"]
        here.gate.set()
        assert text_of((await post.message()).message) == "let go"


# Refusals.


@pytest.mark.parametrize(
    ("method", "params", "status", "code"),
    [
        ("no/such", None, 404, -32601),
        ("initialize", None, 404, -32601),
        ("ping", None, 404, -32601),
        ("tools/list", {"_meta": None}, 400, -32602),
        ("tools/list", {"_meta": {PREFIX + "protocolVersion": VERSION}}, 400, -32602),
        ("tools/list", {"_meta": envelope() | {PREFIX + "protocolVersion": "v999"}}, 400, -32020),
        ("resources/read", {"uri": "none://x"}, 200, -32602),
        (
            "tools/call",
            {"name": "sample", "_meta": envelope() | NO_CAPABILITIES},
            400,
            -32021,
        ),
    ],
)
async def test_an_error_has_its_status(method: str, params: Any, status: int, code: int) -> None:
    """And carries the id of its request."""
    async with stage() as here:
        answer = await here.caller.ask("x", method, params)
    assert (answer.status, answer.message["error"]["code"]) == (status, code)
    assert answer["content-type"] == "application/json"
    assert answer.message["id"] == "x"


async def test_a_revision_that_is_not_spoken_is_told_those_that_are() -> None:
    """Where headers and body agree on it."""
    async with stage() as here:
        meta = {"_meta": envelope() | {PREFIX + "protocolVersion": "v999"}}
        answer = await here.caller.ask(1, "tools/list", meta, MCP_Protocol_Version="v999")
    assert answer.status == 400
    assert answer.message["error"]["data"] == {"supported": [VERSION], "requested": "v999"}


@pytest.mark.parametrize(
    ("body", "headers", "status"),
    [
        (b"{", {}, 400),
        (b"[]", {}, 400),
        (b'{"jsonrpc":"2.0","method":"notifications/x"}', {}, 202),
        (b'{"jsonrpc":"2.0","id":1,"result":{}}', {}, 400),
        (b"{}", {"Accept": "text/plain"}, 406),
        (b"{}", {"Content_Type": "text/plain"}, 415),
        (b"{}", {"Origin": "http://evil.example"}, 403),
        (b"{}", {"Host": "evil.example"}, 421),
    ],
)
async def test_what_is_no_request_is_refused(body: bytes, headers: dict[str, str], status: int) -> None:
    """Before anything else is looked at."""
    async with stage() as here:
        answer = await here.caller.request("POST", body, MCP_Protocol_Version=VERSION, **headers)
    assert answer.status == status


@pytest.mark.parametrize(
    "headers",
    [
        {"MCP_Protocol_Version": None},
        {"MCP_Protocol_Version": "2025-11-25"},
        {"Mcp_Method": None},
        {"Mcp_Method": "tools/list"},
        {"Mcp_Method": "TOOLS/CALL"},
        {"Mcp_Name": None},
        {"Mcp_Name": "hold"},
        {"Mcp_Name": "=?base64?cmVnaW9u!?="},
        {"Mcp_Param_Region": None},
        {"Mcp_Param_Region": "hello"},
        {"Mcp_Param_Region": "=?base64?SGVsbG8?="},
        {"Mcp_Param_Region": "=?base64?SGVs!!!bG8=?="},
    ],
)
async def test_headers_that_differ_from_the_body_are_refused(headers: dict[str, str | None]) -> None:
    """Nothing is called."""
    async with stage() as here:
        params = {"name": "region", "arguments": {"region": "Hello"}}
        answer = await here.caller.ask("x", "tools/call", params, **{"Mcp_Param_Region": "Hello", **headers})
    assert (answer.status, answer["content-type"]) == (400, "application/json")
    assert (answer.message["error"]["code"], answer.message["id"]) == (-32020, "x")


@pytest.mark.parametrize(
    ("value", "headers"),
    [
        ("Hello", {"Mcp_Param_Region": "Hello"}),
        ("Hello", {"Mcp_Param_Region": "=?base64?SGVsbG8=?="}),
        ("é\n", {"Mcp_Param_Region": "=?base64?w6kK?="}),
        ("=?base64?x", {"MCP_PARAM_REGION": "=?base64?x"}),
        ("", {"mcp_param_region": ""}),
        ("Hello", {"Mcp_Param_Region": " Hello ", "Mcp_Name": "  region  ", "Mcp_Session_Id": "any"}),
    ],
)
async def test_headers_that_say_the_same_otherwise_are_accepted(value: str, headers: dict[str, str]) -> None:
    """Wrapped, in another case, with blanks around; what the era has no use for is not looked at."""
    async with stage() as here:
        params = {"name": "region", "arguments": {"region": value}}
        answer = await here.caller.ask(1, "tools/call", params, **headers)
    assert text_of(answer.message) == value


async def test_the_envelope_may_be_spelled_with_escapes() -> None:
    """As PHP does by default."""
    async with stage() as here:
        body = b'{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{%b}}}' % (
            rb'"io.modelcontextprotocol\/protocolVersion":"2026-07-28",'
            rb'"io.modelcontextprotocol\/clientCapabilities":{}'
        )
        answer = await here.caller.post(body, MCP_Protocol_Version=VERSION, Mcp_Method="tools/list")
    assert answer.message["result"]["resultType"] == "complete"


# Clients that go.


@pytest.mark.parametrize("tool", ["hold", "step_then_hold"])
@pytest.mark.parametrize("reset", [True, False])
async def test_a_client_that_goes_has_cancelled_its_request(tool: str, reset: bool) -> None:
    """Before its answer has begun and in the middle of it."""
    async with stage() as here:
        async with here.caller.begin_ask(1, "tools/call", {"name": tool}, progressToken=1) as post:
            if tool != "hold":
                await post.message()
            await here.until("held")
            if reset:
                post.reset()
        await here.until("cancelled")
        await until(lambda: here.is_idle, "nothing is kept of it")


async def second_round(here: Stage) -> dict[str, Any]:
    """The params of the second round of a call that waits in it."""
    first = (await here.caller.call(1, "ask_then_hold")).message["result"]
    assert first["resultType"] == "input_required"
    assert len(here.server.held) == 1
    return {
        "name": "ask_then_hold",
        "arguments": {},
        "inputResponses": ACCEPT_WHO,
        "requestState": first["requestState"],
    }


async def test_a_client_that_goes_in_the_second_round_has_cancelled_its_call() -> None:
    """The handler of the first."""
    async with stage() as here:
        again = await second_round(here)
        async with here.caller.begin_ask(2, "tools/call", again):
            await here.until("held")
        await here.until("cancelled")
        await until(lambda: here.is_idle, "nothing is kept of it")


async def test_a_call_goes_on_in_its_second_round() -> None:
    """What it says then goes to the client of that round."""
    async with stage() as here:
        again = await second_round(here)
        async with here.caller.begin_ask(2, "tools/call", again, progressToken="t") as post:
            assert (await post.message()).message["params"]["progressToken"] == "t"
            here.gate.set()
            assert text_of((await post.message()).message) == "Ada, let go"
        assert len(here.server.held) == 0


async def test_a_client_that_reads_slowly_holds_its_handler_back() -> None:
    """What waits for it is bounded; it gets everything all the same."""
    limits = QUICK.replace(write_high_bytes=64 * 1024, write_low_bytes=16 * 1024)
    async with stage(limits) as here, connection(here.caller.url, buffer=4096) as slow:
        params = {"name": "steps", "arguments": {"count": 200, "size": 100_000}}
        message = here.caller.message(1, "tools/call", params, progressToken="t")
        await write(slow, here.caller, message)
        await slow.head()
        await here.until("steps")
        (transport,) = here.server._sessions
        stream: Any = getattr(transport, "stream", None)
        await until(lambda: stream.full, "the stream is full")
        assert stream.size < 64 * 1024 + 200_000
        assert here.seen["steps"] < 200

        seen = [(await slow.message()).message for _ in range(201)]
        assert text_of(seen[-1]) == "200 steps"


async def write(opened: Any, caller: StatelessCaller, message: Any) -> None:
    """Write a request on a connection of one's own."""
    headers = caller.headers(**caller.mirrored(message))
    opened.write("POST", caller.path, headers, json.dumps(message).encode())


# Subscriptions.


def changed(method: str, id: object) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "method": method, "params": {"_meta": {SUBSCRIPTION: id}}}


async def test_changes_are_told_on_the_streams_that_asked_for_them() -> None:
    """Each says whose it is."""
    async with (
        stage() as here,
        here.caller.subscribe(7, toolsListChanged=True) as tools,
        here.caller.subscribe("p", promptsListChanged=True, resourceSubscriptions=["a://b"]) as others,
    ):
        here.server.remove_tool("hold")
        assert (await tools.message()).message == changed("notifications/tools/list_changed", 7)
        here.server.resource_updated("a://c")
        here.server.resource_updated("a://b")
        updated = (await others.message()).message
        assert updated["params"] == {"_meta": {SUBSCRIPTION: "p"}, "uri": "a://b"}
        here.server.remove_prompt("hello")
        assert (await others.message()).message == changed("notifications/prompts/list_changed", "p")


async def test_a_stream_that_has_nothing_to_tell_is_kept_alive() -> None:
    """By comments."""
    limits = QUICK.replace(keep_alive_seconds=0.01)
    async with stage(limits) as here, here.caller.subscribe(1, toolsListChanged=True) as stream:
        for _ in range(3):
            event = await stream.event()
            assert event is not None
            assert event.comment == "keep-alive"


@pytest.mark.parametrize("closed", ["app", "server"])
async def test_a_server_that_ends_ends_its_streams_in_order(closed: str) -> None:
    """With a result, which names the subscription; whoever comes later is not served."""
    async with stage() as here, here.caller.subscribe("s", toolsListChanged=True) as stream:
        await (here.app if closed == "app" else here.server).close()
        (last,) = await stream.messages()
        assert last["id"] == "s"
        assert last["result"] == {"resultType": "complete", "_meta": {SUBSCRIPTION: "s", **SIGNED}}
        if closed == "app":
            assert (await here.caller.ask(1, "tools/list")).status == 503


async def test_a_server_that_ends_answers_what_it_was_doing() -> None:
    """Its client learns why there is no result."""
    async with stage() as here, here.caller.begin_ask(1, "tools/call", {"name": "hold"}) as post:
        await here.until("held")
        await here.app.close()
        await post.head()
        assert b"was cancelled by the server" in await post.body()
        assert here.seen["cancelled"] == 1


async def test_a_hundred_streams_may_idle() -> None:
    """All are told, and all are gone when their clients are."""
    async with stage() as here:
        async with AsyncExitStack() as stack:
            streams = [
                await stack.enter_async_context(here.caller.subscribe(number, toolsListChanged=True))
                for number in range(100)
            ]
            assert (await here.caller.ask("x", "tools/list")).status == 200
            here.server.remove_tool("hold")
            for number, stream in enumerate(streams):
                told = (await stream.message()).message
                assert told == changed("notifications/tools/list_changed", number)
        await until(lambda: here.is_idle, "nothing is kept of them")


async def test_a_subscriber_that_does_not_read_costs_no_more_than_there_is_to_tell() -> None:
    """Changes are not kept for it without end, and the server goes on."""
    limits = QUICK.replace(write_high_bytes=64 * 1024, write_low_bytes=16 * 1024)
    uri = "a://" + "b" * 2000
    async with stage(limits) as here, connection(here.caller.url, buffer=4096) as deaf:
        wanted = {"notifications": {"resourceSubscriptions": [uri]}}
        await write(deaf, here.caller, here.caller.message(1, "subscriptions/listen", wanted))
        await deaf.head()
        await until(lambda: here.server._sessions, "it is served")
        ((transport, session),) = here.server._sessions.items()
        for _ in range(2_000):
            here.server.resource_updated(uri)
            await asyncio.sleep(0)

        assert getattr(transport, "stream").size <= 2 * limits.write_high_bytes  # noqa: B009 of this transport
        assert len(session.teller) <= 1
        assert (await here.caller.ask("x", "tools/list")).status == 200


# Eras.


async def test_both_eras_are_served_at_one_address() -> None:
    """By what each request says."""
    async with stage() as here:
        old = Caller(here.caller.url)
        await old.initialize()
        async with old.listen() as general, here.caller.subscribe(1, toolsListChanged=True) as stream:
            answer = await old.post(ask(1, "tools/call", {"name": "region", "arguments": {"region": "eu"}}))
            assert text_of(answer.message) == "eu"
            assert "resultType" not in answer.message["result"]
            answer = await here.caller.ask(1, "tools/call", {"name": "region"})
            assert answer.message["result"]["resultType"] == "complete"
            here.server.remove_tool("hold")
            told = (await stream.message()).message
            assert told == changed("notifications/tools/list_changed", 1)
            assert "params" not in (await general.message()).message
        assert len(here.app.sessions) == 1
        assert (await old.request("DELETE")).status == 204
        get = await old.request("GET", MCP_Protocol_Version=VERSION)
        assert (get.status, get["allow"]) == (405, "POST")


@pytest.mark.parametrize("method", ["GET", "DELETE", "PUT"])
async def test_a_server_without_handshakes_takes_posts_alone(method: str) -> None:
    """There are no sessions to listen to or to end."""
    async with stage(eras=["modern"]) as here:
        answer = await here.caller.request(method, Mcp_Session_Id="x")
        assert (answer.status, answer["allow"]) == (405, "POST")
        assert (await here.caller.ask(1, "tools/list")).status == 200


@pytest.mark.parametrize("version", [None, "2025-11-25"])
async def test_a_server_without_handshakes_says_what_it_speaks(version: str | None) -> None:
    """To a client that tries one."""
    async with stage(eras=["modern"]) as here:
        answer = await here.caller.post(initialize(id="x"), MCP_Protocol_Version=version)
        assert answer.status == 400
        error = answer.message["error"]
        assert (answer.message["id"], error["code"]) == ("x", -32022)
        assert error["data"]["supported"] == [VERSION]
        answer = await here.caller.post(note("notifications/initialized"))
        assert answer.status == 400


async def test_a_server_of_handshakes_alone_takes_nothing_else() -> None:
    """Its refusals are those of that era, so that a client falls back to a handshake."""
    async with stage(eras=["legacy"]) as here:
        answer = await here.caller.ask(1, "server/discover")
        assert answer.status in (200, 400)
        assert answer.message["error"]["code"] in (-32600, -32601)
        answer = await here.caller.ask(1, "tools/list")
        assert (answer.status, answer.message["error"]["code"]) == (400, -32600)
        old = Caller(here.caller.url)
        await old.initialize()
        assert "result" in (await old.post(ask(1, "tools/list"))).message
        assert (await old.request("DELETE")).status == 204


async def test_capabilities_are_those_of_each_request() -> None:
    """Nothing is remembered from one to the next."""
    async with stage() as here:
        first = await here.caller.call(1, "sample")
        assert first.message["result"]["resultType"] == "input_required"
        less = envelope() | {PREFIX + "clientCapabilities": {"roots": CAPABLE["roots"]}}
        second = await here.caller.call(1, "sample", _meta=less)
        assert second.status == 400
        assert second.message["error"]["data"] == {"requiredCapabilities": {"sampling": {}}}
