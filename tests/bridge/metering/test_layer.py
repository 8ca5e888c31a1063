"""A meter around a transport: everything passes as it is, and is counted."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from anywire import Server, connect
from anywire.bridge.meeting.upstream import Upstream
from anywire.bridge.metering.layer import MeterLayer
from anywire.bridge.metering.meter import ServerMeter, State
from anywire.bridge.noise import writes_stdout
from anywire.bridge.relay import Relay
from anywire.errors import AnywireError, PeerError, SpawnFailed, TransportClosed
from anywire.testing import check_transport, scripted_peer
from anywire.transport.contract import Transport
from anywire.transport.http_client import HttpClientTransport
from anywire.transport.layer import Layer
from anywire.transport.memory import memory_pair
from anywire.transport.process import Command
from anywire.transport.stdio_client import StdioClientTransport
from anywire.wire.message import create_request
from tests.bridge.stage import CRASH, Stage

PATIENCE = 20.0


def meter() -> ServerMeter:
    """One of a server that nobody uses."""
    return ServerMeter("notes", 0.0)


async def test_it_keeps_the_contract_of_transports() -> None:
    """Whatever it stands around."""

    @asynccontextmanager
    async def pair() -> AsyncGenerator[tuple[Transport, Transport]]:
        one, other = memory_pair()
        yield MeterLayer(one, meter()), MeterLayer(other, meter())

    await check_transport(pair)


async def test_calls_of_a_client_are_counted() -> None:
    """By method; a tool that fails is an error of its own kind."""
    server, notes = Server("notes"), meter()

    @server.tool
    def add(a: int) -> int:
        """Add one."""
        return a + 1

    mine, served = memory_pair()
    mine.on_start = lambda: server.accept(served)
    async with asyncio.timeout(PATIENCE), connect(MeterLayer(mine, notes), era="legacy") as client:
        assert (await client.call_tool("add", {"a": 1})).text == "2"
        assert (await client.call_tool("add", {"a": "x"})).is_error
        with pytest.raises(PeerError):
            await client.request("x/y")
        assert (notes.state, notes.conversations, notes.children) == (State.RUNNING, 1, 0)
    await server.close()

    counted = {name: (calls.count, calls.answered, calls.errors) for name, calls in notes.methods.items()}
    assert counted["initialize"] == (1, 1, {})
    assert counted["tools/call"] == (2, 2, {"tool": 1})
    assert counted["other"] == (1, 1, {"-32601": 1})
    assert (notes.state, notes.in_flight, notes.last_error) == (State.IDLE, 0, None)


class MeteredStage(Stage):
    """A stage whose servers are metered."""

    def __init__(self) -> None:
        super().__init__()
        self.meter = meter()

    def _make(self) -> Any:
        return MeterLayer(super()._make(), self.meter)


async def test_a_server_that_is_lost_and_has_a_successor_was_restarted() -> None:
    """What was asked of the lost one is lost; the successor's answer says that all is well again."""
    stage = MeteredStage()
    notes = stage.meter
    async with asyncio.timeout(PATIENCE), stage:
        server = await stage.opened()
        assert (notes.state, notes.starts) == (State.RUNNING, 1)
        await stage.client.ask(1, "tools/call", {"name": "x"})
        await server.hears("tools/call")
        server.lose(CRASH)
        assert (await stage.client.receive())["error"]["message"]
        assert notes.last_error is not None
        assert notes.last_error.text == str(CRASH)

        await stage.taken_over()

        assert (notes.state, notes.starts, notes.restarts) == (State.RUNNING, 2, 1)
        assert notes.methods["tools/call"].errors == {"lost": 1}


async def test_a_child_that_cannot_be_started_is_failing() -> None:
    """The error is raised as it was."""
    notes = meter()
    layer = MeterLayer(StdioClientTransport(Command(("/no/such/program",))), notes)
    assert writes_stdout(layer)

    with pytest.raises(SpawnFailed):
        await layer.start()
    await layer.close()

    assert (notes.state, notes.starts, notes.children) == (State.FAILING, 1, 0)


async def test_a_child_is_counted_while_it_runs() -> None:
    """Its noise as well, line by line."""
    notes = meter()
    code = "import sys; print('hello'); print(); print('you'); sys.stdout.flush(); sys.stdin.read()"
    layer = MeterLayer(
        StdioClientTransport(Command((sys.executable, "-c", code)), on_stderr=lambda line: None), notes
    )
    heard: asyncio.Queue[object] = asyncio.Queue()
    layer.callbacks.on_error = heard.put_nowait
    async with asyncio.timeout(PATIENCE):
        await layer.start()
        faults = [await heard.get(), await heard.get()]
        assert (notes.children, notes.noise_lines, notes.state) == (1, 2, State.STARTING)
        assert layer.child is not None
        await layer.close()

    assert [getattr(fault, "number", None) for fault in faults] == [1, 2]
    assert (notes.children, notes.state) == (0, State.IDLE)


async def test_a_start_that_is_given_up_is_no_failure() -> None:
    """Who waited for it has left."""
    notes, (mine, _) = meter(), memory_pair()

    class Slow(Layer):
        """Never comes up."""

        async def start(self) -> None:
            """Wait for ever."""
            await asyncio.Event().wait()

    layer = MeterLayer(Slow(mine), notes)

    starting = asyncio.create_task(layer.start())
    await asyncio.sleep(0)
    assert notes.state is State.STARTING
    starting.cancel()
    await asyncio.gather(starting, return_exceptions=True)

    assert (notes.state, notes.last_error) == (State.IDLE, None)


async def test_sending_after_the_end_is_refused_and_counted_as_lost() -> None:
    """As the transport does without a meter."""
    notes, (mine, _) = meter(), memory_pair()
    layer = MeterLayer(mine, notes)
    await layer.start()
    await layer.close()

    with pytest.raises(TransportClosed):
        layer.post(create_request(1, "ping"))
    with pytest.raises(TransportClosed):
        await layer.send(create_request(2, "ping"))

    assert notes.methods["ping"].errors == {"lost": 2}


async def test_nothing_is_hidden_from_who_makes_the_target() -> None:
    """The arguments that headers repeat are read and set through it, as HTTP wants them."""
    reports: list[str] = []
    upstream = Upstream(
        lambda: MeterLayer(HttpClientTransport("http://127.0.0.1:9/mcp"), meter()), reports.append
    )

    assert upstream.is_mirrored
    made = upstream.make()
    assert getattr(made, "mirrors", None) is upstream.mirrors
    assert upstream.name == "http://127.0.0.1:9/mcp"
    assert not upstream.is_child


async def test_requests_that_are_answered_too_late_for_their_client_end_with_it() -> None:
    """A relay whose client leaves ends the conversation; the meter is told by the transport's end."""
    notes, reports = meter(), list[str]()
    client, face = scripted_peer()
    server, wire = scripted_peer()
    relay = asyncio.create_task(Relay(face, lambda: MeterLayer(wire, notes), reports.append).run())
    async with asyncio.timeout(PATIENCE):
        await server.start()
        await client.start()
        await client.ask(1, "tools/list")
        await server.receive()
        assert notes.in_flight == 1
        relay.cancel()
        await asyncio.gather(relay, return_exceptions=True)

    assert (notes.in_flight, notes.methods["tools/list"].errors) == (0, {"cancelled": 1})
    assert not isinstance(relay.exception() if not relay.cancelled() else None, AnywireError)
