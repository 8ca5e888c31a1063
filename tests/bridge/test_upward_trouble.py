"""What may go wrong between a handshake client and a stateless server, and what only a wire shows."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from anywire.testing import ScriptedPeer, in_virtual_time
from anywire.transport.memory import memory_pair
from anywire.wire.limits import DEFAULT_LIMITS
from tests.bridge.upward import (
    WAYS,
    PlayedClient,
    PlayedServer,
    nothing_left,
    played,
    reaching,
    transport_to,
)
from tests.interaction.test_rounds import inn

KEY = "io.modelcontextprotocol/"
CALL: dict[str, Any] = {"name": "t", "arguments": {"a": 1}}
FORM: dict[str, Any] = {
    "method": "elicitation/create",
    "params": {"message": "Who?", "requestedSchema": {"type": "object", "properties": {}}},
}
ROOTS: dict[str, Any] = {"method": "roots/list"}
ACCEPT: dict[str, Any] = {"action": "accept", "content": {"name": "Ada"}}
LISTS: dict[str, Any] = {"tools": {"listChanged": True}, "resources": {"subscribe": True}}


# Answers.


@pytest.mark.parametrize("garbage", [5, None, [], "x", {}, {"action": "maybe"}, {"content": {"name": "Ada"}}])
async def test_an_answer_that_is_none_is_judged_by_the_server_and_ends_the_call_once(garbage: Any) -> None:
    """Whatever it says of it, as it would say it to a client of its era."""
    async with nothing_left():
        server = inn(eras=["modern"])
        async with PlayedClient(transport_to(server)) as client:
            await client.initialize(capabilities={"elicitation": {}})
            await client.call(1, "book")
            question = await client.receive()
            assert question["method"] == "elicitation/create"
            await client.answer(question, garbage)
            reply = await client.receive()
            assert reply["id"] == 1
            assert "elicitation/create" in str(reply)
            await client.expect_silence()
        await server.close()


@pytest.mark.parametrize("error", [{"code": -1, "message": "no"}, {}, "boom", None, {"code": "x"}])
async def test_a_client_that_answers_with_an_error_of_whatever_shape_has_its_call_fail(error: Any) -> None:
    """The server is not asked again."""
    async with played() as (server, client):
        await client.ask(1, "tools/call", CALL)
        await server.wants(await server.hears("tools/call"), "s", a=FORM)
        question = await client.receive()
        await client.send({"jsonrpc": "2.0", "id": question["id"], "error": error})
        reply = await client.receive()
        assert (reply["id"], reply["error"]["code"]) == (1, -32603)
        assert "did not answer elicitation/create" in reply["error"]["message"]
        await server.expect_silence()


async def test_an_answer_that_comes_twice_or_late_changes_nothing() -> None:
    """Nor does one to a question that nobody asked."""
    async with played() as (server, client):
        await client.ask(1, "tools/call", CALL)
        await server.wants(await server.hears("tools/call"), "s", a=FORM)
        question = await client.receive()
        for _ in range(2):
            await client.answer(question, ACCEPT)
        again = await server.hears("tools/call")
        await server.expect_silence()
        await server.answer(again, {"resultType": "complete", "n": 1})
        await client.expect({"jsonrpc": "2.0", "id": 1, "result": {"n": 1}})
        await client.answer(question, ACCEPT)
        await client.answer({"id": "anywire-0-1"}, ACCEPT)
        await server.expect_silence()
        await client.expect_silence()


@in_virtual_time
async def test_an_answer_that_never_comes_is_waited_for_so_long() -> None:
    """The client is told that nobody waits for it any more."""
    async with played(limits=DEFAULT_LIMITS.replace(input_seconds=5)) as (server, client):
        await client.ask(1, "tools/call", CALL)
        await server.wants(await server.hears("tools/call"), "s", a=FORM)
        question = await client.receive()
        cancelled, reply = await client.receive_many(2)
        assert asyncio.get_running_loop().time() == 5
        assert cancelled["params"]["requestId"] == question["id"]
        assert "did not answer elicitation/create within 5 s" in reply["error"]["message"]


async def test_a_client_that_gives_up_while_it_is_asked_is_asked_no_more() -> None:
    """Its call has no end, and the server needs to know nothing: it remembers nothing."""
    async with played() as (server, client):
        await client.ask(1, "tools/call", CALL)
        await server.wants(await server.hears("tools/call"), "s", a=FORM, b=ROOTS)
        questions = await client.receive_many(2)
        await client.notify("notifications/cancelled", {"requestId": 1})
        taken_back = await client.receive_many(2)
        assert [each["params"]["requestId"] for each in taken_back] == [each["id"] for each in questions]
        for question in questions:
            await client.answer(question, ACCEPT)
        await server.expect_silence()
        await client.expect_silence()


# Rounds.


@pytest.mark.parametrize("wanted", [{}, {"a": ROOTS}])
async def test_a_server_that_asks_for_ever_is_asked_so_often(wanted: Any) -> None:
    """Then its call fails with a sentence."""
    async with played(limits=DEFAULT_LIMITS.replace(rounds=4)) as (server, client):
        await client.ask(1, "tools/call", CALL)
        for _ in range(4):
            await server.wants(await server.hears("tools/call"), "s", **wanted)
            if wanted:
                await client.answer(await client.receive(), {"roots": []})
        await server.wants(await server.hears("tools/call"), "s", **wanted)
        reply = await client.receive()
        assert reply["error"]["message"] == (
            "tools/call needs input first, and the server has asked 4 times already"
        )
        await server.expect_silence()


async def test_a_state_of_a_megabyte_goes_back_as_it_came() -> None:
    """The client sees nothing of it."""
    state = "\u00e4" * (1 << 19)
    async with played() as (server, client):
        await client.ask(1, "tools/call", CALL)
        await server.wants(await server.hears("tools/call"), state, a=ROOTS)
        question = await client.receive()
        assert set(question) == {"jsonrpc", "id", "method"}
        await client.answer(question, {"roots": []})
        again = await server.hears("tools/call")
        assert again["params"]["requestState"] == state
        await server.answer(again, {})
        assert (await client.receive())["id"] == 1


async def test_rounds_of_many_calls_do_not_meet() -> None:
    """Each call has the answers to its own questions, in whatever order they come."""
    async with played() as (server, client):
        for id in range(20):
            await client.ask(id, "tools/call", {"name": str(id)})
        for asked in await server.receive_many(20):
            await server.wants(asked, asked["params"]["name"], a=FORM)
        questions = await client.receive_many(20)
        for question in reversed(questions):
            await client.answer(question, ACCEPT | {"content": {"of": question["id"]}})
        named = {question["id"]: str(id) for id, question in enumerate(questions)}
        for again in await server.receive_many(20):
            params = again["params"]
            assert params["requestState"] == params["name"]
            assert named[params["inputResponses"]["a"]["content"]["of"]] == params["name"]
            await server.answer(again, {"n": params["name"]})
        replies = await client.receive_many(20)
        assert {reply["id"]: reply["result"] for reply in replies} == {n: {"n": str(n)} for n in range(20)}


# Changes.


async def acknowledged(server: ScriptedPeer) -> Any:
    """The next request to be told of changes, which is honoured."""
    listen = await server.receive()
    assert listen["method"] == "subscriptions/listen"
    params = {
        "_meta": {KEY + "subscriptionId": listen["id"]},
        "notifications": listen["params"]["notifications"],
    }
    await server.notify("notifications/subscriptions/acknowledged", params)
    return listen


async def test_a_server_that_refuses_to_tell_is_not_asked_for_ever() -> None:
    """The conversation goes on without; a subscription gets the reason."""
    async with played(LISTS) as (server, client):
        for id in (None, 1):
            if id is not None:
                await client.ask(id, "resources/subscribe", {"uri": "a:b"})
            listen = await server.hears("subscriptions/listen")
            error = {"code": -32601, "message": "not today"}
            await server.send({"jsonrpc": "2.0", "id": listen["id"], "error": error})
        reply = await client.receive()
        assert reply["error"]["message"] == "the server refused subscriptions/listen: not today"
        await client.ask(2, "tools/list")
        await server.answer(await server.hears("tools/list"), {"tools": []})
        assert (await client.receive())["id"] == 2
        await server.expect_silence()


@pytest.mark.parametrize("how", ["result", "cancelled"])
@in_virtual_time
async def test_a_server_that_ends_what_it_tells_is_asked_anew(how: str) -> None:
    """After a while; the client notices nothing."""
    async with played(LISTS) as (server, client):
        listen = await acknowledged(server)
        if how == "result":
            await server.answer(listen, {})
        else:
            await server.notify("notifications/cancelled", {"requestId": listen["id"]})
        again = await acknowledged(server)
        assert asyncio.get_running_loop().time() == DEFAULT_LIMITS.reconnect_seconds
        params = {"_meta": {KEY + "subscriptionId": again["id"]}}
        await server.notify("notifications/tools/list_changed", params)
        await client.expect({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"})


@in_virtual_time
async def test_what_is_told_late_on_the_request_before_is_told() -> None:
    """Each may have a way of its own, whatever the transport looks like."""
    async with played({"resources": {"subscribe": True}}) as (server, client):
        listens: list[Any] = []
        for id, uri in enumerate(("a:a", "b:b")):
            await client.ask(id, "resources/subscribe", {"uri": uri})
            listens.append(await acknowledged(server))
            assert (await client.receive())["id"] == id
        params = {"uri": "a:a", "_meta": {KEY + "subscriptionId": listens[0]["id"]}}
        await server.notify("notifications/resources/updated", params)
        assert (await client.receive())["params"] == {"uri": "a:a"}
        ended = await server.hears("notifications/cancelled")
        assert ended["params"]["requestId"] == listens[0]["id"]
        assert asyncio.get_running_loop().time() == 0.25


# The handshake.


async def test_a_second_handshake_that_fails_costs_the_first_nothing() -> None:
    """Its error is the server's."""
    async with played() as (server, client):
        said: dict[str, Any] = {"protocolVersion": "2025-11-25", "capabilities": {"elicitation": {}}}
        await client.ask(2, "initialize", said)
        asked = await server.hears("server/discover")
        error = {"code": -32603, "message": "out of order"}
        await server.send({"jsonrpc": "2.0", "id": asked["id"], "error": error})
        await client.expect({"jsonrpc": "2.0", "id": 2, "error": error})
        await client.ask(3, "tools/call", CALL)
        await server.wants(await server.hears("tools/call"), "s", a=FORM)
        question = await client.receive()
        assert question["method"] == "elicitation/create"
        await client.answer(question, ACCEPT)
        await server.answer(await server.hears("tools/call"), {})
        assert (await client.receive())["id"] == 3


async def test_a_client_that_says_all_at_once_is_told_of_changes_all_the_same() -> None:
    """It need not wait for the answer to its handshake."""
    mine, served = memory_pair()
    client = PlayedClient(transport_to(mine))
    async with nothing_left(), client, PlayedServer(served) as server:
        await client.ask(1, "initialize", {"protocolVersion": "2025-11-25", "capabilities": {}})
        await client.notify("notifications/initialized")
        await client.ask(2, "tools/list")
        await server.discovered(LISTS)
        await server.answer(await server.hears("tools/list"), {"tools": []})
        await acknowledged(server)
        assert [each["id"] for each in await client.receive_many(2)] == [1, 2]


# Batches.


async def test_a_batch_has_one_answer() -> None:
    """Calls that need input among them."""
    async with played(revision="2025-03-26", declared={"roots": {}}) as (server, client):
        await client.send(
            [
                {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": CALL},
                {"jsonrpc": "2.0", "id": "2", "method": "ping"},
                {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 9}},
                {"jsonrpc": "2.0", "id": 3, "method": "tools/list"},
            ]
        )
        call, listed = await server.receive_many(2)
        await server.answer(listed, {"tools": []})
        await server.wants(call, "s", a=ROOTS)
        question = await client.receive()
        await client.send([{"jsonrpc": "2.0", "id": question["id"], "result": {"roots": []}}])
        await server.answer(await server.hears("tools/call"), {"n": 1})
        replies = {reply["id"]: reply["result"] for reply in await client.receive()}
        assert replies == {1: {"n": 1}, "2": {}, 3: {"tools": []}}


@pytest.mark.parametrize("way", WAYS)
async def test_a_batch_has_one_answer_over_each_way(way: str) -> None:
    """The server has never seen one."""
    server = inn(eras=["modern"])
    async with nothing_left():
        async with reaching(server, way) as transport, ScriptedPeer(transport) as client:
            await client.initialize("2025-03-26")
            lists = [{"jsonrpc": "2.0", "id": id, "method": f"{id}/list"} for id in ("tools", "prompts")]
            await client.send([*lists, {"jsonrpc": "2.0", "id": 3, "method": "ping"}])
            assert {each["id"] for each in await client.receive()} == {"tools", "prompts", 3}
        await server.close()


# Ids and tokens.

IDS = ["0", "-1", "1.0", "1e0", "123456789012345678901234567890", '""', '"1"', '"\\ud83d"', '"\\u0061"']


@pytest.mark.parametrize("id", IDS)
async def test_an_id_of_any_type_comes_back_as_it_was_written(id: str) -> None:
    """The server sees another."""
    async with played() as (server, client):
        await client.send(f'{{"jsonrpc":"2.0","id":{id},"method":"x/y"}}'.encode())
        await server.answer(await server.hears("x/y"), {})
        reply: Any = await client.receive_message()
        assert reply.id == id.encode()


async def test_ids_that_look_alike_are_kept_apart() -> None:
    """A number and its digits are two."""
    async with played() as (server, client):
        for id in ("1", '"1"'):
            await client.send(f'{{"jsonrpc":"2.0","id":{id},"method":"x/y","params":{{"id":{id}}}}}'.encode())
        for asked in reversed(await server.receive_many(2)):
            await server.answer(asked, {"id": asked["params"]["id"]})
        for reply in await client.receive_many(2):
            assert reply["result"]["id"] == reply["id"]


@pytest.mark.parametrize(
    "token", ["0", "-1", "1.50", "12345678901234567890123", '""', '"\\ud83d"', "null", "[]"]
)
async def test_a_progress_token_of_any_type_is_that_of_the_server(token: str) -> None:
    """With the bytes of what it stands for."""
    async with played() as (server, client):
        params = f'{{"name":"t","_meta":{{"progressToken":{token}}}}}'
        await client.send(f'{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{params}}}'.encode())
        asked: Any = await server.receive_message()
        assert f'"progressToken":{token}'.encode() in asked.params
        told = f'{{"progressToken":{token},"progress":1.0e-5}}'
        await server.send(f'{{"jsonrpc":"2.0","method":"notifications/progress","params":{told}}}'.encode())
        heard: Any = await client.receive_message()
        assert heard.params == told.encode()
        await server.send(b'{"jsonrpc":"2.0","id":%b,"result":{}}' % asked.id)
        assert (await client.receive())["id"] == 1


# The end.


async def test_a_server_that_ends_in_the_midst_of_a_round_fails_the_call_once() -> None:
    """And its question is taken back."""
    async with played() as (server, client):
        await client.ask(1, "tools/call", CALL)
        await client.ask(2, "tools/call", CALL)
        await server.wants(await server.hears("tools/call"), "s", a=FORM)
        question = await client.receive()
        await server.close()
        taken_back = await client.receive()
        assert taken_back["params"]["requestId"] == question["id"]
        await client.expect_end()
        assert [id for id, _ in client.failed] == [b"1", b"2"]


async def test_a_client_that_leaves_leaves_nothing_behind() -> None:
    """Whatever runs, asks, or listens."""
    async with played(LISTS) as (server, client):
        await acknowledged(server)
        await client.ask(1, "tools/call", CALL)
        await server.wants(await server.hears("tools/call"), "s", a=FORM)
        await client.receive()
        await client.ask(2, "resources/subscribe", {"uri": "a:b"})
        await server.hears("subscriptions/listen")
        await client.close()
        await server.expect_end()
        assert sorted(id for id, _ in client.failed) == [b"1", b"2"]
