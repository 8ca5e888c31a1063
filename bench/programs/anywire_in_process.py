"""Calls that never leave the process: `anywire_in_process.py WAY ERA SECONDS`."""

# pyright: basic

import asyncio
import sys
from collections import deque
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager

from anywire_server import build
from client_load import ERA, TEXT, measure

from anywire import connect
from anywire.testing.line_wire import line_pair
from anywire.transport.control.host import ControlHost
from anywire.transport.control.plain import SdkMcpTransport
from anywire.transport.control.router import ControlRouter
from anywire.wire.codec import encode
from anywire.wire.control_mcp import mcp_request
from anywire.wire.message import create_request

server = build("task")
PARAMS = {"name": "echo", "arguments": {"text": TEXT}}
HANDSHAKE = {
    "protocolVersion": "2025-11-25",
    "capabilities": {},
    "clientInfo": {"name": "host", "version": "1"},
}


@asynccontextmanager
async def memory() -> AsyncGenerator[Callable]:
    """A client and the server, back to back."""
    async with connect(server, era=ERA) as client:

        async def call() -> None:
            result = await client.call_tool("echo", {"text": TEXT})
            assert result.text == TEXT, result

        yield call


@asynccontextmanager
async def router() -> AsyncGenerator[Callable]:
    """A client, its host, a control channel of lines, a router, the server."""
    one, other = line_pair()
    async with ControlHost(one) as host, ControlRouter(other, {"echo": server.accept}) as router:
        await router.initialize()
        async with connect(host.transport("echo"), era=ERA) as client:

            async def call() -> None:
                result = await client.call_tool("echo", {"text": TEXT})
                assert result.text == TEXT, result

            yield call


@asynccontextmanager
async def lines() -> AsyncGenerator[Callable]:
    """A host that only writes lines and waits for answers; a control channel, a router, the server."""
    loop, (host, other), waiting = asyncio.get_running_loop(), line_pair(), deque()
    host.on_line = lambda line: waiting.popleft().set_result(line)
    await host.start()

    async def ask(id: int, method: str, params: dict) -> bytes:
        waiting.append(loop.create_future())
        host.write_line(mcp_request(b'"r"', b'"echo"', encode(create_request(id, method, params))))
        return await waiting[-1]

    async with ControlRouter(other, {"echo": server.accept}):
        await ask(0, "initialize", HANDSHAKE)

        async def call() -> None:
            assert TEXT.encode() in await ask(1, "tools/call", PARAMS)

        yield call
    await host.close()


@asynccontextmanager
async def objects() -> AsyncGenerator[Callable]:
    """A host with a channel of its own, which gives plain objects and gets them."""
    loop, waiting, last = asyncio.get_running_loop(), {}, 0
    transport = SdkMcpTransport(lambda message: waiting.pop(message["id"]).set_result(message))
    server.accept(transport)

    async def ask(method: str, params: dict) -> dict:
        nonlocal last
        last += 1
        future = waiting[last] = loop.create_future()
        transport.on_message({"jsonrpc": "2.0", "id": last, "method": method, "params": params})
        return await future

    await ask("initialize", HANDSHAKE)

    async def call() -> None:
        reply = await ask("tools/call", PARAMS)
        assert reply["result"]["content"][0]["text"] == TEXT

    yield call


WAYS = {"memory": memory, "router": router, "lines": lines, "objects": objects}


async def main() -> None:
    async with WAYS[sys.argv[1]]() as call:
        await measure(call)
    await server.close()


asyncio.run(main())
