"""Steps of the adapters: what cannot be written, read or ended."""

# The SDKs are not where the types of this project are checked.
# pyright: basic, reportMissingImports=false, reportAttributeAccessIssue=false, reportCallIssue=false

from __future__ import annotations

import asyncio
import contextlib
from typing import Any

import anyio
import mcp
from adapters_common import background, lowlevel, ours, plain, session_message, session_over, text_of, theirs
from mcp import types
from mcp.shared.memory import create_client_server_memory_streams

from anywire import connect
from anywire.errors import LocalProtocolError, TransportBroken
from anywire.interop.mcp import anywire_streams, from_streams, from_transport, serve
from anywire.testing.line_wire import line_pair
from anywire.transport.control.sole import control_face, control_target
from anywire.transport.memory import memory_pair
from anywire.wire.limits import Limits
from anywire.wire.message import (
    Batch,
    Notification,
    Request,
    Response,
)


async def half_a_pair() -> Any:
    """A text that was cut in the middle of an emoji, over each adapter and in each direction; then one more call."""
    low = lowlevel()
    client, server = memory_pair()
    async with background(serve(theirs(), server)), connect(client) as caller:
        served = [
            (await caller.call_tool("cut", {})).text,
            (await caller.call_tool("echo", {"text": "b"})).text,
        ]
    async with (
        create_client_server_memory_streams() as (near, far),
        background(low.run(*far, low.create_initialization_options())),
        connect(from_streams(*near), era="legacy") as caller,
    ):
        streams = [
            (await caller.call_tool("cut", {})).text,
            (await caller.call_tool("echo", {"text": "b"})).text,
        ]
    async with (
        create_client_server_memory_streams() as (near, far),
        background(ours.serve(from_streams(*far))),
        mcp.ClientSession(*near) as session,
    ):
        asked = await cut_and_whole(session)
    client, server = memory_pair()
    async with background(ours.serve(server)), session_over(client) as session:
        return {"served": served, "streams": streams, "asked": asked, "written": await cut_and_whole(session)}


async def cut_and_whole(session: Any) -> list[str]:
    await session.initialize()
    return [text_of(await session.call_tool("echo", {"text": text})) for text in ("a\ud83db", "b")]


async def unwritable() -> Any:
    """Messages that no JSON can be made of: replies cost the call they answer, requests are refused."""
    client, peer = memory_pair()
    told: asyncio.Queue[Any] = asyncio.Queue()
    peer.callbacks.on_message = told.put_nowait
    await peer.start()
    async with anywire_streams(client) as (_, write):
        await write.send(session_message(types.JSONRPCResponse(jsonrpc="2.0", id=7, result={"a": object()})))
        reply = await told.get()
        request = types.JSONRPCRequest(jsonrpc="2.0", id=1, method="ping", params={"a": object()})
        try:
            await write.send(session_message(request))
            refused = ""
        except LocalProtocolError as error:
            refused = type(error).__name__
    async with create_client_server_memory_streams() as (near, far):
        transport = from_streams(*near)
        transport.callbacks.on_error = told.put_nowait
        await transport.start()
        deep: dict[str, Any] = {}
        for _ in range(300):
            deep = {"a": deep}
        for result in ({"a": object()}, deep):
            await far[1].send(session_message(types.JSONRPCResponse(jsonrpc="2.0", id=7, result=result)))
        faults = [await told.get() for _ in range(2)]
        await transport.close()
    return {
        "reply": [reply.id.decode(), type(reply).__name__],
        "refused": refused,
        "faults": [[fault.id.decode(), fault.is_reply] for fault in faults],
    }


async def a_reader_that_is_behind() -> Any:
    """Much more comes than may wait: over a wire that can be held, and over one that cannot."""
    limits = Limits(requests_in_flight=50)
    flood = [Notification("notifications/odd", b'{"i":%d}' % i) for i in range(3000)]
    near, far = line_pair(limits)
    face, target = control_face("x", far, limits=limits), control_target("x", near, limits=limits)
    await face.start()
    async with anywire_streams(target, limits) as (read, _):
        for message in flood:
            face.post(message)
        held = len(read)
        while held < 50 or len(read) > held:
            held = len(read)
            await asyncio.sleep(0)
        numbers = [plain(await read.receive()).params["i"] for _ in flood]
        await face.close()
    client, peer = memory_pair()
    answers: asyncio.Queue[Any] = asyncio.Queue()
    peer.callbacks.on_message = answers.put_nowait
    await peer.start()
    async with anywire_streams(client, limits) as (read, write):
        await write.send(session_message())
        asked = await answers.get()
        peer.post(Batch((*flood, Request(b"9", "ping"), Response(asked.id, b"{}"))))
        refused = await answers.get()
        waiting = [await read.receive() for _ in range(len(read))]
        peer.post(flood[0])
        again = plain(await read.receive()).params["i"]
    return {
        "held": held,
        "in order": numbers == list(range(3000)),
        "refused": [refused.id.decode(), type(refused).__name__],
        "waiting": len(waiting),
        "told": str(waiting[-2]),
        "answered": plain(waiting[-1]).id,
        "again": again,
    }


class Breaking:
    """A stream that raises at each use, or waits for ever where it has nothing to raise."""

    def __init__(self, error: Exception | None = None) -> None:
        self.error = error

    async def receive(self) -> Any:
        while self.error is None:
            await asyncio.Event().wait()
        raise self.error

    async def send(self, item: Any) -> None:
        await self.receive()

    async def aclose(self) -> None:
        pass


async def streams_that_break() -> Any:
    told: dict[str, Any] = {}
    for error in (anyio.BrokenResourceError(), ConnectionResetError("gone")):
        for way, ends in (
            ("read", (Breaking(error), Breaking())),
            ("write", (Breaking(), Breaking(error))),
        ):
            closed: asyncio.Queue[Any] = asyncio.Queue()
            transport = from_streams(*ends)
            transport.callbacks.on_close = closed.put_nowait
            await transport.start()
            transport.post(Request(b"1", "ping"))
            why = await closed.get()
            told[f"{way} {type(error).__name__}"] = [type(why).__name__, str(why), transport.closed]
    try:
        async with connect(from_streams(Breaking(), Breaking(ValueError("odd"))), era="legacy"):
            told["pending"] = "opened"
    except TransportBroken as error:
        told["pending"] = str(error)
    return told


class Stubborn:
    """A transport of the SDK's that is not entered, or not left, until it is let go, however often it is cancelled."""

    def __init__(self, write: Breaking, *, entered: bool) -> None:
        self.entered = 0
        self.go = asyncio.Event()
        self._enters_at_once = entered
        self._write = write

    async def __aenter__(self) -> Any:
        self.entered += 1
        if not self._enters_at_once:
            await self._hold_out()
        return Breaking(), self._write

    async def __aexit__(self, *_: object) -> None:
        await self._hold_out()

    async def _hold_out(self) -> None:
        while not self.go.is_set():
            with contextlib.suppress(asyncio.CancelledError):
                await self.go.wait()


async def what_does_not_end() -> Any:
    limits = Limits(connect_seconds=0.05, shutdown_seconds=0.05)
    before = asyncio.all_tasks()
    told: dict[str, Any] = {}
    opening, leaving, breaking = (
        Stubborn(Breaking(), entered=False),
        Stubborn(Breaking(), entered=True),
        Stubborn(Breaking(ValueError("odd")), entered=True),
    )
    transport = from_transport(opening, limits=limits)
    starting = asyncio.create_task(transport.start())
    await asyncio.wait([starting], timeout=0)
    await transport.close()
    await asyncio.wait([starting])
    told["opening"] = type(starting.exception()).__name__
    for name, stubborn in (("leaving", leaving), ("breaking", breaking)):
        transport = from_transport(stubborn, limits=limits)
        closed: asyncio.Queue[Any] = asyncio.Queue()
        transport.callbacks.on_close = closed.put_nowait
        await transport.start()
        try:
            await transport.start()
        except LocalProtocolError as error:
            told["again"] = [str(error), stubborn.entered]
        if name == "breaking":
            transport.post(Request(b"1", "ping"))
            told[name] = [str(await closed.get())]
        await transport.close()
        await transport.close()
        told.setdefault(name, []).extend(str(closed.get_nowait()) for _ in range(closed.qsize()))
    for stubborn in (opening, leaving, breaking):
        stubborn.go.set()
    while left := asyncio.all_tasks() - before:
        await asyncio.wait(left)
    return told
