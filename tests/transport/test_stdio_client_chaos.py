"""Nothing is left of a child, however its owner ends.

A program that uses anywire, without signal handlers of its own, is started, and ended in one way;
then the table of processes is walked until nothing is there that has its token in the environment,
nor its watchdog. Each scenario is run ANYWIRE_CHAOS_RUNS times, three unless that is set.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import secrets
import signal
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import pytest

from anywire import connect
from anywire.transport.stdio_client import StdioClientTransport
from tests.transport.children import carrying, program

pytestmark = [
    pytest.mark.chaos,
    pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs a table of processes"),
]

ROOT = Path(__file__).parents[2]
RUNS = int(os.environ.get("ANYWIRE_CHAOS_RUNS", "3"))
AT_ONCE = 3
# The figures that are promised, and what a busy machine may add to them.
GONE_WITHIN = 2.0
GONE_WITHIN_AFTER_KILL = 5.0
SLACK = 1.5

STUBBORN = "for n in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP): signal.signal(n, signal.SIG_IGN)\n"
GRANDCHILD = ["-I", "-S", "-c", f"import signal, time\n{STUBBORN}print(flush=True)\ntime.sleep(600)"]
BESIDE = f"""
argv = [sys.executable, *{GRANDCHILD!r}]
def beside(argv, **how):
    read_end, write_end = os.pipe()
    globals().setdefault("kept", []).append(subprocess.Popen(argv, stdout=write_end, stdin=0, **how))
    os.read(read_end, 1)
"""

#: Servers of every kind of manners; each has shaken hands when its client is open.
SERVERS: dict[str, list[str]] = {
    "polite": program("serve()"),
    "ignores the end of its input": program("hello()\ntime.sleep(600)"),
    "ignores TERM as well": program(f"{STUBBORN}hello()\ntime.sleep(600)"),
    "behind a shell": ["sh", "-c", '"$@"; exit $?', "sh", *program("serve()")],
    "ignoring, behind a shell": ["sh", "-c", '"$@"; exit $?', "sh", *program(f"{STUBBORN}hello()\ntime.sleep(600)")],
    "with a grandchild": program(f"{BESIDE}beside(argv)\nserve()"),
    "with a grandchild in a session of its own": program(f"{BESIDE}beside(argv, start_new_session=True)\nserve()"),
    "with a grandchild whose parent has gone": program(
        BESIDE + "beside(['sh', '-c', '\"$@\" & exit 0', 'sh', *argv], start_new_session=True)\nserve()"
    ),
    "closes its output and stays": program(f"{STUBBORN}hello()\nos.close(1)\ntime.sleep(600)"),
}  # fmt: skip
PROCESSES = 13  # of all of them, the one that has closed its output left out

SCRIPT = """
import asyncio, os, sys
from contextlib import AsyncExitStack, ExitStack
from anywire import Limits, connect, connect_sync
from anywire.errors import AnywireError, ConnectFailed

SERVERS = {servers!r}
MARKED = {{"CHAOS_TOKEN": os.environ["CHAOS_TOKEN"]}}

def ready():
    print("ready", flush=True)

def ready_to_go_on():
    ready()
    sys.stdin.readline()

{body}
"""


@dataclass
class Ended:
    """What became of one run."""

    returncode: int
    seconds: float
    left: dict[int, str]
    stderr: str


def left_of(token: str, owner: int) -> dict[int, str]:
    """The live processes of a run: those with its token, and its watchdog."""
    found = carrying(token)
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):
                words = (entry / "cmdline").read_bytes().split(b"\0")
                if words[-2:-1] == [b"%d" % owner] and any(word.endswith(b"/watchdog.py") for word in words):
                    found[int(entry.name)] = "the watchdog"
    found.pop(owner, None)
    return found


def end_one(body: str, how: Callable[[subprocess.Popen[bytes]], None], within: float, expected: int) -> Ended:
    """Run a program, end it, and see what is left of it after so long."""
    token = secrets.token_hex(16)
    script = SCRIPT.format(servers=list(SERVERS.values()), body=body)
    client = subprocess.Popen(
        [sys.executable, "-W", "error", "-c", script],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=ROOT,
        env={**os.environ, "CHAOS_TOKEN": token},
        start_new_session=True,
    )
    try:
        assert client.stdout is not None
        if client.stdout.readline() == b"ready\n":
            there = left_of(token, client.pid)
            assert len(there) >= expected, there
            how(client)
        _, stderr = client.communicate(timeout=60)
        began = time.monotonic()
        while (left := left_of(token, client.pid)) and time.monotonic() - began < within + SLACK:
            time.sleep(0.02)
        seconds = time.monotonic() - began
    finally:
        client.kill()
        client.communicate()
        for pid in left_of(token, client.pid):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
    return Ended(client.returncode, seconds, left, stderr.decode(errors="replace"))


def end(
    body: str,
    how: Callable[[subprocess.Popen[bytes]], None] = lambda _: None,  # it is left alone
    *,
    within: float = GONE_WITHIN,
    expected: int = 0,
) -> list[Ended]:
    """Run a scenario as often as asked for; nothing may be left of any run."""
    with ThreadPoolExecutor(AT_ONCE) as pool:
        started = [pool.submit(end_one, body, how, within, expected) for _ in range(RUNS)]
        runs = [each.result() for each in started]
    slowest = max(run.seconds for run in runs)
    print(f"gone {slowest:.2f} s after the end of their owner at the latest, in {RUNS} runs")
    assert [run.left for run in runs] == [{}] * RUNS, runs[0].stderr
    return runs


def let_go_on(client: subprocess.Popen[bytes]) -> None:
    """A way to end a program: it ends by itself."""
    assert client.stdin is not None
    client.stdin.write(b"\n")
    client.stdin.flush()


def signalled(*numbers: int, apart: float = 0.0) -> Callable[[subprocess.Popen[bytes]], None]:
    """A way to end a program: these signals, so far apart."""

    def send(client: subprocess.Popen[bytes]) -> None:
        for number in numbers:
            client.send_signal(number)
            time.sleep(apart)

    return send


ASYNC = """
async def main():
    opened = [connect(argv, env=MARKED) for argv in SERVERS]
    try:
        await asyncio.gather(*(client.open() for client in opened))
        {then}
    finally:
        await asyncio.gather(*(client.close() for client in opened))

asyncio.run(main())
"""
#: One after the other, so without most of those that take their time.
SYNC = """
with ExitStack() as stack:
    for argv in [SERVERS[0], SERVERS[2], *SERVERS[5:8]]:
        stack.enter_context(connect_sync(argv, env=MARKED))
    {then}
"""
WAIT_ASYNC = ASYNC.format(then="ready(); await asyncio.sleep(600)"), PROCESSES
WAIT_SYNC = SYNC.format(then="ready(); import time; time.sleep(600)"), 8
BOTH = pytest.mark.parametrize(("script", "expected"), [WAIT_ASYNC, WAIT_SYNC], ids=["async", "sync"])


# Programs that end with everything open.


def test_normal_end_leaves_nothing() -> None:
    """Each context is left."""
    runs = end(ASYNC.format(then="ready_to_go_on()"), let_go_on, expected=PROCESSES)
    assert [(run.returncode, run.stderr) for run in runs] == [(0, "")] * RUNS


def test_exception_leaves_nothing() -> None:
    """It comes out as it is."""
    body = """
async def main():
    async with AsyncExitStack() as stack:
        for argv in [SERVERS[0], SERVERS[3], *SERVERS[5:8]]:
            await stack.enter_async_context(connect(argv, env=MARKED))
        ready_to_go_on()
        raise KeyError("mine")

asyncio.run(main())
"""
    runs = end(body, let_go_on, expected=9)
    assert {run.returncode for run in runs} == {1}
    assert all(run.stderr.endswith("KeyError: 'mine'\n") for run in runs)
    assert not any("Group" in run.stderr for run in runs)


@BOTH
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=lambda number: number.name)
def test_signal_leaves_nothing(script: str, expected: int, number: signal.Signals) -> None:
    """Python handles SIGINT; SIGTERM ends it where it stands."""
    runs = end(script, signalled(number), expected=expected)
    assert {run.returncode for run in runs} == {-number}


@BOTH
def test_kill_leaves_nothing(script: str, expected: int) -> None:
    """Nobody can handle it, so the watchdog does."""
    runs = end(script, signalled(signal.SIGKILL), within=GONE_WITHIN_AFTER_KILL, expected=expected)
    assert {run.returncode for run in runs} == {-signal.SIGKILL}


def test_second_interrupt_leaves_nothing() -> None:
    """Whoever cannot wait for the servers that take their time."""
    script, expected = WAIT_ASYNC
    end(script, signalled(signal.SIGINT, signal.SIGINT, apart=0.5), expected=expected)


def test_loop_that_ends_in_a_program_that_goes_on_leaves_nothing() -> None:
    """Nothing was closed, and everything is still held."""
    body = """
from tests.transport.children import carrying

async def main():
    global opened
    opened = [connect(argv, env=MARKED) for argv in SERVERS]
    await asyncio.gather(*(client.open() for client in opened))

asyncio.run(main())
print(carrying(MARKED["CHAOS_TOKEN"]), file=sys.stderr)
os._exit(0)
"""
    assert {run.stderr for run in end(body)} == {"{}\n"}


def test_program_that_exits_at_once_leaves_nothing() -> None:
    """Without winding up anything."""
    end(ASYNC.format(then="ready_to_go_on(); os._exit(3)"), let_go_on, expected=PROCESSES)


# Starts that come to nothing.


@pytest.mark.parametrize("moment", [0.0, 0.003, 0.05])
def test_cancelled_connect_leaves_nothing(moment: float) -> None:
    """Before the start of the child, in the handshake, and between."""
    body = f"""
async def main():
    for number in range(5):
        opening = asyncio.create_task(connect({program("time.sleep(0.1); serve()")!r}, env=MARKED).open())
        await asyncio.sleep({moment} + number * 0.0005)
        opening.cancel()
        await asyncio.wait([opening])
        assert opening.cancelled(), opening

asyncio.run(main())
"""
    runs = end(body)
    assert [(run.returncode, run.stderr) for run in runs] == [(0, "")] * RUNS


def test_start_that_times_out_leaves_nothing() -> None:
    """Whatever the silent servers do about it."""
    silent = [
        program(f"{STUBBORN}time.sleep(600)"),
        program("time.sleep(600)"),
        program(f"{BESIDE}beside(argv, start_new_session=True)\nsys.stdin.read()"),
    ]
    body = f"""
async def fails(argv):
    try:
        await connect(argv, env=MARKED, limits=Limits(connect_seconds=0.5)).open()
    except ConnectFailed as error:
        assert "within 0.5 s" in str(error), error
    else:
        raise AssertionError("it answered")

async def main():
    await asyncio.gather(*map(fails, {silent!r}))

asyncio.run(main())
"""
    runs = end(body)
    assert [(run.returncode, run.stderr) for run in runs] == [(0, "")] * RUNS


def test_program_that_is_killed_while_it_starts_servers_leaves_nothing() -> None:
    """In whichever moment of the start."""
    body = """
async def main():
    ready()
    await asyncio.gather(*(connect(argv, env=MARKED).open() for argv in SERVERS))
    await asyncio.sleep(600)

asyncio.run(main())
"""

    def kill(client: subprocess.Popen[bytes]) -> None:
        time.sleep(secrets.randbelow(400) / 1000)
        client.kill()

    end(body, kill, within=GONE_WITHIN_AFTER_KILL)


def test_closing_while_another_task_opens_leaves_nothing() -> None:
    """Whichever is first."""
    body = """
async def main():
    for number in range(20):
        client = connect(SERVERS[number % 2], env=MARKED)
        opening = asyncio.create_task(client.open())
        await asyncio.sleep(number * 0.003)
        await client.close()
        await asyncio.wait([opening])
        error = opening.exception()
        assert error is None or isinstance(error, AnywireError), error
        if number % 2:
            break

asyncio.run(main())
"""
    runs = end(body)
    assert [(run.returncode, run.stderr) for run in runs] == [(0, "")] * RUNS


# Programs that live on.


def test_each_of_30_connections_ends_before_the_next_one_begins() -> None:
    """There are never more processes than one connection has."""
    body = f"""
import time
from tests.transport.children import carrying

async def main():
    token, counts = MARKED["CHAOS_TOKEN"], []
    for number in range(30):
        argv = {[SERVERS["polite"], SERVERS["behind a shell"]]!r}[number % 2]
        async with connect(argv, env=MARKED) as client:
            await client.call_tool("x")
            counts.append(len(carrying(token)))
        assert carrying(token) == {{}}, carrying(token)
    assert set(counts) == {{1, 2}}, counts

asyncio.run(main())
"""
    runs = end(body)
    assert [(run.returncode, run.stderr) for run in runs] == [(0, "")] * RUNS


def test_set_of_connections_that_is_replaced_without_closing_is_ended() -> None:
    """As in a host that makes a new set for each of its sessions, and forgets the old one."""
    body = """
import gc, time, warnings
from tests.transport.children import carrying
warnings.simplefilter("ignore", ResourceWarning)

class Manager:
    async def open(self, count):
        self.clients = [connect(SERVERS[0], env=MARKED) for _ in range(count)]
        await asyncio.gather(*(client.open() for client in self.clients))
        return self

async def main():
    for _ in range(5):
        manager = await Manager().open(4)
        until = time.monotonic() + 10
        while len(carrying(MARKED["CHAOS_TOKEN"])) > 4 and time.monotonic() < until:
            await asyncio.sleep(0.01)
        assert len(carrying(MARKED["CHAOS_TOKEN"])) == 4, carrying(MARKED["CHAOS_TOKEN"])
    await asyncio.gather(*(client.close() for client in manager.clients))

asyncio.run(main())
"""
    runs = end(body)
    assert [(run.returncode, run.stderr) for run in runs] == [(0, "")] * RUNS


# Figures.


async def test_polite_server_is_closed_within_a_tenth_of_a_second() -> None:
    """And leaves with code 0."""
    took: list[float] = []
    for _ in range(10):
        async with connect(program("serve()")) as client:
            await client.ping()
            began = time.monotonic()
        took.append(time.monotonic() - began)
        transport = client._transport
        assert isinstance(transport, StdioClientTransport)
        assert transport.child is not None
        assert transport.child.returncode == 0
    print(f"closed in {statistics.median(took) * 1000:.1f} ms")

    assert statistics.median(took) < 0.1


async def test_ten_servers_start_in_about_the_time_of_the_slowest() -> None:
    """Nothing queues."""
    began = time.monotonic()
    clients = [connect(program(f"time.sleep({number / 10}); serve()")) for number in range(1, 11)]
    await asyncio.gather(*(client.open() for client in clients))
    took = time.monotonic() - began
    await asyncio.gather(*(client.close() for client in clients))
    print(f"ten servers, the slowest of which needs 1 s, started in {took:.2f} s")

    assert took < 1.0 + SLACK
