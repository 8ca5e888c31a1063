"""Servers that cannot be started, are slow, or die: only what was asked of them fails, with the reason."""

from __future__ import annotations

import asyncio

from anywire.bridge.meeting.upstream import Sharing
from anywire.errors import SpawnFailed
from anywire.testing import in_virtual_time
from anywire.wire.message import create_request
from tests.bridge.fleet.houses import CRASH, LIMITS, Played, house
from tests.bridge.fleet.test_conversations import answered, note, talk
from tests.bridge.fleet.test_lists import CHANGED, tools

NONE = SpawnFailed("no such program: nothing")


@in_virtual_time
async def test_a_server_that_cannot_be_started_costs_the_others_nothing() -> None:
    """It is reported once, and its calls say why they fail and when it is tried again."""
    broken, left = Played(), Played()
    broken.errors = [NONE] * 100
    async with house({"broken": broken, "left": left}) as ours, ours.raw() as client:
        await client.initialize()
        await client.ask(1, "tools/list")
        play = await left.next()
        await play.opens()
        await play.lists("do")
        assert [tool["name"] for tool in (await client.receive())["result"]["tools"]] == ["left__do"]
        await asyncio.sleep(40)
        assert broken.made <= LIMITS.restarts  # then it is tried when somebody asks
        assert len(ours.reports) == 1
        assert "no such program" in ours.fleet.troubles["broken"]
        await client.call(2, "broken__do")
        error = (await client.receive())["error"]
        assert error["message"].startswith("broken: ")
        assert "no such program" in error["message"]
        made = broken.made
        await client.call(3, "broken__do")
        assert "tried again in 30.0 s" in (await client.receive())["error"]["message"]
        assert await tools(client) == ["left__do"]
        assert broken.made == made


@in_virtual_time
async def test_a_server_that_comes_up_at_last_is_listed() -> None:
    """It is looked for when its next start is due, and the client hears of it."""
    late = Played()
    late.errors = [NONE, NONE]
    async with house({"late": late}) as ours, ours.raw() as client:
        await client.initialize()
        assert await tools(client) == []
        play = await late.next()
        await play.opens()
        await play.lists("do")
        await client.expect(CHANGED)
        assert await tools(client) == ["late__do"]
        assert not ours.fleet.troubles


@in_virtual_time
async def test_a_server_that_dies_costs_its_own_calls() -> None:
    """They fail at once, and say who it was and why; its successor is shaken hands with."""
    async with talk() as t:
        await t.client.call(1, "left__do")
        await t.client.call(2, "right__do")
        await t.left.hears("tools/call")
        await t.right.hears("tools/call")
        t.left.lose()
        error = (await t.client.receive())["error"]
        assert error["message"].startswith("left: ")
        assert "the disk is full" in error["message"]
        maker = t.house.maker("left")
        again = await maker.next()
        await again.opens()
        assert (await t.client.receive()) in [CHANGED, note("notifications/resources/list_changed")]
        await t.client.call(3, "left__do")
        await again.answers("tools/call", {"again": True})
        await t.client.expect(answered(3, {"again": True}))
        await t.right.peer.send(answered(2, {}))
        await t.client.expect(answered(2, {}))


@in_virtual_time
async def test_a_server_that_is_given_up_is_started_again_by_the_next_call() -> None:
    """With what the client had set: its subscriptions, and the word that something may have been missed."""
    async with talk() as t:
        await t.client.ask(1, "resources/subscribe", {"uri": "left+a:b"})
        await t.left.answers("resources/subscribe")
        await t.client.expect(answered(1, {}))
        maker = t.house.maker("left")
        maker.errors = [NONE] * LIMITS.restarts
        t.left.lose()
        await asyncio.sleep(200)
        await t.client.call(2, "left__do")
        again = await maker.next()
        await again.opens()
        assert (await again.answers("resources/subscribe"))["params"] == {"uri": "a:b"}
        assert (await again.answers("tools/call"))["id"] == 2
        await t.client.expect(note("notifications/resources/updated", {"uri": "left+a:b"}), answered(2, {}))


@in_virtual_time
async def test_what_a_lost_server_had_asked_is_taken_back() -> None:
    """Nobody waits for the client's answer."""
    async with talk() as t:
        await t.left.peer.ask(1, "roots/list")
        asked = await t.client.receive()
        t.left.lose()
        cancelled = await t.client.receive()
        assert cancelled["method"] == "notifications/cancelled"
        assert cancelled["params"]["requestId"] == asked["id"]


@in_virtual_time
async def test_a_server_that_never_shakes_hands_is_ended_with_what_it_was_asked() -> None:
    """Whoever waits is told how long was waited."""
    mute = Played()
    async with house({"mute": mute}) as ours, ours.raw() as client:
        await client.initialize()
        await client.call(1, "mute__do")
        play = await mute.next()
        error = (await client.receive())["error"]
        assert error["message"] == "mute: it did not answer initialize within 62 s"
        await play.peer.expect_end()


@in_virtual_time
async def test_a_server_that_refuses_its_client_says_why() -> None:
    """Its own words."""
    picky = Played()
    async with house({"picky": picky}) as ours, ours.raw() as client:
        await client.initialize()
        await client.call(1, "picky__do")
        play = await picky.next()
        asked = await play.hears("initialize")
        error = {"code": -32600, "message": "members only"}
        await play.peer.send({"jsonrpc": "2.0", "id": asked["id"], "error": error})
        asked = await play.hears("server/discover")  # it may be of the other era
        await play.peer.send({"jsonrpc": "2.0", "id": asked["id"], "error": error})
        assert "members only" in (await client.receive())["error"]["message"]


@in_virtual_time
async def test_a_client_on_the_network_hears_how_a_server_failed_and_no_more() -> None:
    """The last words of a server are for whoever runs the bridge."""
    left = Played()
    async with house({"left": left}, discreet=True) as ours, ours.raw() as client:
        await client.initialize()
        await client.call(1, "left__do")
        (await left.next()).lose(CRASH)
        message = (await client.receive())["error"]["message"]
        assert message == "left: the server behind the bridge exited with code 3; see the bridge's log"
        await (await left.next()).hears("initialize")
        await client.call(2, "left__do")
        message = (await client.receive())["error"]["message"]
        assert message == "left: the server behind the bridge did not answer in time; see the bridge's log"
        assert any("the disk is full" in report for report in ours.reports)


@in_virtual_time
async def test_a_server_that_does_not_read_holds_up_nobody_else() -> None:
    """Until too much waits for it: then the client is held, and let go when there is room."""
    limits = LIMITS.replace(write_high_bytes=1000, write_low_bytes=100, unread_bytes=2000)
    async with talk(limits=limits, sharing=Sharing.STATELESS) as t:
        connection = next(iter(t.house.fleet._connections))
        member = connection._table.members["left"]
        assert member.running is not None
        told: list[str] = []
        connection.on_full, connection.on_room = lambda: told.append("full"), lambda: told.append("room")
        member.running.face.hold_reading("it does not read")
        for id in range(1, 12):
            params = {"name": "left__do", "arguments": {"x": "y" * 200}}
            t.client.transport.post(create_request(id, "tools/call", params))
        t.client.transport.post(create_request(20, "tools/call", {"name": "right__do"}))
        await t.right.answers("tools/call")
        refused = 0
        while (reply := await t.client.receive())["id"] != 20:
            assert "left does not read" in reply["error"]["message"]
            refused += 1
        assert 0 < refused < 11
        assert told == ["full"]
        member.running.face.release_reading("it does not read")
        for _ in range(11 - refused):
            await t.left.answers("tools/call")
        assert told == ["full", "room"]
