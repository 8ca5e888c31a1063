"""Calls to a server in a child process, and what becomes of them when it misbehaves."""

from __future__ import annotations

import asyncio
import logging
import os
import subprocess
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from anywire import Client, Limits, PeerError, ProcessExited, ToolResult, connect
from anywire.errors import (
    AnywireError,
    DeadlineExceeded,
    LimitExceeded,
    RemoteProtocolError,
    SessionError,
    TransportBroken,
    TransportClosed,
)
from anywire.transport import process
from anywire.transport.stdio_client import StdioClientTransport
from tests.transport.children import alive, eventually, program

ROOT = Path(__file__).parents[2]


def pid_of(client: Client) -> int:
    """The process id of a client's child."""
    transport = client._transport
    assert isinstance(transport, StdioClientTransport)
    assert transport.child is not None
    return transport.child.pid


@asynccontextmanager
async def server(on_call: str = "", **options: Any) -> AsyncGenerator[Client]:
    """A client of a child whose calls do this; `request` is the call."""
    code = f"def on_call(request):\n    {on_call}\nserve(on_call)" if on_call else "serve()"
    async with asyncio.timeout(60), connect(program(code), **options) as client:
        pid = pid_of(client)
        yield client
    assert not alive(pid)


@pytest.fixture
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each step of the ending takes a tenth of its time."""
    for name in ("EOF_SECONDS", "TERM_SECONDS", "KILL_SECONDS"):
        monkeypatch.setattr(process, name, 0.2)


# What a call gives.


async def test_result_has_its_text_its_data_and_its_bytes() -> None:
    """Typed where it is known, raw where it is not."""
    on_call = """reply(request, {
        "content": [{"type": "text", "text": "one"}, {"type": "new", "x": 1}, {"type": "text", "text": "two"}],
        "structuredContent": {"n": 1}, "isError": True, "later": 2})"""
    async with server(on_call) as client:
        result = await client.call_tool("x", {"a": 1})

    assert isinstance(result, ToolResult)
    assert (result.text, result.structured, result.is_error) == ("one\ntwo", {"n": 1}, True)
    assert result.content[1] == {"type": "new", "x": 1}
    assert b'"later": 2' in result.raw


async def test_client_knows_who_the_server_is() -> None:
    """And the revision that was agreed on."""
    async with server() as client:
        assert client.server.server_info.name == "child"
        assert client.revision == client.server.protocol_version
        await client.ping()
        assert await client.request("anything", {"a": 1}) == b"{}"
        await client.notify("notifications/anything", {"a": 1})
        assert "Client of" in repr(client)


async def test_error_of_the_server_is_passed_on_as_it_is() -> None:
    """Code, message and raw data."""
    on_call = """say({"jsonrpc": "2.0", "id": request["id"],
         "error": {"code": -5, "message": "no", "data": {"why": [1]}}})"""
    async with server(on_call) as client:
        with pytest.raises(PeerError, match=r"no \(code -5\)") as failed:
            await client.call_tool("x")
        assert (failed.value.code, failed.value.message, failed.value.data) == (-5, "no", b'{"why": [1]}')
        await client.ping()


@pytest.mark.parametrize(
    ("reply", "sentence"),
    [
        ('{"content": 7}', "the result of tool 'x' cannot be read"),
        ('"text"', "the result of tool 'x' cannot be read"),
    ],
)
async def test_result_that_is_no_result_fails_its_call_alone(reply: str, sentence: str) -> None:
    """By name."""
    async with server(f"reply(request, {reply})") as client:
        with pytest.raises(RemoteProtocolError, match=sentence):
            await client.call_tool("x")
        await client.ping()


# Noise and floods.


async def test_noise_is_told_once_with_the_name_of_the_server_and_counted(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """The first of it at once, the number at the end; no call notices."""
    caplog.set_level(logging.WARNING, "anywire.client")
    async with server("print('[db] connected', flush=True); text(request, 'fine')") as client:
        name = client.name
        for _ in range(5):
            assert (await client.call_tool("x")).text == "fine"
        (first,) = caplog.messages

    assert first.startswith(f"{name} wrote something that is no message: '[db] connected'")
    assert "logs belong on stderr" in first
    (last,) = caplog.messages[1:]
    assert last.startswith(f"{name} wrote 5 things that are no messages; first: '[db] connected'")


async def test_256_kilobytes_on_stderr_before_the_reply_do_not_hold_it_up() -> None:
    """And nothing of it is taken for a failure."""
    async with server("sys.stderr.write('x' * 262144); sys.stderr.flush(); text(request, 'done')") as client:
        assert (await client.call_tool("x")).text == "done"


FLOOD = """
import asyncio, resource, sys
from anywire import connect
from anywire.errors import LimitExceeded
from anywire.wire.limits import Limits
from tests.transport.children import program

SERVER = '''
def on_call(request):
    out = sys.stdout.buffer
    out.write(b'{"jsonrpc":"2.0","id":%d,"result":{"content":[{"type":"text","text":"' % request["id"])
    for _ in range(request["params"]["arguments"]["megabytes"] * 1024):
        out.write(b"x" * 1024)
        out.flush()
    out.write(b'"}]}}\\\\n')
    out.flush()
serve(on_call)
'''

def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024

async def main():
    megabytes, limit = int(sys.argv[1]), int(sys.argv[2])
    async with connect(program(SERVER), limits=Limits(message_bytes=limit * 1024 * 1024)) as client:
        await client.call_tool("small", {"megabytes": 0})
        before = peak()
        try:
            await client.call_tool("large", {"megabytes": megabytes})
        except LimitExceeded as error:
            print(error)
        print((await client.call_tool("small", {"megabytes": 0})).text == "")
        print(peak() - before)

asyncio.run(main())
"""


@pytest.mark.chaos
@pytest.mark.parametrize(("limit", "growth"), [(4, 30), (64, 220)])
def test_200_megabytes_in_one_line_fail_their_call_and_cost_no_more_than_the_limit(
    limit: int, growth: int
) -> None:
    """In pieces of a kilobyte; the next call works."""
    command = [sys.executable, "-c", FLOOD, "200", str(limit)]
    done = subprocess.run(
        command, capture_output=True, text=True, encoding="utf-8", timeout=120, check=False, cwd=ROOT
    )
    assert done.returncode == 0, done.stderr
    sentence, works, grown = done.stdout.splitlines()

    assert sentence.startswith("the reply to tools/call could not be used: ")
    assert f"exceeds {limit * 1024 * 1024} bytes" in sentence
    assert works == "True"
    assert int(grown) < growth


async def test_line_without_an_end_fails_its_call_while_it_is_still_coming() -> None:
    """The first bytes tell whose it is."""
    on_call = """sys.stdout.write('{"jsonrpc":"2.0","id":%d,"result":"' % request["id"])
    while True: sys.stdout.write("x" * 65536)"""
    async with server(on_call, limits=Limits(message_bytes=200_000)) as client:
        with pytest.raises(LimitExceeded, match="exceeds 200000 bytes"):
            await client.call_tool("x")


@pytest.mark.parametrize("size", [65_535, 65_536, 65_537, 1_048_577])
async def test_reply_of_a_critical_size_arrives_whole(size: int) -> None:
    """Where pipes and line readers end."""
    on_call = f"""body = json.dumps({{"jsonrpc": "2.0", "id": request["id"], "result": {{"content": [
        {{"type": "text", "text": ""}}]}}}})
    body = body.replace('"text": ""', '"text": "' + "x" * ({size} - len(body)) + '"')
    assert len(body) == {size}
    for at in range(0, {size}, 4096): sys.stdout.write(body[at:at + 4096]); sys.stdout.flush()
    print(flush=True)"""
    async with server(on_call) as client:
        assert set((await client.call_tool("x")).text) == {"x"}


# A child that dies.


async def test_child_that_is_killed_fails_every_pending_call_at_once() -> None:
    """Each with an exception of its own that says what happened."""
    on_call = """count = globals().setdefault("count", []); count.append(1)
    if len(count) == 64: sys.stderr.write("killed by the test\\n"); sys.stderr.flush(); os.kill(os.getpid(), 9)"""
    async with server(on_call) as client:
        errors = await asyncio.gather(*(client.call_tool("x") for _ in range(64)), return_exceptions=True)

        assert [type(error) for error in errors] == [ProcessExited] * 64
        assert len({id(error) for error in errors}) == 64
        (error,) = {str(error): error for error in errors}.values()
        assert isinstance(error, ProcessExited)
        assert (error.returncode, error.stderr_tail) == (-9, "killed by the test")
        assert "python" in error.command
        assert not error.unanswered
        with pytest.raises(ProcessExited, match="killed by the test"):
            await client.ping()


@pytest.mark.parametrize("code", [0, 1])
async def test_child_that_leaves_in_mid_call_says_with_which_code(code: int) -> None:
    """Also with 0: it has not answered."""
    async with server(f"sys.exit({code})") as client:
        with pytest.raises(ProcessExited, match=f"exited with code {code}"):
            await client.call_tool("x")


async def test_errors_of_a_dead_server_do_not_pile_up() -> None:
    """A program that asks again and again gets a short traceback each time."""
    async with server("sys.exit(1)") as client:
        lengths: list[int] = []
        for _ in range(20):
            try:
                await client.call_tool("x")
            except ProcessExited as error:
                traceback, length = error.__traceback__, 0
                while traceback is not None:
                    traceback, length = traceback.tb_next, length + 1
                lengths.append(length)

    assert len(lengths) == 20
    assert max(lengths) <= 5


async def test_reply_that_was_complete_counts_though_the_child_is_dead() -> None:
    """It was said before."""
    async with server("text(request, 'last words'); os._exit(1)") as client:
        assert (await client.call_tool("x")).text == "last words"
        with pytest.raises(ProcessExited):
            await client.call_tool("x")


@pytest.mark.usefixtures("_impatient")
async def test_child_that_closes_its_input_fails_what_it_never_read() -> None:
    """It runs on, and nothing can be told to it; calls with little time end in theirs."""
    async with server("os.close(0); time.sleep(60)") as client:
        first = asyncio.create_task(client.call_tool("x"))
        outcomes: list[AnywireError] = []
        while not first.done():
            with pytest.raises(AnywireError) as failed:
                await client.call_tool("x", timeout=0.05)
            outcomes.append(failed.value)
            await asyncio.sleep(0)

        assert {type(outcome) for outcome in outcomes} <= {DeadlineExceeded, TransportBroken}
        with pytest.raises(TransportBroken, match="has closed its input"):
            await first
        with pytest.raises(TransportBroken, match="has closed its input"):
            await client.call_tool("x")


@pytest.mark.usefixtures("_impatient")
async def test_call_to_a_child_that_does_not_read_ends_in_its_time() -> None:
    """The pipe is full, and so the request is not even written."""
    async with server("time.sleep(60)") as client:
        stuck = asyncio.create_task(client.call_tool("x"))
        for _ in range(3):
            with pytest.raises(DeadlineExceeded, match=r"no answer to tools/call within 0\.2 s"):
                await client.call_tool("x", {"large": "x" * 2_000_000}, timeout=0.2)
        stuck.cancel()
        await asyncio.wait([stuck])


# Opening and closing.


async def test_connection_can_be_opened_and_closed_from_different_tasks_in_any_order() -> None:
    """Nothing is bound to the task that opened it."""
    clients = [connect(program("serve()")) for _ in range(3)]
    await asyncio.gather(*(asyncio.create_task(client.open()) for client in clients))
    pids = [pid_of(client) for client in clients]
    assert (await clients[1].call_tool("x")).text == "called"
    for client in clients:
        await asyncio.create_task(client.close())
        await client.close()

    assert not any(map(alive, pids))
    with pytest.raises(TransportClosed, match=r"the connection to .* is closed"):
        await clients[0].ping()
    with pytest.raises(SessionError, match="opened once"):
        await clients[0].open()


async def test_client_that_was_closed_before_it_was_opened_stays_closed() -> None:
    """Nothing is started by it."""
    client = connect(program("serve()"))
    with pytest.raises(SessionError, match="has not been opened"):
        await client.ping()
    with pytest.raises(SessionError, match="has not been opened"):
        _ = client.server
    await client.close()
    with pytest.raises(SessionError):
        await client.open()


@pytest.mark.parametrize("moment", [0.0, 0.01, 0.03, 0.1])
async def test_closing_while_it_opens_ends_both(moment: float) -> None:
    """Whoever opens is told, and no child is left."""
    client = connect(program("time.sleep(0.05); hello()"))
    opening = asyncio.create_task(client.open())
    await asyncio.sleep(moment)
    await client.close()
    outcome = (await asyncio.gather(opening, return_exceptions=True))[0]

    assert outcome is None or isinstance(outcome, TransportClosed | SessionError)


async def test_pending_calls_are_told_when_the_client_is_closed() -> None:
    """By whom, too."""
    async with server("time.sleep(0.3)") as client:
        pending = asyncio.create_task(client.call_tool("x"))
        await asyncio.sleep(0)
        await client.close()
        with pytest.raises(TransportClosed, match="is closed"):
            await pending


async def test_client_that_nobody_holds_any_more_takes_its_child_with_it() -> None:
    """With a warning: it ought to have been closed."""
    client: Client | None = connect(program("serve()"))
    assert client is not None
    await client.open()
    await client.ping()
    pid = pid_of(client)
    with pytest.warns(ResourceWarning, match="was dropped without being closed"):
        client = None
    await eventually(lambda: not alive(pid))


async def test_call_that_is_pending_holds_its_client() -> None:
    """Whoever waits for an answer needs nothing else."""

    async def opened() -> asyncio.Task[ToolResult]:
        client = connect(program("serve(lambda request: (time.sleep(0.2), text(request, 'late')))"))
        await client.open()
        return asyncio.create_task(client.call_tool("x"))

    pending = await opened()
    with pytest.warns(ResourceWarning, match="was dropped"):  # noqa: PT031 one act
        assert (await pending).text == "late"
        del pending
        await asyncio.sleep(0)
    await eventually(lambda: not [task for task in asyncio.all_tasks() if "close" in repr(task)])


async def test_folder_and_variables_reach_the_child(tmp_path: Path) -> None:
    """As they were given."""
    code = "serve(lambda request: text(request, os.getcwd() + ' ' + os.environ['GIVEN']))"
    async with connect(program(code), cwd=str(tmp_path), env={"GIVEN": "yes"}) as client:
        assert (await client.call_tool("x")).text == f"{tmp_path} yes"
    assert "GIVEN" not in os.environ
