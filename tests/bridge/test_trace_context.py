"""The context of a trace crosses every way through a bridge as it was written."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager

import pytest

from anywire.testing import ScriptedPeer
from anywire.wire.message import Notification, Request
from anywire.wire.splice import get_member
from anywire.wire.value import encode_value
from tests.bridge import downward, upward
from tests.bridge.sharing import hubs
from tests.bridge.stage import Stage
from tests.protocol.translate.virtual import meta

#: As W3C Trace Context and Baggage have them, and spelled as nobody would who decoded and encoded them.
TRACE = {
    "traceparent": rb'"00-0af7651916cd43dd8448eb211c80319c-00f067aa0ba902b7-01"',
    "tracestate": rb'"rojo=00f067aa0ba902b7,congo=t61\u0072cWkgMzE"',
    "baggage": rb'"user\u0049d=Am%C3%A9lie,n=1.0e-5\/x"',
}
#: A client, and what gives the server that a request of its reaches.
Ends = tuple[ScriptedPeer, Callable[[], Awaitable[ScriptedPeer]]]


def _already(server: ScriptedPeer) -> Callable[[], Awaitable[ScriptedPeer]]:
    async def get() -> ScriptedPeer:
        return server

    return get


@asynccontextmanager
async def raw() -> AsyncGenerator[Ends]:
    """A client and a server of one era."""
    async with Stage() as stage:
        server = await stage.opened()
        yield stage.client, _already(server.peer)


@asynccontextmanager
async def shared() -> AsyncGenerator[Ends]:
    """Two clients of one server."""
    async with hubs.played() as hub:
        client, other = hub.raw(), hub.raw()
        server = await hub.greeted(client, other)
        yield client, _already(server)
        await client.close()
        await other.close()


@asynccontextmanager
async def shaking_hands() -> AsyncGenerator[Ends]:
    """A client that shakes hands, before a stateless server."""
    async with upward.played() as (server, client):
        yield client, _already(server)


@asynccontextmanager
async def stateless() -> AsyncGenerator[Ends]:
    """A stateless client, before a server that shakes hands."""
    async with downward.played() as (bridge, client):
        yield client, bridge.greeted


WAYS: list[Callable[[], AbstractAsyncContextManager[Ends]]] = [raw, shared, shaking_hands, stateless]
each_way = pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)


def traced(way: object, members: bytes = b"") -> bytes:
    """A call that says in which trace it is."""
    envelope = b"".join(b'"%b":%b,' % (name.encode(), encode_value(value)) for name, value in meta().items())
    said = envelope if way is stateless else b""
    trace = b" , ".join(b'"%b": %b' % (name.encode(), value) for name, value in TRACE.items())
    return (
        b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t","_meta":{%b%b%b},"arguments":{}}}'
        % (said, members, trace)
    )


def trace_in(params: bytes | None) -> dict[str, bytes | None]:
    """What params say of the trace."""
    said = get_member(params or b"{}", "_meta") or b"{}"
    return {name: get_member(said, name) for name in TRACE}


async def next_call(server: ScriptedPeer) -> Request:
    """The call that the server hears of next."""
    message = await server.receive_message()
    assert isinstance(message, Request)
    assert message.method == "tools/call"
    return message


@each_way
@pytest.mark.parametrize("members", [b"", b'"progressToken":7,'], ids=["alone", "with progress"])
async def test_the_trace_of_a_call_reaches_its_server(
    way: Callable[[], AbstractAsyncContextManager[Ends]], members: bytes
) -> None:
    """Byte for byte, also where an id, a progress token or the envelope beside it is changed."""
    async with asyncio.timeout(20), way() as (client, get_server):
        await client.send(traced(way, members))

        server = await get_server()
        call = await next_call(server)

        assert trace_in(call.params) == TRACE
        await server.send(b'{"jsonrpc":"2.0","id":%b,"result":{"content":[]}}' % call.id)
        assert (await client.receive())["id"] == 1


@pytest.mark.parametrize("way", [raw, shared, shaking_hands], ids=lambda way: way.__name__)
async def test_the_trace_of_what_a_server_tells_reaches_the_client(
    way: Callable[[], AbstractAsyncContextManager[Ends]],
) -> None:
    """Progress carries the context that its server gave it."""
    async with asyncio.timeout(20), way() as (client, get_server):
        await client.send(traced(way, b'"progressToken":7,'))
        server = await get_server()
        call = await next_call(server)
        token = get_member(get_member(call.params or b"{}", "_meta") or b"{}", "progressToken")
        trace = b",".join(b'"%b":%b' % (name.encode(), value) for name, value in TRACE.items())

        await server.send(
            b'{"jsonrpc":"2.0","method":"notifications/progress",'
            b'"params":{"progressToken":%b,"progress":1,"_meta":{%b}}}' % (token or b"", trace)
        )

        told = await client.receive_message()
        assert isinstance(told, Notification)
        assert trace_in(told.params) == TRACE
        await server.send(b'{"jsonrpc":"2.0","id":%b,"result":{"content":[]}}' % call.id)
        await client.receive()
