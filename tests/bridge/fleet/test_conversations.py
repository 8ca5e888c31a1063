"""What one client and several servers say to each other: whose it is, and under which id, token and name."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

from anywire.testing import ScriptedPeer, in_virtual_time
from anywire.wire.codec import decode
from tests.bridge.fleet.houses import LIMITS, House, Play, Played, house

CAN: dict[str, Any] = {"sampling": {}, "roots": {"listChanged": True}, "tasks": {"list": {}}}


class Talk:
    """A client, two servers that a test plays, and the conversations between them."""

    def __init__(self, ours: House, client: ScriptedPeer, left: Play, right: Play) -> None:
        self.house, self.client, self.left, self.right = ours, client, left, right


async def opened(makers: dict[str, Played], client: ScriptedPeer, *names: str) -> list[Play]:
    """Let servers come up that the client's `initialize` has started, each with one tool."""
    plays: list[Play] = []
    for name in names:
        play = await makers[name].next()
        await play.opens()
        await play.lists("do")
        plays.append(play)
    return plays


@asynccontextmanager
async def talk(revision: str = "2025-11-25", **options: Any) -> AsyncGenerator[Talk]:
    """All have shaken hands."""
    makers = {"left": Played(), "right": Played()}
    async with house(makers, **options) as ours, ours.raw() as client:
        await client.initialize(revision, CAN)
        left, right = await opened(makers, client, "left", "right")
        await client.expect_silence()
        yield Talk(ours, client, left, right)


def answered(id: object, result: object) -> dict[str, Any]:
    """A reply."""
    return {"jsonrpc": "2.0", "id": id, "result": result}


def note(method: str, params: object = None) -> dict[str, Any]:
    """A notification."""
    return {"jsonrpc": "2.0", "method": method, **({} if params is None else {"params": params})}


@in_virtual_time
async def test_initialize_is_answered_before_any_server_is_there() -> None:
    """It says who they are; the servers then get what the client has said of itself."""
    makers = {"left": Played(), "right": Played()}
    async with house(makers) as ours, ours.raw() as client:
        result = await client.initialize("2025-06-18", CAN)
        assert result["protocolVersion"] == "2025-06-18"
        assert result["serverInfo"]["name"] == "anywire"
        assert result["capabilities"] == {
            "tools": {"listChanged": True},
            "prompts": {"listChanged": True},
            "resources": {"subscribe": True, "listChanged": True},
            "completions": {},
            "logging": {},
        }
        assert "left, right" in result["instructions"]
        play = await makers["right"].next()
        request = await play.opens()
        assert request["params"] == {
            "protocolVersion": "2025-06-18",
            "capabilities": {"sampling": {}, "roots": {"listChanged": True}},
            "clientInfo": {"name": "scripted", "version": "1"},
        }


@in_virtual_time
async def test_a_revision_that_nobody_knows_is_agreed_on_for_all() -> None:
    """The servers are asked for what the client was told."""
    left = Played()
    async with house({"left": left}) as ours, ours.raw() as client:
        assert (await client.initialize("2099-01-01"))["protocolVersion"] == "2025-11-25"
        request = await (await left.next()).opens()
        assert request["params"]["protocolVersion"] == "2025-11-25"


@in_virtual_time
async def test_ids_and_tokens_go_on_as_they_are() -> None:
    """What is odd about a call reaches its server, and its answer comes back, byte for byte."""
    async with talk() as t:
        call = (
            b'{"jsonrpc":"2.0","odd": 1.0,"id":"\\u0031","method":"tools/call","params":'
            b'{"arguments":{"n":12345678901234567890},"_meta":{"progressToken":7.0},"name":"%b"}}'
        )
        await t.client.send(call % b"right__do")
        assert await t.right.peer.receive_message() == decode(call % b"do")
        await t.left.peer.expect_silence()
        progress = note("notifications/progress", {"progressToken": 7.0, "progress": 1})
        await t.left.peer.send(progress)  # it has no such request
        await t.right.peer.send(progress)
        await t.right.peer.send(b'{"jsonrpc":"2.0","id":"1","result":{"f": 1.0e-5}}')
        await t.client.expect(progress)
        reply = await t.client.receive_message()
        assert reply == decode(b'{"jsonrpc":"2.0","id":"1","result":{"f": 1.0e-5}}')
        await t.right.peer.send(progress)  # late
        await t.right.peer.send(answered("1", {}))
        await t.client.expect_silence()


@in_virtual_time
async def test_equal_ids_of_two_clients_are_two_requests() -> None:
    """Each has conversations of its own."""
    left = Played()
    async with house({"left": left}) as ours, ours.raw() as one, ours.raw() as two:
        await one.initialize()
        first = await left.next()
        await first.opens()
        await first.lists("do")
        await two.initialize()
        await one.call(1, "left__do")
        await two.call(1, "left__do")
        second = await left.next()
        await second.opens()
        await second.answers("tools/call", {"of": "two"})
        await first.answers("tools/call", {"of": "one"})
        await one.expect(answered(1, {"of": "one"}))
        await two.expect(answered(1, {"of": "two"}))


@in_virtual_time
async def test_an_id_in_flight_is_refused() -> None:
    """Whether it is the client's own, or one that we have given."""
    async with talk() as t:
        await t.client.call(1, "left__do")
        await t.client.call(1, "right__do")
        refusal = await t.client.receive()
        assert (refusal["id"], refusal["error"]["code"]) == (1, -32600)
        await t.left.answers("tools/call")
        await t.client.expect(answered(1, {}))


@in_virtual_time
async def test_what_two_servers_ask_under_one_id_is_told_apart() -> None:
    """The client sees ids and progress tokens of ours, and each server gets its own answer and progress."""
    async with talk() as t:
        params = {"maxTokens": 1, "_meta": {"progressToken": "p"}}
        ask = {"jsonrpc": "2.0", "id": 1, "method": "sampling/createMessage", "params": params}
        await t.left.peer.send(ask)
        await t.right.peer.send(ask)
        first, second = await t.client.receive_many(2)
        assert first["id"] != second["id"]
        assert first["params"]["_meta"]["progressToken"] == first["id"]
        await t.client.send(note("notifications/progress", {"progressToken": second["id"], "progress": 1}))
        await t.right.peer.expect(note("notifications/progress", {"progressToken": "p", "progress": 1}))
        await t.client.answer(second, {"to": "right"})
        await t.client.answer(first, {"to": "left"})
        await t.right.peer.expect(answered(1, {"to": "right"}))
        await t.left.peer.expect(answered(1, {"to": "left"}))
        await t.client.answer(first, {"to": "left"})
        await t.left.peer.expect_silence()


@in_virtual_time
async def test_a_question_that_is_taken_back_is_the_clients_under_its_id() -> None:
    """And nobody else's: the other server's question under that id stays."""
    async with talk() as t:
        ask = {"jsonrpc": "2.0", "id": 1, "method": "roots/list"}
        await t.left.peer.send(ask)
        await t.right.peer.send(ask)
        first, second = await t.client.receive_many(2)
        await t.left.peer.send(note("notifications/cancelled", {"requestId": 1, "reason": "r"}))
        await t.client.expect(note("notifications/cancelled", {"requestId": first["id"], "reason": "r"}))
        await t.client.answer(second, {"roots": []})
        await t.right.peer.expect(answered(1, {"roots": []}))


@in_virtual_time
async def test_a_call_that_is_taken_back_is_its_servers() -> None:
    """Its answer is nobody's then, and its id is free."""
    async with talk() as t:
        await t.client.call(1, "left__do")
        await t.left.hears("tools/call")
        cancel = note("notifications/cancelled", {"requestId": 1})
        await t.client.send(cancel)
        await t.left.peer.expect(cancel)
        await t.left.peer.send(answered(1, {"late": True}))
        await t.client.call(1, "right__do")
        await t.right.answers("tools/call", {"of": "right"})
        await t.client.expect(answered(1, {"of": "right"}))


@in_virtual_time
async def test_a_call_that_is_taken_back_before_its_server_is_there_never_reaches_it() -> None:
    """Neither does its cancellation."""
    left = Played()
    async with house({"left": left}) as ours, ours.raw() as client:
        await client.initialize()
        await client.call(1, "left__do")
        await client.call(2, "left__do")
        await client.notify("notifications/cancelled", {"requestId": 1})
        play = await left.next()
        await play.opens()
        assert (await play.answers("tools/call"))["id"] == 2
        await play.hears("tools/list")
        await client.expect(answered(2, {}))
        await play.peer.expect_silence()


@in_virtual_time
async def test_pings_are_answered_here() -> None:
    """Those of the client, and those of servers."""
    async with talk() as t:
        await t.client.ask(1, "ping")
        await t.client.expect(answered(1, {}))
        await t.left.peer.ask(1, "ping")
        await t.left.peer.expect(answered(1, {}))
        await t.client.expect_silence()


@in_virtual_time
async def test_the_level_of_logs_is_told_to_all_and_their_lines_say_whose_they_are() -> None:
    """Also to a server that starts later."""
    async with talk() as t:
        await t.client.ask(1, "logging/setLevel", {"level": "loud"})
        assert (await t.client.receive())["error"]["code"] == -32602
        await t.client.ask(2, "logging/setLevel", {"level": "debug"})
        await t.client.expect(answered(2, {}))
        assert (await t.left.answers("logging/setLevel"))["params"] == {"level": "debug"}
        await t.right.answers("logging/setLevel")
        await t.left.peer.send(note("notifications/message", {"level": "info", "logger": "db", "data": 1}))
        await t.right.peer.send(note("notifications/message", {"level": "info", "data": 1}))
        assert [each["params"]["logger"] for each in await t.client.receive_many(2)] == ["left/db", "right"]
        later = Played()
        t.house.have({"left": later, "later": later})
        await t.client.receive_many(3)
        play = await later.next()
        await play.opens()
        assert (await play.answers("logging/setLevel"))["params"] == {"level": "debug"}
        await play.lists("do")


@in_virtual_time
async def test_changed_roots_are_told_to_all() -> None:
    """Each may have asked for them."""
    async with talk() as t:
        await t.client.notify("notifications/roots/list_changed")
        await t.left.hears("notifications/roots/list_changed")
        await t.right.hears("notifications/roots/list_changed")


@in_virtual_time
async def test_subscriptions_are_their_servers_and_survive_it() -> None:
    """A server that takes over for good is asked again, and the client told that it may have missed something."""
    async with talk() as t:
        await t.client.ask(1, "resources/subscribe", {"uri": "left+a:b"})
        assert (await t.left.answers("resources/subscribe"))["params"] == {"uri": "a:b"}
        await t.client.expect(answered(1, {}))
        updated = note("notifications/resources/updated", {"uri": "left+a:b"})
        await t.left.peer.send(note("notifications/resources/updated", {"uri": "a:b"}))
        await t.client.expect(updated)
        await t.client.ask(2, "resources/unsubscribe", {"uri": "left+a:b"})
        assert (await t.left.answers("resources/unsubscribe"))["params"] == {"uri": "a:b"}
        await t.client.expect(answered(2, {}))


@in_virtual_time
async def test_what_nobody_has_is_refused_in_words() -> None:
    """A tool with a result that a model can read; each names the servers."""
    async with talk() as t:
        await t.client.call(1, "do")
        result = (await t.client.receive())["result"]
        assert result["isError"]
        assert "left, right" in result["content"][0]["text"]
        for id, method, params, code in (
            (2, "prompts/get", {"name": "up__do"}, -32602),
            (3, "resources/read", {"uri": "file:///x"}, -32002),
            (4, "completion/complete", {"ref": {"type": "ref/prompt", "name": "x"}}, -32602),
            (5, "tasks/list", None, -32601),
            (6, "tools/list", {"cursor": "theirs"}, -32602),
        ):
            await t.client.ask(id, method, params)
            error = (await t.client.receive())["error"]
            assert error["code"] == code, error
        await t.client.send(
            b'{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"left__a","name":"b"}}'
        )
        assert "twice" in (await t.client.receive())["error"]["message"]
        await t.client.notify("notifications/whatever")
        await t.left.peer.expect_silence()


@in_virtual_time
async def test_errors_of_servers_are_their_own() -> None:
    """Code, message and data go on as they came."""
    async with talk() as t:
        await t.client.call(1, "left__do")
        await t.left.hears("tools/call")
        error = {"code": 5, "message": "m", "data": {"x": [1]}}
        await t.left.peer.send({"jsonrpc": "2.0", "id": 1, "error": error})
        await t.client.expect({"jsonrpc": "2.0", "id": 1, "error": error})


@in_virtual_time
async def test_a_batch_is_answered_with_one() -> None:
    """Whoever answers which part of it, and when."""
    async with talk("2025-03-26") as t:
        await t.client.send(
            [
                {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "left__do"}},
                {"jsonrpc": "2.0", "id": 2, "method": "ping"},
                {"jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": {"name": "right__do"}},
                {"jsonrpc": "2.0", "id": 4, "method": "tools/call", "params": {"name": "right__do"}},
                note("notifications/cancelled", {"requestId": 4}),
                {"jsonrpc": "2.0", "id": 5, "method": "nothing"},
            ]
        )
        assert (await t.right.answers("tools/call"))["id"] == 3
        await t.client.expect_silence()
        await t.left.answers("tools/call")
        replies = await t.client.receive()
        assert sorted(reply["id"] for reply in replies) == [1, 2, 3, 5]
        await t.client.expect_silence()


@in_virtual_time
async def test_too_many_unanswered_requests_are_refused() -> None:
    """What is kept for one client is bounded."""
    async with talk(limits=LIMITS.replace(requests_in_flight=2)) as t:
        for id in (1, 2, 3):
            await t.client.call(id, "left__do")
        refusal = await t.client.receive()
        assert refusal["id"] == 3
        assert "unanswered" in refusal["error"]["message"]


@in_virtual_time
async def test_too_many_questions_are_refused() -> None:
    """... and of what servers ask it."""
    async with talk(limits=LIMITS.replace(requests_in_flight=2)) as t:
        for id in (1, 2, 3):
            await t.left.peer.ask(id, "roots/list")
        refusal = await t.left.peer.receive()
        assert refusal["id"] == 3
        assert len(await t.client.receive_many(2)) == 2


@in_virtual_time
async def test_closing_ends_everything_at_once() -> None:
    """Calls that run, lists that are asked for, servers that do not come up: nothing is left."""
    makers = {"left": Played(), "right": Played()}
    async with house(makers) as ours:
        client = ours.raw()
        await client.start()
        await client.initialize()
        await client.ask(1, "tools/list")
        await client.call(2, "left__do")
        play = await makers["left"].next()
        await play.hears("initialize")
        await client.close()
        assert len(ours.fleet) == 0
        async with asyncio.timeout(5):
            await play.peer.expect_end()
