"""A long call over HTTP lets go of the connection that waits for it; its client comes back for the answer."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import pytest

from anywire import Context, Server, connect
from anywire.wire.limits import Limits
from tests.http.raw import Caller, Connection, call, text_of
from tests.http.serving import QUICK, listener_of, on_socket, until
from tests.http.tools import Tools


class Place:
    """A served set of tools that detach, and a caller with a session."""

    def __init__(self, tools: Tools, caller: Caller, url: str) -> None:
        self.tools = tools
        self.caller = caller
        self.url = url


@asynccontextmanager
async def place(limits: Limits = QUICK, revision: str | None = None) -> AsyncGenerator[Place]:
    tools = Tools(limits)
    register(tools)
    async with on_socket(listener_of(tools.accept, limits=limits)) as origin:
        caller = Caller(f"{origin}/mcp")
        await caller.initialize(revision)
        yield Place(tools, caller, f"{origin}/mcp")


def register(tools: Tools) -> None:
    async def hold() -> None:
        tools.gate.clear()
        tools.held += 1
        await tools.gate.wait()
        tools.held -= 1

    @tools.server.tool
    async def leave(context: Context, times: int = 1) -> str:
        """Detach and wait, so many times; the gate is opened for each."""
        for number in range(times):
            await context.progress(2 * number + 1, None, f"before {number}")
            context.detach()
            await hold()
            await context.progress(2 * number + 2, None, f"after {number}")
        return "come back"

    @tools.server.tool
    def leave_from_a_thread(context: Context) -> str:
        """Detach in a worker thread."""
        context.detach()
        context.from_thread(hold())
        return "from a thread"

    @tools.server.tool(inline=True)
    def leave_at_once(context: Context) -> str:
        """Detach and be done."""
        context.detach()
        return "nobody had to leave"


async def texts(stream: Connection) -> list[str]:
    """Read to the end of the stream; return what its messages say."""
    return [
        message["params"]["message"] if "params" in message else text_of(message)
        for message in await stream.messages()
    ]


async def test_the_connection_ends_after_its_priming_event_and_the_reply_comes_on_the_next() -> None:
    """The client knows from the priming event where to go on, and how long to wait."""
    async with place() as here:
        async with here.caller.begin("POST", call(1, "leave")) as post:
            head = await post.head()
            primer = await post.event()
            rest = await post.messages()
        assert primer is not None
        await here.tools.until_held()
        async with here.caller.listen(Last_Event_ID=primer.id) as stream:
            here.tools.gate.set()
            said = await texts(stream)

    assert head["content-type"] == "text/event-stream"
    assert (primer.fields["data"], primer.fields["retry"]) == ("", "50")
    assert rest == []
    assert said == ["come back"]


async def test_a_reply_waits_for_a_client_that_comes_back_late() -> None:
    async with place() as here:
        async with here.caller.begin("POST", call(1, "leave")) as post:
            await post.head()
            primer = await post.event()
            await post.messages()
        assert primer is not None
        await here.tools.until_held()
        here.tools.gate.set()
        await until(lambda: here.tools.held == 0, "the handler goes on")
        async with here.caller.listen(Last_Event_ID=primer.id) as stream:
            said = await texts(stream)

    assert said == ["come back"]


async def test_what_is_said_before_goes_out_before_and_what_is_said_after_goes_out_after() -> None:
    """Nothing is lost and nothing comes twice, however often the call lets go."""
    async with place() as here:
        async with here.caller.begin("POST", call(1, "leave", {"times": 2}, token="t")) as post:
            await post.head()
            await post.event()
            first = await post.message()
            rest = await post.messages()
        async with here.caller.listen(Last_Event_ID=first.id) as stream:
            await here.tools.until_held()
            here.tools.gate.set()
            after, before = await stream.message(), await stream.message()
            left = await stream.messages()
        async with here.caller.listen(Last_Event_ID=before.id) as stream:
            await here.tools.until_held()
            here.tools.gate.set()
            said = await texts(stream)

    assert [each.message["params"]["message"] for each in (first, after, before)] == [
        "before 0",
        "after 0",
        "before 1",
    ]
    assert (rest, left) == ([], [])
    assert said == ["after 1", "come back"]


async def test_a_handler_in_a_thread_detaches_as_well() -> None:
    async with place() as here:
        async with here.caller.begin("POST", call(1, "leave_from_a_thread")) as post:
            await post.head()
            primer = await post.event()
            rest = await post.messages()
        assert primer is not None
        await here.tools.until_held()
        async with here.caller.listen(Last_Event_ID=primer.id) as stream:
            here.tools.gate.set()
            said = await texts(stream)

    assert rest == []
    assert said == ["from a thread"]


async def test_a_call_that_is_answered_at_once_is_answered_as_any_other() -> None:
    async with place() as here:
        answer = await here.caller.post(call(1, "leave_at_once"))

    assert answer["content-type"] == "application/json"
    assert text_of(answer.message) == "nobody had to leave"


@pytest.mark.parametrize("revision", ["2025-03-26", "2025-06-18"])
async def test_a_client_that_would_not_come_back_is_kept(revision: str) -> None:
    """Older revisions have no priming event, and take the end of a stream for the end of the call."""
    async with place(revision=revision) as here:
        asking = asyncio.ensure_future(here.caller.post(call(1, "leave")))
        await here.tools.until_held()
        here.tools.gate.set()
        answer = await asking

    assert text_of(answer.message) == "come back"


async def test_a_client_that_reads_json_only_is_kept() -> None:
    async with place() as here:
        asking = asyncio.ensure_future(here.caller.post(call(1, "leave"), Accept="application/json"))
        await here.tools.until_held()
        here.tools.gate.set()
        answer = await asking

    assert answer["content-type"] == "application/json"
    assert text_of(answer.message) == "come back"


async def test_our_client_comes_back_by_itself() -> None:
    async with place() as here, connect(here.url, limits=QUICK) as client:
        calling = asyncio.ensure_future(client.call_tool("leave", {"times": 3}))
        for _ in range(3):
            await here.tools.until_held()
            here.tools.gate.set()
            await until(lambda: not here.tools.held or not here.tools.gate.is_set(), "the handler goes on")
        result = await calling

    assert result.text == "come back"


async def test_nothing_happens_on_a_wire_of_one_connection() -> None:
    server = Server("s")

    @server.tool
    async def leave(context: Context) -> str:
        context.detach()
        await asyncio.sleep(0)
        return "still here"

    async with connect(server) as client:
        assert (await client.call_tool("leave")).text == "still here"
