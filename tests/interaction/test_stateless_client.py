"""A client of the stateless era: what it keeps, what it hears, and how it answers in rounds."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest

from anywire import Client, Context, Limits, PeerError, Refusal, Server, connect
from anywire.client.event import ListChanged, LogMessage, ResourceUpdated
from anywire.errors import RemoteProtocolError
from anywire.testing import ScriptedPeer, in_virtual_time
from anywire.transport.memory import memory_pair
from anywire.wire.limits import DEFAULT_LIMITS
from tests.interaction.talk import PATIENCE, result
from tests.interaction.test_eras import asked, discovered, over_each, served

in_either_era = pytest.mark.parametrize("era", ["legacy", "modern"])

FORM = {"type": "object", "properties": {"name": {"type": "string"}}}
QUESTION = {"method": "elicitation/create", "params": {"message": "Who?", "requestedSchema": FORM}}
CALLED = {"resultType": "complete", "content": [{"type": "text", "text": "called"}]}


@asynccontextmanager
async def played(
    limits: Limits = DEFAULT_LIMITS, **options: Any
) -> AsyncGenerator[tuple[Client, ScriptedPeer]]:
    """A client that is open, and the peer that plays its server."""
    end, other = memory_pair(limits)
    peer = ScriptedPeer(other, patience=PATIENCE)
    client = connect(end, era="modern", limits=limits, **options)
    async with peer:
        opening = asyncio.create_task(client.open())
        await discovered(peer, await asked(peer, "server/discover"))
        await opening
        yield client, peer
        await client.close()


# What is kept.

LISTS: dict[str, tuple[str, Callable[[Client], Awaitable[list[Any]]]]] = {
    "tools/list": ("tools", Client.tools),
    "prompts/list": ("prompts", Client.prompts),
    "resources/list": ("resources", Client.resources),
    "resources/templates/list": ("resourceTemplates", Client.resource_templates),
}


async def list_once(client: Client, peer: ScriptedPeer, method: str, ttl: object = 5000) -> None:
    """List, and be a server that is asked for the list and lets it be kept for so long."""
    member, ask = LISTS[method]
    listing = asyncio.ensure_future(ask(client))
    request = await asked(peer, method)
    said: dict[str, Any] = {"resultType": "complete", member: []}
    if ttl is not None:
        said |= {"ttlMs": ttl, "cacheScope": "private"}
    await peer.send(result(request["id"], said))
    assert await listing == []


@in_virtual_time
@pytest.mark.parametrize("method", LISTS)
async def test_a_list_is_kept_for_as_long_as_it_says(method: str) -> None:
    """And not a moment longer."""
    loop = asyncio.get_running_loop()
    async with played() as (client, peer):
        await list_once(client, peer, method)
        kept_until = loop.time() + 5
        await asyncio.sleep(4.999)
        assert await LISTS[method][1](client) == []
        await peer.expect_silence()
        await asyncio.sleep(kept_until - loop.time())
        await list_once(client, peer, method)


@in_virtual_time
@pytest.mark.parametrize("ttl", [None, 0, -5, "5000", [], 1.5])
async def test_a_list_that_does_not_say_so_is_not_kept(ttl: object) -> None:
    """Nor one that says it in a way that cannot be read; the list is good all the same."""
    async with played() as (client, peer):
        for _ in range(2):
            await list_once(client, peer, "tools/list", ttl)


@in_virtual_time
async def test_nothing_is_kept_for_who_does_not_want_it() -> None:
    """It is an option."""
    async with played(cache=False) as (client, peer):
        for _ in range(2):
            await list_once(client, peer, "tools/list")


@in_virtual_time
@pytest.mark.parametrize(
    ("told", "stale"),
    [
        ("notifications/tools/list_changed", {"tools/list"}),
        ("notifications/prompts/list_changed", {"prompts/list"}),
        ("notifications/resources/list_changed", {"resources/list", "resources/templates/list"}),
        ("notifications/roots/list_changed", set[str]()),
    ],
)
async def test_a_list_that_has_changed_is_kept_no_longer(told: str, stale: set[str]) -> None:
    """The others are."""
    async with played() as (client, peer):
        for method in LISTS:
            await list_once(client, peer, method)
        await peer.notify(told)
        await peer.expect_silence()
        for method, (_, ask) in LISTS.items():
            if method in stale:
                await list_once(client, peer, method)
            else:
                await ask(client)
                await peer.expect_silence()


@in_virtual_time
async def test_a_list_that_changes_while_it_is_on_its_way_is_not_kept() -> None:
    """It may be that of before."""
    async with played() as (client, peer):
        listing = asyncio.ensure_future(client.tools())
        request = await asked(peer, "tools/list")
        await peer.notify("notifications/tools/list_changed")
        await peer.send(result(request["id"], {"resultType": "complete", "tools": [], "ttlMs": 5000}))
        await listing
        await list_once(client, peer, "tools/list")


async def read_once(client: Client, peer: ScriptedPeer, uri: str) -> None:
    """Read a resource, and be a server that is asked for it and lets it be kept."""
    reading = asyncio.ensure_future(client.read_resource(uri))
    request = await asked(peer, "resources/read")
    assert request["params"]["uri"] == uri
    said = {"resultType": "complete", "contents": [{"uri": uri, "text": uri}], "ttlMs": 5000}
    await peer.send(result(request["id"], said))
    assert (await reading).text == uri


@in_virtual_time
@pytest.mark.parametrize(("told", "stale"), [("a://b", ["a://b"]), ("a://b/c", ["a://b"]), ("a://x", [])])
async def test_a_resource_that_was_updated_is_read_again(told: str, stale: list[str]) -> None:
    """Also where the update is of a part of it; each is kept apart."""
    async with played() as (client, peer):
        for uri in ("a://b", "a://z"):
            await read_once(client, peer, uri)
        await peer.notify("notifications/resources/updated", {"uri": told})
        await peer.expect_silence()
        for uri in ("a://b", "a://z"):
            if uri in stale:
                await read_once(client, peer, uri)
            else:
                assert (await client.read_resource(uri)).text == uri
                await peer.expect_silence()


async def test_a_call_whose_headers_are_refused_asks_for_the_list_that_was_kept() -> None:
    """The tool repeats an argument in a header now, which the list that is fresh still does not say."""
    server = Server("changing", fresh_seconds=60.0)

    def offer(mark: str) -> None:
        where = {"where": {"type": "string", "x-mcp-header": mark}}

        @server.tool(name="deliver", input_schema={"type": "object", "properties": where})
        async def deliver(arguments: dict[str, Any]) -> str:
            return f"to {arguments['where']}"

    offer("Region")
    async with served(server, "http", era="modern") as client:
        await client.tools()
        assert (await client.call_tool("deliver", {"where": "é"})).text == "to é"
        server.remove_tool("deliver")
        offer("Place")
        assert (await client.call_tool("deliver", {"where": "é"})).text == "to é"


# What is heard.


def garden() -> Server:
    """A server whose lists grow, and whose resource changes."""
    server = Server("garden", fresh_seconds=60.0)

    @server.resource("plants://{name}")
    async def plant(name: str) -> str:
        return name

    @server.tool
    async def water(name: str) -> None:
        server.resource_updated(f"plants://{name}")

    @server.tool
    async def extend(ctx: Context) -> None:
        await ctx.log("warning", "soon")
        server.tool(name="dig")(water)

    return server


@over_each
@in_either_era
async def test_listening_is_the_same_in_either_era(wire: str, era: str) -> None:
    """Changed lists, log messages and resources that were named come, and what was kept is asked for anew."""
    async with (
        asyncio.timeout(PATIENCE),
        served(garden(), wire, era=era) as client,
        client.listen(resources=["plants://rose"]) as events,
    ):
        await client.call_tool("water", {"name": "lily"})
        await client.call_tool("water", {"name": "rose"})
        updated = await anext(events)
        assert [tool.name for tool in await client.tools()] == ["water", "extend"]
        await client.call_tool("extend")
        later = [await anext(events), await anext(events)]
        assert [tool.name for tool in await client.tools()] == ["water", "extend", "dig"]

    assert isinstance(updated, ResourceUpdated)
    assert updated.uri == "plants://rose"
    assert {type(each) for each in later} == {LogMessage, ListChanged}


@in_virtual_time
async def test_a_server_that_tells_of_no_changes_says_so() -> None:
    """Its refusal is what listening ends with, and calls go on."""
    async with played() as (client, peer):
        listening = asyncio.ensure_future(client.listen().open())
        request = await asked(peer, "subscriptions/listen")
        await peer.send({"jsonrpc": "2.0", "id": request["id"], "error": {"code": -32601, "message": "no"}})
        with pytest.raises(PeerError, match="no"):
            await listening
        await list_once(client, peer, "tools/list")


# Rounds.


async def elicit(_: object) -> dict[str, str]:
    """Say who."""
    return {"name": "Ada"}


@in_virtual_time
async def test_a_call_may_ask_for_only_so_many_rounds() -> None:
    """The state goes back as it came; who asks for ever gets no answer any more."""
    async with played(Limits(rounds=3), on_elicit=elicit) as (client, peer):
        call = asyncio.ensure_future(client.call_tool("book", {"nights": 2}))
        ids, state = list[Any](), None
        for number in range(4):
            request = await asked(peer, "tools/call")
            ids.append(request["id"])
            params = request["params"]
            assert (params["name"], params["arguments"]) == ("book", {"nights": 2})
            assert params.get("requestState") == state
            answers = {"who": {"action": "accept", "content": {"name": "Ada"}}}
            assert params.get("inputResponses") == (None if number == 0 else answers)
            state = f'é {number} \u2028"'
            said = {"resultType": "input_required", "inputRequests": {"who": QUESTION}, "requestState": state}
            await peer.send(result(request["id"], said))
        with pytest.raises(RemoteProtocolError) as failed:
            await call
        assert str(failed.value) == "memory (client): tools/call wants input more than 3 times"
        assert len(set(ids)) == 4
        await peer.expect_silence()


@in_virtual_time
async def test_a_round_without_a_state_has_none() -> None:
    """Also when the round before had one."""
    async with played(on_elicit=elicit) as (client, peer):
        call = asyncio.ensure_future(client.call_tool("book"))
        for state in ({"requestState": "s"}, {}):
            request = await asked(peer, "tools/call")
            said = {"resultType": "input_required", "inputRequests": {"who": QUESTION}} | state
            await peer.send(result(request["id"], said))
        request = await asked(peer, "tools/call")
        assert "requestState" not in request["params"]
        await peer.send(result(request["id"], CALLED))
        assert (await call).text == "called"


UNDECLARED: dict[str, Any] = {"method": "sampling/createMessage", "params": {"messages": [], "maxTokens": 1}}


@in_virtual_time
@pytest.mark.parametrize(
    ("said", "sentence"),
    [
        ({"resultType": "task"}, "memory (client): a result of tools/call of an unknown kind: 'task'"),
        (
            {"resultType": "input_required", "inputRequests": {"a": UNDECLARED}},
            "memory (client) wants sampling/createMessage, which was not offered to it",
        ),
        (
            {"resultType": "input_required", "inputRequests": {"a": QUESTION, "b": UNDECLARED}},
            "memory (client) wants sampling/createMessage, which was not offered to it",
        ),
        (
            {"resultType": "input_required", "inputRequests": {"a": {"method": "tools/list"}}},
            "memory (client) wants tools/list, which was not offered to it",
        ),
        (
            {"resultType": "input_required", "inputRequests": 5},
            "memory (client): what tools/call wants to know cannot be read: ",
        ),
    ],
)
async def test_a_result_that_cannot_be_gone_on_with_is_an_error(said: Any, sentence: str) -> None:
    """It says what is wrong, and calls go on."""
    async with played(on_elicit=elicit) as (client, peer):
        call = asyncio.ensure_future(client.call_tool("book"))
        await peer.send(result((await asked(peer, "tools/call"))["id"], said))
        with pytest.raises(RemoteProtocolError) as failed:
            await call
        assert str(failed.value).startswith(sentence)
        await list_once(client, peer, "tools/list")


@in_virtual_time
async def test_a_result_of_no_kind_is_complete() -> None:
    """As those of servers that have not heard of kinds."""
    async with played() as (client, peer):
        call = asyncio.ensure_future(client.call_tool("book"))
        await peer.send(result((await asked(peer, "tools/call"))["id"], {"content": []}))
        assert (await call).blocks == []


@in_virtual_time
async def test_a_question_that_the_program_refuses_ends_the_call() -> None:
    """With its own refusal: there is nobody else to tell."""

    async def refuse(_: object) -> None:
        raise Refusal(-1, "not today")

    async with played(on_elicit=refuse) as (client, peer):
        call = asyncio.ensure_future(client.call_tool("book"))
        said = {"resultType": "input_required", "inputRequests": {"who": QUESTION}}
        await peer.send(result((await asked(peer, "tools/call"))["id"], said))
        with pytest.raises(Refusal, match="not today"):
            await call
        await peer.expect_silence()
