"""All that a client can do, without `async`."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

import pytest

from anywire import Context, PromptMessage, Server, SyncClient, TextContent, connect_sync
from anywire.client.event import LogMessage, ResourceUpdated
from anywire.errors import ConfigError, PeerError, SessionError
from anywire.protocol.types.sampling import CreateMessageParams

PATIENCE = 20.0


def shop() -> Server:
    server = Server("shop")

    @server.resource("goods://{name}")
    async def good(name: str) -> str:
        return f"a {name}"

    @server.resource("goods://tea")
    async def tea() -> str:
        return "tea"

    @server.prompt
    async def praise(what: str) -> list[PromptMessage]:
        return [PromptMessage("user", TextContent(f"Praise {what}."))]

    @server.completion("praise", "what")
    async def whats(value: str) -> list[str]:
        return [value + "a"]

    @server.tool
    async def sell(ctx: Context) -> str:
        await ctx.log("warning", "sold")
        server.resource_updated("goods://tea")
        return "sold"

    @server.tool
    async def ask(ctx: Context) -> str:
        answer = await ctx.sample("?")
        roots = await ctx.roots()
        assert isinstance(answer.content, TextContent)
        return f"{answer.content.text} {roots[0].uri}"

    return server


def test_every_call_has_its_double() -> None:
    """With the same results."""
    with connect_sync(shop(), roots=["file:///r"]) as client:
        assert [each.uri for each in client.resources(timeout=5)] == ["goods://tea"]
        assert [each.uri_template for each in client.resource_templates(timeout=5)] == ["goods://{name}"]
        assert client.read_resource("goods://milk").text == "a milk"
        assert [each.name for each in client.prompts(timeout=5)] == ["praise"]
        assert client.get_prompt("praise", {"what": "tea"}).text == "Praise tea."
        assert client.complete("praise", "what", "te").completion.values == ["tea"]
        client.subscribe("goods://tea")
        client.unsubscribe("goods://tea")
        client.set_log_level("error")
        client.roots_changed()
        assert client.tools(timeout=5)
        with pytest.raises(PeerError, match="unknown prompt"):
            client.get_prompt("none")


def test_what_a_server_tells_comes_from_a_plain_iterator() -> None:
    """Which subscribes as long as it is used."""
    with connect_sync(shop()) as client:
        with client.listen(resources=["goods://tea"]) as events:
            client.call_tool("sell")
            log, updated = next(events), next(events)
        assert list(events) == []
        events.close()
        with pytest.raises(ConfigError, match="a list of URIs"):
            client.listen(resources="goods://tea")

    assert isinstance(log, LogMessage)
    assert isinstance(updated, ResourceUpdated)


def test_a_loop_over_events_ends_when_another_thread_closes_the_client() -> None:
    """After the last event."""
    heard: list[Any] = []
    with connect_sync(shop()) as client:
        events = client.listen()
        client.call_tool("sell")

        def hear() -> None:
            for event in events:
                heard.append(event)
                began.set()

        began = threading.Event()
        thread = threading.Thread(target=hear)
        thread.start()
        assert began.wait(PATIENCE)
    thread.join(PATIENCE)
    assert not thread.is_alive()
    assert len(heard) == 1
    assert events.next() is None
    events.close()


def test_a_plain_function_that_answers_may_use_the_client() -> None:
    """It runs in a thread of its own; a coroutine in the client's, where nothing can wait."""
    clients: list[SyncClient] = []

    def on_sample(params: CreateMessageParams) -> str:
        return clients[0].read_resource("goods://milk").text

    async def on_sample_async(params: CreateMessageParams) -> str:
        await asyncio.sleep(0)
        with pytest.raises(SessionError, match="a callback cannot wait"):
            clients[0].ping()
        return "no"

    for callback, said in ((on_sample, "a milk"), (on_sample_async, "no")):
        with opened(clients, on_sample=callback, roots=["file:///r"]) as client:
            assert client.call_tool("ask").text == f"{said} file:///r"


@contextmanager
def opened(clients: list[SyncClient], **options: Any) -> Generator[SyncClient]:
    """A client that its own callbacks can find."""
    with connect_sync(shop(), **options) as client:
        clients[:] = [client]
        yield client


def test_nothing_is_heard_before_the_client_is_open() -> None:
    client = connect_sync(shop())
    with pytest.raises(SessionError, match="has not been opened"):
        client.listen()
