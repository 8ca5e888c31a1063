"""The server behind a hub: when it is started and ended, how it dies, and who waits for whom."""

from __future__ import annotations

import asyncio
import itertools
import sys
from pathlib import Path

import pytest

from anywire.bridge.sharing.hub import Declares, Hub
from anywire.errors import ConnectFailed, ProcessExited, SpawnFailed, TransportClosed
from anywire.testing import ScriptedPeer, in_virtual_time
from anywire.transport.contract import Transport
from anywire.transport.memory import MemoryTransport, memory_pair
from anywire.transport.process import Command
from anywire.transport.stdio_client import StdioClientTransport
from anywire.wire.limits import Limits
from anywire.wire.message import create_request
from tests.bridge.sharing.hubs import ANSWER, PATIENCE, answered, note, played, soon

SCRIPTED = Path(__file__).with_name("servers") / "scripted.py"


# Start.


async def test_the_server_is_started_by_the_first_message() -> None:
    """Connections alone cost nothing; what is said before it runs arrives in order."""
    async with played() as shared:
        one, two = shared.raw(), shared.raw()
        await one.start()
        await two.start()
        await two.expect_silence()
        assert not shared.made
        await one.ask("i", "initialize", {"capabilities": {}})
        await one.notify("notifications/initialized")
        await one.ask(1, "logging/setLevel", {"level": "info"})
        await one.ask(2, "tools/list", {})
        server = await shared.server()
        methods = [(await server.receive())["method"] for _ in range(4)]
        assert methods == ["initialize", "notifications/initialized", "logging/setLevel", "tools/list"]
        assert shared.hub.running
        await one.close()
        await two.close()


async def test_a_connection_that_is_closed_before_it_says_anything_starts_nothing() -> None:
    """It may not even have been started itself."""
    async with played() as shared:
        connection = shared.hub.connect("x")
        await soon(connection.close())
        with pytest.raises(TransportClosed):
            await connection.start()
        assert not shared.made


async def test_all_who_wait_for_a_server_that_cannot_be_started_hear_why() -> None:
    """... and the next one to say something has it tried again."""
    tries: list[Command] = []

    def make() -> Transport:
        tries.append(command := Command(("/no/such/program",)))
        return StdioClientTransport(command)

    hub = Hub(make, lambda sentence: None)
    for count in (1, 2):
        clients = [ScriptedPeer(hub.connect(number), patience=PATIENCE) for number in range(2)]
        for client in clients:
            await client.start()
            await client.ask(1, "tools/list")
        for client in clients:
            await client.expect_end()
            assert isinstance(client.closed_with, SpawnFailed)
            assert "no program '/no/such/program' was found" in str(client.closed_with)
        assert clients[0].closed_with is not clients[1].closed_with
        assert len(tries) == count
        assert not hub.running
    await soon(hub.close())


async def test_a_fault_in_what_makes_the_server_is_told_to_who_waits() -> None:
    """Whatever it was: nobody hangs because of it."""

    def make() -> Transport:
        raise ValueError("oops")

    hub = Hub(make, lambda sentence: None)
    client = ScriptedPeer(hub.connect("x"), patience=PATIENCE)
    await client.start()
    await client.ask(1, "tools/list")
    await client.expect_end()
    assert isinstance(client.closed_with, ConnectFailed)
    assert "ValueError: oops" in str(client.closed_with)
    await soon(hub.close())


@in_virtual_time
async def test_a_server_that_does_not_come_up_is_not_waited_for_without_end() -> None:
    """Its start is bounded as any other."""

    class Never(MemoryTransport):
        async def start(self) -> None:
            await asyncio.Event().wait()

    def make() -> Transport:
        never = Never("never")
        never.other = memory_pair()[0]
        return never

    hub = Hub(make, lambda sentence: None, Limits(connect_seconds=3.0))
    client = ScriptedPeer(hub.connect("x"), patience=PATIENCE)
    await client.start()
    await client.ask(1, "tools/list")
    await client.expect_end()
    assert "never did not start within 3 s" in str(client.closed_with)
    await soon(hub.close())


async def test_a_handshake_serves_those_who_come_while_it_is_under_way() -> None:
    """The server is greeted once, with what any client could do, or with what the first one can."""
    for declares, expected in ((Declares.ALL, {"roots", "sampling", "elicitation"}), (Declares.FIRST, {"x"})):
        async with played(declares=declares) as shared:
            one, two = shared.raw(), shared.raw()
            await one.start()
            await two.start()
            asking = [
                asyncio.ensure_future(one.initialize(capabilities={"x": {}})),
                asyncio.ensure_future(two.initialize()),
            ]
            server = await shared.server()
            request = await server.receive()
            assert set(request["params"]["capabilities"]) == expected
            await server.answer(request, ANSWER)
            assert await soon(asyncio.gather(*asking)) == [ANSWER, ANSWER]
            await server.expect(note("notifications/initialized"))
            await server.expect_silence()
            await one.close()
            await two.close()


# The end of the server.


async def test_a_server_that_dies_fails_what_is_in_flight_with_exit_code_and_last_words() -> None:
    """Each connection ends with the reason; the next one has a new server."""
    command = Command((sys.executable, str(SCRIPTED), "die"))
    made: list[StdioClientTransport] = []

    def make() -> Transport:
        made.append(StdioClientTransport(command, on_stderr=lambda line: None))
        return made[-1]

    hub = Hub(make, lambda sentence: None)
    for count in (1, 2):
        clients = [ScriptedPeer(hub.connect(number), patience=PATIENCE) for number in range(3)]
        for client in clients:
            await client.start()
        await clients[0].notify("notifications/x")
        await clients[1].ask(1, "tools/list")
        for client in clients[:2]:
            await client.expect_end()
            assert isinstance(client.closed_with, ProcessExited)
            assert client.closed_with.returncode == 3
            assert "the database is gone" in str(client.closed_with)
        assert not clients[2].closed  # it never spoke to that server
        await clients[2].close()
        assert len(made) == count
    await soon(hub.close())
    assert not len(hub)


async def test_after_the_end_of_a_server_nothing_of_the_old_one_is_known() -> None:
    """A new one is greeted anew, and gets none of what waited for the old one."""
    async with played() as shared:
        one = shared.raw()
        server = await shared.greeted(one)
        await one.ask(1, "tools/call", {})
        await server.receive()
        await server.close()
        await one.expect_end()
        assert str(one.closed_with) == "bytes (client) closed the connection"
        two = shared.raw()
        again = await shared.greeted(two)
        await two.ask(1, "tools/call", {})
        await again.answer(await again.receive(), {"of": "two"})
        await two.expect(answered(1, {"of": "two"}))
        await two.close()


async def test_a_connection_that_was_never_started_ends_with_its_server_too() -> None:
    """It may have said something; what came for it goes to nobody."""
    async with played() as shared:
        one = shared.raw()
        one.transport.post(create_request(1, "x"))
        server = await shared.server()
        await server.answer(await server.receive(), {})
        await server.close()
        await one.expect_end()
        assert not one.inbox
        with pytest.raises(TransportClosed):
            await one.start()


async def test_noise_of_the_server_is_reported_and_reaches_nobody() -> None:
    """A reply that cannot be used fails its request alone."""
    async with played() as shared:
        one, two = shared.raw(), shared.raw()
        server = await shared.greeted(one, two)
        failed: list[tuple[bytes, str]] = []
        one.transport.callbacks.on_failed = lambda id, error: failed.append((id, str(error)))
        await one.ask(1, "x")
        await two.ask(1, "x")
        first, second = await server.receive_many(2)
        await server.send_bytes(b"listening on port 8\n")
        await server.send_bytes(b'{"jsonrpc":"2.0","id":%d,"result":{oops}}\n' % first["id"])
        await server.answer(second, {})
        await two.expect(answered(1, {}))
        assert [id for id, _ in failed] == [b"1"]
        assert "the reply to x could not be used" in failed[0][1]
        await one.expect_silence()
        await one.close()
        await two.close()
    assert len(shared.reports) == 1
    assert "'listening on port 8'" in shared.reports[0]


# Idle.


@in_virtual_time
async def test_a_server_that_nobody_needs_is_stopped_and_started_again() -> None:
    """Who comes back before that finds it running."""
    async with played(idle_seconds=10.0) as shared:
        one, two = shared.raw(), shared.raw()
        server = await shared.greeted(one, two)
        await one.close()
        await asyncio.sleep(60)
        assert shared.hub.running  # for the other one
        await two.close()
        await asyncio.sleep(9)
        three = shared.raw()
        await three.start()
        await asyncio.sleep(60)
        assert shared.hub.running
        await three.close()
        assert not server.closed
        await asyncio.sleep(11)
        await server.expect_end()
        assert not shared.hub.running
        four = shared.raw()
        await shared.greeted(four)
        assert shared.hub.running
        assert len(shared.made) == 2
        await four.close()


@in_virtual_time
async def test_there_is_one_server_at_a_time() -> None:
    """Who comes while it is being stopped waits until it has gone, and has the next one."""
    gone, made = asyncio.Event(), list[Transport]()

    class Slow(MemoryTransport):
        async def close(self) -> None:
            await gone.wait()
            await super().close()

    def make() -> Transport:
        made.append(slow := Slow())
        slow.other = MemoryTransport()
        slow.other.other = slow
        return slow

    hub = Hub(make, lambda sentence: None, idle_seconds=10.0)
    one, two = (ScriptedPeer(hub.connect(name), patience=PATIENCE) for name in "ab")
    await one.start()
    await one.notify("notifications/x")
    await one.close()
    await asyncio.sleep(20)
    await two.start()
    await two.notify("notifications/x")
    await two.expect_silence()
    assert len(made) == 1
    gone.set()
    await two.expect_silence()
    assert len(made) == 2
    await two.close()
    await soon(hub.close())


async def test_a_server_is_not_stopped_where_it_may_run_idle() -> None:
    """By default only the end of the hub ends it."""
    async with played() as shared:
        one = shared.raw()
        server = await shared.greeted(one)
        await one.close()
        await server.expect_silence()
        assert shared.hub.running
        assert not server.ended
    with pytest.raises(TransportClosed):
        shared.hub.connect("x")


async def test_the_end_of_the_hub_is_that_of_all() -> None:
    """What was told before still arrives."""
    async with played() as shared:
        one, two = shared.raw(), shared.raw()
        server = await shared.greeted(one, two)
        await one.notify("notifications/x")
        await shared.hub.close()
        assert [one.closed, two.closed] == [True, True]
        await server.expect(note("notifications/x"))
        await server.expect_end()


# A client that leaves.


async def test_what_a_client_leaves_behind_is_taken_back() -> None:
    """Its calls are cancelled, its questions answered, its resources left; the others notice nothing."""
    async with played() as shared:
        stays, leaves = shared.raw(), shared.raw()
        server = await shared.greeted(stays, leaves, capabilities={"roots": {}})
        for client, uri in ((stays, "a"), (leaves, "a"), (leaves, "b")):
            await client.ask(uri, "resources/subscribe", {"uri": uri})
            if (client, uri) != (leaves, "a"):
                await server.answer(await server.receive(), {})
            await client.expect(answered(uri, {}))
        await leaves.call(1, "slow")
        call = await server.receive()
        await server.ask("q", "roots/list")
        assert (await leaves.receive())["method"] == "roots/list"
        await leaves.close()
        got = await server.receive_many(3)
        assert [each.get("method") for each in got] == [
            "notifications/cancelled",
            None,
            "resources/unsubscribe",
        ]
        assert got[0]["params"]["requestId"] == call["id"]
        assert got[1]["id"] == "q"
        assert got[2]["params"] == {"uri": "b"}
        await server.answer(call, {})
        await server.notify("notifications/resources/updated", {"uri": "a"})
        await stays.expect(note("notifications/resources/updated", {"uri": "a"}))
        await stays.expect_silence()
        await stays.close()


async def test_what_was_not_sent_yet_is_not_sent_when_its_client_leaves() -> None:
    """Of what it asked nothing reaches the server; what it told does."""
    async with played() as shared:
        one = shared.raw()
        await one.start()
        await one.ask(1, "tools/call", {})
        await one.notify("notifications/x")
        await one.close()
        server = await shared.server()
        await server.expect(note("notifications/x"))
        await server.expect_silence()


@in_virtual_time
async def test_a_server_that_dies_again_and_again_is_started_ever_later() -> None:
    """However many clients ask for it."""
    begun: list[float] = []
    loop = asyncio.get_running_loop()

    class Dies(MemoryTransport):
        async def start(self) -> None:
            begun.append(loop.time())
            raise ProcessExited("server", 3, "no licence")

    def make() -> Transport:
        dies = Dies("dies")
        dies.other = memory_pair()[0]
        return dies

    hub = Hub(make, lambda sentence: None, chance=lambda: 1.0)
    for number in range(5):
        client = ScriptedPeer(hub.connect(number), patience=600.0)
        await client.start()
        await client.ask(1, "tools/list")
        await client.expect_end()
        assert "no licence" in str(client.closed_with)
    gaps = [later - sooner for sooner, later in itertools.pairwise(begun)]
    assert [round(gap, 1) for gap in gaps] == [0.0, 0.5, 1.0, 2.0]

    last = ScriptedPeer(hub.connect("last"), patience=600.0)
    await last.start()
    await last.ask(1, "tools/list")
    before = loop.time()
    await hub.close()  # at once, also while it waits to be started again
    assert loop.time() == before
