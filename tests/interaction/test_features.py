"""Every feature once, by the faces that programs use, over every way there is, in each era that it carries."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from typing import Any, Literal

import msgspec
import pytest

from anywire import Client, Context, PromptMessage, Server, TextContent, connect
from anywire.client.event import ListChanged, LogMessage, ResourceUpdated
from anywire.errors import CapabilityMissing, DeadlineExceeded, PeerError, Refusal, RequestCancelled
from anywire.protocol.modern import LATEST_STATELESS_REVISION
from anywire.protocol.revisions import MCP_LATEST_PROTOCOL_VERSION
from anywire.protocol.types.elicitation import ElicitFormParams, ElicitUrlParams
from anywire.protocol.types.sampling import CreateMessageParams
from anywire.testing import in_virtual_time, streams_pair
from anywire.transport.contract import Transport
from anywire.transport.http_client import HttpClientTransport
from anywire.transport.sse_client import SseClientTransport
from anywire.wire.limits import DEFAULT_LIMITS
from tests.http.in_process import AsgiExchange
from tests.interaction.talk import PATIENCE, WIRES, Gate

REVISIONS = {"legacy": MCP_LATEST_PROTOCOL_VERSION, "modern": LATEST_STATELESS_REVISION}


class Trip(msgspec.Struct):
    city: str
    seat: Literal["window", "aisle"] = "window"


class Desk:
    """A server with one of each, and what its handlers met."""

    def __init__(self) -> None:
        self.gate = Gate()
        self.stopped = asyncio.Event()
        self.server = server = Server("desk", "1", page_size=2, instructions="Ask.")
        for tool in (self.add, self.ask, self.many, self.wait, self.say, self.refuse):
            server.tool(tool)
        server.resource("note://all", mime_type="text/plain")(self.notes)
        server.resource("note://{name}")(self.note)
        server.prompt(self.review)

    async def add(self, a: int, b: int) -> int:
        return a + b

    async def ask(self, context: Context) -> str:
        try:
            trip = await context.elicit("Where to?", Trip)
            said = await context.sample("Why?", max_tokens=9)
            roots = await context.roots()
        except CapabilityMissing as missing:
            return str(missing)
        assert isinstance(said.content, TextContent)
        return f"{trip.content} {said.content.text} {[root.uri for root in roots]}"

    async def many(self, context: Context) -> str:
        async with asyncio.TaskGroup() as group:
            asked = [group.create_task(context.elicit(str(n), Trip)) for n in range(5)]
        trips = [task.result().content for task in asked]
        return ", ".join(trip.city for trip in trips if trip is not None)

    async def wait(self) -> str:
        try:
            await self.gate.wait()
        except asyncio.CancelledError:
            self.stopped.set()
            raise
        return ""

    async def say(self, context: Context) -> str:
        await context.progress(1, 2, "half")
        await context.log("warning", {"n": 1})
        return "said"

    async def refuse(self) -> str:
        raise Refusal(-31000, "no", {"why": 1})

    async def notes(self) -> str:
        return "all"

    async def note(self, name: str) -> bytes | None:
        return None if name == "none" else name.encode()

    async def review(self, code: str, style: Literal["long", "short"] = "short") -> list[Any]:
        return [f"Review {code}, {style}", PromptMessage("assistant", TextContent("Well."))]


def _over_http(server: Server) -> Transport:
    app = server.http_app(path="/mcp")
    return HttpClientTransport("http://127.0.0.1/mcp", exchange=lambda: AsgiExchange(app))


def _over_sse(server: Server) -> Transport:
    app = server.sse_app()
    return SseClientTransport("http://127.0.0.1/", exchange=lambda: AsgiExchange(app))


HTTP: dict[str, Callable[[Server], Transport]] = {"http": _over_http, "sse": _over_sse}

WAYS = [(way, era) for way in (*WIRES, "http") for era in REVISIONS] + [("sse", "legacy")]
over_each_way = pytest.mark.parametrize(("way", "era"), WAYS)


@asynccontextmanager
async def meeting(desk: Desk, way: str, era: Any, **options: Any) -> AsyncGenerator[Client]:
    """A client of the desk, and nothing left of either afterwards."""
    serving: asyncio.Future[None] | None = None
    if way in HTTP:
        transport = HTTP[way](desk.server)
    else:
        transport, served, _ = WIRES[way](DEFAULT_LIMITS)
        serving = asyncio.ensure_future(desk.server.serve(served))
    async with asyncio.timeout(PATIENCE), connect(transport, era=era, **options) as client:
        yield client
    async with asyncio.timeout(PATIENCE):
        await desk.server.close()
        if serving is not None:
            await serving


def fill_in(form: ElicitFormParams | ElicitUrlParams) -> dict[str, Any]:
    return {"city": form.message}


def think(params: CreateMessageParams) -> str:
    return f"Because of {params.max_tokens}."


ANSWERS: dict[str, Any] = {"on_elicit": fill_in, "on_sample": think, "roots": ["file:///work"]}


@over_each_way
async def test_a_server_says_what_it_is(way: str, era: str) -> None:
    """By a handshake or by the answer to a question."""
    async with meeting(Desk(), way, era) as client:
        assert client.revision == REVISIONS[era]
        assert (client.server.server_info.name, client.server.instructions) == ("desk", "Ask.")
        await client.ping()


@over_each_way
async def test_tools_are_listed_page_by_page_and_called(way: str, era: str) -> None:
    """With structured results, failures, and errors of the program's choice."""
    async with meeting(Desk(), way, era) as client:
        names = [tool.name for tool in await client.tools()]
        assert names == ["add", "ask", "many", "wait", "say", "refuse"]
        added = await client.call_tool("add", {"a": 1, "b": 2})
        assert (added.text, added.structured) == ("3", {"result": 3})
        assert (await client.call_tool("add", {"a": "x"})).is_error
        with pytest.raises(PeerError) as caught:
            await client.call_tool("refuse")
        assert (caught.value.code, caught.value.message, caught.value.data) == (-31000, "no", b'{"why":1}')


@over_each_way
async def test_resources_and_prompts_are_read_and_completed(way: str, era: str) -> None:
    """By URI, by template, by name."""
    async with meeting(Desk(), way, era) as client:
        assert [each.uri for each in await client.resources()] == ["note://all"]
        assert [each.uri_template for each in await client.resource_templates()] == ["note://{name}"]
        assert (await client.read_resource("note://all")).text == "all"
        assert (await client.read_resource("note://b%20c")).data == b"b c"
        with pytest.raises(PeerError, match="Resource not found: note://none"):
            await client.read_resource("note://none")
        assert [each.name for each in await client.prompts()] == ["review"]
        prompt = await client.get_prompt("review", {"code": "x"})
        assert [message.role for message in prompt.messages] == ["user", "assistant"]
        completed = await client.complete("review", "style", "s")
        assert completed.completion.values == ["short"]


@over_each_way
async def test_a_handler_asks_its_client(way: str, era: str) -> None:
    """For a form, a model, folders, one after the other; five forms side by side."""
    async with meeting(Desk(), way, era, **ANSWERS) as client:
        asked = await client.call_tool("ask")
        trip = Trip("Where to?")
        assert asked.text == f"{trip} Because of 9. ['file:///work']"
        assert (await client.call_tool("many")).text == "0, 1, 2, 3, 4"


@over_each_way
async def test_who_cannot_be_asked_is_not_asked(way: str, era: str) -> None:
    """The handler hears what is missing, and may go on."""
    async with meeting(Desk(), way, era) as client:
        asked = await client.call_tool("ask")
        assert "did not declare the capability 'elicitation'" in asked.text


@over_each_way
async def test_a_model_may_be_refused(way: str, era: str) -> None:
    """By a person: the call fails, and says so."""

    def refuse(params: CreateMessageParams) -> None:
        return None

    async with meeting(Desk(), way, era, **(ANSWERS | {"on_sample": refuse})) as client:
        if era == "modern":  # the call is not made again, as the specification has it
            with pytest.raises(Refusal) as caught:
                await client.call_tool("ask")
            assert caught.value.code == -1
        else:
            asked = await client.call_tool("ask")
            assert asked.is_error
            assert "code -1" in asked.text


@over_each_way
async def test_progress_and_log_messages_come_before_the_answer(way: str, era: str) -> None:
    """To who asked for them."""
    reported: list[Any] = []
    logged: list[Any] = []

    def report(progress: float, total: float | None, message: str | None) -> None:
        reported.append((progress, total, message))

    async with meeting(Desk(), way, era, on_log=logged.append) as client:
        said = await client.call_tool("say", on_progress=report)
        assert said.text == "said"
        assert reported == [(1.0, 2.0, "half")]
        assert [each["level"] for each in logged] == ["warning"]
        await client.set_log_level("error")
        await client.call_tool("say")
        assert len(logged) == 1


@over_each_way
async def test_a_call_that_is_given_up_stops_its_handler(way: str, era: str) -> None:
    """By a notification, or by the end of its connection."""
    desk = Desk()
    async with meeting(desk, way, era) as client:
        calling = asyncio.create_task(client.call_tool("wait"))
        await desk.gate.reached.wait()
        calling.cancel()
        await desk.stopped.wait()
        await asyncio.wait([calling])
        assert (await client.call_tool("add", {"a": 1, "b": 1})).text == "2"


@over_each_way
async def test_changes_are_heard_of(way: str, era: str) -> None:
    """Of lists, of resources that are named, and log messages."""
    desk = Desk()
    async with meeting(desk, way, era) as client, client.listen(resources=["note://all"]) as events:
        desk.server.resource_updated("note://all")
        desk.server.resource_updated("note://other")
        first = await events.next()
        assert isinstance(first, ResourceUpdated)
        assert first.uri == "note://all"
        desk.server.remove_tool("many")
        second = await events.next()
        assert isinstance(second, ListChanged)
        assert second.which == "tools"
        await client.call_tool("say")
        third = await events.next()
        assert isinstance(third, LogMessage)
        assert third.level == "warning"


@pytest.mark.parametrize("failure", [ValueError("broken"), asyncio.CancelledError("odd"), TypeError("none")])
async def test_a_callback_that_fails_ends_the_call_that_needed_it(failure: BaseException) -> None:
    """With one error that says which question; nobody was cancelled."""

    async def fail(form: ElicitFormParams | ElicitUrlParams) -> None:
        raise failure

    async with meeting(Desk(), "memory", "modern", **(ANSWERS | {"on_elicit": fail})) as client:
        with pytest.raises(RequestCancelled, match="elicitation/create was not answered"):
            await client.call_tool("ask")
        assert (await client.call_tool("add", {"a": 1, "b": 1})).text == "2"


@pytest.mark.parametrize("era", REVISIONS)
@in_virtual_time
async def test_a_callback_has_half_an_hour(era: Any) -> None:
    """A person may have to be found; then the question is answered as a failure."""

    async def never(form: ElicitFormParams | ElicitUrlParams) -> None:
        await asyncio.Event().wait()

    desk = Desk()
    client_end, server_end = streams_pair()
    serving = asyncio.ensure_future(desk.server.serve(server_end))
    answers: dict[str, Any] = ANSWERS | {"on_elicit": never}
    limits = DEFAULT_LIMITS.replace(input_seconds=60)
    async with connect(client_end, era=era, limits=limits, **answers) as client:
        if era == "modern":
            with pytest.raises(DeadlineExceeded, match="was not answered by this side within 60 s"):
                await client.call_tool("ask")
        else:
            assert "was not answered within 60 s" in (await client.call_tool("ask")).text
    await desk.server.close()
    await serving
