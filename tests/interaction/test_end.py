"""How a conversation ends: in order, whatever the client or a handler does."""

from __future__ import annotations

import asyncio
import threading

import pytest

from anywire import Context, Server
from anywire.testing import ScriptedPeer, StreamsListener, byte_pair, in_virtual_time
from anywire.transport.contract import Transport
from anywire.transport.memory import MemoryListener, memory_pair
from anywire.wire.limits import DEFAULT_LIMITS
from anywire.wire.message import create_request
from tests.interaction.talk import PATIENCE, WIRES, Gate, error, over_each_wire, result, talk, text


@over_each_wire
async def test_at_the_end_of_input_running_calls_finish(wire: str) -> None:
    """The client asks nothing more, and still gets its answers; then it hears the end."""
    server, gate = Server("s"), Gate()

    @server.tool
    async def wait(word: str) -> str:
        await gate.wait()
        return word

    async with talk(server, wire) as peer:
        for id, word in enumerate(("a", "b", "c")):
            await peer.call(id, "wait", {"word": word})
        await gate.reached.wait()
        peer.end()
        await peer.expect_silence()
        gate.open()

        replies = sorted(await peer.receive_many(3), key=lambda reply: reply["id"])
        assert replies == [text(0, "a"), text(1, "b"), text(2, "c")]
        await peer.expect_end()


@over_each_wire
async def test_requests_and_the_end_in_one_breath_are_answered(wire: str) -> None:
    """Forty calls and the end of input: forty replies."""
    server = Server("s")

    @server.tool
    async def echo(number: int) -> str:
        await asyncio.sleep(0)
        return str(number)

    async with talk(server, wire) as peer:
        for number in range(40):
            await peer.call(number, "echo", {"number": number})
        peer.end()

        replies = sorted(await peer.receive_many(40), key=lambda reply: reply["id"])
        assert replies == [text(number, str(number)) for number in range(40)]
        await peer.expect_end()


@pytest.mark.parametrize("wire", WIRES)
@in_virtual_time
async def test_a_call_that_does_not_end_is_cancelled_and_answered(wire: str) -> None:
    """After `drain_seconds` it is told to stop, and its client why."""
    server, gate = Server("s"), Gate()
    stopped_at: list[float] = []

    @server.tool
    async def stuck() -> None:
        try:
            await gate.wait()
        finally:
            stopped_at.append(asyncio.get_running_loop().time())

    async with talk(server, wire) as peer:
        await peer.call(1, "stuck")
        await gate.reached.wait()
        began = asyncio.get_running_loop().time()
        peer.end()

        await peer.expect(error(1, -32603, "the call of tool 'stuck' was cancelled by the server"))
        await peer.expect_end()
    assert stopped_at == [pytest.approx(began + DEFAULT_LIMITS.drain_seconds, abs=0.01)]


@pytest.mark.parametrize("wire", WIRES)
@in_virtual_time
async def test_a_call_that_ignores_everything_is_left_behind_and_answered(wire: str) -> None:
    """The server ends all the same, within its bounds."""
    server, gate = Server("s"), Gate()

    @server.tool
    async def stubborn() -> None:
        for _ in range(2):  # told to stop by the server, and at the end of the test
            try:
                await gate.wait()
            except asyncio.CancelledError:
                continue

    async with talk(server, wire) as peer:
        await peer.call(1, "stubborn")
        await gate.reached.wait()
        peer.end()

        await peer.expect(error(1, -32603, "the server ended before this call did"))
        await peer.expect_end()
        limits = DEFAULT_LIMITS
        assert asyncio.get_running_loop().time() < limits.drain_seconds + limits.shutdown_seconds
        gate.open()


async def test_a_call_stuck_in_a_thread_is_answered_and_left_behind() -> None:
    """A thread cannot be stopped; nobody waits for it for ever."""
    limits = DEFAULT_LIMITS.replace(drain_seconds=0.01, shutdown_seconds=0.05)
    server = Server("s", limits=limits)
    started, release = threading.Event(), threading.Event()

    @server.tool
    def stuck() -> None:
        started.set()
        release.wait(20)

    try:
        async with talk(server, limits=limits) as peer:
            await peer.call(1, "stuck")
            await asyncio.to_thread(started.wait, 20)
            peer.end()

            assert (await peer.receive())["error"]["code"] == -32603
            await peer.expect_end()
    finally:
        release.set()


@in_virtual_time
async def test_closing_the_server_hastens_an_end_that_is_under_way() -> None:
    """What waits for slow calls waits no longer, and they are answered."""
    server, gate = Server("s"), Gate()

    @server.tool
    async def slow() -> None:
        await gate.wait()

    client, served = memory_pair()
    server.accept(served)
    async with ScriptedPeer(client) as peer:
        await peer.call(1, "slow")
        await gate.reached.wait()
        peer.end()
        await peer.expect_silence()
        await server.close()

        assert asyncio.get_running_loop().time() < DEFAULT_LIMITS.shutdown_seconds
        await peer.expect(error(1, -32603, "the call of tool 'slow' was cancelled by the server"))
        await peer.expect_end()


@in_virtual_time
async def test_cancelling_serve_ends_the_conversation_in_order() -> None:
    """Running calls are answered, then the client hears the end."""
    server, gate = Server("s"), Gate()

    @server.tool
    async def slow() -> None:
        await gate.wait()

    client, served = memory_pair()
    serving = asyncio.ensure_future(server.serve(served))
    async with ScriptedPeer(client) as peer:
        await peer.call(1, "slow")
        await gate.reached.wait()
        serving.cancel()

        await peer.expect(error(1, -32603, "the call of tool 'slow' was cancelled by the server"))
        await peer.expect_end()
    with pytest.raises(asyncio.CancelledError):
        await serving
    assert asyncio.get_running_loop().time() < DEFAULT_LIMITS.shutdown_seconds


@over_each_wire
@pytest.mark.parametrize("how", ["task", "thread", "inline"])
@pytest.mark.parametrize("ending", [SystemExit(3), KeyboardInterrupt()], ids=["exit", "interrupt"])
async def test_a_handler_may_end_the_server(wire: str, how: str, ending: BaseException) -> None:
    """Its own call and those that run are answered, then `serve()` raises what the handler raised."""
    server, gate = Server("s"), Gate()

    @server.tool
    async def wait() -> None:
        await gate.wait()

    def leave() -> None:
        raise ending

    async def leave_in_task() -> None:
        await asyncio.sleep(0)
        raise ending

    server.tool(name="leave", inline=how == "inline")(leave_in_task if how == "task" else leave)
    client, served, _ = WIRES[wire](DEFAULT_LIMITS)

    async def serve() -> BaseException | None:
        try:
            await server.serve(served)
        except (SystemExit, KeyboardInterrupt) as raised:
            return raised
        return None

    serving = asyncio.ensure_future(serve())
    async with ScriptedPeer(client, patience=PATIENCE) as peer:
        await peer.call(1, "wait")
        await gate.reached.wait()
        await peer.call(2, "leave")

        replies = {reply["id"]: reply for reply in await peer.receive_many(2)}
        assert replies == {
            1: error(1, -32603, "the call of tool 'wait' was cancelled by the server"),
            2: error(2, -32603, "tool 'leave' ended the server"),
        }
        await peer.expect_end()
    assert await serving is ending


@over_each_wire
async def test_a_wire_that_closes_stops_the_handlers(wire: str) -> None:
    """They are told why, and `serve()` returns when they have stopped."""
    server, gate = Server("s"), Gate()
    reasons: list[str] = []

    @server.tool
    async def wait(ctx: Context) -> None:
        try:
            await gate.wait()
        finally:
            await asyncio.sleep(0)
            reasons.append(ctx.cancel_reason)

    client, served, _ = WIRES[wire](DEFAULT_LIMITS)
    serving = asyncio.ensure_future(server.serve(served))
    async with ScriptedPeer(client, patience=PATIENCE) as peer:
        await peer.call(1, "wait")
        await gate.reached.wait()
        await served.close()
        async with asyncio.timeout(PATIENCE):
            await serving
        assert reasons == ["the connection is closed"]
        await peer.expect_end()


async def test_a_handler_whose_client_leaves_while_it_speaks_is_not_disturbed() -> None:
    """What it says is lost; it hears of the end by its cancellation."""
    limits = DEFAULT_LIMITS.replace(write_high_bytes=1000, write_low_bytes=100)
    server = Server("s", limits=limits)
    spoke = asyncio.Event()

    @server.tool
    async def speaks(ctx: Context) -> str:
        for _ in range(10):
            await ctx.log("error", "x" * 1000)
        spoke.set()
        return "done"

    client, served = byte_pair(limits=limits)
    serving = asyncio.ensure_future(server.serve(served))
    await client.start()
    client.pause_reading()
    client.post(create_request(1, "tools/call", {"name": "speaks"}))
    for _ in range(20):
        await asyncio.sleep(0)
    assert not spoke.is_set()
    await client.close()
    async with asyncio.timeout(PATIENCE):
        await serving

    assert spoke.is_set()


@over_each_wire
async def test_serving_one_transport_twice_is_one_conversation(wire: str) -> None:
    """Both calls return at its end, a later one at once, and each request is answered once."""
    server = Server("s")
    client, served, _ = WIRES[wire](DEFAULT_LIMITS)
    first = asyncio.ensure_future(server.serve(served))
    async with ScriptedPeer(client, patience=PATIENCE) as peer:
        second = asyncio.ensure_future(server.serve(served))
        await peer.ask(1, "ping")
        await peer.expect(result(1, {}))
        await peer.expect_silence()
        assert not first.done()
        assert not second.done()
        peer.end()
        await peer.expect_end()
    async with asyncio.timeout(PATIENCE):
        await first
        await second
        await server.serve(served)


@over_each_wire
async def test_serve_returns_at_once_when_the_client_has_left_before(wire: str) -> None:
    """Input that has ended already, with a request in it: it is still served."""
    ran = asyncio.Event()
    server = Server("s")

    @server.tool
    async def note() -> None:
        ran.set()

    client, served, _ = WIRES[wire](DEFAULT_LIMITS)
    peer = ScriptedPeer(client, patience=PATIENCE)
    await peer.start()
    await peer.call(1, "note")
    await peer.close()
    async with asyncio.timeout(PATIENCE):
        await server.serve(served)

    assert ran.is_set()
    assert served.closed


@over_each_wire
async def test_serve_returns_at_once_for_a_closed_transport(wire: str) -> None:
    """There is no conversation in it."""
    client, served, _ = WIRES[wire](DEFAULT_LIMITS)
    await client.start()
    await served.start()
    await served.close()
    async with asyncio.timeout(PATIENCE):
        await Server("s").serve(served)
        await client.close()


@over_each_wire
async def test_nothing_is_kept_of_a_conversation_that_has_ended(wire: str) -> None:
    """A server that serves thousands one after the other does not grow."""
    server = Server("s")
    for _ in range(3):
        async with talk(server, wire) as peer:
            await peer.ask(1, "ping")
            await peer.expect(result(1, {}))
            assert repr(server) == "<Server s, 0 tools, 1 conversations>"

        assert repr(server) == "<Server s, 0 tools, 0 conversations>"


@pytest.mark.parametrize("kind", [MemoryListener, StreamsListener])
async def test_a_listener_hands_its_conversations_to_the_server(
    kind: type[MemoryListener] | type[StreamsListener],
) -> None:
    """Any number at once; closing the server ends them."""
    server = Server("s")
    listener = kind()
    listening = asyncio.ensure_future(listener.serve(server.accept))
    await asyncio.sleep(0)
    peers = [ScriptedPeer(_client(listener), patience=PATIENCE) for _ in range(5)]
    for peer in peers:
        await peer.start()
        await peer.ask(1, "ping")
    for peer in peers:
        await peer.expect(result(1, {}))
    await server.close()
    for peer in peers:
        await peer.expect_end()
        await peer.close()
    await listener.close()
    await listening

    assert repr(server) == "<Server s, 0 tools, 0 conversations>"


def _client(listener: MemoryListener | StreamsListener) -> Transport:
    return listener.connect()
