"""The host that runs an application in this process: where it listens, and how it ends."""

from __future__ import annotations

import asyncio
import socket

import pytest

from anywire import connect
from anywire.errors import AnywireError, ConfigError, ConnectFailed
from anywire.transport.asgi_host import AsgiHost, bind, split_address
from tests.http.raw import Caller
from tests.http.serving import QUICK, failures_of_applications, listener_of, until
from tests.http.tools import Tools


@pytest.mark.parametrize(
    ("address", "split"),
    [
        ("127.0.0.1:8000", ("127.0.0.1", 8000)),
        ("localhost:0", ("localhost", 0)),
        ("[::1]:80", ("::1", 80)),
        ("0.0.0.0:65535", ("0.0.0.0", 65535)),
    ],
)
def test_an_address_is_a_host_and_a_port(address: str, split: tuple[str, int]) -> None:
    assert split_address(address) == split


@pytest.mark.parametrize(
    "address",
    [
        "",
        "8000",
        ":8000",
        "localhost",
        "localhost:",
        "localhost:x",
        "localhost:65536",
        "h:²",
        "h:" + "1" * 5000,
    ],
)
def test_anything_else_is_refused_with_an_example(address: str) -> None:
    with pytest.raises(ConfigError, match=r"HOST:PORT, such as"):
        split_address(address)


def test_a_port_that_is_taken_is_told() -> None:
    with bind("127.0.0.1", 0) as first:
        port = first.getsockname()[1]
        with pytest.raises(ConnectFailed, match=f"cannot listen on 127.0.0.1:{port}"):
            bind("127.0.0.1", port)


def test_small_answers_do_not_wait_for_each_other() -> None:
    """asyncio sends them at once on what it knows for TCP; otherwise each call would take 40 ms."""
    with bind("127.0.0.1", 0) as opened:
        assert opened.proto == socket.IPPROTO_TCP


async def test_a_host_serves_until_it_is_cancelled_and_leaves_nothing() -> None:
    """With streams open and a call under way: both end, the socket is free, no task is left."""
    before = asyncio.all_tasks()
    tools = Tools()
    listener = listener_of(tools.accept)
    opened = bind("127.0.0.1", 0)
    port = opened.getsockname()[1]
    with failures_of_applications() as failures:
        serving = asyncio.create_task(AsgiHost(listener, listener.close, QUICK).serve(opened))
        caller = Caller(f"http://127.0.0.1:{port}/mcp")
        await caller.initialize()
        async with caller.listen() as stream, connect(caller.url, limits=QUICK) as client:
            calling = asyncio.ensure_future(client.call_tool("hold"))
            await tools.until_held()
            serving.cancel()
            await until(serving.done, "the host has ended")
            with pytest.raises(AnywireError):
                await calling
            assert await stream.messages() == []
        await until(lambda: not tools.held, "the handler was cancelled")
        await until(lambda: not (asyncio.all_tasks() - before), "no task is left")
        bind("127.0.0.1", port).close()

    assert serving.cancelled()
    assert failures == []


async def test_a_host_ends_although_a_client_reads_nothing() -> None:
    """Whose connection is as full as it gets."""
    tools = Tools()
    listener = listener_of(tools.accept)
    opened = bind("127.0.0.1", 0)
    port = opened.getsockname()[1]
    serving = asyncio.create_task(AsgiHost(listener, listener.close, QUICK).serve(opened))
    caller = Caller(f"http://127.0.0.1:{port}/mcp")
    await caller.initialize()
    with socket.socket() as deaf:
        deaf.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        deaf.setblocking(False)
        await asyncio.get_running_loop().sock_connect(deaf, ("127.0.0.1", port))
        head = [f"{name}: {value}" for name, value in caller.headers().items()]
        request = "\r\n".join(["GET /mcp HTTP/1.1", f"Host: 127.0.0.1:{port}", *head, "", ""])
        await asyncio.get_running_loop().sock_sendall(deaf, request.encode())
        await until(
            lambda: any(session.is_read for session in listener.sessions._sessions.values()), "it listens"
        )
        for _ in range(100):
            tools.tell("notifications/" + "x" * 100_000)
        serving.cancel()
        await until(serving.done, "the host has ended")

    assert serving.cancelled()


async def test_what_uvicorn_says_is_our_own_log_and_bounded(caplog: pytest.LogCaptureFixture) -> None:
    """Whoever sends garbage does not fill a disk with it."""
    tools = Tools()
    listener = listener_of(tools.accept)
    opened = bind("127.0.0.1", 0)
    port = opened.getsockname()[1]
    serving = asyncio.create_task(AsgiHost(listener, listener.close, QUICK).serve(opened))
    await Caller(f"http://127.0.0.1:{port}/mcp").initialize()
    for _ in range(50):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"rubbish\r\n\r\n")
        await reader.read()
        writer.close()
    serving.cancel()
    await until(serving.done, "the host has ended")

    told = [record.message for record in caplog.records if record.name == "anywire.http"]
    assert told[0] == "uvicorn: Invalid HTTP request received."
    assert told[-1] == "uvicorn: more of this minute is left out"
    assert len(told) == 11
    assert not [record for record in caplog.records if record.name.startswith("uvicorn")]
    assert serving.cancelled()
