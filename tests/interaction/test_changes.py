"""What a server offers may change while it runs, and is listed in pages."""

from __future__ import annotations

import asyncio

import pytest

from anywire import Server
from anywire.errors import ConfigError
from anywire.wire.limits import DEFAULT_LIMITS
from tests.interaction.talk import error, in_each_revision, notification, over_each_wire, result, talk, text


def named(number: int) -> str:
    return f"tool{number}"


def say() -> str:
    return "said"


@over_each_wire
@in_each_revision
async def test_clients_hear_of_a_new_tool(wire: str, revision: str) -> None:
    """And can call it at once; one that was taken away is unknown."""
    server = Server("s")
    async with talk(server, wire, revision) as peer:
        server.tool(name="new")(say)
        await peer.expect(notification("notifications/tools/list_changed"))
        await peer.call(1, "new")
        await peer.expect(text(1, "said"))

        server.remove_tool("new")
        await peer.expect(notification("notifications/tools/list_changed"))
        await peer.call(2, "new")
        assert (await peer.receive())["result"]["isError"] is True


async def test_changes_of_one_moment_are_told_once() -> None:
    """A hundred tools are one change; each kind of list has a notification of its own."""
    server = Server("s")
    async with talk(server, "memory", "2025-11-25") as peer:
        for number in range(100):
            server.tool(name=named(number))(say)
        server.prompt(name="p")(say)
        server.resource("a://b", name="r")(say)
        server.resource("a://{name}", name="t")(_take)

        await peer.expect(
            notification("notifications/tools/list_changed"),
            notification("notifications/prompts/list_changed"),
            notification("notifications/resources/list_changed"),
        )
        await peer.expect_silence()


def _take(name: str) -> str:
    return name


async def test_who_has_not_shaken_hands_is_told_nothing() -> None:
    """It will ask for the list."""
    server = Server("s")
    async with talk(server) as peer:
        server.tool(name="new")(say)
        await peer.expect_silence()


async def test_a_tool_can_be_added_from_any_thread_and_by_a_tool() -> None:
    """The conversation hears of it before the answer of who did it, or after."""
    server = Server("s")

    @server.tool
    def grow() -> str:
        server.tool(name="grown")(say)
        return "grew"

    async with talk(server, "memory", "2025-11-25") as peer:
        await peer.call(1, "grow")
        got = [await peer.receive() for _ in range(2)]
        assert text(1, "grew") in got
        assert notification("notifications/tools/list_changed") in got
        await asyncio.to_thread(server.remove_tool, "grown")
        await peer.expect(notification("notifications/tools/list_changed"))


def test_what_is_not_there_cannot_be_taken_away() -> None:
    """By its kind and name."""
    server = Server("s")
    with pytest.raises(ConfigError, match="there is no tool 'x'"):
        server.remove_tool("x")
    with pytest.raises(ConfigError, match="there is no prompt 'x'"):
        server.remove_prompt("x")


# Pages.


@over_each_wire
async def test_a_long_list_comes_in_pages(wire: str) -> None:
    """Each item once, in order; the last page has no cursor."""
    server = Server("s", page_size=3)
    for number in range(7):
        server.tool(name=named(number))(say)
    async with talk(server, wire) as peer:
        seen: list[str] = []
        params: dict[str, str] = {}
        for id in range(3):
            await peer.ask(id, "tools/list", params)
            page = (await peer.receive())["result"]
            seen += [tool["name"] for tool in page["tools"]]
            assert ("nextCursor" in page) == (id < 2)
            params = {"cursor": page.get("nextCursor", "")}
        assert seen == [named(number) for number in range(7)]


async def test_a_list_that_changes_between_two_pages_goes_on_where_it_was() -> None:
    """What is added comes at the end; what was last seen and is gone makes the cursor invalid."""
    server = Server("s", page_size=2)
    for number in range(4):
        server.tool(name=named(number))(say)
    async with talk(server) as peer:
        await peer.ask(1, "tools/list")
        cursor = (await peer.receive())["result"]["nextCursor"]
        server.remove_tool(named(0))
        server.tool(name=named(9))(say)
        await peer.ask(2, "tools/list", {"cursor": cursor})
        assert [tool["name"] for tool in (await peer.receive())["result"]["tools"]] == ["tool2", "tool3"]

        server.remove_tool(named(1))
        await peer.ask(3, "tools/list", {"cursor": cursor})
        await peer.expect(error(3, -32602, "Invalid params: no page of tools begins with this cursor"))


async def test_a_cursor_has_one_spelling() -> None:
    """Nothing is kept for others; and where there are no pages there is no cursor."""
    server = Server("s", page_size=1)
    for number in range(3):
        server.tool(name=named(number))(say)
    async with talk(server) as peer, talk(Server("t")) as other:
        await peer.ask(1, "tools/list")
        cursor = (await peer.receive())["result"]["nextCursor"]
        for id, spelled in enumerate(
            [cursor + "!", "#" + cursor, cursor[:4] + "$" + cursor[4:], cursor + "\n"]
        ):
            await peer.ask(id, "tools/list", {"cursor": spelled})
            assert (await peer.receive())["error"]["code"] == -32602
        await other.ask(1, "tools/list", {"cursor": cursor})
        assert (await other.receive())["error"]["code"] == -32602


@pytest.mark.parametrize("cursor", ["", "x", "é", "!!!!", "eA==", 5, {}, True])
async def test_a_cursor_that_is_none_of_ours_is_invalid(cursor: object) -> None:
    """Also an empty one; only none at all is the first page."""
    server = Server("s", page_size=1)
    server.prompt(name="p")(say)
    async with talk(server) as peer:
        await peer.ask(1, "prompts/list", {"cursor": cursor})
        assert (await peer.receive())["error"]["code"] == -32602
        await peer.ask(2, "prompts/list", {"cursor": None})
        await peer.expect(result(2, {"prompts": [{"name": "p"}]}))


@over_each_wire
async def test_a_client_that_does_not_read_is_told_of_each_change_once(wire: str) -> None:
    """Once it reads again: what waits for it is bounded by what there is to tell of."""
    server = Server("s")
    server.resource("a://{name}", name="t")(_take)
    async with talk(server, wire, "2025-11-25", DEFAULT_LIMITS.replace(write_high_bytes=2_000)) as peer:
        uris = [f"a://{number}" for number in range(3)]
        for id, uri in enumerate(uris):
            await peer.ask(id, "resources/subscribe", {"uri": uri})
            await peer.receive()
        for _ in range(1_000):
            for uri in uris:
                server.resource_updated(uri)
        told = [await peer.receive() for _ in uris]
        assert [each["params"]["uri"] for each in told] == uris
        await peer.expect_silence()
