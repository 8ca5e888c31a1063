"""anywire and an official Python SDK (1.x, 2.x, or the one below fastmcp) in one process, joined by the adapters.

`adapters_peer.py STEP,STEP… -- FOLDER…` takes the steps in turn and prints one JSON object: for each step
what it gave or how it failed.  The folders hold what this interpreter has not; they come last, so that
whatever it has is its own.
"""

# The SDKs are not where the types of this project are checked.
# pyright: basic, reportMissingImports=false, reportAttributeAccessIssue=false, reportCallIssue=false

from __future__ import annotations

import asyncio
import contextlib
import json
import sys
import traceback
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import adapters_trouble
import anyio
import mcp
from adapters_common import (
    OLD,
    background,
    hanging,
    lowlevel,
    ours,
    session_message,
    session_over,
    stopped,
    text_of,
    theirs,
    with_tools,
)
from mcp.shared.memory import create_client_server_memory_streams

from anywire import connect
from anywire.bridge.relay import Relay
from anywire.errors import ConnectFailed
from anywire.interop.mcp import anywire_streams, from_streams, from_transport, serve
from anywire.transport.memory import memory_pair
from anywire.transport.process import Command
from anywire.transport.stdio_client import StdioClientTransport
from anywire.wire.codec import decode
from anywire.wire.message import (
    Batch,
    Fault,
    FaultKind,
    Notification,
    Request,
    Response,
)

STEP_WITHIN = 20.0
FIXTURE = str(Path(__file__).with_name("fixture_server.py"))
DIES = (
    "import sys, json\n"
    "asked = json.loads(sys.stdin.readline())\n"
    "sys.stderr.write('out of paper')\n"
    "sys.exit(3)\n"
)
SILENT = "import sys; sys.stdin.read()"
McpError: Any = mcp.McpError if OLD else mcp.MCPError


async def their_client_our_server() -> Any:
    client, server = memory_pair()
    async with background(ours.serve(server)), session_over(client) as session:
        shaken = await session.initialize()
        tools = await session.list_tools()
        result = await session.call_tool("echo", {"text": "é🙂"})
        wrong = await session.call_tool("echo", {})
        return {
            "server": (shaken.serverInfo if OLD else shaken.server_info).name,
            "tools": sorted(tool.name for tool in tools.tools),
            "text": text_of(result),
            "wrong": bool(wrong.isError if OLD else wrong.is_error),
        }


async def their_client_a_child() -> Any:
    command = (sys.executable, "-m", "anywire", "serve", f"{FIXTURE}:server")
    child = Command(command, {"PYTHONPATH": ":".join(sys.path)})
    progress: list[float] = []

    async def report(done: float, total: float | None, message: str | None) -> None:
        progress.append(done)

    async with session_over(StdioClientTransport(child)) as session:
        await session.initialize()
        result = await session.call_tool("count", {"steps": 3}, progress_callback=report)
        large = await session.call_tool("echo", {"text": "x" * 1_000_000})
        return {"text": text_of(result), "progress": progress, "large": len(text_of(large))}


async def their_whole_client() -> Any:
    """2.x has a client that takes any transport and asks first of which era the server is."""
    client, server = memory_pair()
    async with background(ours.serve(server)), mcp.Client(anywire_streams(client)) as whole:
        result = await whole.call_tool("echo", {"text": "whole"})
        return {"revision": whole.protocol_version, "text": text_of(result)}


async def their_server_our_client() -> Any:
    client, server = memory_pair()
    async with background(serve(theirs(), server)), connect(client) as caller:
        tools = await caller.tools()
        result = await caller.call_tool("echo", {"text": "é🙂"})
        failed = await caller.call_tool("fail", {"reason": "no paper"})
        return {
            "tools": sorted(tool.name for tool in tools),
            "text": result.text,
            "failed": [failed.is_error, failed.text],
        }


async def their_client_their_server() -> Any:
    client, server = memory_pair()
    async with background(serve(theirs(), server)), session_over(client) as session:
        await session.initialize()
        return {"text": text_of(await session.call_tool("echo", {"text": "round"}))}


async def their_lowlevel_server() -> Any:
    """The streams go into the low-level server as they are, without `serve`."""
    low = lowlevel()
    client, server = memory_pair()

    async def run() -> None:
        async with anywire_streams(server) as (read, write):
            await low.run(read, write, low.create_initialization_options())

    async with background(run()), connect(client) as caller:
        return {"text": (await caller.call_tool("echo", {"text": "low"})).text}


async def fastmcp_server() -> Any:
    from fastmcp import FastMCP

    entered: list[str] = []

    @contextlib.asynccontextmanager
    async def lifespan(server: Any) -> AsyncIterator[dict[str, Any]]:
        entered.append("in")
        yield {}
        entered.append("out")

    def made() -> Any:
        return with_tools(FastMCP("fast", lifespan=lifespan))

    client, server = memory_pair()
    async with background(serve(made(), server)), connect(client) as caller:
        text = (await caller.call_tool("echo", {"text": "é🙂"})).text
        failed = (await caller.call_tool("fail", {"reason": "no paper"})).is_error
    client, server = memory_pair()
    async with background(serve(made(), server)), session_over(client) as session:
        await session.initialize()
        return {
            "text": text,
            "failed": failed,
            "theirs": text_of(await session.call_tool("echo", {"text": "round"})),
            "lifespan": entered[:2],
        }


async def odd_values() -> Any:
    """Half a surrogate pair, an integer of many digits, a float without a fraction."""
    odd = b'{"jsonrpc":"2.0","id":12345678901234567890123,"method":"odd","params":{"a":%d,"b":1.0,"s":"\\ud83d"}}'
    client, peer = memory_pair()
    back: asyncio.Queue[Any] = asyncio.Queue()
    peer.callbacks.on_message = back.put_nowait
    await peer.start()
    async with anywire_streams(client) as (read, write):
        message: Any = decode(odd % 10**22)
        peer.post(message)
        item = await read.receive()
        await write.send(item)
        returned = await back.get()
    return {"id": returned.id.decode(), "params": returned.params.decode()}


async def faults() -> Any:
    """What is no message reaches the reader as an exception, a reply that is none ends its call."""
    seen: asyncio.Queue[Any] = asyncio.Queue()
    answers: asyncio.Queue[Any] = asyncio.Queue()
    client, peer = memory_pair()
    told: dict[str, str] = {}

    async def notice(message: Any) -> None:
        if isinstance(message, Exception):
            await seen.put(str(message))

    async def call(name: str, session: Any) -> None:
        try:
            await session.send_ping()
        except McpError as error:
            told[name] = str(error)

    async with session_over(client, message_handler=notice) as session:
        peer.callbacks.on_message = answers.put_nowait
        await peer.start()
        async with asyncio.TaskGroup() as group:
            for name in ("result", "fault", "failed"):
                group.create_task(call(name, session))
            result, fault, failed = [(await answers.get()).id for _ in range(3)]
            peer.post(Response(result, b"5"))
            client.callbacks.on_error(Fault(FaultKind.PARSE_ERROR, "cut off", fault, is_reply=True))
            client.callbacks.on_failed(failed, ConnectFailed("nobody is there"))
        client.callbacks.on_error(Fault(FaultKind.PARSE_ERROR, "garbage"))
        client.callbacks.on_error(Fault(FaultKind.INVALID_REQUEST, "half a request", b'"q"'))
        peer.post(Request(b"1.5", "ping"))
        peer.post(Batch((Request(b'"b1"', "ping"), Notification("notifications/odd"))))
        replies = [await answers.get() for _ in range(3)]
        exceptions = [await seen.get() for _ in range(3)]
    return {
        "told": told,
        "seen": exceptions,
        "replies": {reply.id.decode(): type(reply).__name__ for reply in replies},
    }


async def a_child_that_dies() -> Any:
    child = Command((sys.executable, "-c", DIES), {})
    async with session_over(StdioClientTransport(child)) as session:
        try:
            await session.initialize()
        except McpError as error:
            return {"code": error.error.code, "message": error.error.message}


async def no_child() -> Any:
    try:
        async with session_over(StdioClientTransport(Command(("no-such-program",), {}))):
            return "opened"
    except ConnectFailed as error:
        return type(error).__name__


async def cancelled() -> Any:
    """What is around it all is cancelled while a call hangs: the child is gone, and no task is left."""
    before = asyncio.all_tasks()
    by_scope, by_task = (StdioClientTransport(Command((sys.executable, "-c", SILENT), {})) for _ in "12")
    calling = asyncio.Event()

    async def hang_on(transport: Any) -> None:
        async with session_over(transport) as session:
            calling.set()
            await session.initialize()

    async with anyio.create_task_group() as group:
        group.start_soon(hang_on, by_scope)
        await calling.wait()
        group.cancel_scope.cancel()
    calling.clear()
    task = asyncio.create_task(hang_on(by_task))
    await calling.wait()
    task.cancel()
    await asyncio.wait([task])
    return {
        "closed": [by_scope.closed, by_task.closed],
        "cancelled": task.cancelled(),
        "tasks": [str(task) for task in asyncio.all_tasks() - before],
    }


async def after_the_end() -> Any:
    """A session whose wire has ended is told so, by each way of asking."""
    client, peer = memory_pair()
    await peer.start()
    async with anywire_streams(client) as (read, write):
        await peer.close()
        ended = [item async for item in read]
        written = ""
        await client.close()
        try:
            await write.send(session_message())
        except anyio.BrokenResourceError as error:
            written = type(error).__name__
        await write.aclose()
        with contextlib.suppress(anyio.ClosedResourceError):
            await write.send(session_message())
            written = "sent"
        await read.aclose()
        with contextlib.suppress(anyio.ClosedResourceError):
            await read.receive()
            written = "read"
        return {"ended": len(ended), "written": written}


async def our_client_their_streams() -> Any:
    low = lowlevel()
    before = asyncio.all_tasks()
    async with (
        create_client_server_memory_streams() as (near, far),
        background(low.run(*far, low.create_initialization_options())),
        connect(from_streams(*near), era="legacy") as caller,
    ):
        result = await caller.call_tool("echo", {"text": "é🙂"})
        try:
            await caller.request("ping", b"[1]")
        except Exception as error:
            refused = f"{type(error).__name__}: {error}"
    return {"text": result.text, "refused": refused, "tasks": len(asyncio.all_tasks() - before)}


async def our_server_their_streams() -> Any:
    before = asyncio.all_tasks()
    async with (
        create_client_server_memory_streams() as (near, far),
        background(ours.serve(from_streams(*far))),
        mcp.ClientSession(*near) as session,
    ):
        await session.initialize()
        text = text_of(await session.call_tool("echo", {"text": "é🙂"}))
        if not OLD:  # 1.x does not tell the server when a caller gives up
            async with anyio.create_task_group() as group:
                group.start_soon(session.call_tool, "hang", {})
                await hanging.wait()
                group.cancel_scope.cancel()
            await stopped.wait()
    return {"text": text, "tasks": len(asyncio.all_tasks() - before)}


async def our_client_their_transport() -> Any:
    command = ["-m", "anywire", "serve", f"{FIXTURE}:server"]
    parameters = mcp.StdioServerParameters(
        command=sys.executable, args=command, env={"PYTHONPATH": ":".join(sys.path)}
    )
    async with connect(from_transport(mcp.stdio_client(parameters))) as caller:
        text = (await caller.call_tool("shout", {"text": "hello"})).text
    missing = mcp.StdioServerParameters(command="no-such-program", args=[])
    try:
        async with connect(from_transport(mcp.stdio_client(missing))):
            failed = "opened"
    except ConnectFailed as error:
        failed = str(error)
    return {"text": text, "failed": failed}


async def bridge_to_their_streams() -> Any:
    low = lowlevel()
    client, face = memory_pair()
    async with (
        create_client_server_memory_streams() as (near, far),
        background(low.run(*far, low.create_initialization_options())),
        background(Relay(face, lambda: from_streams(*near), print).run()),
        session_over(client) as session,
    ):
        await session.initialize()
        return {"text": text_of(await session.call_tool("echo", {"text": "through"}))}


async def refused_targets() -> Any:
    from anywire import AnywireError

    try:
        await serve(object(), memory_pair()[0])
    except AnywireError as error:
        return f"{type(error).__name__}: {error}"


async def take(step: str) -> dict[str, Any]:
    try:
        async with asyncio.timeout(STEP_WITHIN):
            return {"gave": await (globals() | vars(adapters_trouble))[step]()}
    except BaseException as error:
        traceback.print_exc()
        return {"failed": repr(error)}


async def main() -> None:
    steps = sys.argv[1].split(",")
    print(json.dumps({step: await take(step) for step in steps}))


asyncio.run(main())
