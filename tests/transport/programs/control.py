"""A program on one side of a control channel, over its own stdio: `control.py WHAT`."""

from __future__ import annotations

import asyncio
import os
import sys

from anywire import Server, connect
from anywire.transport.control.channel import StdioChannel
from anywire.transport.control.host import ControlHost
from anywire.transport.control.router import ControlRouter
from anywire.transport.control.sole import control_face, control_target
from anywire.transport.stdio_server import StdioListener

server = Server("calc", version="1")


def say(word: str) -> None:
    os.write(2, f"{word}\n".encode())


@server.tool
def double(number: int) -> int:
    """Double a number, and print where nobody must."""
    print("this is no line of the channel")
    return 2 * number


@server.tool
def leave() -> None:
    """End the process in the middle of a call."""
    say("I leave")
    os._exit(7)


async def router() -> None:
    """Have two servers and say so."""
    async with ControlRouter(StdioChannel(), {"calc": server.accept, "other": server.accept}) as router:
        await router.initialize()
        await router.wait()


async def face() -> None:
    """Have one server, on a transport like any other."""
    await server.serve(control_face("calc"))


async def silent() -> None:
    """Have servers, and never say so."""
    async with ControlRouter(StdioChannel(), {"calc": server.accept}) as router:
        await router.wait()


async def dies() -> None:
    """Leave before anything was said."""
    say("there is no licence")
    os._exit(3)


async def target() -> None:
    """Be the host of the program that has started this: one client, on a transport like any other."""
    async with connect(control_target("calc")) as client:
        say((await client.call_tool("double", {"number": 4})).text)


async def host() -> None:
    """Be the host, until the program has no more to say."""
    async with ControlHost(StdioChannel()) as host:
        for name in await host.greeted() or ():
            async with connect(host.transport(name)) as client:
                say((await client.call_tool("double", {"number": 4})).text)
        host.write({"type": "result"})
        await host.wait()


async def stdio() -> None:
    """Be a server on stdio."""
    await server.serve(StdioListener().open())


MODES = (router, face, silent, dies, target, host, stdio)
asyncio.run({each.__name__: each for each in MODES}[sys.argv[1]]())
say("left in order")
