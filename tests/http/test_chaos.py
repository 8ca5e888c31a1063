"""Everything at once: clients that vanish, dawdle and lie, and others who must not notice."""

from __future__ import annotations

import asyncio
import json
import random
import time
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from urllib.parse import urlsplit

import pytest

from anywire import Context, connect
from anywire.client.result import ToolResult
from anywire.errors import AnywireError
from tests.http.raw import Caller, call, connection
from tests.http.serving import QUICK, listener_of, on_socket, until
from tests.http.tools import Tools

pytestmark = pytest.mark.chaos

LIMITS = QUICK.replace(
    stream_open_seconds=0.05,
    keep_alive_seconds=0.05,
    write_high_bytes=64 * 1024,
    write_low_bytes=16 * 1024,
    session_idle_seconds=1.0,
)


class Workshop(Tools):
    """Tools whose work takes a while, each piece of it with a name."""

    def __init__(self) -> None:
        super().__init__(LIMITS)
        self.chance = random.Random(7)

        @self.server.tool
        async def work(context: Context, name: str) -> str:
            """Report, take a while, return."""
            self.runs[name] += 1
            await context.progress(1, 2, name)
            await asyncio.sleep(self.chance.random() * 0.3)
            await context.progress(2, 2, name)
            return name


async def cut_in_mid_stream(caller: Caller, number: int) -> None:
    """Begin a call and vanish after its first event, with a reset or a farewell."""
    async with caller.begin(
        "POST", call(f"cut {number}", "work", {"name": f"cut {number}"}, token=number)
    ) as post:
        await post.head()
        await post.message()
        if number % 2:
            post.reset()


async def read_slowly(caller: Caller) -> int:
    """Read a long answer a little at a time."""
    async with connection(caller.url, buffer=4096) as opened:
        message = call("slow", "steps", {"count": 60, "size": 50_000}, token="slow")
        opened.write("POST", caller.path, caller.headers(), json.dumps(message).encode())
        await opened.head()
        return len(await opened.messages())


async def test_whoever_is_not_touched_by_a_fault_notices_none() -> None:
    """200 calls among half a body, a slow reader and 30 clients that vanish."""
    workshop = Workshop()
    listener = listener_of(workshop.accept, limits=LIMITS)
    async with on_socket(listener) as origin:
        url = f"{origin}/mcp"
        before = asyncio.all_tasks()
        async with AsyncExitStack() as stack:
            half = await stack.enter_async_context(connection(url))
            faulty = Caller(url)
            await faulty.initialize()
            half.write("POST", "/mcp", faulty.headers(), b'{"jsonrpc":"2.0","id":1,', length=1000)
            clients = [await stack.enter_async_context(connect(url, limits=LIMITS)) for _ in range(5)]
            calls = [
                asyncio.ensure_future(clients[number % 5].call_tool("work", {"name": str(number)}))
                for number in range(200)
            ]
            vanishing = [asyncio.ensure_future(cut_in_mid_stream(faulty, number)) for number in range(30)]
            slow = asyncio.ensure_future(read_slowly(faulty))
            results = await asyncio.gather(*calls)
            await asyncio.gather(*vanishing)
            assert await slow == 61
        await until(lambda: not len(listener.sessions), "all sessions have ended, by their clients or idle")
        await until(lambda: asyncio.all_tasks() <= before, "no task is left")
        used = time.process_time()
        await asyncio.sleep(0.5)  # that is what is measured
        used = time.process_time() - used

    assert [result.text for result in results] == [str(number) for number in range(200)]
    assert all(workshop.runs[str(number)] == 1 for number in range(200))
    assert all(workshop.runs[f"cut {number}"] == 1 for number in range(30))
    assert used < 0.1


class Balancer:
    """Passes connections on, and can cut some of them."""

    def __init__(self, url: str) -> None:
        self._target = urlsplit(url)
        self._writers: set[asyncio.StreamWriter] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self.cuts = 0

    @asynccontextmanager
    async def serving(self) -> AsyncGenerator[str]:
        """Listen on a free port; yields the address."""
        listening = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        try:
            yield f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}{self._target.path}"
        finally:
            listening.close()
            for task in list(self._tasks):
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        self._writers.add(writer)
        back, forth = await asyncio.open_connection(self._target.hostname, self._target.port)
        ways = [asyncio.create_task(self._pass(*way)) for way in ((reader, forth), (back, writer))]
        try:
            await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for way in ways:
                way.cancel()
            for each in (writer, forth):
                each.transport.abort()
            self._writers.discard(writer)
            self._tasks.discard(task)

    async def _pass(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while chunk := await reader.read(65536):
            writer.write(chunk)
            await writer.drain()

    def cut(self, number: int) -> None:
        """Reset so many of the connections that there are."""
        for writer in random.Random(3).sample(sorted(self._writers, key=id), min(number, len(self._writers))):
            writer.transport.abort()
            self.cuts += 1


async def test_cut_connections_cost_their_own_calls_at_most() -> None:
    """20 of them in the midst of 200 calls: most come back for their replies; nothing is done twice."""
    workshop = Workshop()
    listener = listener_of(workshop.accept, limits=LIMITS)
    async with on_socket(listener) as origin:
        balancer = Balancer(f"{origin}/mcp")
        async with balancer.serving() as url, connect(url, limits=LIMITS) as client:
            calls = [
                asyncio.ensure_future(client.call_tool("work", {"name": str(each)})) for each in range(200)
            ]
            await until(lambda: sum(each.done() for each in calls) >= 40, "the calls are under way")
            balancer.cut(20)
            results = await asyncio.gather(*calls, return_exceptions=True)
            after = await client.call_tool("work", {"name": "after"})
        await until(lambda: not len(listener.sessions), "the session has ended")

    failed = [result for result in results if not isinstance(result, ToolResult)]
    assert balancer.cuts == 20
    assert len(failed) <= 20
    assert all(isinstance(error, AnywireError) for error in failed)
    assert max(workshop.runs.values()) == 1
    assert all(
        workshop.runs[str(number)] == 1 for number, result in enumerate(results) if result not in failed
    )
    assert after.text == "after"
    print(f"{len(failed)} of 20 cut calls failed", {str(each)[:200] for each in failed})


async def test_an_open_conversation_costs_nothing_while_nothing_is_said() -> None:
    """Streams open, calls waiting, a session to watch over: no timer runs but those that must."""
    limits = QUICK.replace(stream_open_seconds=0.01)
    tools = Tools(limits)
    async with (
        on_socket(listener_of(tools.accept, limits=limits)) as origin,
        connect(f"{origin}/mcp", limits=limits) as client,
    ):
        calls = [asyncio.ensure_future(client.call_tool("hold")) for _ in range(20)]
        await tools.until_held(20)
        await asyncio.sleep(0.1)
        used = time.process_time()
        await asyncio.sleep(1.0)  # that is what is measured
        used = time.process_time() - used
        tools.gate.set()
        await asyncio.gather(*calls)

    assert used < 0.1
