"""Servers in this process, asked by a host over its control channel; the host is played line by line."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator
from typing import Any

import pytest

from anywire import Context, Server
from anywire.errors import ConfigError, DeadlineExceeded, PeerError, SessionError, TransportClosed
from anywire.testing.line_wire import line_pair
from anywire.transport.contract import Transport
from anywire.transport.control.router import ControlRouter
from anywire.wire.limits import DEFAULT_LIMITS
from anywire.wire.message import Batch, Fault, Message, Request, create_request, create_response
from tests.transport.control.talk import OtherSide, initialize

ACKNOWLEDGED: dict[str, Any] = {"jsonrpc": "2.0", "result": {}, "id": 0}


class Calc:
    """A server, and what its tools are doing."""

    def __init__(self, name: str = "calc") -> None:
        self.server = Server(name, version="1", limits=DEFAULT_LIMITS.replace(drain_seconds=5.0))
        self.started = asyncio.Event()
        self.go_on = asyncio.Event()
        self.cancelled = asyncio.Event()
        server = self.server

        @server.tool(inline=True)
        def name_of() -> str:
            """Say who this is."""
            return name

        @server.tool
        async def wait(value: str = "") -> str:
            """Wait until the test goes on."""
            self.started.set()
            try:
                await self.go_on.wait()
            except asyncio.CancelledError:
                self.cancelled.set()
                raise
            return f"waited{value}"

        @server.tool
        async def where(context: Context) -> str:
            """Ask the client for its folders."""
            return ",".join(root.uri for root in await context.roots())

        @server.tool
        async def steps(context: Context) -> str:
            """Report progress."""
            await context.progress(1, 2, "half")
            return "done"

        @server.tool
        async def fail() -> str:
            """Fail."""
            raise ValueError("it is broken")


@contextlib.asynccontextmanager
async def routed(*calcs: Calc, **options: Any) -> AsyncGenerator[tuple[OtherSide, ControlRouter]]:
    """A host and a router with these servers."""
    host, sdk = line_pair()
    servers = {calc.server.identity.info.name: calc.server.accept for calc in calcs}
    async with OtherSide(host) as other, ControlRouter(sdk, servers, **options) as router:
        yield other, router


async def opened(host: OtherSide, server: str = "calc") -> None:
    """Shake hands with a server."""
    greeting = await host.hear_reply(host.message(server, initialize()))
    assert greeting["result"]["serverInfo"]["name"] == server
    done = host.message(server, {"jsonrpc": "2.0", "method": "notifications/initialized"})
    assert await host.hear_reply(done) == ACKNOWLEDGED


def text_of(reply: Any) -> str:
    """The text of a tool's result."""
    return reply["result"]["content"][0]["text"]


async def test_a_call_comes_as_a_control_request_and_its_reply_is_the_response() -> None:
    """The host asks, the server answers: no child in between."""
    async with routed(Calc()) as (host, _):
        await opened(host)
        assert text_of(await host.hear_reply(host.call("calc", 1, "name_of"))) == "calc"


async def test_each_message_reaches_the_server_it_names() -> None:
    """Many servers on one channel, each with a conversation of its own, ids alike."""
    async with routed(*(Calc(f"s{number}") for number in range(5))) as (host, _):
        for number in range(5):
            await opened(host, f"s{number}")
        asked = [host.call(f"s{number}", 1, "name_of") for number in range(5)]
        assert [text_of(await host.hear_reply(id)) for id in asked] == [f"s{number}" for number in range(5)]


@pytest.mark.parametrize("spelling", ["subtype", "type"])
async def test_either_spelling_of_the_discriminator_is_understood(spelling: str) -> None:
    """Hosts write `subtype`, and their documentation `type`."""
    async with routed(Calc()) as (host, _):
        ping = {"jsonrpc": "2.0", "id": 7, "method": "ping"}
        body = {spelling: "mcp_message", "server_name": "calc", "message": ping}
        host.say({"type": "control_request", "request_id": "x", "request": body})
        assert await host.hear_reply("x") == {"jsonrpc": "2.0", "id": 7, "result": {}}


async def test_a_message_before_the_answer_to_initialize_is_served() -> None:
    """The host speaks to the servers first and answers then: whoever waited for the answer would wait for ever."""
    async with routed(Calc()) as (host, router):
        initializing = asyncio.ensure_future(router.initialize(hooks=None))
        asked = await host.hear()
        assert asked["request"] == {"subtype": "initialize", "sdkMcpServers": ["calc"], "hooks": None}
        await opened(host)
        host.answer(asked["request_id"], {"commands": []})
        assert await initializing == {"commands": []}


async def test_a_notification_is_acknowledged() -> None:
    """Whoever sends one in a request wants a response, although the message has none."""
    async with routed(Calc()) as (host, _):
        messages: list[dict[str, Any]] = [
            {"jsonrpc": "2.0", "method": "notifications/unheard/of"},
            {"jsonrpc": "2.0", "id": 99, "result": {}},
            {"jsonrpc": "2.0", "id": 99, "error": {"code": 1, "message": "x"}},
        ]
        for message in messages:
            assert await host.hear_reply(host.message("calc", message)) == ACKNOWLEDGED


async def test_a_question_of_the_server_travels_by_itself_although_its_id_is_in_flight() -> None:
    """Both sides count from 0: told apart by direction, and by what they are, before the id is looked at."""
    async with routed(Calc()) as (host, _):
        await opened(host)
        call = host.call("calc", 0, "where")
        asked, question = await host.hear_message()
        assert (question["id"], question["method"]) == (0, "roots/list")
        root = {"uri": "file:///data"}
        # As a host does: first the reply, in a message of its own, then that the question was taken.
        replied = host.message("calc", {"jsonrpc": "2.0", "id": 0, "result": {"roots": [root]}})
        host.answer(asked)
        lines = [await host.hear(), await host.hear()]
        by_id = {line["response"]["request_id"]: line["response"]["response"] for line in lines}
        assert by_id[replied] == {"mcp_response": ACKNOWLEDGED}
        assert text_of(by_id[call]["mcp_response"]) == "file:///data"


async def test_a_reply_in_the_response_is_a_reply_as_well() -> None:
    """Other hosts answer a server's question where they were asked."""
    async with routed(Calc()) as (host, _):
        await opened(host)
        call = host.call("calc", 1, "where")
        asked, question = await host.hear_message()
        reply = {"jsonrpc": "2.0", "id": question["id"], "result": {"roots": [{"uri": "file:///b"}]}}
        host.answer(asked, {"mcp_response": reply})
        assert text_of(await host.hear_reply(call)) == "file:///b"


async def test_an_acknowledgement_is_not_taken_for_the_reply() -> None:
    """The empty result that stands for "taken" may have the very id of the question."""
    async with routed(Calc()) as (host, _):
        await opened(host)
        call = host.call("calc", 1, "where")
        asked, question = await host.hear_message()
        assert question["id"] == 0
        host.answer(asked, {"mcp_response": ACKNOWLEDGED})
        await host.hear_nothing()
        host.message("calc", {"jsonrpc": "2.0", "id": 0, "result": {"roots": []}})
        texts = [(await host.hear())["response"]["response"]["mcp_response"] for _ in range(2)]
        assert ACKNOWLEDGED in texts
        assert not texts[1 - texts.index(ACKNOWLEDGED)]["result"].get("isError")
        assert call


async def test_a_question_that_the_host_refuses_fails_at_once() -> None:
    """The tool hears of it and can say so; it does not wait for its time to be over."""
    async with routed(Calc()) as (host, _):
        await opened(host)
        call = host.call("calc", 1, "where")
        asked, _ = await host.hear_message()
        host.refuse(asked, "not here")
        reply = await host.hear_reply(call)
        assert reply["result"]["isError"]
        assert "not here" in text_of(reply)


async def test_progress_and_changed_lists_reach_the_host() -> None:
    """What the server tells by itself goes out as requests of its own, in order."""
    calc = Calc()
    async with routed(calc) as (host, _):
        await opened(host)
        params = {"name": "steps", "arguments": {}, "_meta": {"progressToken": 5}}
        call = host.message("calc", {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params})
        _, told = await host.hear_message()
        assert told["params"] == {"progressToken": 5, "progress": 1, "total": 2, "message": "half"}
        assert text_of(await host.hear_reply(call)) == "done"
        calc.server.remove_tool("fail")
        _, told = await host.hear_message()
        assert told == {"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}


async def test_a_failing_tool_is_a_result_that_says_so() -> None:
    """The model of the host reads it."""
    async with routed(Calc()) as (host, _):
        await opened(host)
        reply = await host.hear_reply(host.call("calc", 1, "fail"))
        assert reply["result"]["isError"]
        assert "it is broken" in text_of(reply)


async def test_an_interrupt_cancels_the_call_and_answers_it() -> None:
    """It comes as a notification in a message; the request that carried the call is answered all the same."""
    calc = Calc()
    async with routed(calc) as (host, _):
        await opened(host)
        call = host.call("calc", 4, "wait")
        await calc.started.wait()
        params = {"requestId": 4, "reason": "AbortError: remote-cancel"}
        told = host.message("calc", {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params})
        assert (await host.hear_reply(call))["error"] == {"code": -32800, "message": "Request cancelled"}
        assert await host.hear_reply(told) == ACKNOWLEDGED
        async with asyncio.timeout(10):
            await calc.cancelled.wait()
        await host.hear_nothing()


@pytest.mark.parametrize("kind", ["control_cancel_request", "control_cancel"])
async def test_a_request_that_is_taken_back_cancels_the_call_silently(kind: str) -> None:
    """Whoever takes it back does not wait any more."""
    calc = Calc()
    async with routed(calc) as (host, _):
        await opened(host)
        call = host.call("calc", 4, "wait")
        await calc.started.wait()
        host.say({"type": kind, "request_id": call})
        async with asyncio.timeout(10):
            await calc.cancelled.wait()
        await host.hear_nothing()
        assert text_of(await host.hear_reply(host.call("calc", 4, "name_of"))) == "calc"


async def test_calls_in_flight_under_one_id_get_their_own_replies() -> None:
    """Hosts exist that call everything 1."""
    calc = Calc()
    async with routed(calc) as (host, _):
        await opened(host)
        asked = [host.call("calc", 1, "wait", value=str(number)) for number in range(5)]
        quick = host.call("calc", 1, "name_of")
        assert await host.hear_reply(quick) == {
            "jsonrpc": "2.0",
            "id": 1,
            "result": {"content": [{"type": "text", "text": "calc"}]},
        }
        calc.go_on.set()
        replies = dict([await answer_of(host) for _ in asked])
        assert {id: text_of(replies[id]) for id in asked} == {
            id: f"waited{number}" for number, id in enumerate(asked)
        }
        assert {reply["id"] for reply in replies.values()} == {1}


async def answer_of(host: OtherSide) -> tuple[str, Any]:
    """The next answer: whose it is, and its message."""
    response = (await host.hear())["response"]
    return response["request_id"], response["response"]["mcp_response"]


async def test_cancelling_one_of_several_calls_under_one_id_cancels_one() -> None:
    """The oldest; as many cancellations as calls cancel all of them."""
    calc = Calc()
    async with routed(calc) as (host, _):
        await opened(host)
        asked = [host.call("calc", 1, "wait", value=str(number)) for number in range(3)]
        cancel = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}}
        for id in asked[:2]:
            host.message("calc", cancel)
            assert (await host.hear_reply(id))["error"]["code"] == -32800
            await host.hear()
        calc.go_on.set()
        assert text_of(await host.hear_reply(asked[2])) == "waited2"


async def test_an_unknown_server_is_an_answer() -> None:
    """It says which there are."""
    async with routed(Calc()) as (host, _):
        answer = await host.hear_answer(host.message("clac", initialize()))
        assert answer["error"] == "there is no server 'clac' here; servers are: calc"


async def test_a_server_that_cannot_be_started_is_an_answer() -> None:
    """And it can be tried again."""
    host, sdk = line_pair()
    tries = 0

    def accept(_: Transport) -> None:
        nonlocal tries
        tries += 1
        raise OSError("out of paper")

    async with OtherSide(host) as other, ControlRouter(sdk, {"calc": accept}):
        for _ in range(2):
            answer = await other.hear_answer(other.message("calc", initialize()))
            assert answer["error"] == "the server 'calc' could not be started: out of paper"
        assert tries == 2


async def test_an_async_function_is_no_server() -> None:
    """It is refused where that can be seen, and otherwise by an answer; a task is somebody's who runs it."""
    calc = Calc()
    host, sdk = line_pair()
    with pytest.raises(ConfigError, match="server 'calc' is called synchronously"):
        ControlRouter(sdk, {"calc": calc.server.serve})  # pyright: ignore[reportArgumentType]
    tasks: list[asyncio.Task[None]] = []

    def hidden(transport: Transport) -> Any:
        return calc.server.serve(transport)

    def running(transport: Transport) -> Any:
        tasks.append(asyncio.create_task(calc.server.serve(transport)))
        return tasks[0]

    servers = {"hidden": hidden, "running": running}
    async with OtherSide(host) as other, ControlRouter(sdk, servers) as router:
        with pytest.raises(ConfigError, match="server 'calc' is called synchronously"):
            router.add("calc", calc.server.serve)  # pyright: ignore[reportArgumentType]
        assert router.servers == ("hidden", "running")
        answer = await other.hear_answer(other.message("hidden", initialize()))
        reason = "the server 'hidden' could not be started: it is called synchronously"
        assert answer["error"].startswith(reason)
        assert (await other.hear_reply(other.message("running", initialize())))["id"] == 0
    await tasks[0]


async def test_a_server_that_ends_answers_what_is_in_flight() -> None:
    """And what comes afterwards; a handshake opens a new conversation."""
    calc = Calc()
    async with routed(calc) as (host, _):
        await opened(host)
        call = host.call("calc", 1, "wait")
        await calc.started.wait()
        await calc.server.close()
        reply = await host.hear_reply(call)
        assert reply["id"] == 1
        assert "cancelled by the server" in reply["error"]["message"]
        answer = await host.hear_answer(host.call("calc", 2, "name_of"))
        assert answer["error"] == "the server 'calc' has ended"
        await opened(host)
        assert text_of(await host.hear_reply(host.call("calc", 3, "name_of"))) == "calc"


async def test_the_end_of_a_server_is_not_that_of_one_whose_name_begins_alike() -> None:
    """Names may hold anything, colons too."""
    one, other = Calc("a"), Calc("a:b")
    async with routed(one, other) as (host, _):
        await opened(host, "a")
        await opened(host, "a:b")
        call = host.call("a:b", 1, "wait")
        await other.started.wait()
        await one.server.close()
        await host.hear_nothing()
        other.go_on.set()
        assert text_of(await host.hear_reply(call)) == "waited"


async def test_a_server_that_vanishes_answers_what_is_in_flight() -> None:
    """Also one that simply closes its transport, with an answer that says what happened."""
    host, sdk = line_pair()
    got: list[Transport] = []

    def accept(transport: Transport) -> None:
        got.append(transport)
        asyncio.get_running_loop().create_task(transport.start())

    async with OtherSide(host) as other, ControlRouter(sdk, {"calc": accept}):
        call = other.call("calc", "a", "wait")
        await other.hear_nothing()
        await got[0].close()
        reply = await other.hear_reply(call)
        assert (reply["id"], reply["error"]["message"]) == ("a", "calc ended before it answered")


async def test_the_end_of_the_input_does_not_cut_calls_in_flight() -> None:
    """The host has said all it wanted; what it asked is finished and answered, then the channel is closed."""
    calc = Calc()
    async with routed(calc, limits=DEFAULT_LIMITS.replace(drain_seconds=5.0)) as (host, router):
        await opened(host)
        call = host.call("calc", 1, "wait")
        await calc.started.wait()
        host.channel.end_sending()
        await host.hear_nothing()
        calc.go_on.set()
        assert text_of(await host.hear_reply(call)) == "waited"
        async with asyncio.timeout(10):
            await router.wait()


async def test_a_call_that_does_not_finish_after_the_end_is_answered() -> None:
    """Within bounds, with an error."""
    calc = Calc()
    calc.server = Server("calc", limits=DEFAULT_LIMITS.replace(drain_seconds=0.01, shutdown_seconds=0.02))

    @calc.server.tool
    async def wait() -> None:
        """Wait for ever."""
        calc.started.set()
        await asyncio.Event().wait()

    async with routed(calc, limits=DEFAULT_LIMITS.replace(drain_seconds=0.01)) as (host, _):
        await opened(host)
        call = host.call("calc", 1, "wait")
        await calc.started.wait()
        host.channel.end_sending()
        assert "error" in await host.hear_reply(call)
        await host.hear_the_end()


async def test_a_channel_that_breaks_is_the_end_of_every_conversation() -> None:
    """Handlers are cancelled, and nobody waits."""
    calc = Calc()
    async with routed(calc) as (host, router):
        await opened(host)
        host.call("calc", 1, "wait")
        await calc.started.wait()
        await router.link.channel.close()
        async with asyncio.timeout(10):
            await calc.cancelled.wait()
            await router.wait()
        with pytest.raises(TransportClosed):
            await router.request("interrupt")


async def test_whoever_answers_for_a_person_hears_that_the_host_is_gone() -> None:
    """A dialog must not stay open for nobody."""
    asked, gone = asyncio.Event(), asyncio.Event()

    async def ask(_: dict[str, Any]) -> object:
        asked.set()
        try:
            return await asyncio.Event().wait()
        finally:
            gone.set()

    async with routed(handlers={"can_use_tool": ask}) as (host, router):
        host.ask("can_use_tool")
        async with asyncio.timeout(10):
            await asked.wait()
            await router.link.channel.close()
            await gone.wait()


async def test_other_requests_are_answered_by_the_program() -> None:
    """Permissions and hooks; the answer is what the function returns, or what it raises."""

    async def permit(body: dict[str, Any]) -> object:
        if body["tool_name"] == "rm":
            raise PermissionError("never")
        return {"behavior": "allow", "updatedInput": body["input"]}

    def go_on(_: dict[str, Any]) -> object:
        return {"continue": True}

    handlers = {"can_use_tool": permit, "hook_callback": go_on}
    async with routed(handlers=handlers) as (host, _):
        allowed = await host.hear_answer(host.ask("can_use_tool", tool_name="ls", input={"a": 1}))
        denied = await host.hear_answer(host.ask("can_use_tool", tool_name="rm", input={}))
        hooked = await host.hear_answer(host.ask("hook_callback", callback_id="h", input={}))
        unknown = await host.hear_answer(host.ask("set_sail"))

    assert allowed["response"] == {"behavior": "allow", "updatedInput": {"a": 1}}
    assert denied["error"] == "never"
    assert hooked["response"] == {"continue": True}
    assert unknown["error"] == "unsupported control request 'set_sail'"


async def test_a_permission_that_is_taken_back_is_not_answered() -> None:
    """The function is cancelled."""
    started, cancelled = asyncio.Event(), asyncio.Event()

    async def permit(_: dict[str, Any]) -> None:
        started.set()
        try:
            await asyncio.Event().wait()
        finally:
            cancelled.set()

    async with routed(handlers={"can_use_tool": permit}) as (host, _):
        id = host.ask("can_use_tool")
        await started.wait()
        host.say({"type": "control_cancel_request", "request_id": id})
        async with asyncio.timeout(10):
            await cancelled.wait()
        await host.hear_nothing()


async def test_a_question_of_a_person_does_not_hold_up_the_servers() -> None:
    """While a permission is being asked for, calls and their interrupts are served."""
    decided = asyncio.Event()

    async def permit(_: dict[str, Any]) -> object:
        await decided.wait()
        return {"behavior": "deny", "message": "no"}

    async with routed(Calc(), handlers={"can_use_tool": permit}) as (host, _):
        asked = host.ask("can_use_tool")
        await opened(host)
        assert text_of(await host.hear_reply(host.call("calc", 1, "name_of"))) == "calc"
        decided.set()
        assert (await host.hear_answer(asked))["response"]["message"] == "no"


async def test_lines_of_the_host_itself_are_the_programs() -> None:
    """Keep-alives are nobody's."""
    lines: list[dict[str, Any]] = []
    async with routed(on_line=lines.append) as (host, router):
        host.say({"type": "keep_alive"})
        host.say({"type": "keepalive"})
        host.say({"type": "assistant", "message": {"content": "é🙂"}})
        router.write({"type": "user", "message": {"role": "user", "content": "Go."}})
        assert (await host.hear())["message"]["content"] == "Go."
        await host.hear_nothing()
    assert lines == [{"type": "assistant", "message": {"content": "é🙂"}}]


async def test_requests_of_the_program_get_their_answers() -> None:
    """In any order, each by its id; a refusal is an error with the host's words."""
    async with routed() as (host, router):
        one, two = (asyncio.ensure_future(router.request("do", {"n": n})) for n in range(2))
        first, second = await host.hear(), await host.hear()
        host.answer(second["request_id"], {"n": second["request"]["n"]})
        host.refuse(first["request_id"], "busy")
        assert await two == {"n": 1}
        with pytest.raises(PeerError, match="busy"):
            await one


async def test_a_request_that_the_host_does_not_answer_is_taken_back() -> None:
    """After its time, with an error that says so."""
    async with routed() as (host, router):
        with pytest.raises(DeadlineExceeded, match=r"no answer to interrupt within 0\.01 s"):
            await router.request("interrupt", timeout=0.01)
        asked, taken_back = await host.hear(), await host.hear()
        assert taken_back == {"type": "control_cancel_request", "request_id": asked["request_id"]}
        host.answer(asked["request_id"])
        await host.hear_nothing()


async def test_odd_lines_cost_themselves() -> None:
    """Noise, broken requests, requests without an id: an answer where one can be given, and on."""
    faults: list[Any] = []
    async with routed(Calc(), on_fault=faults.append) as (host, _):
        for noise in ("", "warming up", "[]", "null", "{", '{"type":5}', '{"type":"control_request"}'):
            host.say(noise)
        host.say('{"type":"control_request","request_id":"a","request":7}')
        assert "subtype" in (await host.hear_answer("a"))["error"]
        host.say('{"type":"control_request","request_id":"b","request":{"subtype":"mcp_message"}}')
        assert "server_name" in (await host.hear_answer("b"))["error"]
        host.say('{"type":"control_request","request_id":"c","request":{"subtype":"mcp_message",')
        assert "byte" in (await host.hear_answer("c"))["error"]
        host.say('{"type":"control_response","response":{"request_id":"d"}}')
        host.say('{"type":"control_response"}')
        await opened(host)
    assert len(faults) >= 6


async def test_a_message_that_is_none_is_answered_as_json_rpc_has_it() -> None:
    """In the response to what it came in; the id is echoed where there is one."""
    async with routed(Calc()) as (host, _):
        await opened(host)
        messages: list[tuple[Any, object, int]] = [
            ({"id": 5, "method": "ping"}, 5, -32600),
            ({"jsonrpc": "2.0", "id": None, "method": "ping"}, None, -32600),
            ([], None, -32600),
            ("ping", None, -32600),
            ({"jsonrpc": "2.0", "id": {}, "method": "ping"}, None, -32600),
        ]
        for message, id, code in messages:
            reply = await host.hear_reply(host.ask("mcp_message", server_name="calc", message=message))
            assert (reply["id"], reply["error"]["code"]) == (id, code)


async def test_a_batch_that_the_revision_has_not_is_answered_once() -> None:
    """The refusal has no id, and is the answer to the request all the same."""
    async with routed(Calc()) as (host, _):
        await opened(host)
        batch = [{"jsonrpc": "2.0", "id": number, "method": "ping"} for number in range(2)]
        reply = await host.hear_reply(host.message("calc", batch))
        assert reply["error"]["code"] == -32600
        assert text_of(await host.hear_reply(host.call("calc", 0, "name_of"))) == "calc"


async def test_a_batch_is_answered_with_one() -> None:
    """Where the revision has them, and also where nothing in it asks."""
    async with routed(Calc()) as (host, _):
        await host.hear_reply(host.message("calc", initialize(revision="2025-03-26")))
        batch = [{"jsonrpc": "2.0", "id": number, "method": "ping"} for number in range(2)]
        replies = await host.hear_reply(host.message("calc", batch))
        assert sorted(reply["id"] for reply in replies) == [0, 1]
        told = [{"jsonrpc": "2.0", "method": "notifications/initialized"}]
        assert await host.hear_reply(host.message("calc", told)) == ACKNOWLEDGED
        twice = [{"jsonrpc": "2.0", "id": 1, "method": "ping"}] * 2
        assert (await host.hear_reply(host.message("calc", twice)))["error"]["code"] == -32600


async def test_half_an_emoji_and_large_numbers_pass() -> None:
    """Messages stay the bytes they are."""
    host, sdk = line_pair()
    got: list[Message | Batch] = []
    errors: list[Fault | Any] = []

    def accept(transport: Transport) -> None:
        transport.callbacks.on_message = got.append
        transport.callbacks.on_error = errors.append
        asyncio.get_running_loop().create_task(transport.start())

    raw = b'{"jsonrpc":"2.0","id":1.0,"method":"x","params":{"half":"\\ud83d","big":12345678901234567890123,"f":1.0}}'
    async with OtherSide(host) as other, ControlRouter(sdk, {"calc": accept}):
        other.say(
            b'{"type":"control_request","request_id":7,"request":{"message":%b,"server_name":"calc",'
            b'"subtype":"mcp_message"}}' % raw
        )
        await other.hear_nothing()
        (request,) = got
        assert isinstance(request, Request)
        assert request.frame == raw
        assert request.id == b"1.0"
    assert errors == []


async def test_what_a_server_says_twice_or_too_late_is_dropped() -> None:
    """A reply that answers nothing would be a stray request to the host."""
    host, sdk = line_pair()
    transports: list[Transport] = []

    def accept(transport: Transport) -> None:
        transports.append(transport)
        asyncio.get_running_loop().create_task(transport.start())

    async with OtherSide(host) as other, ControlRouter(sdk, {"calc": accept}):
        call = other.message("calc", {"jsonrpc": "2.0", "id": 1, "method": "x"})
        await other.hear_nothing()
        for _ in range(2):
            transports[0].post(create_response(1, "once"))
        transports[0].post(create_response(5, "stray"))
        assert (await other.hear_reply(call))["result"] == "once"
        await other.hear_nothing()


async def test_a_server_may_ask_under_the_id_of_the_call_it_serves() -> None:
    """The very id of the pending call, and the call's reply is still its own."""
    host, sdk = line_pair()

    def accept(transport: Transport) -> None:
        def take(message: Message | Batch) -> None:
            if isinstance(message, Request):
                transport.post(create_request(1, "roots/list"))
            else:
                transport.post(create_response(1, "the true result"))

        transport.callbacks.on_message = take
        asyncio.get_running_loop().create_task(transport.start())

    async with OtherSide(host) as other, ControlRouter(sdk, {"calc": accept}):
        call = other.message("calc", {"jsonrpc": "2.0", "id": 1, "method": "tools/call"})
        asked, question = await other.hear_message()
        assert question == {"jsonrpc": "2.0", "id": 1, "method": "roots/list"}
        other.answer(asked)
        told = other.message("calc", {"jsonrpc": "2.0", "id": 1, "result": {"roots": []}})
        assert (await other.hear_reply(call))["result"] == "the true result"
        assert await other.hear_reply(told) == ACKNOWLEDGED


async def test_a_name_is_taken_once() -> None:
    """Two servers of one name could not be told apart."""
    async with routed(Calc()) as (_, router):
        router.add("other", Calc("other").server.accept)
        assert router.servers == ("calc", "other")
        with pytest.raises(ConfigError, match="already"):
            router.add("calc", Calc().server.accept)


async def test_nothing_is_written_before_the_start_or_after_the_end() -> None:
    """It says which of the two, and the router can be started all the same."""
    host, sdk = line_pair()
    router = ControlRouter(sdk, {})
    async with OtherSide(host) as other:
        for _ in range(2):
            with pytest.raises(SessionError, match=r"channel \(SDK\) is not started"):
                router.write({"type": "early"})
        with pytest.raises(SessionError, match="not started"):
            await router.initialize()
        async with router:
            router.write({"type": "now"})
            assert await other.hear() == {"type": "now"}
        with pytest.raises(TransportClosed, match="is closed"):
            router.write({"type": "late"})
