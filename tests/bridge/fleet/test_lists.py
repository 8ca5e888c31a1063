"""What all servers have, as one list: who is asked for it, when it is asked again, and who hears that it changed."""

from __future__ import annotations

import asyncio
from typing import Any

from anywire import Server
from anywire.testing import ScriptedPeer, in_virtual_time
from tests.bridge.fleet.houses import LIMITS, Ours, Played, house
from tests.bridge.fleet.test_conversations import answered, note, talk

CHANGED = note("notifications/tools/list_changed")


async def tools(client: ScriptedPeer, id: object = "list") -> list[str]:
    """Ask for the tools; return their names."""
    await client.ask(id, "tools/list")
    reply = await client.receive()
    assert reply.get("id") == id, reply
    return [tool["name"] for tool in reply["result"]["tools"]]


@in_virtual_time
async def test_what_servers_list_is_merged_in_the_order_of_the_file() -> None:
    """All pages of each; items stay byte for byte, but for their names."""
    async with (
        house({"left": (left := Played()), "right": (right := Played())}) as ours,
        ours.raw() as client,
    ):
        await client.initialize()
        await client.ask(1, "tools/list")
        second = await right.next()
        await second.opens()
        await second.answers("tools/list", {"tools": [{"name": "c"}]})
        first = await left.next()
        await first.opens()
        asked = await first.hears("tools/list")
        page = (
            b'{"jsonrpc":"2.0","id":"%b","result":{"nextCursor":"2","tools":[{"x":1.0e-5,"name":"a"}, {}]}}'
        )
        await first.peer.send(page % asked["id"].encode())
        asked = await first.answers("tools/list", {"tools": [{"name": "b"}]})
        assert asked["params"] == {"cursor": "2"}
        reply: Any = await client.receive_message()
        assert (
            reply.result
            == b'{"tools":[{"x":1.0e-5,"name":"left__a"},{"name":"left__b"},{"name":"right__c"}]}'
        )


@in_virtual_time
async def test_the_next_client_starts_nothing_to_know_what_there_is() -> None:
    """The lists are kept; only a call starts a server, and only its own."""
    async with talk() as t, t.house.raw() as client:
        await client.initialize()
        assert await tools(client) == ["left__do", "right__do"]
        left, right = t.house.maker("left"), t.house.maker("right")
        assert (left.made, right.made) == (1, 1)
        await client.call(1, "right__do")
        play = await right.next()
        await play.opens()
        await play.answers("tools/call")
        await client.expect(answered(1, {}))
        assert (left.made, right.made) == (1, 2)


@in_virtual_time
async def test_lists_that_may_differ_are_each_clients_own() -> None:
    """Where headers of the client go on to the server, say."""
    left = Played()
    async with house({"left": left}, keeps_lists=False) as ours, ours.raw() as one, ours.raw() as two:
        for client, tool in ((one, "a"), (two, "b")):
            await client.initialize()
            play = await left.next()
            await play.opens()
            await play.lists(tool)
        assert await tools(one) == ["left__a"]
        assert await tools(two) == ["left__b"]


@in_virtual_time
async def test_all_who_have_seen_a_list_hear_that_it_changed_and_it_is_asked_again() -> None:
    """Once: a server that says so for each of its processes does not multiply it."""
    async with talk() as t, t.house.raw() as other:
        await other.initialize()
        assert await tools(other) == ["left__do", "right__do"]
        await t.left.peer.send(CHANGED)
        await t.client.expect(CHANGED)
        await other.expect(CHANGED)
        await t.left.peer.send(CHANGED)
        await t.client.expect_silence()
        await t.client.ask(1, "tools/list")
        await t.left.lists("do", "undo")
        reply = await t.client.receive()
        assert [tool["name"] for tool in reply["result"]["tools"]] == ["left__do", "left__undo", "right__do"]
        await t.client.expect_silence()
        assert await tools(other) == ["left__do", "left__undo", "right__do"]


@in_virtual_time
async def test_a_list_that_changes_while_it_is_asked_is_asked_again() -> None:
    """What came may be what was before."""
    async with talk() as t:
        await t.left.peer.send(CHANGED)
        await t.client.expect(CHANGED)
        await t.client.ask(1, "tools/list")
        asked = await t.left.hears("tools/list")
        await t.left.peer.send(CHANGED)
        await t.left.peer.answer(asked, {"tools": [{"name": "old"}]})
        await t.client.expect(CHANGED)
        await t.client.receive()
        await t.client.ask(2, "tools/list")
        await t.left.lists("new")
        reply = await t.client.receive()
        assert [tool["name"] for tool in reply["result"]["tools"]] == ["left__new", "right__do"]


@in_virtual_time
async def test_an_old_list_is_asked_again() -> None:
    """Some servers do not say when theirs changes."""
    async with talk() as t:
        await asyncio.sleep(LIMITS.list_seconds + 1)
        await t.client.ask(1, "tools/list")
        await t.left.lists("new")
        await t.right.lists("do")
        reply = await t.client.receive()
        assert [tool["name"] for tool in reply["result"]["tools"]] == ["left__new", "right__do"]


@in_virtual_time
async def test_a_slow_server_is_left_out_and_comes_later() -> None:
    """The others are listed in time; it is reported, and the client hears when it is there."""
    async with (
        house({"slow": (slow := Played()), "quick": (quick := Played())}) as ours,
        ours.raw() as client,
    ):
        await client.initialize()
        await client.ask(1, "tools/list")
        first = await quick.next()
        await first.opens()
        await first.lists("do")
        reply = await client.receive()
        assert [tool["name"] for tool in reply["result"]["tools"]] == ["quick__do"]
        assert ours.reports == ["tools/list was not answered within 15 s"]
        assert list(ours.fleet.troubles) == ["slow"]
        before = asyncio.get_running_loop().time()
        assert await tools(client) == ["quick__do"]  # it is not waited for a second time
        assert asyncio.get_running_loop().time() < before + 1
        second = await slow.next()
        await second.opens()
        await second.lists("crawl")
        await client.expect(CHANGED)
        assert await tools(client) == ["slow__crawl", "quick__do"]
        assert not ours.fleet.troubles


@in_virtual_time
async def test_a_server_that_is_slow_to_say_what_changed_is_listed_as_it_was() -> None:
    """That is better than nothing, and the client hears of what is new."""
    async with talk() as t:
        await t.left.peer.send(CHANGED)
        await t.client.expect(CHANGED)
        assert await tools(t.client) == ["left__do", "right__do"]
        await t.left.lists("new")
        await t.client.expect(CHANGED)
        assert await tools(t.client) == ["left__new", "right__do"]


@in_virtual_time
async def test_a_server_is_asked_for_what_it_has_only() -> None:
    """No capability, no list; and one that knows no templates has none."""
    async with house({"left": (left := Played())}) as ours, ours.raw() as client:
        await client.initialize()
        play = await left.next()
        await play.opens(capabilities={"resources": {}})
        assert await tools(client) == []
        await client.ask(1, "prompts/list")
        await client.expect(answered(1, {"prompts": []}))
        await client.ask(2, "resources/list")
        await play.answers("resources/list", {"resources": [{"uri": "a:b", "name": "b"}]})
        await client.expect(answered(2, {"resources": [{"uri": "left+a:b", "name": "b"}]}))
        await client.ask(3, "resources/templates/list")
        asked = await play.hears("resources/templates/list")
        error = {"code": -32601, "message": "m"}
        await play.peer.send({"jsonrpc": "2.0", "id": asked["id"], "error": error})
        await client.expect(answered(3, {"resourceTemplates": []}))
        assert not ours.fleet.troubles


@in_virtual_time
async def test_lists_that_cannot_be_used_are_reported_and_left_out() -> None:
    """An error of the server, and what is no list."""
    async with (
        house({"left": (left := Played()), "right": (right := Played())}) as ours,
        ours.raw() as client,
    ):
        await client.initialize()
        await client.ask(1, "tools/list")
        first = await left.next()
        await first.opens()
        asked = await first.hears("tools/list")
        await first.peer.send(
            {"jsonrpc": "2.0", "id": asked["id"], "error": {"code": 1, "message": "closed"}}
        )
        second = await right.next()
        await second.opens()
        await second.answers("tools/list", {"tools": 7})
        await client.expect(answered(1, {"tools": []}))
        assert "closed" in ours.fleet.troubles["left"]
        assert "cannot be read" in ours.fleet.troubles["right"]


@in_virtual_time
async def test_a_list_that_is_too_long_comes_in_pages() -> None:
    """With cursors that can be used again, and are good for their own list only."""
    limits = LIMITS.replace(list_page_bytes=60)
    async with house({"left": (left := Played())}, limits=limits) as ours, ours.raw() as client:
        await client.initialize()
        play = await left.next()
        await play.opens()
        await play.answers("tools/list", {"tools": [{"name": f"{n}" * 20} for n in range(3)]})
        await client.ask(1, "tools/list")
        seen: list[str] = []
        page = (await client.receive())["result"]
        cursors: list[str] = []
        while True:
            seen += [tool["name"][6] for tool in page["tools"]]
            if "nextCursor" not in page:
                break
            cursors.append(page["nextCursor"])
            await client.ask(2, "tools/list", {"cursor": cursors[-1]})
            page = (await client.receive())["result"]
        assert seen == ["0", "1", "2"]
        await client.ask(3, "tools/list", {"cursor": cursors[0]})
        assert (await client.receive())["result"]["tools"][0]["name"][6] == "1"
        await client.ask(4, "prompts/list", {"cursor": cursors[0]})
        assert (await client.receive())["error"]["code"] == -32602


@in_virtual_time
async def test_a_long_name_is_called_before_its_list_was_asked_for() -> None:
    """A client may know it from before: the list is fetched first, and says what it is."""
    server = Server("long")
    name = "n" * 70

    @server.tool(name=name)
    async def long() -> str:
        return "called"

    async with house({"long": Ours(server)}) as ours, ours.client() as client:
        (tool,) = await client.tools()
        merged = tool.name
        assert len(merged) == 64
        assert (await client.call_tool(merged)).text == "called"
    async with house({"long": Ours(server)}) as ours, ours.raw() as client:
        await client.initialize()
        await client.call(1, merged)
        assert (await client.receive())["result"]["content"][0]["text"] == "called"
        await client.call(2, merged[:-8] + "00000000")
        assert (await client.receive())["result"]["isError"]


@in_virtual_time
async def test_what_servers_say_of_themselves_is_handed_on_once_it_is_known() -> None:
    """The next client finds it in the instructions."""
    async with house({"left": (left := Played())}) as ours, ours.raw() as client:
        await client.initialize()
        play = await left.next()
        await play.opens(instructions="Left is right.")
        await play.lists()
        assert await tools(client) == []
        async with ours.raw() as other:
            assert "Left is right." in (await other.initialize())["instructions"]


@in_virtual_time
async def test_no_servers_are_no_error() -> None:
    """The lists are empty, and the instructions say why."""
    async with house({}) as ours, ours.raw() as client:
        assert "none" in (await client.initialize())["instructions"]
        assert await tools(client) == []


@in_virtual_time
async def test_what_a_server_lists_twice_is_listed_once() -> None:
    """On one page, and on one that comes again since its cursor does."""
    async with house({"left": (left := Played())}) as ours, ours.raw() as client:
        await client.initialize()
        play = await left.next()
        await play.opens()
        page = {"tools": [{"name": "a", "n": 1}, {"name": "b"}, {"name": "a", "n": 2}], "nextCursor": "same"}
        await play.answers("tools/list", page)
        await play.answers("tools/list", page)
        await client.ask(1, "tools/list")
        listed = [{"name": "left__a", "n": 1}, {"name": "left__b"}]
        await client.expect(answered(1, {"tools": listed}))


@in_virtual_time
async def test_a_server_with_a_long_name_is_shown_with_what_its_tools_begin_with() -> None:
    """A model has to find it there; and a call without a name is told what is missing."""
    name = "n" * 300
    async with house({name: Played()}) as ours, ours.raw() as client:
        instructions = (await client.initialize())["instructions"]
        prefix = ours.fleet.names[name].prefix
        assert f"(as {prefix})" in instructions
        assert f"together: {'n' * 64}… (as" in instructions
        await client.ask(1, "tools/call", {})
        text = (await client.receive())["result"]["content"][0]["text"]
        assert text.startswith("No tool is named. Tools are called SERVER__NAME")
        assert f"(as {prefix})" in text


@in_virtual_time
async def test_a_reply_that_says_nothing_settles_its_call() -> None:
    """The client hears that it cannot be used."""
    async with talk() as t:
        await t.client.call(1, "left__do")
        asked = await t.left.hears("tools/call")
        await t.left.peer.send_bytes(b'{"jsonrpc":"2.0","id":%d}\n' % asked["id"])
        message = (await t.client.receive())["error"]["message"]
        assert "its reply cannot be used" in message
