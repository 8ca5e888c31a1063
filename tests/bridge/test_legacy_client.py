"""A handshake client works with a stateless server: every feature, over each way, and what may go wrong."""

from __future__ import annotations

import asyncio
from typing import Any, Literal

import pytest

from anywire import Context, Server
from anywire.client.event import ListChanged, ResourceUpdated
from anywire.errors import PeerError
from anywire.protocol.revisions import MCP_LATEST_PROTOCOL_VERSION
from anywire.protocol.types.elicitation import ElicitFormParams, ElicitUrlParams
from anywire.protocol.types.sampling import CreateMessageParams
from tests.bridge.upward import WAYS, meeting
from tests.interaction.test_features import ANSWERS, Desk, Trip
from tests.interaction.test_rounds import Name

MODERN: frozenset[Literal["legacy", "modern"]] = frozenset({"modern"})
over_each_way = pytest.mark.parametrize("way", WAYS)


def desk() -> Desk:
    """The server with one of each feature, as it is in the stateless era."""
    made = Desk()
    made.server.eras = MODERN
    return made


# Every feature.


@over_each_way
async def test_a_server_says_what_it_is(way: str) -> None:
    """In the revision of the client; a sign of life is given."""
    async with meeting(desk().server, way) as client:
        assert client.revision == MCP_LATEST_PROTOCOL_VERSION
        assert (client.server.server_info.name, client.server.instructions) == ("desk", "Ask.")
        await client.ping()


@over_each_way
async def test_tools_are_listed_page_by_page_and_called(way: str) -> None:
    """With structured results, failures, and errors of the program's choice."""
    async with meeting(desk().server, way) as client:
        names = [tool.name for tool in await client.tools()]
        assert names == ["add", "ask", "many", "wait", "say", "refuse"]
        added = await client.call_tool("add", {"a": 1, "b": 2})
        assert (added.text, added.structured) == ("3", {"result": 3})
        assert (await client.call_tool("add", {"a": "x"})).is_error
        with pytest.raises(PeerError) as caught:
            await client.call_tool("refuse")
        assert (caught.value.code, caught.value.message, caught.value.data) == (-31000, "no", b'{"why":1}')


@over_each_way
async def test_resources_and_prompts_are_read_and_completed(way: str) -> None:
    """By URI, by template, by name; what there is not has the code of the era."""
    async with meeting(desk().server, way) as client:
        assert [each.uri for each in await client.resources()] == ["note://all"]
        assert [each.uri_template for each in await client.resource_templates()] == ["note://{name}"]
        assert (await client.read_resource("note://all")).text == "all"
        assert (await client.read_resource("note://b%20c")).data == b"b c"
        with pytest.raises(PeerError, match="Resource not found: note://none") as caught:
            await client.read_resource("note://none")
        assert (caught.value.code, caught.value.data) == (-32002, b'{"uri":"note://none"}')
        assert [each.name for each in await client.prompts()] == ["review"]
        prompt = await client.get_prompt("review", {"code": "x"})
        assert [message.role for message in prompt.messages] == ["user", "assistant"]
        completed = await client.complete("review", "style", "s")
        assert completed.completion.values == ["short"]


@over_each_way
async def test_a_handler_asks_its_client(way: str) -> None:
    """For a form, a model, folders, in three rounds; five forms in one."""
    async with meeting(desk().server, way, **ANSWERS) as client:
        asked = await client.call_tool("ask")
        assert asked.text == f"{Trip('Where to?')} Because of 9. ['file:///work']"
        assert (await client.call_tool("many")).text == "0, 1, 2, 3, 4"


@over_each_way
async def test_a_handler_sends_its_clients_user_to_an_address(way: str) -> None:
    """The visit has the id that the revision wants."""
    server = Server("inn", eras=["modern"])

    @server.tool
    async def enter(context: Context) -> str:
        return (await context.elicit_url("Sign in", "https://a.example/", "e1", key="page")).action

    visited: list[ElicitUrlParams] = []

    def visit(asked: ElicitFormParams | ElicitUrlParams) -> Literal["accept"]:
        assert isinstance(asked, ElicitUrlParams)
        visited.append(asked)
        return "accept"

    async with meeting(server, way, on_elicit=visit) as client:
        assert (await client.call_tool("enter")).text == "accept"
    assert [each.url for each in visited] == ["https://a.example/"]
    assert all(isinstance(each.elicitation_id, str) for each in visited)


@over_each_way
async def test_prompts_and_resources_ask_as_well(way: str) -> None:
    """As calls do."""
    server = Server("inn", eras=["modern"])

    @server.prompt
    async def greet(context: Context) -> str:
        return str((await context.elicit("Who?", Name)).content)

    @server.resource("a://b")
    async def held(context: Context) -> str:
        return str((await context.elicit("Who?", Name)).content)

    def fill_in(form: ElicitFormParams | ElicitUrlParams) -> dict[str, str]:
        return {"name": "Ada"}

    async with meeting(server, way, on_elicit=fill_in) as client:
        assert "Ada" in str((await client.get_prompt("greet")).messages)
        assert "Ada" in str((await client.read_resource("a://b")).text)


@over_each_way
async def test_who_cannot_be_asked_is_not_asked(way: str) -> None:
    """The handler hears what is missing, and may go on."""
    async with meeting(desk().server, way) as client:
        asked = await client.call_tool("ask")
        assert "did not declare the capability 'elicitation'" in asked.text


@over_each_way
async def test_a_model_may_be_refused(way: str) -> None:
    """Then the call has no second round, and its error says why."""

    def refuse(params: CreateMessageParams) -> None:
        return None

    async with meeting(desk().server, way, **(ANSWERS | {"on_sample": refuse})) as client:
        with pytest.raises(PeerError, match=r"did not answer sampling/createMessage: .* \(code -1\)"):
            await client.call_tool("ask")
        assert (await client.call_tool("add", {"a": 1, "b": 1})).text == "2"


@over_each_way
async def test_progress_and_log_messages_come_before_the_answer(way: str) -> None:
    """To who asked for them."""
    reported: list[Any] = []
    logged: list[Any] = []

    def report(progress: float, total: float | None, message: str | None) -> None:
        reported.append((progress, total, message))

    async with meeting(desk().server, way, on_log=logged.append) as client:
        assert (await client.call_tool("say", on_progress=report)).text == "said"
        assert reported == [(1.0, 2.0, "half")]
        assert [each["level"] for each in logged] == ["warning"]
        await client.set_log_level("error")
        await client.call_tool("say")
        assert len(logged) == 1


@over_each_way
async def test_a_call_that_is_given_up_stops_its_handler(way: str) -> None:
    """Over HTTP by the end of its connection to the server."""
    made = desk()
    async with meeting(made.server, way) as client:
        calling = asyncio.create_task(client.call_tool("wait"))
        await made.gate.reached.wait()
        calling.cancel()
        await made.stopped.wait()
        await asyncio.wait([calling])
        assert (await client.call_tool("add", {"a": 1, "b": 1})).text == "2"


@over_each_way
async def test_changes_are_heard_of(way: str) -> None:
    """Of lists without having been asked for, and of resources while they are subscribed to."""
    server = desk().server
    async with meeting(server, way) as client, client.listen() as events:
        await client.subscribe("note://all")
        server.resource_updated("note://all")
        server.resource_updated("note://other")
        first = await events.next()
        assert isinstance(first, ResourceUpdated)
        assert first.uri == "note://all"
        await client.subscribe("note://other")
        await client.unsubscribe("note://all")
        server.resource_updated("note://all")
        server.resource_updated("note://other")
        second = await events.next()
        assert isinstance(second, ResourceUpdated)
        assert second.uri == "note://other"
        await client.unsubscribe("note://other")
        server.resource_updated("note://other")
        server.remove_tool("many")
        third = await events.next()
        assert isinstance(third, ListChanged)
        assert third.which == "tools"


@over_each_way
async def test_many_calls_at_once_each_have_their_answer(way: str) -> None:
    """Sixty-four of them, and five that ask five times each."""
    async with meeting(desk().server, way, **ANSWERS) as client:
        sums = [client.call_tool("add", {"a": n, "b": n}) for n in range(64)]
        forms = [client.call_tool("many") for _ in range(5)]
        results = await asyncio.gather(*sums, *forms)
    assert [result.text for result in results] == [str(2 * n) for n in range(64)] + ["0, 1, 2, 3, 4"] * 5
