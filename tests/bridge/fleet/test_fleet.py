"""Several servers as one: each client before each server, what is merged, and that each thing finds its server."""

from __future__ import annotations

import asyncio

import msgspec
import pytest

from anywire import Context, Server
from anywire.bridge.meeting.upstream import Sharing
from anywire.client.event import ListChanged, ResourceUpdated
from anywire.protocol.types.elicitation import ElicitFormParams, ElicitParams
from tests.bridge.fleet.houses import Choice, Ours, house

each_client = pytest.mark.parametrize("era", ["legacy", "modern"])
each_server = pytest.mark.parametrize("eras", [("legacy",), ("modern",), ("legacy", "modern")])
own_or_shared = pytest.mark.parametrize("sharing", [Sharing.STATELESS, Sharing.ALL])


class Name(msgspec.Struct):
    """A form."""

    name: str


async def ada(asked: ElicitParams) -> dict[str, str]:
    """Fill in the form."""
    assert isinstance(asked, ElicitFormParams)
    return {"name": "Ada"}


def inn(name: str, *eras: Choice) -> Server:
    """A server that has some of everything."""
    server = Server(name, eras=eras or ("legacy", "modern"), instructions=f"Sleep at {name}.")

    @server.tool
    async def book(ctx: Context, nights: int) -> str:
        who = await ctx.elicit("Who are you?", Name)
        assert who.content is not None
        return f"{who.content.name} at {name}, {nights}"

    @server.tool
    def where() -> str:
        return name

    @server.prompt
    def greet(guest: str) -> str:
        return f"{guest}, welcome to {name}"

    @server.completion("greet", "guest")
    def guests(value: str) -> list[str]:
        return [f"{value} of {name}"]

    @server.resource("bed://one")
    def bed() -> str:
        return f"the bed at {name}"

    @server.resource("room://{number}")
    def room(number: str) -> str:
        return f"room {number} at {name}"

    return server


@each_client
@each_server
@own_or_shared
async def test_each_client_reaches_each_server(
    era: Choice, eras: tuple[Choice, ...], sharing: Sharing
) -> None:
    """A call with a question in it works, whatever the two sides speak."""
    makers = {"left": Ours(inn("left", *eras)), "right": Ours(inn("right", *eras))}
    async with (
        asyncio.timeout(20),
        house(makers, sharing=sharing) as ours,
        ours.client(era, on_elicit=ada) as client,
    ):
        assert [tool.name for tool in await client.tools()] == [
            "left__book",
            "left__where",
            "right__book",
            "right__where",
        ]
        assert (await client.call_tool("right__book", {"nights": 2})).text == "Ada at right, 2"
        assert (await client.call_tool("left__where")).text == "left"


@each_client
async def test_prompts_and_resources_have_names_that_lead_back(era: Choice) -> None:
    """What one server has cannot be taken for what another has."""
    async with (
        asyncio.timeout(20),
        house({"left": Ours(inn("left")), "right": Ours(inn("right"))}) as ours,
        ours.client(era) as client,
    ):
        assert [each.name for each in await client.prompts()] == ["left__greet", "right__greet"]
        got = await client.get_prompt("right__greet", {"guest": "Ada"})
        assert "welcome to right" in str(got.messages[0])
        assert [each.uri for each in await client.resources()] == ["left+bed://one", "right+bed://one"]
        read = await client.read_resource("right+bed://one")
        assert (read.contents[0].uri, read.text) == ("right+bed://one", "the bed at right")
        assert [each.uri_template for each in await client.resource_templates()] == [
            "left+room://{number}",
            "right+room://{number}",
        ]
        assert (await client.read_resource("LEFT+room://7")).text == "room 7 at left"
        assert (await client.complete("left__greet", "guest", "A")).completion.values == ["A of left"]


@each_client
@each_server
async def test_changes_are_heard_of_whatever_the_two_sides_speak(
    era: Choice, eras: tuple[Choice, ...]
) -> None:
    """A resource that is followed, under its name among all; and the lists of every server."""
    left, right = inn("left", *eras), inn("right", *eras)
    async with (
        asyncio.timeout(20),
        house({"left": Ours(left), "right": Ours(right)}) as ours,
        ours.client(era) as client,
    ):
        assert len(await client.tools()) == 4
        async with client.listen(resources=["right+bed://one"]) as events:
            left.resource_updated("bed://one")
            right.resource_updated("bed://one")
            updated = await anext(events)
            assert isinstance(updated, ResourceUpdated)
            assert updated.uri == "right+bed://one"

            @right.tool
            def more() -> str:
                return "more"

            changed = await anext(events)
            assert isinstance(changed, ListChanged)
            assert changed.which == "tools"
            assert "right__more" in [tool.name for tool in await client.tools()]
