"""A client against a server that the test plays, in virtual time."""

from __future__ import annotations

import asyncio
import gc
import logging
import weakref
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from anywire import Client, Limits, connect
from anywire.errors import DeadlineExceeded, RemoteProtocolError, TransportBroken, TransportError
from anywire.session.holding import let_go, weakly
from anywire.testing import ScriptedPeer, in_virtual_time
from anywire.testing.byte_wire import byte_pair
from anywire.transport.memory import memory_pair
from anywire.wire.message import Batch, Message

HELLO: dict[str, Any] = {
    "protocolVersion": "2025-11-25",
    "capabilities": {},
    "serverInfo": {"name": "played", "version": "1"},
}


@asynccontextmanager
async def played(**options: Any) -> AsyncGenerator[tuple[Client, ScriptedPeer]]:
    """A client that is open, and the peer that plays its server."""
    options.setdefault("era", "legacy")
    transport, other = byte_pair()
    peer = ScriptedPeer(other, write=other.write)
    client = connect(transport, **options)
    async with peer:
        opening = asyncio.create_task(client.open())
        asked = await peer.receive()
        await peer.send({"jsonrpc": "2.0", "id": asked["id"], "result": HELLO})
        await peer.receive()
        await opening
        yield client, peer
        await client.close()


async def answer(peer: ScriptedPeer, asked: dict[str, Any], result: object = None) -> None:
    """Answer a request."""
    await peer.send({"jsonrpc": "2.0", "id": asked["id"], "result": result or {}})


# Time.


@pytest.mark.parametrize(
    ("limits", "timeout", "seconds"),
    [
        (Limits(), None, 60.0),
        (Limits(request_seconds=5.0), None, 5.0),
        (Limits(request_seconds=5.0), 2.0, 2.0),
        (Limits(request_seconds=5.0), 90.0, 90.0),
        (Limits(request_total_seconds=30.0), None, 30.0),
        (Limits(request_total_seconds=30.0), 45.0, 45.0),
    ],
)
@in_virtual_time
async def test_time_of_a_call_is_that_of_the_call_then_of_the_client_then_the_usual(
    limits: Limits, timeout: float | None, seconds: float
) -> None:
    """A call that was given more than the cap gets it."""
    async with played(limits=limits) as (client, peer):
        began = asyncio.get_running_loop().time()
        with pytest.raises(DeadlineExceeded):
            await client.call_tool("slow", timeout=timeout)

        assert asyncio.get_running_loop().time() - began == pytest.approx(seconds)
        asked, cancelled = await peer.receive_many(2)
        assert cancelled["method"] == "notifications/cancelled"
        assert cancelled["params"]["requestId"] == asked["id"]
        await client.close()


@in_virtual_time
async def test_late_reply_to_a_call_that_was_given_up_harms_nothing(caplog: pytest.LogCaptureFixture) -> None:
    """It is told, with the name of the server."""
    caplog.set_level(logging.INFO, "anywire.client")
    async with played() as (client, peer):
        with pytest.raises(DeadlineExceeded):
            await client.ping(timeout=1.0)
        asked, _ = await peer.receive_many(2)
        await answer(peer, asked)
        pinging = asyncio.create_task(client.ping())
        await answer(peer, await peer.receive())
        await pinging

        assert caplog.messages[0].startswith(f"{client.name}: a reply that answers nothing")


@in_virtual_time
async def test_nothing_wakes_up_while_nothing_is_asked() -> None:
    """Once the last deadline has passed."""
    async with played() as (client, peer):
        pinging = asyncio.create_task(client.ping(timeout=3.0))
        await answer(peer, await peer.receive())
        await pinging
        await asyncio.sleep(100)

        assert client._caller._timer is None
        await client.close()


# Callbacks.


@in_virtual_time
async def test_callback_that_raises_is_told_of_and_stops_nothing() -> None:
    """For progress, logs, notifications; alone and in a batch with the answer."""
    reported: list[str] = []
    loop = asyncio.get_running_loop()
    loop.set_exception_handler(lambda _, context: reported.append(str(context["exception"])))

    def refuse(*what: object) -> None:
        raise ValueError(f"refused {type(what[0]).__name__}")

    async with played(on_log=refuse, on_notification=refuse) as (client, peer):
        calling = asyncio.create_task(client.call_tool("x", on_progress=refuse))
        asked = await peer.receive()
        token = asked["params"]["_meta"]["progressToken"]
        progress = {
            "jsonrpc": "2.0",
            "method": "notifications/progress",
            "params": {"progressToken": token, "progress": 1.5},
        }
        log = {"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info", "data": 1}}
        await peer.send(progress)
        await peer.send([log, {"jsonrpc": "2.0", "id": asked["id"], "result": {"content": []}}])
        assert (await calling).text == ""

        assert reported == ["refused float", "refused dict", "refused Notification"]


@in_virtual_time
async def test_callbacks_get_what_was_sent() -> None:
    """And a report that cannot be read is left out."""
    logs: list[dict[str, Any]] = []
    reports: list[tuple[float, float | None, str | None]] = []

    def on_progress(progress: float, total: float | None, message: str | None) -> None:
        reports.append((progress, total, message))

    async with played(on_log=logs.append) as (client, peer):
        calling = asyncio.create_task(client.call_tool("x", on_progress=on_progress))
        asked = await peer.receive()
        token = asked["params"]["_meta"]["progressToken"]
        for params in (
            {"progressToken": token, "progress": 1, "total": 2, "message": "half"},
            {"progressToken": token, "progress": "much"},
            {"progressToken": token, "progress": 2},
            {"progressToken": "another", "progress": 3},
        ):
            await peer.notify("notifications/progress", params)
        await peer.notify("notifications/message", {"level": "error", "data": [1]})
        await peer.notify("notifications/message", ["no object"])
        await answer(peer, asked, {"content": []})
        await calling

        assert reports == [(1.0, 2.0, "half"), (2.0, None, None)]
        assert logs == [{"level": "error", "data": [1]}]


# A wire that takes nothing.


class Deaf:
    """A transport that stops taking messages while it is open."""

    def __init__(self) -> None:
        self.inner, self.other = memory_pair()
        self.callbacks = self.inner.callbacks
        self.deaf = False

    @property
    def closed(self) -> bool:
        return self.inner.closed

    async def start(self) -> None:
        await self.inner.start()

    async def send(self, message: Message | Batch, related: bytes | None = None) -> None:
        self.post(message, related)

    def post(self, message: Message | Batch, related: bytes | None = None) -> None:
        if self.deaf:
            raise TransportBroken("nobody hears")
        self.inner.post(message)

    async def close(self) -> None:
        await self.inner.close()


@in_virtual_time
async def test_call_ends_in_its_time_though_its_cancellation_cannot_be_sent() -> None:
    """The one must not keep the other."""
    wire = Deaf()
    peer = ScriptedPeer(wire.other)
    client = connect(wire, era="legacy")
    async with peer:
        opening = asyncio.create_task(client.open())
        await answer(peer, await peer.receive(), HELLO)
        await opening
        assert client.name == "the server"
        calling = asyncio.create_task(client.call_tool("x", timeout=3.0))
        await asyncio.sleep(1)
        wire.deaf = True
        with pytest.raises(DeadlineExceeded):
            await calling
        with pytest.raises(TransportError, match="nobody hears"):
            await client.ping()
        await peer.send({"jsonrpc": "2.0", "id": 1, "method": "ping"})
        await asyncio.sleep(1)
        await client.close()


# What is no answer.


@in_virtual_time
async def test_tools_that_cannot_be_read_are_left_out_and_told(caplog: pytest.LogCaptureFixture) -> None:
    """The others are there."""
    async with played() as (client, peer):
        listing = asyncio.create_task(client.tools())
        tools = [{"name": "good", "inputSchema": {"type": "object"}}, {"name": 7}]
        await answer(peer, await peer.receive(), {"tools": tools})
        assert [tool.name for tool in await listing] == ["good"]
        assert caplog.messages[0].startswith(f"{client.name}: a tool that cannot be used")

        listing = asyncio.create_task(client.tools())
        await answer(peer, await peer.receive(), {"tools": 7})
        with pytest.raises(RemoteProtocolError, match="cannot be read"):
            await listing


@in_virtual_time
async def test_request_of_the_server_that_is_our_own_echoed_is_not_answered() -> None:
    """An answer would be echoed as well."""
    async with played() as (_, peer):
        await peer.send({"jsonrpc": "2.0", "id": 9, "method": "initialize", "params": {}})
        await peer.send({"jsonrpc": "2.0", "id": 10, "method": "ping"})
        await peer.expect({"jsonrpc": "2.0", "id": 10, "result": {}})


# Who holds whom.


def test_function_that_holds_weakly_calls_what_is_there() -> None:
    """And does nothing when it is gone."""

    class Box:
        def __init__(self) -> None:
            self.seen: list[int] = []

        def see(self, number: int) -> None:
            self.seen.append(number)

    box = Box()
    call = weakly(box.see)
    call(1)
    assert box.seen == [1]
    gone = weakref.ref(box)
    del box
    call(2)
    assert gone() is None


@in_virtual_time
async def test_client_that_is_dropped_closes_its_wire() -> None:
    """Whatever kind of wire."""
    transport, other = memory_pair()
    peer = ScriptedPeer(other)
    client: Client | None = connect(transport, era="legacy")
    assert client is not None
    async with peer:
        opening = asyncio.create_task(client.open())
        await answer(peer, await peer.receive(), HELLO)
        await opening
        del opening
        await peer.receive()
        with pytest.warns(ResourceWarning, match="was dropped without being closed"):  # noqa: PT031 one act
            client = None
            gc.collect()
        await peer.expect_end()
        assert transport.closed


def test_client_of_a_loop_that_is_closed_is_dropped_quietly() -> None:
    """What ran on the loop was ended with it."""
    loop = asyncio.new_event_loop()
    loop.close()
    let_go(loop, memory_pair()[0])


@in_virtual_time
async def test_client_that_was_never_opened_is_dropped_without_a_word() -> None:
    """There is nothing to close."""
    connect(memory_pair()[0])
    gc.collect()
