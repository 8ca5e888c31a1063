"""Very many sessions and streams: what they cost, and that nothing is left of them.

As many as a busy machine bears by default; `ANYWIRE_MANY=10000` asks for so many sessions, and for a
tenth of it in streams.  With `-rP` the figures are shown.
"""

from __future__ import annotations

import asyncio
import gc
import json
import os
import sys
import tracemalloc
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import pytest

from anywire.testing import in_virtual_time
from anywire.wire.limits import Limits
from tests.http.raw import Caller, Connection, connection, initialize, note
from tests.http.serving import QUICK, listener_of, until
from tests.http.test_asgi_servers import ROOT, UVICORN, Running, listens
from tests.http.tools import Tools
from tests.http.walk import Walker

pytestmark = pytest.mark.chaos

MANY = int(os.environ.get("ANYWIRE_MANY", "1000"))
IDLE = 600.0


@in_virtual_time
async def test_very_many_abandoned_sessions_leave_nothing_behind() -> None:
    """Twice: the table is empty after the idle time, and the second round needs no more than the first."""
    limits = QUICK.replace(session_idle_seconds=IDLE, sessions=MANY)
    tools = Tools(limits)
    walker = Walker(listener_of(tools.accept, limits=limits))
    tasks = len(asyncio.all_tasks())
    full: list[int] = []
    empty: list[int] = []
    await round_of(walker, tools, MANY // 10)  # whatever is made once is made now
    await asyncio.sleep(IDLE * 1.2)
    tracemalloc.start()
    try:
        for _ in range(2):
            gc.collect()
            before, _ = tracemalloc.get_traced_memory()
            await round_of(walker, tools, MANY)
            gc.collect()
            full.append(tracemalloc.get_traced_memory()[0] - before)
            assert len(walker.sessions) == MANY
            await asyncio.sleep(IDLE * 1.2)
            gc.collect()
            empty.append(tracemalloc.get_traced_memory()[0] - before)
            assert len(walker.sessions) == 0
            assert len(asyncio.all_tasks()) == tasks
    finally:
        tracemalloc.stop()

    print(f"{full[0] / MANY / 1024:.1f} kB a session, {empty} bytes left of {MANY}")
    assert full[1] <= full[0] * 1.05
    assert max(empty) < full[0] * 0.05
    assert full[0] / MANY < 32 * 1024


async def round_of(walker: Walker, tools: Tools, count: int) -> None:
    """Open so many sessions and leave them."""
    for _ in range(count):
        await walker.open()
    tools.transports.clear()


@asynccontextmanager
async def counting(idle: float) -> AsyncGenerator[tuple[Running, Caller]]:
    """The application in a process of its own, and who asks it for the number of its sessions."""
    command = [*UVICORN[:3], "tests.http.programs.counted:app", *UVICORN[4:]]
    async with AsyncExitStack() as stack:
        port = 20_000 + os.getpid() % 20_000
        process = await asyncio.create_subprocess_exec(
            *command,
            "--port",
            str(port),
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": str(ROOT), "IDLE_SECONDS": str(idle)},
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
        server = Running(process, f"http://127.0.0.1:{port}/mcp")
        stack.push_async_callback(server.end)
        await until(lambda: process.returncode is not None or listens(port), "it listens")
        yield server, Caller(f"http://127.0.0.1:{port}/count")


async def count(asker: Caller) -> dict[str, int]:
    """Ask for the numbers."""
    return (await asker.request("GET")).message


def resident(server: Running) -> int:
    """The memory of a process, in kB."""
    for line in Path(f"/proc/{server.process.pid}/status").read_text(encoding="utf-8").splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1])
    raise AssertionError("no VmRSS")


def busy(server: Running) -> float:
    """The processor time of a process, in seconds."""
    fields = Path(f"/proc/{server.process.pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


linux = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")


@linux
async def test_very_many_sessions_over_sockets_cost_little_and_the_same_twice() -> None:
    """Opened by a client that then vanishes."""
    async with counting(idle=2.0 + MANY / 1000) as (server, asker):
        await open_sessions(server.url, 100)
        start = resident(server)
        peaks: list[int] = []
        for _ in range(2):
            await open_sessions(server.url, MANY)
            peaks.append(resident(server))
            assert (await count(asker))["sessions"] >= MANY
            await until_empty(asker)
        tasks = (await count(asker))["tasks"]

    print(f"{(peaks[0] - start) / MANY:.1f} kB of memory a session; peaks {peaks} kB after {start} kB")
    assert peaks[1] <= peaks[0] * 1.3  # the allocator has moods; the test above is the exact one
    assert (peaks[0] - start) / MANY < 64
    assert tasks < 10


async def open_sessions(url: str, number: int) -> None:
    """Shake hands so often, on one connection."""
    caller = Caller(url)
    async with connection(url) as opened:
        for _ in range(number):
            opened.write("POST", "/mcp", caller.headers(), json.dumps(initialize()).encode())
            head = await opened.head()
            assert head.status == 200
            await opened.body()


async def until_empty(asker: Caller) -> None:
    """Wait until all sessions have been ended."""
    async with asyncio.timeout(60):
        while (await count(asker))["sessions"]:  # noqa: ASYNC110 it is in another process
            await asyncio.sleep(0.1)


async def until_quiet(asker: Caller) -> None:
    """Wait until no request is being answered: each session has one task of its own."""
    async with asyncio.timeout(60):
        while (numbers := await count(asker))["tasks"] > numbers["sessions"] + 10:  # noqa: ASYNC110 as above
            await asyncio.sleep(0.1)


@linux
async def test_very_many_idle_streams_are_held_for_little() -> None:
    """And cost no time while nothing is to be said."""
    number = MANY // 10
    async with counting(idle=600.0) as (server, asker), AsyncExitStack() as stack:
        await open_sessions(server.url, 50)
        start = resident(server)
        streams = await asyncio.gather(*(listen(stack, server.url) for _ in range(number)))
        with_streams = resident(server)
        idle_from = busy(server)
        await asyncio.sleep(1.0)  # that is what is measured
        used = busy(server) - idle_from
        assert (await count(asker))["sessions"] == number + 50
        for stream in streams:
            stream.reset()
        await until_quiet(asker)

    print(
        f"{(with_streams - start) / number:.1f} kB a session with a stream; {used:.2f} s of {number} in a second"
    )
    assert (with_streams - start) / number < 128
    assert used < 0.2


async def listen(stack: AsyncExitStack, url: str) -> Connection:
    """Open a session and its stream, and hold it."""
    caller = Caller(url)
    await caller.initialize()
    assert (await caller.post(note("notifications/x"))).status == 202
    return await stack.enter_async_context(caller.listen())


def test_the_cap_of_the_default_limits_is_what_is_tried_here() -> None:
    assert Limits().sessions == 10_000
