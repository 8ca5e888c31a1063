"""What may go wrong between a stateless client and a handshake server, and what only a wire shows."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from anywire import Context, Server
from anywire.protocol.types.elicitation import ElicitParams
from anywire.testing import in_virtual_time
from anywire.wire.limits import DEFAULT_LIMITS
from tests.bridge.downward import Bridge, PlayedClient, meeting, played
from tests.interaction.test_rounds import Name
from tests.protocol.translate.virtual import meta

CALL: dict[str, Any] = {"name": "t", "arguments": {"a": 1}}
FORM: dict[str, Any] = {"message": "Who?", "requestedSchema": {"type": "object", "properties": {}}}
ACCEPT: dict[str, Any] = {"action": "accept", "content": {}}
CANCELLED = "notifications/cancelled"


async def ask(client: PlayedClient, id: object, method: str, params: Any = None, **said: Any) -> None:
    """The client makes a request."""
    given: dict[str, Any] = {} if params is None else params
    await client.ask(id, method, {**given, "_meta": meta(**said)})


async def asked_for_input(bridge: Bridge, client: PlayedClient, id: object = 1) -> tuple[Any, Any]:
    """A call whose server asks for a form: that server, and the round."""
    await ask(client, id, "tools/call", CALL)
    server = await bridge.greeted()
    await server.receive()
    await server.ask("q", "elicitation/create", FORM)
    return server, (await client.receive())["result"]


def answers(round: Any, answer: Any = ACCEPT) -> dict[str, Any]:
    """The params of the next round."""
    responses = dict.fromkeys(round["inputRequests"], answer)
    return {**CALL, "inputResponses": responses, "requestState": round["requestState"]}


def withdrawn(reason: str) -> dict[str, Any]:
    """What takes the call back at the server."""
    return {"jsonrpc": "2.0", "method": CANCELLED, "params": {"requestId": 2, "reason": reason}}


# Answers.


@pytest.mark.parametrize("garbage", [5, None, [], "x", {}, {"action": "maybe"}, {"content": {}}])
async def test_an_answer_that_is_none_is_refused_and_may_be_given_again(garbage: Any) -> None:
    """The server hears only the good one."""
    async with played() as (bridge, client):
        server, round = await asked_for_input(bridge, client)
        for id in (2, 3):
            await ask(client, id, "tools/call", answers(round, garbage))
            got = await client.receive()
            assert (got["id"], got["error"]["code"]) == (id, -32602)
            assert "cannot be used" in got["error"]["message"]
        await ask(client, 4, "tools/call", answers(round))
        await server.expect({"jsonrpc": "2.0", "id": "q", "result": ACCEPT})
        await server.send({"jsonrpc": "2.0", "id": 2, "result": {}})
        assert (await client.receive())["id"] == 4


async def test_an_answer_to_nothing_that_was_asked_asks_again() -> None:
    """Under another state; the answer that came is dropped."""
    async with played() as (bridge, client):
        server, round = await asked_for_input(bridge, client)
        strange = {**answers(round), "inputResponses": {"other": ACCEPT}}
        await ask(client, 2, "tools/call", strange)
        again = (await client.receive())["result"]
        assert again["inputRequests"] == round["inputRequests"]
        assert again["requestState"] != round["requestState"]
        await server.expect_silence()
        await ask(client, 3, "tools/call", answers(again))
        await server.expect({"jsonrpc": "2.0", "id": "q", "result": ACCEPT})


async def test_the_same_answer_in_two_requests_at_once_goes_to_the_server_once() -> None:
    """The second has an error."""
    async with played() as (bridge, client):
        server, round = await asked_for_input(bridge, client)
        for id in (2, 3):
            await ask(client, id, "tools/call", answers(round))
        await server.expect({"jsonrpc": "2.0", "id": "q", "result": ACCEPT})
        await server.expect_silence()
        refused = await client.receive()
        assert (refused["id"], refused["error"]["code"]) == (3, -32602)
        await server.send({"jsonrpc": "2.0", "id": 2, "result": {}})
        assert (await client.receive())["id"] == 2


# Rounds.


async def test_a_server_that_asks_for_ever_is_at_the_mercy_of_its_client() -> None:
    """Each round is one that the client wants; nothing runs by itself, and one call waits."""
    async with played() as (bridge, client):
        server, round = await asked_for_input(bridge, client)
        for id in range(2, 40):
            await ask(client, id, "tools/call", answers(round))
            await server.receive()
            assert len(bridge.behind.held) == 0
            await server.ask(f"q{id}", "elicitation/create", FORM)
            round = (await client.receive())["result"]
            assert len(bridge.behind.held) == 1
        await server.expect_silence()


async def test_questions_that_do_not_end_are_refused_from_the_hundredth_on() -> None:
    """While the client is away."""
    async with played() as (bridge, client):
        server, _ = await asked_for_input(bridge, client)
        for number in range(1, 102):
            await server.ask(number, "elicitation/create", FORM)
        for number in (100, 101):
            refusal = await server.receive()
            assert (refusal["id"], refusal["error"]["code"]) == (number, -32603)
        await server.expect_silence()


@pytest.mark.parametrize("state", ["x" * (1 << 20), "A" * (1 << 20), "\u00e4" * 1000, "."])
async def test_a_state_that_nobody_gave_is_refused_however_large(state: str) -> None:
    """And costs no connection."""
    async with played() as (bridge, client):
        await ask(client, 1, "tools/call", {**CALL, "requestState": state})
        got = await client.receive()
        assert (got["id"], got["error"]["code"]) == (1, -32602)
        assert len(got["error"]["message"]) < 200
        assert bridge.behind.connections == []


# Giving up.


async def test_a_call_that_is_abandoned_while_the_server_asks_is_taken_back() -> None:
    """The question has been put, and its answer would come to nothing."""
    async with played() as (bridge, client):
        server, round = await asked_for_input(bridge, client)
        await ask(client, 2, "tools/call", answers(round))
        await server.expect({"jsonrpc": "2.0", "id": "q", "result": ACCEPT})
        await client.notify(CANCELLED, {"requestId": 2, "reason": "enough"})
        await server.expect(withdrawn("enough"))
        await server.expect_end()
        await ask(client, 3, "tools/call", answers(round))
        assert "went on already or has expired" in (await client.receive())["error"]["message"]
        assert len(bridge.behind.held) == 0


async def test_a_call_that_is_abandoned_in_the_moment_of_the_question_is_not_held() -> None:
    """Whoever gave up does not come back with an answer."""
    async with played() as (bridge, client):
        await ask(client, 1, "tools/call", CALL)
        server = await bridge.greeted()
        await server.receive()
        await server.ask("q", "elicitation/create", FORM)
        await client.notify(CANCELLED, {"requestId": 1, "reason": "enough"})
        await server.expect(withdrawn("enough"))
        await server.expect_end()
        await client.expect_silence()
        assert len(bridge.behind.held) == 0


async def test_a_request_that_takes_back_its_answers_at_once_leaves_its_id_free() -> None:
    """What is made under the same id then has its own answer."""
    async with played() as (bridge, client):
        server, round = await asked_for_input(bridge, client)
        await server.send({"jsonrpc": "2.0", "id": 2, "result": {"late": 1}})
        await server.expect_end()
        await ask(client, 2, "tools/call", answers(round))
        await client.notify(CANCELLED, {"requestId": 2})
        await ask(client, 2, "x/y")
        other = await bridge.greeted()
        await other.send({"jsonrpc": "2.0", "id": (await other.receive())["id"], "result": {"other": 1}})
        got = await client.receive()
        assert got["result"]["other"] == 1
        await client.expect_silence()


async def test_the_end_of_the_bridge_takes_back_what_waits_for_clients() -> None:
    """No server is left with a call that nobody wants."""
    async with played() as (bridge, client):
        server, _ = await asked_for_input(bridge, client)
        closing = asyncio.create_task(bridge.behind.held.close())
        await server.expect(withdrawn("the bridge is closing"))
        await server.expect_end()
        await closing


async def test_nobody_waits_in_a_bridge_that_has_closed() -> None:
    """A server that asks then is told so."""
    async with played() as (bridge, client):
        await ask(client, 1, "tools/call", CALL)
        server = await bridge.greeted()
        await server.receive()
        await bridge.behind.held.close()
        await server.ask("q", "elicitation/create", FORM)
        refusal = await server.receive()
        assert refusal["error"]["message"] == "the bridge is closing, and its client cannot come back to it"
        await server.send({"jsonrpc": "2.0", "id": 2, "result": {"content": []}})
        assert (await client.receive())["result"]["content"] == []


# Being told of changes.


async def test_resources_that_cannot_be_subscribed_to_are_not_granted() -> None:
    """The acknowledgement says which can."""
    async with played() as (bridge, client):
        wanted = {"notifications": {"resourceSubscriptions": ["a:a", "b:b"]}}
        await ask(client, 1, "subscriptions/listen", wanted)
        server = await bridge.greeted({"resources": {"subscribe": True}})
        first, second = await server.receive_many(2)
        error = {"code": -32002, "message": "no"}
        await server.send({"jsonrpc": "2.0", "id": first["id"], "error": error})
        await server.answer(second, {})
        acknowledged = await client.receive()
        assert acknowledged["params"]["notifications"] == {"resourceSubscriptions": ["b:b"]}


async def test_a_server_that_ends_ends_what_it_told_of() -> None:
    """With an answer, so that the client asks anew."""
    async with played() as (bridge, client):
        await ask(client, 1, "subscriptions/listen", {"notifications": {"toolsListChanged": True}})
        server = await bridge.greeted({"tools": {"listChanged": True}})
        assert (await client.receive())["method"] == "notifications/subscriptions/acknowledged"
        await server.close()
        got = await client.receive()
        assert (got["id"], got["result"]["resultType"]) == (1, "complete")


async def test_a_discovery_that_fails_after_one_that_did_not_is_an_error_of_its_own() -> None:
    """Nothing is remembered of the first."""
    async with played() as (bridge, client):
        await ask(client, 1, "server/discover")
        await bridge.greeted()
        assert (await client.receive())["result"]["supportedVersions"]
        await ask(client, 2, "server/discover")
        server = await bridge.server()
        greeting = await server.receive()
        await server.send({"jsonrpc": "2.0", "id": greeting["id"], "error": {"code": 7, "message": "no"}})
        assert (await client.receive())["error"]["code"] == 7
        await ask(client, 3, "server/discover")
        await (await bridge.server()).close()
        assert await client.fails() == (b"3", "behind ended before it shook hands")


# Ids and tokens.

IDS = ["0", "-1", "1.0", "1e0", "123456789012345678901234567890", '""', '"1"', '"\\ud83d"', '"\\u0061"']


def raw(id: str, method: str, params: str = "") -> bytes:
    """A request of the client in bytes."""
    key = "io.modelcontextprotocol/"
    said = f'"{key}protocolVersion":"2026-07-28","{key}clientCapabilities":{{}}{params}'
    return f'{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{{"_meta":{{{said}}}}}}}'.encode()


@pytest.mark.parametrize("id", IDS)
async def test_an_id_of_any_type_comes_back_as_it_was_written(id: str) -> None:
    """In an answer, in a round, and in what belongs to a subscription."""
    async with played() as (bridge, client):
        await client.send(raw(id, "x/y"))
        server = await bridge.greeted()
        await server.answer(await server.receive(), {})
        reply: Any = await client.receive_message()
        assert reply.id == id.encode()
        await client.send(raw(id, "x/z").replace(b'{"_meta"', b'{"notifications":{},"_meta"'))
        await (await bridge.greeted()).close()
        assert (await client.fails())[0] == id.encode()


@pytest.mark.parametrize("id", IDS)
async def test_a_subscription_is_named_by_the_id_as_it_was_written(id: str) -> None:
    """In all that belongs to it."""
    async with played() as (bridge, client):
        wanted = b'{"notifications":{"toolsListChanged":true},"_meta"'
        await client.send(raw(id, "subscriptions/listen").replace(b'{"_meta"', wanted))
        server = await bridge.greeted({"tools": {"listChanged": True}})
        tag = b'"io.modelcontextprotocol/subscriptionId":%b' % id.encode()
        acknowledged: Any = await client.receive_message()
        assert tag in acknowledged.params
        await server.notify("notifications/tools/list_changed")
        told: Any = await client.receive_message()
        assert tag in told.params
        await server.close()
        ended: Any = await client.receive_message()
        assert tag in ended.result


@pytest.mark.parametrize("token", ["0", "-1", "1.50", "12345678901234567890123", '""', '"\\ud83d"', "[]"])
async def test_a_progress_token_of_any_type_is_that_of_the_server(token: str) -> None:
    """With the bytes of what it stands for."""
    async with played() as (bridge, client):
        await client.send(raw("1", "tools/call", f',"progressToken":{token}'))
        server = await bridge.greeted()
        asked: Any = await server.receive_message()
        assert asked.params == b'{"_meta":{"progressToken":%b}}' % token.encode()
        told = f'{{"progressToken":{token},"progress":1.0e-5}}'
        await server.send(f'{{"jsonrpc":"2.0","method":"notifications/progress","params":{told}}}'.encode())
        heard: Any = await client.receive_message()
        assert heard.params == told.encode()
        await server.send({"jsonrpc": "2.0", "id": 2, "result": {}})
        assert (await client.receive())["id"] == 1


async def test_a_server_that_reports_under_another_token_reports_of_the_same_request() -> None:
    """There is no other on its connection."""
    async with played() as (bridge, client):
        await client.send(raw("1", "tools/call", ',"progressToken":7'))
        server = await bridge.greeted()
        await server.receive()
        await server.notify("notifications/progress", {"progressToken": "7", "progress": 1})
        assert (await client.receive())["params"] == {"progressToken": 7, "progress": 1}


@pytest.mark.parametrize("limit", [1, 3])
async def test_more_requests_than_may_be_unanswered_are_refused(limit: int) -> None:
    """As many connections as may be there at once."""
    async with played(DEFAULT_LIMITS.replace(requests_in_flight=limit)) as (bridge, client):
        for id in range(limit + 1):
            await ask(client, id, "x/y")
        assert (await client.receive())["id"] == limit
        assert len(bridge.behind.connections) == limit


# With both sides real.


@in_virtual_time
async def test_a_handler_whose_client_gave_up_while_it_was_asked_is_stopped() -> None:
    """When nobody can come back to it any more; until then it waits, as the client may."""
    server = Server("inn", eras=["legacy"])
    stopped: list[float] = []
    asked = asyncio.Event()

    @server.tool
    async def book(context: Context) -> str:
        try:
            return str(await context.elicit("Who?", Name))
        except asyncio.CancelledError:
            stopped.append(asyncio.get_running_loop().time())
            raise

    async def never(form: ElicitParams) -> None:
        asked.set()
        await asyncio.Event().wait()

    limits = DEFAULT_LIMITS.replace(held_seconds=5)
    async with meeting(server, limits=limits, on_elicit=never) as client:
        calling = asyncio.create_task(client.call_tool("book"))
        await asked.wait()
        calling.cancel()
        await asyncio.wait([calling])
        await asyncio.sleep(6)
    [when] = stopped
    assert 5 <= when < 6
