"""Servers of either era behind a policy, and clients of either era before it."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any, Final, Literal

import msgspec
import pytest

from anywire import Client, PeerError, Server, connect
from anywire.bridge.http_face import HttpFace
from anywire.bridge.meeting.upstream import Sharing, Upstream
from anywire.bridge.policy.policy import Policy
from anywire.client.event import ResourceUpdated
from anywire.protocol.types.completion import PromptReference
from anywire.transport.contract import Transport
from anywire.transport.http_client import HttpClientTransport
from anywire.transport.http_server import HttpListener
from anywire.transport.memory import memory_pair
from anywire.wire.limits import DEFAULT_LIMITS
from tests.http.in_process import AsgiExchange

Choice = Literal["legacy", "modern"]
LIMITS = DEFAULT_LIMITS.replace(era_seconds=0.2, connect_seconds=5.0)
DENIED: Final = ("delete_*", "prompt:secret", "resource:notes://secret/*")

each_client = pytest.mark.parametrize("client", ["legacy", "modern"])
each_server = pytest.mark.parametrize("era", ["legacy", "modern"])


def library(era: Choice) -> Server:
    """A server with something of each kind that is there, and something that is not."""
    server = Server("library", eras=(era,))

    @server.tool
    async def get_note(name: str) -> str:
        server.resource_updated("notes://secret/a")
        server.resource_updated("notes://open")
        return name

    @server.tool
    async def delete_note(name: str) -> str:
        raise AssertionError(name)

    @server.prompt
    async def open(topic: Literal["tea", "coffee"]) -> str:
        return topic

    @server.prompt
    async def secret(topic: Literal["tea", "coffee"]) -> str:
        raise AssertionError(topic)

    @server.resource("notes://open")
    async def note() -> str:
        return "open"

    @server.resource("notes://secret/a")
    async def hidden() -> str:
        raise AssertionError

    @server.resource("notes://secret/{name}")
    async def hidden_too(name: str) -> str:
        raise AssertionError(name)

    @server.resource("notes://{+path}")
    async def any_note(path: str) -> str:
        assert not path.startswith("secret")
        return path

    return server


@asynccontextmanager
async def behind(
    server: Server, policy: Policy, *, shared: bool, reports: list[str]
) -> AsyncGenerator[Upstream]:
    """A server behind a policy; in the end nothing is left."""

    def make() -> Transport:
        near, far = memory_pair()
        near.on_start = lambda: server.accept(far)
        return near

    before = asyncio.all_tasks()
    sharing = Sharing.ALL if shared else Sharing.STATELESS
    upstream = Upstream(make, reports.append, LIMITS, sharing=sharing, policy=policy)
    async with asyncio.timeout(20):
        try:
            yield upstream
        finally:
            await upstream.close()
            await server.close()
        while left := asyncio.all_tasks() - before:
            await asyncio.wait(left)


async def refusal(awaiting: Any) -> tuple[int, str]:
    """The code and the sentence of a request that fails."""
    with pytest.raises(PeerError) as caught:
        await awaiting
    return caught.value.code, caught.value.message


@each_client
@each_server
@pytest.mark.parametrize("shared", [False, True], ids=["own", "shared"])
async def test_what_is_denied_does_not_exist(client: Choice, era: Choice, shared: bool) -> None:
    """In no list, in no call, in no completion; the rest is what it is without rules."""
    reports: list[str] = []
    async with (
        behind(library(era), Policy(deny=DENIED), shared=shared, reports=reports) as upstream,
        connect(upstream.target(), era=client, limits=LIMITS) as ours,
    ):
        assert [tool.name for tool in await ours.tools()] == ["get_note"]
        assert [prompt.name for prompt in await ours.prompts()] == ["open"]
        assert [each.uri for each in await ours.resources()] == ["notes://open"]
        assert [each.uri_template for each in await ours.resource_templates()] == ["notes://{+path}"]
        await _refuses_what_is_hidden(ours)
        assert (await ours.call_tool("get_note", {"name": "x"})).text == "x"
        assert (await ours.read_resource("notes://other")).text == "other"
        assert (await ours.complete("open", "topic", "t")).completion.values == ["tea"]
    assert len(reports) == len(set(reports))
    assert "hidden from clients: tool 'delete_note'" in reports


async def _refuses_what_is_hidden(ours: Client) -> None:
    gone = -32602 if ours.revision == "2026-07-28" else -32002
    if ours.revision == "2026-07-28":
        unknown = (-32602, "Unknown tool: delete_note")
        assert await refusal(ours.call_tool("delete_note", {"name": "x"})) == unknown
    else:
        called = await ours.call_tool("delete_note", {"name": "x"})
        assert (called.is_error, called.text) == (True, "Unknown tool: delete_note")
    assert await refusal(ours.get_prompt("secret", {})) == (-32602, "Unknown prompt: secret")
    for uri in ("notes://secret/a", "notes://secret/b", "notes://x/../secret/b"):
        assert await refusal(ours.read_resource(uri)) == (gone, f"Resource not found: {uri}")
    assert (await refusal(ours.complete(PromptReference("secret"), "topic", "t")))[0] == -32602


@each_client
@each_server
async def test_changes_are_told_of_what_is_there(client: Choice, era: Choice) -> None:
    """To listen to something hidden as well does not make it known."""
    wanted = ["notes://secret/a", "notes://open"] if client == "modern" else ["notes://open"]
    async with (
        behind(library(era), Policy(deny=DENIED), shared=False, reports=[]) as upstream,
        connect(upstream.target(), era=client, limits=LIMITS) as ours,
        ours.listen(resources=wanted) as events,
    ):
        await ours.call_tool("get_note", {"name": "x"})
        event = await events.next()
    assert isinstance(event, ResourceUpdated)
    assert event.uri == "notes://open"


@pytest.mark.parametrize("hidden", [False, True])
async def test_of_a_hidden_tool_not_even_its_headers_are_known(hidden: bool) -> None:
    """What a client is told of headers that are missing would tell it of the tool."""
    server = Server("marked", eras=("modern",))
    schema = {"type": "object", "properties": {"region": {"type": "string", "x-mcp-header": "Region"}}}
    server.tool(name="where", input_schema=schema)(_region)
    exchange = AsgiExchange(server.http_app(path="/mcp"))
    upstream = Upstream(
        lambda: HttpClientTransport("http://127.0.0.1/mcp", exchange=lambda: exchange),
        lambda sentence: None,
        LIMITS,
        policy=Policy(deny=["where"] if hidden else ["other"]),
    )
    async with asyncio.timeout(20), connect(upstream.target(), era="modern", limits=LIMITS) as ours:
        assert len(await ours.tools()) == (not hidden)
        assert "where" in upstream.mirrors
        assert bool(upstream.mirrors_of("where")) is not hidden
    await upstream.close()


async def _region(arguments: dict[str, str]) -> str:
    return arguments["region"]


async def test_a_batch_over_http_is_answered_whole() -> None:
    """What is hidden in it, and what is not (2025-03-26)."""
    async with behind(library("legacy"), Policy(deny=DENIED), shared=False, reports=[]) as upstream:
        face = HttpFace(upstream)
        listener = HttpListener(face.accept, lambda method: True, path="/mcp", limits=LIMITS)
        exchange = AsgiExchange(listener)
        revision = "2025-03-26"
        hello = {"protocolVersion": revision, "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}
        session, _ = await _post(exchange, "", question(1, "initialize", hello))
        await _post(exchange, session, {"jsonrpc": "2.0", "method": "notifications/initialized"})
        batch = [
            question(2, "tools/call", {"name": "delete_note", "arguments": {"name": "x"}}),
            question(3, "tools/list", {}),
            question(4, "tools/call", {"name": "get_note", "arguments": {"name": "x"}}),
        ]
        _, answer = await _post(exchange, session, batch)
        await listener.close()
        await face.close()
    assert sorted(re.findall(rb'"id":(\d)', answer)) == [b"2", b"3", b"4"]
    assert b'"text":"Unknown tool: delete_note"' in answer
    assert b'"name":"delete_note"' not in answer
    assert exchange.failures == []


def question(id: int, method: str, params: object) -> dict[str, Any]:
    """A request."""
    return {"jsonrpc": "2.0", "id": id, "method": method, "params": params}


async def _post(exchange: AsgiExchange, session: str, body: object) -> tuple[str, bytes]:
    """POST something in a session, if there is one; return the session, and the answer."""
    headers = {"accept": "application/json, text/event-stream", "content-type": "application/json"}
    known = {"mcp-session-id": session} if session else {}
    async with exchange.open(
        "POST", "http://127.0.0.1/mcp", headers | known, msgspec.json.encode(body)
    ) as call:
        return call.headers.get("mcp-session-id", session), await call.read_all()
