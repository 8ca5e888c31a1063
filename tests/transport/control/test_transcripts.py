"""Conversations as real hosts and SDKs have them, line by line.

A transcript has one line for each line of the channel, with who says it (`host`, `sdk`), and in between what
our side is told to do (`do WHAT`) and what came of it (`said WHAT WORDS`).  One side is ours: its lines are
compared, the other's are said.  `"..."` stands for any value, blank lines and those that begin with # for
nothing.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, cast

import pytest

from anywire import Client, Context, Server, connect
from anywire.errors import PeerError
from anywire.testing.line_wire import line_pair
from anywire.transport.contract import ignore
from anywire.transport.control.host import ControlHost
from anywire.transport.control.router import ControlRouter
from tests.transport.control.talk import OtherSide

FOLDER = Path(__file__).parent / "transcripts"


def transcripts(side: str) -> list[Any]:
    """The transcripts in which that side is ours."""
    return [pytest.param(path, id=path.stem) for path in sorted(FOLDER.glob(f"{side}_*.txt"))]


class Actor:
    """Our side: does what the transcript tells, and hands out what came of it."""

    def __init__(self) -> None:
        self.running: dict[str, asyncio.Task[str]] = {}

    def do(self, what: str) -> None:
        """Begin something."""
        self.running[what] = asyncio.ensure_future(getattr(self, what)())

    async def end(self) -> None:
        """Nothing that was begun may still run, nor have failed unheard."""
        async with asyncio.timeout(10):
            for task in self.running.values():
                if not task.cancelled():
                    await task


async def play(path: Path, other: OtherSide, mine: str, actor: Actor) -> None:
    """Say the other side's lines, and wait for ours."""
    for line in path.read_text(encoding="utf-8").splitlines():
        word, _, rest = line.partition(" ")
        if word == "do":
            actor.do(rest)
            await asyncio.sleep(0)
        elif word == "said":
            what, _, words = rest.partition(" ")
            async with asyncio.timeout(10):
                assert await actor.running[what] == words, line
        elif word == mine:
            heard, expected = await other.hear(), json.loads(rest)
            assert alike(expected, heard), f"{path.name} expects\n{line}\nand heard\n{json.dumps(heard)}"
        elif word in ("host", "sdk"):
            other.say(rest)
        else:
            assert not word.strip("#"), line
    await other.hear_nothing()
    await actor.end()


def alike(expected: object, heard: object) -> bool:
    """Whether a value is the expected one."""
    if expected == "...":
        return True
    if isinstance(expected, dict) and isinstance(heard, dict):
        one, other = cast("dict[str, object]", expected), cast("dict[str, object]", heard)
        return one.keys() == other.keys() and all(alike(one[name], other[name]) for name in one)
    if isinstance(expected, list) and isinstance(heard, list):
        items, others = cast("list[object]", expected), cast("list[object]", heard)
        return len(items) == len(others) and all(map(alike, items, others))
    return expected == heard


# The SDK's side is ours.


def calc() -> Server:
    """The server that the transcripts speak of."""
    server = Server("calc", version="1")

    @server.tool
    async def weigh(grams: int) -> str:
        """Weigh."""
        return f"{grams} g"

    @server.tool
    async def where(context: Context) -> str:
        """Ask for folders, with progress before where it is wanted."""
        await context.progress(1, 2)
        return ",".join(root.uri for root in await context.roots())

    @server.tool
    async def fail() -> str:
        """Fail."""
        raise ValueError("it is broken")

    @server.tool
    async def wait() -> str:
        """Wait to be cancelled."""
        await asyncio.Event().wait()
        return "never"

    return server


class Program(Actor):
    """A program with a server in it."""

    def __init__(self, router: ControlRouter, server: Server) -> None:
        super().__init__()
        self._router = router
        self._server = server

    async def initialize(self) -> str:
        return str(await self._router.initialize())

    async def interrupt(self) -> str:
        return str(await self._router.request("interrupt"))

    async def learn(self) -> str:
        @self._server.tool
        async def learnt() -> str:
            """Be there now."""
            return "it is new"

        return "learnt"


@pytest.mark.parametrize("path", transcripts("router"))
async def test_servers_here_get_along_with_a_host(path: Path) -> None:
    """Each line that we write is the one that such a host has been seen to accept."""
    host, sdk = line_pair()
    server = calc()

    def allow(asked: dict[str, Any]) -> object:
        return {"behavior": "allow", "updatedInput": asked["input"]}

    handlers = {"can_use_tool": allow}
    async with (
        OtherSide(host) as other,
        ControlRouter(sdk, {"calc": server.accept}, handlers=handlers) as router,
    ):
        await play(path, other, "sdk", Program(router, server))
    await server.close()


# The host's side is ours.


class Agent(Actor):
    """A host with a client of the server `calc`."""

    def __init__(self, host: ControlHost) -> None:
        super().__init__()
        self.client: Client = connect(host.transport("calc"), era="legacy", roots=["file:///work"])

    async def connect(self) -> str:
        await self.client.__aenter__()
        return "connected"

    async def weigh(self) -> str:
        return await self._call("weigh")

    async def fail(self) -> str:
        return await self._call("fail")

    async def wait(self) -> str:
        return await self._call("wait")

    async def _call(self, tool: str) -> str:
        try:
            return (await self.client.call_tool(tool, {}, on_progress=ignore)).text
        except PeerError as error:
            return error.message

    async def give_up(self) -> str:
        self.running["wait"].cancel()
        return "given up"


@asynccontextmanager
async def agent(host: ControlHost) -> AsyncGenerator[Agent]:
    """An agent, which leaves at the end."""
    agent = Agent(host)
    yield agent
    await agent.client.__aexit__(None, None, None)


@pytest.mark.parametrize("path", transcripts("host"))
async def test_a_host_here_gets_along_with_an_sdk(path: Path) -> None:
    """Each answer such an SDK has been seen to write is understood."""
    host_end, sdk = line_pair()
    async with (
        OtherSide(sdk) as other,
        ControlHost(host_end) as host,
        agent(host) as actor,
    ):
        await play(path, other, "host", actor)
