"""Both sides of a control channel at once, and a bridge over it."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator
from typing import Any, Literal

import pytest

from anywire import Client, Context, Server, connect
from anywire.bridge.relay import Relay
from anywire.errors import LocalProtocolError
from anywire.testing.line_wire import line_pair
from anywire.transport.control.handlers import Handler
from anywire.transport.control.host import ControlHost
from anywire.transport.control.router import ControlRouter
from anywire.transport.control.sole import control_face, control_target
from anywire.transport.memory import memory_pair
from anywire.wire.limits import DEFAULT_LIMITS
from anywire.wire.message import create_notification
from tests.transport.control.talk import OtherSide

Era = Literal["legacy", "modern"]


def toolbox(name: str = "calc") -> Server:
    """A server that tells, asks and fails."""
    server = Server(name, version="1")

    @server.tool(inline=True)
    def add(one: int, other: int) -> int:
        """Add two numbers."""
        return one + other

    @server.tool
    async def where(context: Context) -> str:
        """Ask for folders, with progress around it."""
        await context.progress(1, 2)
        roots = await context.roots()
        await context.progress(2, 2)
        return ",".join(root.uri for root in roots)

    return server


@contextlib.asynccontextmanager
async def channel(*servers: Server) -> AsyncGenerator[tuple[ControlHost, ControlRouter]]:
    """A host and a program with these servers, who have met."""
    host_end, sdk_end = line_pair()
    accepts = {server.identity.info.name: server.accept for server in servers}
    async with ControlHost(host_end) as host, ControlRouter(sdk_end, accepts) as router:
        await router.initialize()
        yield host, router


@pytest.mark.parametrize("era", ["legacy", "modern"])
async def test_a_conversation_is_what_it_is_on_any_wire(era: Era) -> None:
    """Calls, progress, questions, in either era."""
    told: list[float] = []
    async with channel(toolbox()) as (host, _):
        assert host.servers == ("calc",)
        async with connect(host.transport("calc"), era=era, roots=["file:///data"]) as client:
            result = await client.call_tool(
                "where", {}, on_progress=lambda done, _total, _message: told.append(done)
            )
            assert result.text == "file:///data"
            assert told == [1, 2]
            results = await asyncio.gather(
                *(client.call_tool("add", {"one": number, "other": 1}) for number in range(200))
            )
            assert [result.text for result in results] == [str(number + 1) for number in range(200)]


async def test_a_server_can_be_spoken_to_again() -> None:
    """One conversation after another, on one channel."""
    async with channel(toolbox()) as (host, _):
        for number in range(3):
            async with connect(host.transport("calc")) as client:
                assert (await client.call_tool("add", {"one": number, "other": 1})).text == str(number + 1)


async def test_servers_on_one_channel_are_spoken_to_at_once() -> None:
    """Each over a transport of its own."""
    async with (
        channel(toolbox("a"), toolbox("b")) as (host, _),
        connect(host.transport("a")) as one,
        connect(host.transport("b")) as other,
    ):
        names = [one.server.server_info.name, other.server.server_info.name]
        assert names == ["a", "b"]
        await asyncio.gather(*(_add(client) for client in (one, other) for _ in range(50)))


async def _add(client: Client) -> None:
    assert (await client.call_tool("add", {"one": 1, "other": 1})).text == "2"


async def test_a_bridge_carries_what_a_host_asks_to_any_server() -> None:
    """The host believes that the server lives in the program it speaks to."""
    host_end, sdk_end = line_pair()
    client_end, server_end = memory_pair()
    server = toolbox()
    server.accept(server_end)
    reports: list[str] = []
    relay = Relay(control_face("calc", sdk_end), lambda: client_end, reports.append)
    relaying = asyncio.create_task(relay.run())
    async with ControlHost(host_end) as host:
        assert await host.greeted() == ("calc",)
        async with connect(host.transport("calc"), roots=["file:///data"], era="legacy") as client:
            assert (await client.call_tool("where", {})).text == "file:///data"
    async with asyncio.timeout(10):
        await relaying
    assert reports == []
    await server.close()


async def test_a_bridge_reaches_a_server_in_a_program_from_any_client() -> None:
    """The client believes that the server is at the other end of its own wire."""
    host_end, sdk_end = line_pair()
    client_end, face = memory_pair()
    server = toolbox()
    reports: list[str] = []
    relaying = asyncio.create_task(
        Relay(face, lambda: control_target("calc", host_end), reports.append).run()
    )
    async with ControlRouter(sdk_end, {"calc": server.accept}) as router:
        await router.initialize()
        async with connect(client_end, roots=["file:///data"], era="legacy") as client:
            assert (await client.call_tool("where", {})).text == "file:///data"
        async with asyncio.timeout(10):
            await relaying
    assert reports == []


async def test_large_results_and_many_of_them_do_not_lock() -> None:
    """Both ends have more to say than the channel holds."""
    server = toolbox()

    @server.tool(inline=True)
    def echo(text: str) -> str:
        """Give it back."""
        return text

    text = "é🙂" * 100_000
    async with channel(server) as (host, _), connect(host.transport("calc")) as client:
        results = await asyncio.gather(*(client.call_tool("echo", {"text": text}) for _ in range(20)))
        assert {result.text for result in results} == {text}


async def test_nothing_is_left_behind() -> None:
    """Neither tasks nor entries in a table."""
    before = asyncio.all_tasks()
    server = toolbox()
    async with channel(server) as (host, router), connect(host.transport("calc")) as client:
        for _ in range(20):
            await client.call_tool("add", {"one": 1, "other": 1})
        shown: list[Any] = [repr(host.link), repr(router.link), repr(router.conversations["calc"])]
        assert all(" 0 " in each for each in shown), shown
    await server.close()
    for _ in range(60):
        await asyncio.sleep(0)
    assert asyncio.all_tasks() == before


async def test_what_is_sent_from_another_thread_is_refused_and_harms_nothing() -> None:
    """A message of a conversation, or a line; both go on from the right one."""
    server = Server("calc", version="1")
    lines: asyncio.Queue[Any] = asyncio.Queue()
    host_end, sdk_end = line_pair()
    accepts = {"calc": server.accept}
    async with (
        ControlHost(host_end, on_line=lines.put_nowait) as host,
        ControlRouter(sdk_end, accepts) as router,
    ):
        transport = host.transport("calc")
        async with connect(transport) as client:
            with pytest.raises(LocalProtocolError, match="on its event loop"):
                await asyncio.to_thread(transport.post, create_notification("x"))
            with pytest.raises(LocalProtocolError, match="on its event loop"):
                await asyncio.to_thread(router.write, {"type": "a"})
            await client.ping()
            router.write({"type": "b"})
            router.write({"type": "c"})
            async with asyncio.timeout(10):
                assert [(await lines.get())["type"] for _ in range(2)] == ["b", "c"]


@pytest.mark.parametrize("kind", [ControlHost, ControlRouter])
async def test_a_handler_may_end_its_own_side(kind: type[ControlHost | ControlRouter]) -> None:
    """Two at once as well, which are left to end; another one that runs is cancelled and answered."""
    mine, other = line_pair()
    ended: list[object] = []
    started = asyncio.Event()

    async def leave(_: object) -> None:
        await side.close()
        ended.append(side.link.channel.closed)

    async def wait(_: object) -> None:
        started.set()
        await asyncio.Event().wait()

    handlers: dict[str, Handler] = {"leave": leave, "wait": wait, "end_session": lambda _: side.close()}
    side = (
        ControlHost(mine, handlers=handlers)
        if kind is ControlHost
        else ControlRouter(mine, {}, handlers=handlers)
    )
    async with OtherSide(other) as asking, side:
        waiting = asking.ask("wait")
        await started.wait()
        for subtype in ("leave", "end_session", "leave"):
            asking.ask(subtype)
        answer = await asking.hear_answer(waiting)
        assert answer["error"] == "the program ended before it answered 'wait'"
        await asking.hear_the_end()
        async with asyncio.timeout(10):
            await side.wait()
    assert ended == [True, True]


async def test_a_handler_may_end_its_side_while_the_last_calls_are_finished() -> None:
    """The one does not wait for the other."""
    host_end, sdk_end = line_pair()
    started, go_on, ended = asyncio.Event(), asyncio.Event(), asyncio.Event()

    async def leave(_: object) -> None:
        started.set()
        await go_on.wait()
        await router.close()
        ended.set()

    limits = DEFAULT_LIMITS.replace(drain_seconds=1000.0)
    router = ControlRouter(sdk_end, {}, handlers={"leave": leave}, limits=limits)
    async with OtherSide(host_end) as host:
        await router.start()
        host.ask("leave")
        await started.wait()
        host.channel.end_sending()
        await host.hear_nothing()
        go_on.set()
        async with asyncio.timeout(10):
            await ended.wait()
            await router.wait()
        await router.close()
