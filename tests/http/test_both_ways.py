"""A server that asks and tells over HTTP, in the new way and in the old; and what survives the loss of a session."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from anywire import Client, Context, Server, TextContent, connect
from anywire.client.event import ClientEvent, ListChanged, LogMessage, ResourceUpdated
from anywire.client.subscriptions import Subscriptions
from anywire.errors import AnywireError
from anywire.protocol.types.sampling import CreateMessageParams
from anywire.server.conversations import Conversation
from anywire.server.session import ServerSession
from anywire.transport.http_client import HttpClientTransport
from tests.http.crooked import Asked, Out, crooked
from tests.http.serving import PATIENCE, QUICK, listener_of, on_socket, until


def lively() -> Server:
    server = Server("lively", limits=QUICK)

    @server.resource("clock://{zone}")
    async def clock(zone: str) -> str:
        return f"noon in {zone}"

    @server.tool
    async def strike() -> None:
        server.resource_updated("clock://here")

    @server.tool
    async def grow() -> None:
        server.tool(name="more")(strike)

    @server.tool
    async def complain(ctx: Context) -> None:
        await ctx.log("debug", "tick")
        await ctx.log("error", "late")

    @server.tool
    async def ask(ctx: Context) -> str:
        answers = await asyncio.gather(*(ctx.sample(str(number)) for number in range(5)))
        roots = await ctx.roots()
        texts = [each.content.text for each in answers if isinstance(each.content, TextContent)]
        return " ".join([*texts, *(root.uri for root in roots)])

    @server.tool
    async def ask_first(ctx: Context) -> str:
        answer = await ctx.sample("1")
        return answer.model

    return server


async def on_sample(params: CreateMessageParams) -> str:
    """Say what was said."""
    (message,) = params.messages
    assert isinstance(message.content, TextContent)
    return message.content.text


class Losing:
    """A server over HTTP that can be made to forget its one client."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self.listener = listener_of(server.accept)

    def lose(self) -> None:
        """Forget the client."""
        self.listener.sessions.end(next(iter(self.listener.sessions._sessions)))

    @property
    def sessions(self) -> list[Conversation]:
        """The conversations that live."""
        return [each for transport, each in self._server._sessions.items() if not transport.closed]


@asynccontextmanager
async def http(**options: Any) -> AsyncGenerator[tuple[Client, Losing]]:
    """A client of a lively server over Streamable HTTP."""
    losing = Losing(lively())
    async with (
        on_socket(losing.listener) as origin,
        connect(f"{origin}/mcp", limits=QUICK, **options) as client,
    ):
        yield client, losing


@asynccontextmanager
async def sse(**options: Any) -> AsyncGenerator[tuple[Client, None]]:
    """A client of a lively server over HTTP+SSE."""
    async with (
        on_socket(lively().sse_app()) as origin,
        connect(f"sse+{origin}/", limits=QUICK, **options) as client,
    ):
        yield client, None


async def next_of(events: Any) -> ClientEvent:
    """The next event, within bounds."""
    async with asyncio.timeout(PATIENCE):
        return await anext(events)


@pytest.mark.parametrize("way", [http, sse])
async def test_a_server_asks_tells_and_is_heard(way: Any) -> None:
    """Questions within a call, events on the general stream."""
    async with way(on_sample=on_sample, roots=["file:///r"]) as (client, _):
        assert (await client.call_tool("ask")).text == "0 1 2 3 4 file:///r"
        assert (await client.read_resource("clock://there")).text == "noon in there"
        await client.set_log_level("error")
        async with client.listen(resources=["clock://here"]) as events:
            await client.call_tool("complain")
            log = await next_of(events)
            assert isinstance(log, LogMessage)
            assert log.data == "late"
            await client.call_tool("strike")
            assert isinstance(await next_of(events), ResourceUpdated)
            await client.call_tool("grow")
            assert isinstance(await next_of(events), ListChanged)


async def test_what_was_set_is_set_anew_in_a_new_session() -> None:
    """The log level, and every subscription that is still wanted."""
    async with http() as (client, losing):
        await client.set_log_level("debug")
        await client.subscribe("clock://mine")
        async with client.listen(resources=["clock://here"]) as events:
            async with client.listen(resources=["clock://gone"]):
                pass
            losing.lose()
            await client.ping()
            (session,) = losing.sessions
            assert isinstance(session, ServerSession)
            await until(lambda: session.subscriptions == {"clock://mine", "clock://here"}, "all is set anew")
            await client.call_tool("complain")
            logs = [await next_of(events), await next_of(events)]
            assert [log.data for log in logs if isinstance(log, LogMessage)] == ["tick", "late"]
            await client.call_tool("strike")
            assert isinstance(await next_of(events), ResourceUpdated)


async def test_an_answer_to_a_session_that_is_gone_is_not_sent_to_the_next() -> None:
    """Its callback is stopped: another question may have that id by now."""
    asked, stopped = asyncio.Event(), asyncio.Event()
    hang = True

    async def on_sample(params: CreateMessageParams) -> str:
        if not hang:
            return "quick"
        try:
            asked.set()
            await asyncio.Event().wait()
        finally:
            stopped.set()
        return "late"

    async with http(on_sample=on_sample) as (client, losing):
        asking = asyncio.ensure_future(client.call_tool("ask_first"))
        await asked.wait()
        losing.lose()
        await client.ping()
        async with asyncio.timeout(PATIENCE):
            await stopped.wait()
        hang = False
        assert (await client.call_tool("ask_first")).text == "unknown"
        asking.cancel()
        await asyncio.wait([asking])


async def test_a_server_that_refuses_what_is_set_anew_is_not_asked_for_ever(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """No circle of handshakes: a few times, and the log says what is not set."""

    async def quirk(asked: Asked, out: Out) -> bool | None:
        is_later = len(server.asked("POST", "logging/setLevel")) > 1
        if asked.rpc == "tools/list" or (asked.rpc == "logging/setLevel" and is_later):
            await out.whole(404, "text/plain", b"no such session")
            return True
        return None

    async with crooked(quirk) as server, connect(server.url, limits=QUICK) as client:
        await client.set_log_level("error")
        with pytest.raises(AnywireError, match="does not know the session that it has just given"):
            await client.request("tools/list")
        subscriptions = client._subscriptions
        assert isinstance(subscriptions, Subscriptions)
        await until(lambda: subscriptions._restoring is None, "nothing is set anew any more")
        await client.ping()
        assert 1 < len(server.asked("POST", "logging/setLevel")) <= 1 + 3 * 2

    told = [each.getMessage() for each in caplog.records if each.name == "anywire.client"]
    assert 1 <= len(told) <= 3
    assert "the log level could not be set in the new session" in told[0]


async def test_a_transport_tells_that_its_conversation_is_a_new_one() -> None:
    """Once for each session that takes the place of a lost one, after the new one is there."""
    losing = Losing(lively())
    async with on_socket(losing.listener) as origin:
        transport = HttpClientTransport(f"{origin}/mcp", limits=QUICK)
        async with connect(transport, limits=QUICK) as client:
            told: list[str] = []
            transport.callbacks.on_reopened = lambda: told.append("reopened")
            await client.ping()
            assert told == []
            losing.lose()
            await asyncio.gather(*(client.ping() for _ in range(5)))
            assert told == ["reopened"]
