"""Servers come and go while clients are there: what did not change is not touched, what left finishes."""

from __future__ import annotations

import asyncio

import pytest

from anywire.errors import TransportClosed
from anywire.testing import in_virtual_time
from tests.bridge.fleet.houses import LIMITS, Played, house
from tests.bridge.fleet.test_conversations import answered, note, talk
from tests.bridge.fleet.test_lists import tools

ALL_CHANGED = [
    note("notifications/tools/list_changed"),
    note("notifications/prompts/list_changed"),
    note("notifications/resources/list_changed"),
]


@in_virtual_time
async def test_a_server_that_leaves_finishes_what_it_was_asked() -> None:
    """It is asked nothing more, and ends after its last answer; the other goes on as it was."""
    async with talk() as t:
        await t.client.call(1, "left__do")
        await t.client.call(2, "right__do")
        await t.left.hears("tools/call")
        await t.right.hears("tools/call")
        right, left = t.house.maker("right"), t.house.upstreams["left"]
        retired = t.house.have({"right": right})
        assert retired == {"left": left}
        await t.client.expect(*ALL_CHANGED)
        await t.client.call(3, "left__do")
        assert (await t.client.receive())["result"]["isError"]
        assert await tools(t.client) == ["right__do"]
        draining = asyncio.ensure_future(t.house.fleet.drained(retired.values()))
        await t.left.peer.expect_silence()
        assert not draining.done()
        await t.left.peer.send(answered(1, {"link": 1}))
        await t.client.expect(answered(1, {"link": 1}))
        async with asyncio.timeout(10):
            await draining
        await t.left.peer.expect_end()
        await t.right.peer.send(answered(2, {}))
        await t.client.expect(answered(2, {}))
        await left.close()


@in_virtual_time
async def test_a_server_that_leaves_and_does_not_answer_is_not_waited_for_for_ever() -> None:
    """Its calls fail then."""
    async with talk() as t:
        await t.client.call(1, "left__do")
        await t.left.hears("tools/call")
        left = t.house.upstreams["left"]
        retired = t.house.have({"right": t.house.maker("right")})
        await t.client.expect(*ALL_CHANGED)
        async with asyncio.timeout(3 * LIMITS.request_seconds):
            await t.house.fleet.drained(retired.values())
        assert (await t.client.receive())["error"]["message"].startswith("left: ")
        await left.close()


@in_virtual_time
async def test_another_server_of_the_same_name_takes_over_for_new_calls() -> None:
    """While the old one still answers what it was asked."""
    async with talk() as t:
        await t.client.call(1, "left__do")
        await t.left.hears("tools/call")
        old, new = t.house.upstreams.pop("left"), Played()
        t.house.have({"left": new, "right": t.house.maker("right")})
        await t.client.expect(*ALL_CHANGED)
        await t.client.call(2, "left__do")
        play = await new.next()
        await play.opens()
        heard = [await play.peer.receive(), await play.peer.receive()]
        call = next(each for each in heard if each["method"] == "tools/call")
        listing = next(each for each in heard if each["method"] == "tools/list")
        await play.peer.answer(listing, {"tools": [{"name": "new"}]})
        await play.peer.answer(call, {"of": "new"})
        await t.client.expect(answered(2, {"of": "new"}))
        await t.left.peer.send(answered(1, {"of": "old"}))
        await t.client.expect(answered(1, {"of": "old"}))
        assert await tools(t.client) == ["left__new", "right__do"]
        await t.left.peer.expect_end()
        await old.close()


@in_virtual_time
async def test_a_server_that_leaves_before_it_was_there_answers_what_waited() -> None:
    """What was asked in good time is not dropped."""
    async with house({"left": (left := Played())}) as ours, ours.raw() as client:
        await client.initialize()
        await client.call(1, "left__do")
        play = await left.next()
        upstream = ours.upstreams["left"]
        ours.have({})
        await client.expect(*ALL_CHANGED)
        await play.opens()
        heard = [await play.peer.receive()]
        while heard[-1]["method"] != "tools/call":
            heard.append(await play.peer.receive())
        await play.peer.answer(heard[-1], {})
        await client.expect(answered(1, {}))
        await play.peer.expect_end()
        await upstream.close()


@in_virtual_time
async def test_a_server_that_nothing_was_asked_leaves_at_once() -> None:
    """And the same servers again are no change."""
    async with talk() as t:
        makers = {name: each._make for name, each in t.house.upstreams.items()}
        assert t.house.have(makers) == {}
        await t.client.expect_silence()
        left = t.house.upstreams["left"]
        t.house.have({"right": makers["right"]})
        await t.left.peer.expect_end()
        await left.close()


@in_virtual_time
async def test_a_client_that_is_leaving_starts_nothing_more() -> None:
    """Another server that comes meanwhile is none of its."""
    async with talk() as t:
        (connection,) = t.house.fleet._connections
        closing = asyncio.ensure_future(connection.close())
        await asyncio.sleep(0)
        makers = {name: t.house.maker(name) for name in t.house.upstreams}
        t.house.have({**makers, "new": (new := Played())})
        async with asyncio.timeout(10):
            await closing
        assert new.made == 0


@in_virtual_time
async def test_a_closed_fleet_is_offered_no_more() -> None:
    """Its clients are ended, and others refused."""
    async with talk() as t:
        await t.house.fleet.close()
        await t.client.expect_end()
        assert len(t.house.fleet) == 0
        with pytest.raises(TransportClosed):
            t.house.fleet.target()
