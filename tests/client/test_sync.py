"""The client without `async`."""

from __future__ import annotations

import asyncio
import gc
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from anywire import ConnectFailed, Limits, ProcessExited, Server, SyncClient, connect_sync
from anywire.errors import SessionError
from anywire.transport.stdio_client import StdioClientTransport
from tests.transport.children import alive, program

ROOT = Path(__file__).parents[2]


def pid_of(client: SyncClient) -> int:
    """The process id of a client's child."""
    transport = client._client._transport
    assert isinstance(transport, StdioClientTransport)
    assert transport.child is not None
    return transport.child.pid


def eventually(condition: Callable[[], bool], within: float = 10.0) -> None:
    """Wait, within bounds, until a condition holds."""
    until = time.monotonic() + within
    while not condition():
        assert time.monotonic() < until, "it did not come about in time"
        time.sleep(0.01)


def test_everything_works_without_async() -> None:
    """Where there is no event loop."""
    with connect_sync(program("serve()")) as client:
        pid = pid_of(client)
        client.ping()
        assert client.call_tool("x", {"a": 1}).text == "called"
        assert client.request("anything", {"a": 1}, timeout=5.0) == b"{}"
        client.notify("notifications/anything")
        assert client.server.server_info.name == "child"
        assert client.revision == client.server.protocol_version
    assert not alive(pid)
    client.close()
    with pytest.raises(SessionError, match="has been closed"):
        client.ping()


def test_server_of_this_process_is_served_in_the_thread() -> None:
    """With tools and progress."""
    server = Server("here")

    @server.tool
    async def add(a: int, b: int) -> int:
        return a + b

    with connect_sync(server) as client:
        assert [tool.name for tool in client.tools()] == ["add"]
        assert client.call_tool("add", {"a": 2, "b": 3}).text == "5"


async def test_it_works_where_an_event_loop_is_running() -> None:
    """As it does in a notebook."""
    with connect_sync(program("serve()")) as client:
        assert client.call_tool("x").text == "called"
    assert asyncio.get_running_loop().is_running()


def test_threads_may_share_it() -> None:
    """Each gets its own answer."""
    code = "serve(lambda request: text(request, str(request['params']['arguments']['n'])))"
    seen: dict[int, str] = {}
    with connect_sync(program(code)) as client:

        def ask(number: int) -> None:
            seen[number] = client.call_tool("x", {"n": number}).text

        threads = [threading.Thread(target=ask, args=(number,)) for number in range(16)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(timeout=10)

    assert seen == {number: str(number) for number in range(16)}


def test_failure_to_open_is_one_exception_and_leaves_nothing() -> None:
    """Neither a child nor a thread."""
    with pytest.raises(ProcessExited, match="exited with code 3"):
        connect_sync(program("sys.exit(3)")).open()
    with pytest.raises(ConnectFailed), connect_sync(["/no/such/program"]):
        pass

    eventually(lambda: not [thread for thread in threading.enumerate() if "anywire-client" in thread.name])


def test_it_is_opened_once() -> None:
    """And not after it was closed."""
    with (
        connect_sync(program("serve()")) as client,
        pytest.raises(SessionError, match="opened once"),
    ):
        client.open()
    unopened = connect_sync(program("serve()"))
    with pytest.raises(SessionError, match="has not been opened"):
        unopened.ping()
    unopened.close()
    with pytest.raises(SessionError, match="opened once"):
        unopened.open()


def test_callback_that_waits_for_its_own_client_is_refused() -> None:
    """It would wait for itself for ever."""
    refused: list[str] = []
    code = """
def on_call(request):
    say({"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info"}})
    text(request, "called")
serve(on_call)
"""

    def on_log(params: dict[str, object]) -> None:
        with pytest.raises(SessionError) as failed:
            client.ping()
        refused.append(str(failed.value))

    with connect_sync(program(code), on_log=on_log) as client:
        assert client.call_tool("x").text == "called"
    assert refused == ["a callback cannot wait for the client that is calling it"]


def test_client_that_is_dropped_takes_its_child_with_it() -> None:
    """And its thread."""
    client: SyncClient | None = connect_sync(program("serve()")).open()
    assert client is not None
    pid, thread = pid_of(client), client._thread
    assert thread is not None
    with pytest.warns(ResourceWarning, match="was dropped without being closed"):  # noqa: PT031 one act
        client = None
        gc.collect()
        thread.join(timeout=10)
    assert not thread.is_alive()
    assert not alive(pid)


def test_interrupt_cancels_the_call_and_leaves_the_client_usable() -> None:
    """The server is told to stop."""
    code = """
seen = []
def on_call(request):
    if request["params"]["name"] == "slow":
        os.kill(int(request["params"]["arguments"]["pid"]), signal.SIGINT)
        seen.append(read())
    else:
        text(request, seen[0]["method"])
serve(on_call)
"""
    with connect_sync(program(code), limits=Limits(request_seconds=20.0)) as client:
        with pytest.raises(KeyboardInterrupt):
            client.call_tool("slow", {"pid": os.getpid()})
        assert client.call_tool("tell").text == "notifications/cancelled"


SCRIPTS = {
    "closed by with": "with client: print(client.call_tool('x').text)",
    "never closed": "client.open(); print(client.call_tool('x').text)",
    "ended by an exception": "client.open(); print(client.call_tool('x').text); raise SystemExit(0)",
}


@pytest.mark.parametrize("body", SCRIPTS.values(), ids=SCRIPTS)
def test_script_ends_in_order_and_its_child_before_it(body: str) -> None:
    """Whether it closes or forgets to; nothing is written to stderr."""
    server = program("import atexit; serve(lambda request: text(request, str(os.getpid())))")
    script = f"from anywire import connect_sync\nclient = connect_sync({server!r})\n{body}"
    command = [sys.executable, "-X", "dev", "-c", script]
    done = subprocess.run(
        command, capture_output=True, text=True, encoding="utf-8", timeout=30, check=False, cwd=ROOT
    )

    assert (done.returncode, done.stderr) == (0, "")
    assert not alive(int(done.stdout))


def test_interrupt_while_closing_ends_the_child_at_once() -> None:
    """Whoever is in such a hurry gets no grace."""
    stubborn = "signal.signal(signal.SIGTERM, signal.SIG_IGN)\nhello()\ntime.sleep(60)"
    client = connect_sync(program(stubborn)).open()
    pid = pid_of(client)
    timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        client.close()
    timer.join()

    assert not alive(pid)
