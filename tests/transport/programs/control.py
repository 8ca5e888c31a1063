"""A program on one side of a control channel, over its own stdio: `control.py WHAT`."""

from __future__ import annotations

import asyncio
import os
import sys

from anywire import Server, connect
from anywire.bridge.relay import Relay
from anywire.transport.control.channel import StdioChannel
from anywire.transport.control.child import ChildChannel
from anywire.transport.control.host import ControlHost
from anywire.transport.control.router import ControlRouter
from anywire.transport.control.sole import control_face, control_target
from anywire.transport.process import Command
from anywire.transport.stdio_client import StdioClientTransport
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


async def bridge_face() -> None:
    """Be a program with a server, which is another program."""
    target = StdioClientTransport(this_program("stdio"), on_stderr=pass_on)
    await Relay(control_face("calc"), target, say).run()


async def bridge_target() -> None:
    """Be a server on stdio, which lives in another program."""
    channel = ChildChannel(this_program("router"), on_stderr=pass_on)
    await Relay(StdioListener().open(), control_target("calc", channel), say).run()


async def stdio() -> None:
    """Be a server on stdio."""
    await server.serve(StdioListener().open())


def this_program(what: str) -> Command:
    return Command((sys.executable, "-W", "error", __file__, what))


def pass_on(line: bytes) -> None:
    say(line.decode())


MODES = (router, face, silent, dies, target, host, bridge_face, bridge_target, stdio)
asyncio.run({each.__name__: each for each in MODES}[sys.argv[1]]())
say("left in order")
