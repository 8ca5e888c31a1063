"""Servers in another program, reached over its control channel; the program is played line by line."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator
from typing import Any

import pytest

from anywire import Client, ConnectFailed, DeadlineExceeded, PeerError, TransportError, connect
from anywire.errors import ConfigError, RemoteProtocolError
from anywire.testing.line_wire import line_pair
from anywire.transport.control.host import ControlHost
from anywire.transport.control.sole import control_target
from anywire.wire.limits import DEFAULT_LIMITS
from anywire.wire.message import Batch, ErrorResponse, create_request
from tests.transport.control.talk import OtherSide

RESULT: dict[str, Any] = {"content": [{"type": "text", "text": "true"}]}


@contextlib.asynccontextmanager
async def hosting(**options: Any) -> AsyncGenerator[tuple[OtherSide, ControlHost]]:
    """A program and the host of it."""
    mine, other = line_pair()
    async with OtherSide(other) as program, ControlHost(mine, **options) as host:
        yield program, host


@contextlib.asynccontextmanager
async def greeted(program: OtherSide, host: ControlHost, **options: Any) -> AsyncGenerator[Client]:
    """A client of the program's server `calc`, which has shaken hands."""
    client = connect(host.transport("calc"), era="legacy", **options)
    entering = asyncio.ensure_future(client.__aenter__())
    id, asked = await program.hear_message()
    info = {"name": "calc", "version": "1"}
    capabilities: dict[str, Any] = {"tools": {"listChanged": True}}
    result = {"protocolVersion": "2025-11-25", "capabilities": capabilities, "serverInfo": info}
    program.answer(id, {"mcp_response": {"jsonrpc": "2.0", "id": asked["id"], "result": result}})
    id, told = await program.hear_message()
    assert told["method"] == "notifications/initialized"
    program.answer(id, {"mcp_response": {"jsonrpc": "2.0"}})
    await entering
    try:
        yield client
    finally:
        await client.__aexit__(None, None, None)


def calling(client: Client) -> asyncio.Future[Any]:
    """A call under way."""
    return asyncio.ensure_future(client.call_tool("wait", {}))


@pytest.mark.parametrize(
    ("said", "names"),
    [
        ({"sdkMcpServers": ["calc", "other"]}, ("calc", "other")),
        ({"sdkMcpServers": {"calc": {"type": "sdk", "name": "calc"}}}, ("calc",)),
        ({"sdkMcpServers": ["calc"], "sdkMcpServerManifests": {"calc": {"tools": []}}}, ("calc",)),
        ({"hooks": None}, None),
    ],
)
async def test_the_program_says_which_servers_it_has(said: dict[str, Any], names: object) -> None:
    """As a list, as a map, or elsewhere; it is welcomed in any case."""
    async with hosting(welcome={"commands": []}) as (program, host):
        answer = await program.hear_answer(program.ask("initialize", **said))
        assert answer["response"] == {"commands": []}
        assert await host.greeted() == names
        assert host.introduction == {"subtype": "initialize", **said}


async def test_a_call_is_answered_with_what_the_server_says() -> None:
    """The reply is what the response carries."""
    async with hosting() as (program, host), greeted(program, host) as client:
        call = calling(client)
        id, asked = await program.hear_message()
        assert (asked["method"], asked["params"]["name"]) == ("tools/call", "wait")
        program.answer(id, {"mcp_response": {"jsonrpc": "2.0", "id": asked["id"], "result": RESULT}})
        assert (await call).text == "true"


@pytest.mark.parametrize("wrong", [99, "x", None])
async def test_a_reply_with_a_wrong_id_is_found_by_its_request(wrong: object) -> None:
    """Hosts that look at the id alone wait for ever."""
    async with hosting() as (program, host), greeted(program, host) as client:
        call = calling(client)
        id, _ = await program.hear_message()
        program.answer(id, {"mcp_response": {"jsonrpc": "2.0", "id": wrong, "result": RESULT}})
        assert (await call).text == "true"


async def test_a_reply_without_an_id_is_found_by_its_request() -> None:
    """As above, a result or an error."""
    async with hosting() as (program, host), greeted(program, host) as client:
        call = calling(client)
        id, _ = await program.hear_message()
        program.answer(id, {"mcp_response": {"jsonrpc": "2.0", "result": RESULT}})
        assert (await call).text == "true"
        call = calling(client)
        id, _ = await program.hear_message()
        program.answer(id, {"mcp_response": {"jsonrpc": "2.0", "error": {"code": -7, "message": "no"}}})
        with pytest.raises(PeerError, match="no"):
            await call


async def test_a_question_that_came_as_a_reply_is_a_question() -> None:
    """Programs exist that match ids alone, and answer a call with a question of the server's under its id.

    The reply to the call comes later, as a message of its own.
    """
    async with hosting() as (program, host), greeted(program, host, roots=["file:///data"]) as client:
        call = calling(client)
        id, asked = await program.hear_message()
        question = {"jsonrpc": "2.0", "id": asked["id"], "method": "roots/list"}
        program.answer(id, {"mcp_response": question})
        _, answer = await program.hear_message()
        assert (answer["id"], answer["result"]["roots"][0]["uri"]) == (asked["id"], "file:///data")
        assert not call.done()
        stray = program.message("calc", {"jsonrpc": "2.0", "id": asked["id"], "result": RESULT})
        assert (await call).text == "true"
        assert "response" not in await program.hear_answer(stray)


async def test_what_a_server_tells_and_asks_by_itself_is_heard_and_acknowledged() -> None:
    """The reply to a question is a message of its own."""
    first: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
    options = {"roots": ["file:///data"], "on_log": first.set_result}
    async with hosting() as (program, host), greeted(program, host, **options):
        params = {"level": "info", "data": "é"}
        log = {"jsonrpc": "2.0", "method": "notifications/message", "params": params}
        assert "response" not in await program.hear_answer(program.message("calc", log))
        question = program.message("calc", {"jsonrpc": "2.0", "id": 0, "method": "roots/list"})
        assert "response" not in await program.hear_answer(question)
        id, answer = await program.hear_message()
        program.answer(id, {"mcp_response": {"jsonrpc": "2.0", "result": {}, "id": 0}})
        assert (answer["id"], answer["result"]["roots"][0]["uri"]) == (0, "file:///data")
        async with asyncio.timeout(10):
            assert await first == params


async def test_a_call_that_the_program_refuses_fails_with_its_words() -> None:
    """A control error is the call's."""
    async with hosting() as (program, host), greeted(program, host) as client:
        call = calling(client)
        id, _ = await program.hear_message()
        program.refuse(id, "there is no such server")
        with pytest.raises(PeerError, match="there is no such server"):
            await call


@pytest.mark.parametrize("response", [None, {}, {"mcp_response": None}, {"mcp_response": 7}])
async def test_an_answer_without_a_message_is_an_error(response: object) -> None:
    """It is no reason to wait."""
    async with hosting() as (program, host), greeted(program, host) as client:
        call = calling(client)
        id, _ = await program.hear_message()
        program.answer(id, response)
        with pytest.raises(RemoteProtocolError, match="tools/call was answered with"):
            await call


async def test_a_damaged_answer_is_an_error() -> None:
    """Cut, or beyond the limit: whose it was stands at its beginning."""
    limits = DEFAULT_LIMITS.replace(message_bytes=20_000)
    async with hosting(limits=limits) as (program, host), greeted(program, host) as client:
        beginning = '{"type":"control_response","response":{"subtype":"success","request_id":"%s","response":'
        for rest in ("{", '"%s"}}' % ("x" * 100_000)):
            call = calling(client)
            id, _ = await program.hear_message()
            program.say((beginning % id) + rest)
            with pytest.raises(RemoteProtocolError):
                await call


async def test_a_call_that_is_cancelled_is_told_so_and_its_answer_ignored() -> None:
    """As hosts do: with a notification in a message."""
    async with hosting() as (program, host), greeted(program, host) as client:
        call = calling(client)
        id, asked = await program.hear_message()
        call.cancel()
        _, told = await program.hear_message()
        assert (told["method"], told["params"]["requestId"]) == ("notifications/cancelled", asked["id"])
        program.answer(id, {"mcp_response": {"jsonrpc": "2.0", "id": asked["id"], "error": {"code": -32800}}})
        call = calling(client)
        id, asked = await program.hear_message()
        program.answer(id, {"mcp_response": {"jsonrpc": "2.0", "id": asked["id"], "result": RESULT}})
        assert (await call).text == "true"


async def test_an_answer_that_never_comes_is_not_waited_for_without_bound() -> None:
    """Also where whoever asks has no clock: the request is taken back."""
    limits = DEFAULT_LIMITS.replace(request_total_seconds=0.01)
    async with hosting(limits=limits) as (program, host):
        transport = host.transport("calc")
        failed: list[tuple[bytes, Exception]] = []
        transport.callbacks.on_failed = lambda id, error: failed.append((id, error))
        await transport.start()
        transport.post(create_request(1, "slow"))
        id, _ = await program.hear_message()
        assert await program.hear() == {"type": "control_cancel_request", "request_id": id}
        ((raw, error),) = failed
        assert raw == b"1"
        assert isinstance(error, DeadlineExceeded)


REFUSAL: dict[str, Any] = {"code": -32600, "message": "no batches"}
UNANSWERED = "calc over channel (host): not all of a batch was answered"


@pytest.mark.parametrize(
    ("said", "replies", "failures"),
    [
        ({"id": None, "error": REFUSAL}, ["1", "2", "3"], []),
        ({"error": REFUSAL}, ["1", "2", "3"], []),
        ({"id": 77, "error": REFUSAL}, ["1", "2", "3"], []),
        ({"id": 2, "error": REFUSAL}, ["2"], ["1", "3"]),
        ({"id": 2, "result": {}}, ["2"], ["1", "3"]),
        ({"id": 77, "result": {}}, [], ["1", "2", "3"]),
        ({"result": {}}, [], ["1", "2", "3"]),
    ],
)
async def test_a_batch_that_one_message_answers_waits_for_no_more(
    said: dict[str, Any], replies: list[str], failures: list[str]
) -> None:
    """The reply is that of its id, an error without one that of all; what is left fails at once."""
    async with hosting() as (program, host):
        transport = host.transport("calc")
        got: list[Any] = []
        failed: list[tuple[str, str]] = []
        over = asyncio.Event()
        transport.callbacks.on_message = lambda message: (got.append(message), over.set())[1]
        transport.callbacks.on_failed = lambda id, error: (
            failed.append((id.decode(), str(error))),
            over.set(),
        )[1]
        await transport.start()
        transport.post(Batch(tuple(create_request(number, "ping") for number in (1, 2, 3))))
        id, _ = await program.hear_message()
        program.answer(id, {"mcp_response": {"jsonrpc": "2.0", **said}})
        async with asyncio.timeout(10):
            await over.wait()
        assert [each.id.decode() for each in got] == replies
        assert all((type(each) is ErrorResponse) == ("error" in said) for each in got)
        assert failed == [(id, UNANSWERED) for id in failures]
        transport.post(create_request(4, "ping"))
        id, _ = await program.hear_message()
        program.answer(id, {"mcp_response": {"jsonrpc": "2.0", "result": {}}})
        await program.hear_nothing()
        assert got[-1].id == b"4"


async def test_a_program_that_leaves_fails_what_is_in_flight() -> None:
    """At once."""
    async with hosting() as (program, host), greeted(program, host) as client:
        call = calling(client)
        await program.hear_message()
        await program.channel.close()
        with pytest.raises(TransportError):
            await call


async def test_a_server_has_one_conversation_at_a_time() -> None:
    """The next may begin when it has ended."""
    async with hosting() as (_, host):
        first = host.transport("calc")
        with pytest.raises(ConfigError, match="'calc' is in use"):
            host.transport("calc")
        await first.close()
        await host.transport("calc").close()


@pytest.mark.parametrize("leaver", ["host", "program"])
async def test_a_conversation_over_an_ended_channel_does_not_begin(leaver: str) -> None:
    """It says so at its start, and can be closed."""
    async with hosting() as (program, host):
        if leaver == "host":
            await host.close()
        else:
            await program.channel.close()
            async with asyncio.timeout(10):
                await host.wait()
        with pytest.raises(ConnectFailed, match="the channel has ended"):
            await host.transport("calc").start()
        with pytest.raises(ConnectFailed, match="the channel has ended"):
            async with connect(host.transport("other")):
                pass
        await host.close()
        assert not host.conversations


async def test_a_server_that_the_program_has_not_cannot_be_reached() -> None:
    """Where it says which it has."""
    async with hosting() as (program, host):
        program.ask("initialize", sdkMcpServers=["calc"])
        await host.greeted()
        with pytest.raises(ConfigError, match="no server 'clac'; servers are: calc"):
            host.transport("clac")


async def test_other_requests_of_the_program_are_answered_by_functions() -> None:
    """Or with an error, where there is none for them."""

    async def interrupt(_: dict[str, Any]) -> object:
        return {"still_queued": []}

    async with hosting(handlers={"interrupt": interrupt}) as (program, _):
        answer = await program.hear_answer(program.ask("interrupt"))
        assert answer["response"] == {"still_queued": []}
        answer = await program.hear_answer(program.ask("rewind_files"))
        assert answer["error"] == "unsupported control request 'rewind_files'"


async def test_a_message_of_a_server_that_nobody_speaks_with_is_refused() -> None:
    """It says so, instead of taking what nobody reads."""
    async with hosting() as (program, _):
        answer = await program.hear_answer(program.message("calc", {"jsonrpc": "2.0", "method": "x"}))
        assert answer["error"] == "nobody speaks with the server 'calc'"
        answer = await program.hear_answer(program.ask("mcp_message"))
        assert "server_name" in answer["error"]


async def test_a_program_that_does_not_initialize_is_not_waited_for() -> None:
    """Nor is one that leaves before."""
    async with hosting() as (program, host):
        with pytest.raises(ConnectFailed, match=r"did not initialize within 0\.01 s"):
            await host.greeted(0.01)
        waiting = asyncio.ensure_future(host.greeted())
        await program.channel.close()
        with pytest.raises(ConnectFailed, match="left before it initialized"):
            await waiting


async def test_a_target_waits_for_the_program_and_names_what_it_lacks() -> None:
    """The transport of a bridge: the channel is its own, and ends with it."""
    mine, other = line_pair()
    async with OtherSide(other) as program:
        starting = asyncio.ensure_future(control_target("clac", mine).start())
        program.ask("initialize", sdkMcpServers=["calc"])
        with pytest.raises(ConnectFailed, match="no server 'clac'; servers are: calc"):
            await starting
        await program.hear_the_end()
