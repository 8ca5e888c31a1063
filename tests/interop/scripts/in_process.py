"""How long does a call take that never leaves the process? `in_process.py FOLDER [CALLS]`, a JSON object.

FOLDER holds the official SDK's packages. Each way is taken in turns, so that whatever else the machine does
falls on all alike; the numbers are microseconds of processor time a call, of the quickest turn: one by one, and
a hundred at once.
"""

# The SDK is not where the types of this project are checked.
# pyright: basic, reportMissingImports=false

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections import deque
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

sys.path.append(sys.argv[1])  # behind our own packages

import mcp
from mcp.server.mcpserver import MCPServer

from anywire import Server, connect
from anywire.testing.line_wire import line_pair
from anywire.transport.control.host import ControlHost
from anywire.transport.control.plain import SdkMcpTransport
from anywire.transport.control.router import ControlRouter
from anywire.transport.memory import memory_pair
from anywire.wire.codec import encode
from anywire.wire.control_mcp import mcp_request
from anywire.wire.message import create_request

CALLS = int(sys.argv[2]) if len(sys.argv) > 2 else 10_000
TURNS = 5
TOGETHER = 100
ARGUMENTS = {"one": 1, "other": 2}

INFO = {"name": "host", "version": "1"}
HANDSHAKE = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": INFO}
OPENING = encode(create_request(0, "initialize", HANDSHAKE))
CALL = encode(create_request(1, "tools/call", {"name": "add", "arguments": ARGUMENTS}))

Call = Callable[[], Awaitable[Any]]


def our_server() -> Server:
    server = Server("calc", version="1")

    @server.tool(inline=True)
    def add(one: int, other: int) -> int:
        """Add."""
        return one + other

    return server


@asynccontextmanager
async def through_the_router() -> AsyncGenerator[Call]:
    """A client of ours, its host, a channel, a router, the server."""
    server, (one, other) = our_server(), line_pair()
    async with ControlHost(one) as host, ControlRouter(other, {"calc": server.accept}) as router:
        await router.initialize()
        async with connect(host.transport("calc"), era="legacy") as client:
            yield lambda: client.call_tool("add", ARGUMENTS)
    await server.close()


@asynccontextmanager
async def to_the_router() -> AsyncGenerator[Call]:
    """A host that does no more than writing lines and waiting for their answers; a channel, a router, the server."""
    server, (host, sdk) = our_server(), line_pair()
    waiting: deque[asyncio.Future[bytes]] = deque()
    host.on_line = lambda line: waiting.popleft().set_result(line)
    loop = asyncio.get_running_loop()
    await host.start()

    def ask(message: bytes) -> asyncio.Future[bytes]:
        waiting.append(loop.create_future())
        host.write_line(mcp_request(b'"r1"', b'"calc"', message))
        return waiting[-1]

    async with ControlRouter(sdk, {"calc": server.accept}):
        await ask(OPENING)
        yield lambda: ask(CALL)
    await host.close()
    await server.close()


@asynccontextmanager
async def over_memory() -> AsyncGenerator[Call]:
    """A client of ours and the server, back to back."""
    server, (one, other) = our_server(), memory_pair()
    server.accept(other)
    async with connect(one, era="legacy") as client:
        yield lambda: client.call_tool("add", ARGUMENTS)
    await server.close()


@asynccontextmanager
async def as_plain_objects() -> AsyncGenerator[Call]:
    """A host that has its own channel, and gives objects to `on_message`."""
    server, waiting = our_server(), dict[Any, asyncio.Future[Any]]()
    transport = SdkMcpTransport(lambda message: waiting.pop(message["id"]).set_result(message))
    server.accept(transport)
    loop, last = asyncio.get_running_loop(), 0

    def ask(method: str, params: dict[str, Any]) -> asyncio.Future[Any]:
        nonlocal last
        last += 1
        waiting[last] = loop.create_future()
        transport.on_message({"jsonrpc": "2.0", "id": last, "method": method, "params": params})
        return waiting[last]

    await ask("initialize", HANDSHAKE)
    yield lambda: ask("tools/call", {"name": "add", "arguments": ARGUMENTS})
    await server.close()


def sdk_server() -> MCPServer:
    server = MCPServer("calc")

    @server.tool()
    async def add(one: int, other: int) -> int:
        """Add."""
        return one + other

    return server


@asynccontextmanager
async def on_the_sdk() -> AsyncGenerator[Call]:
    """The official SDK's client and server, over its in-memory transport."""
    async with mcp.Client(sdk_server(), mode="legacy") as client:
        yield lambda: client.call_tool("add", ARGUMENTS)


WAYS = {
    "router, lines": to_the_router,
    "router, client": through_the_router,
    "memory, client": over_memory,
    "plain objects": as_plain_objects,
    "official SDK": on_the_sdk,
}


async def one_by_one(call: Call, count: int) -> None:
    """Each call after the other."""
    for _ in range(count):
        await call()


async def together(call: Call, count: int) -> None:
    """A hundred calls at once, and again."""
    for _ in range(count // TOGETHER):
        await asyncio.gather(*(call() for _ in range(TOGETHER)))


async def main() -> None:
    """Take each way in turns."""
    best: dict[str, dict[str, float]] = {}
    count = CALLS // TURNS
    for _ in range(TURNS):
        for name, way in WAYS.items():
            async with way() as call:
                for calls in (one_by_one, together):
                    await calls(call, TOGETHER)
                    began = time.process_time()
                    await calls(call, count)
                    took = round((time.process_time() - began) / count * 1e6, 1)
                    numbers = best.setdefault(name, {})
                    numbers[calls.__name__] = min(numbers.get(calls.__name__, took), took)
    print(json.dumps(best))


asyncio.run(main())
