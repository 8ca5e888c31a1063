"""Calls through bridges while servers are killed and the network is cut: who is not hit notices nothing.

There are 25 calls for each fault; three faults of each kind usually, twenty when asked for with `-m large`.
"""

from __future__ import annotations

import asyncio
import itertools
import os
import sys
from collections import Counter
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from anywire.bridge.meeting.upstream import Upstream
from anywire.bridge.relay import Relay
from anywire.testing.byte_wire import ByteTransport, byte_pair
from anywire.transport.contract import Transport
from anywire.transport.http_client import HttpClientTransport
from anywire.transport.process import Command
from anywire.transport.stdio_client import StdioClientTransport
from anywire.wire.limits import Limits
from anywire.wire.message import (
    Batch,
    ErrorResponse,
    Message,
    Response,
    create_notification,
    create_request,
    plain_id,
)
from tests.cli.serving import Listening
from tests.http.serving import until
from tests.http.test_chaos import Balancer
from tests.interop.processes import watch

pytestmark = pytest.mark.chaos

FAULTS = pytest.mark.parametrize("faults", [3, pytest.param(20, marks=pytest.mark.large)])
CALLS_A_FAULT = 25
AT_ONCE = 4
#: Turns of the loop until the ends of a connection have heard that it was cut.
TURNS = 20
SERVERS = Path(__file__).with_name("servers")
LIMITS = Limits(
    restart_seconds=0.01, restart_most_seconds=0.05, reconnect_seconds=0.05, reconnect_most_seconds=0.2
)


class Callers:
    """Some callers at the face of a bridge, each with one call at a time, and what became of the calls."""

    def __init__(self, face: ByteTransport) -> None:
        self.face = face
        #: How often each call was settled, by its number.
        self.settled: Counter[int] = Counter()
        #: The numbers of the calls that succeeded.
        self.succeeded: set[int] = set()
        #: What the others were told.
        self.told: Counter[str] = Counter()
        #: The calls that were under way during a fault.
        self.hit: set[int] = set()
        self._under_way: dict[int, asyncio.Future[None]] = {}
        self._numbers = itertools.count(1)
        self._failing = False
        face.callbacks.on_message = self._receive

    async def open(self) -> None:
        """Shake hands."""
        await self.face.start()
        opened = self._under_way[0] = asyncio.get_running_loop().create_future()
        params = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "chaos"}}
        self.face.post(create_request(0, "initialize", params))
        async with asyncio.timeout(20):
            await opened
        self.face.post(create_notification("notifications/initialized"))

    async def call(self) -> int:
        """Call once; return the number of the call."""
        number = next(self._numbers)
        answered = self._under_way[number] = asyncio.get_running_loop().create_future()
        if self._failing:
            self.hit.add(number)
        params = {"name": "work", "arguments": {"name": str(number)}}
        self.face.post(create_request(number, "tools/call", params))
        async with asyncio.timeout(30):
            await answered
        return number

    async def work(self, until_number: int) -> None:
        """Call again and again."""
        while await self.call() < until_number:
            pass

    @asynccontextmanager
    async def fault(self) -> AsyncGenerator[None]:
        """Whatever is under way while the block runs may fail."""
        self._failing = True
        self.hit.update(self._under_way)
        yield
        self.hit.update(self._under_way)
        self._failing = False

    def _receive(self, message: Message | Batch) -> None:
        if not isinstance(message, Response | ErrorResponse):
            return
        assert message.id is not None
        number = plain_id(message.id)
        assert isinstance(number, int)
        self.settled[number] += 1
        if isinstance(message, Response):
            self.succeeded.add(number)
        else:
            self.told[message.detail().message] += 1
        answered = self._under_way.pop(number, None)
        if answered is not None:
            answered.set_result(None)


@asynccontextmanager
async def bridge(make_target: Callable[[], Transport], reports: list[str]) -> AsyncGenerator[Callers]:
    """Callers at a bridge; at the end no task is left."""
    before = asyncio.all_tasks()
    client, face = byte_pair(limits=LIMITS)
    callers = Callers(client)
    upstream = Upstream(make_target, reports.append, LIMITS)
    running = asyncio.create_task(Relay(face, upstream.target, reports.append, LIMITS).run())
    try:
        await callers.open()
        yield callers
        await client.close()
        async with asyncio.timeout(20):
            await running
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
        await upstream.close()
    await until(lambda: asyncio.all_tasks() <= before, "no task is left")


async def survive(callers: Callers, faults: Sequence[Callable[[Callers], Awaitable[None]]]) -> None:
    """Work while one fault after the other is made, evenly among the calls; then work once more."""
    count = CALLS_A_FAULT * len(faults)
    working = [asyncio.ensure_future(callers.work(count)) for _ in range(AT_ONCE)]
    for number, fault in enumerate(faults, 1):
        due = count * number // (len(faults) + 1)
        await until(lambda due=due: len(callers.settled) >= due, f"{due} calls are settled", 60.0)
        await fault(callers)
    await asyncio.gather(*working)
    assert await callers.call() in callers.succeeded


def check(callers: Callers, ledger: Path) -> None:
    """Nothing was done twice, nothing was settled twice, nothing failed that was not hit."""
    done = Counter(int(line) for line in ledger.read_text("utf-8").split())
    calls = set(callers.settled) - {0}
    print(
        f"{len(calls)} calls, {len(callers.hit)} hit, {len(calls - callers.succeeded)} failed", callers.told
    )

    assert set(callers.settled.values()) == {1}
    assert set(done.values()) == {1}
    assert calls - callers.succeeded <= callers.hit
    assert callers.succeeded - {0} <= set(done)
    assert len(calls - callers.hit) > len(calls) / 4


@FAULTS
async def test_a_child_that_is_killed_costs_the_calls_it_was_at(faults: int, tmp_path: Path) -> None:
    ledger, reports = tmp_path / "ledger", list[str]()
    children: list[StdioClientTransport] = []

    def make() -> StdioClientTransport:
        command = Command((sys.executable, "-I", "-S", str(SERVERS / "ledger.py"), str(ledger)))
        children.append(StdioClientTransport(command, limits=LIMITS, on_stderr=lambda _: None))
        return children[-1]

    async def kill(callers: Callers) -> None:
        child, number = children[-1].child, len(reports)
        assert child is not None
        async with callers.fault():
            child.kill()
            await until(lambda: len(reports) > number, "it is noticed")

    with watch():
        async with bridge(make, reports) as callers:
            await survive(callers, [kill] * faults)
    check(callers, ledger)
    assert len(children) == faults + 1
    assert all("was ended by signal 9" in told for told in callers.told)


class Cable(Balancer):
    """A way to a server that is not always there; who connects meanwhile waits until it is."""

    def __init__(self, url: str) -> None:
        super().__init__(url)
        self.leads_somewhere = asyncio.Event()
        self.leads_somewhere.set()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await self.leads_somewhere.wait()
        await super()._serve(reader, writer)

    async def is_cut(self) -> None:
        """Wait until all who were connected know that they are not."""
        await until(lambda: not self._writers, "nobody is connected")
        for _ in range(TURNS):
            await asyncio.sleep(0)


@FAULTS
async def test_a_server_on_the_network_is_killed_and_the_network_cut(faults: int, tmp_path: Path) -> None:
    """The bridge is on stdio; the sessions that are lost with a server are opened anew."""
    ledger, reports = tmp_path / "ledger", list[str]()
    words = (f"{SERVERS / 'ledger_http.py'}:server", "--http")
    environment = {**os.environ, "LEDGER": str(ledger)}
    server = Listening(("serve", *words, "127.0.0.1:0"), environment)
    address = server.url.removeprefix("http://").split("/")[0]

    async def restart(callers: Callers) -> None:
        nonlocal server
        cable.leads_somewhere.clear()
        async with callers.fault():
            await asyncio.to_thread(server.kill)
            await cable.is_cut()
        server = Listening(("serve", *words, address), environment)
        await asyncio.to_thread(lambda: server.url)
        cable.leads_somewhere.set()

    async def cut(callers: Callers) -> None:
        cable.leads_somewhere.clear()
        async with callers.fault():
            cable.cut(1000)
            await cable.is_cut()
        cable.leads_somewhere.set()

    cable = Cable(f"http://{address}/mcp")
    try:
        async with (
            cable.serving() as url,
            bridge(lambda: HttpClientTransport(url, limits=LIMITS), reports) as callers,
        ):
            await survive(callers, [restart, cut] * faults)
    finally:
        await asyncio.to_thread(server.kill)
    check(callers, ledger)
