"""Connections of a socket of ours on which no request comes about: how many, how large, how long."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager

import pytest

from anywire.transport.asgi_host import AsgiHost, bind
from anywire.wire.limits import Limits
from tests.http.raw import Caller, Connection, ask, call, connection
from tests.http.serving import PATIENCE, QUICK, failures_of_applications, listener_of
from tests.http.tools import Tools

IMPATIENT = QUICK.replace(head_seconds=0.2, head_bytes=10_000)
HEAD = b"POST /mcp HTTP/1.1\r\nHost: localhost\r\n"


@asynccontextmanager
async def hosted(limits: Limits) -> AsyncGenerator[Caller]:
    """A host of its own, with a session in it; nothing may go wrong in it."""
    listener = listener_of(Tools(limits).accept, limits=limits)
    opened = bind("127.0.0.1", 0)
    port = opened.getsockname()[1]
    with failures_of_applications() as failures:
        serving = asyncio.create_task(AsgiHost(listener, listener.close, limits).serve(opened))
        caller = Caller(f"http://127.0.0.1:{port}/mcp")
        await caller.initialize()
        try:
            yield caller
        finally:
            serving.cancel()
            await asyncio.wait([serving], timeout=PATIENCE)
    assert failures == []


async def rest_of(opened: Connection) -> bytes:
    """All that comes until the server ends the connection."""
    async with asyncio.timeout(PATIENCE):
        try:
            return await opened.reader.read()
        except ConnectionError:
            return b""


@pytest.mark.parametrize("chunk", [b"X-Long: " + b"a" * 8_000 + b"\r\n", b"a" * 8_000])
async def test_a_head_that_never_ends_is_refused(chunk: bytes) -> None:
    """In one header or in many, before it has cost anything."""
    async with hosted(QUICK.replace(head_bytes=10_000)) as caller, connection(caller.url) as opened:
        opened.writer.write(HEAD + b"X: ")
        sent = 0
        try:
            while sent < 1000:
                sent += 1
                opened.writer.write(chunk)
                await opened.writer.drain()
                await asyncio.sleep(0)
        except ConnectionError:
            pass
        answer = await rest_of(opened)

        assert sent < 1000
        assert answer == b"" or answer.startswith(b"HTTP/1.1 431 ")
        assert (await caller.post(ask(1, "ping"))).status == 200


async def test_a_head_within_the_limit_may_be_large_and_come_in_pieces() -> None:
    async with hosted(QUICK) as caller, connection(caller.url) as opened:
        head = HEAD + b"X: " + b"a" * 50_000 + b"\r\nContent-Length: 0\r\n\r\n"
        for place in range(0, len(head), 7_000):
            opened.writer.write(head[place : place + 7_000])
            await opened.writer.drain()
        assert (await opened.head()).status == 415


@pytest.mark.parametrize("begun", [b"", b"P", HEAD])
async def test_a_request_that_does_not_come_about_is_not_waited_for(begun: bytes) -> None:
    """Who has begun to ask is told; who has not would not understand."""
    async with hosted(IMPATIENT) as caller, connection(caller.url) as opened:
        opened.writer.write(begun)
        answer = await rest_of(opened)

    assert answer.startswith(b"HTTP/1.1 408 " if begun else b"")
    assert bool(answer) == bool(begun)


async def test_a_second_head_on_a_connection_has_a_time_of_its_own() -> None:
    """And a connection that is kept for the next request is not taken for one that asks nothing."""
    async with hosted(IMPATIENT) as caller, connection(caller.url) as opened:
        for number in range(2):
            opened.write("POST", caller.path, caller.headers(), b'{"jsonrpc":"2.0","id":1,"method":"ping"}')
            assert (await opened.head()).status == 200
            await opened.body()
            if not number:
                async with connection(caller.url) as silent:  # for as long as the host looks twice
                    assert await rest_of(silent) == b""
        opened.writer.write(HEAD)

        assert (await rest_of(opened)).startswith(b"HTTP/1.1 408 ")


async def test_a_body_that_nobody_wants_is_not_waited_for() -> None:
    """It was refused by its head, and does not come."""
    async with hosted(IMPATIENT) as caller, connection(caller.url) as opened:
        opened.write("POST", caller.path, caller.headers(), b"{", length=10**9)
        head = await opened.head()
        await rest_of(opened)

    assert head.status == 413


async def test_what_is_around_a_body_is_bounded_as_well() -> None:
    """Headers may follow a body in chunks, and no application sees them."""
    limits = QUICK.replace(body_bytes=20_000, head_bytes=10_000)
    async with hosted(limits) as caller, connection(caller.url) as opened:
        opened.write("POST", caller.path, {**caller.headers(), "Transfer-Encoding": "chunked"}, None)
        opened.writer.write(b"1\r\n{\r\n0\r\n")
        sent = 0
        try:
            for sent in range(1000):
                opened.writer.write(b"X-%d: " % sent + b"a" * 5_000 + b"\r\n")
                await opened.writer.drain()
                await asyncio.sleep(0)
        except ConnectionError:
            pass
        await rest_of(opened)

    assert sent < 1000


async def test_a_call_that_takes_its_time_is_no_connection_that_asks_nothing() -> None:
    async with hosted(IMPATIENT) as caller, caller.begin("POST", call(1, "hold")) as post:
        async with connection(caller.url) as silent:
            await rest_of(silent)
        async with caller.listen() as stream:
            await stream.event()
        await caller.post({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}})

        assert (await post.head()).status in (200, 202)


async def test_one_connection_too_many_is_refused_and_there_is_room_again() -> None:
    async with hosted(QUICK.replace(server_connections=3)) as caller:
        async with caller.listen(), caller.begin("POST", call(1, "hold")), connection(caller.url) as third:
            third.write("POST", caller.path, caller.headers(), b'{"jsonrpc":"2.0","id":2,"method":"ping"}')
            assert (await third.head()).status == 200
            async with connection(caller.url) as fourth:
                assert (await rest_of(fourth)).startswith(b"HTTP/1.1 503 ")

        async def is_served() -> bool:
            async with connection(caller.url) as opened:
                opened.write(
                    "POST", caller.path, caller.headers(), b'{"jsonrpc":"2.0","id":3,"method":"ping"}'
                )
                return (await opened.head()).status == 200

        served = False
        for _ in range(100):
            served = served or await is_served()
        assert served


async def test_the_end_of_the_host_is_quiet_whatever_has_begun() -> None:
    """Half a head, half a body, a call, a stream: each is ended, and nothing is said on stderr."""
    async with AsyncExitStack() as still_open:
        async with hosted(QUICK) as caller:
            head, body, calling, listening = [
                await still_open.enter_async_context(connection(caller.url)) for _ in range(4)
            ]
            head.writer.write(HEAD)
            body.write("POST", caller.path, caller.headers(), b"{", length=100)
            calling.write("POST", caller.path, caller.headers(), json.dumps(call(1, "hold")).encode())
            listening.write("GET", caller.path, caller.headers(Content_Type=None), None)
            await listening.head()
            await listening.event()

        assert await rest_of(head) == b""
        assert (await body.head()).status == 503
        assert (await calling.head()).status == 200
        assert b"the session ended before the request was answered" in await calling.body()
        assert await listening.messages() == []
