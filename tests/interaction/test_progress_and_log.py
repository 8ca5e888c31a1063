"""What a handler may say before its answer: progress to who asked for it, log messages of the level wanted."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from anywire import Context, Server
from anywire.protocol.types.logging import LOG_LEVELS, LogLevel
from anywire.testing import ScriptedPeer, streams_pair
from tests.interaction.talk import Gate, over_each_wire, result, talk, text


def progress(token: object, progress: float, **more: object) -> dict[str, Any]:
    params = {"progressToken": token, "progress": progress, **more}
    return {"jsonrpc": "2.0", "method": "notifications/progress", "params": params}


def message(level: str, data: object, **more: object) -> dict[str, Any]:
    params = {"level": level, "data": data, **more}
    return {"jsonrpc": "2.0", "method": "notifications/message", "params": params}


def reporting() -> Server:
    server = Server("s")

    @server.tool
    async def steps(count: int, ctx: Context) -> str:
        for number in range(count):
            await ctx.progress(number, count, f"step {number}")
        return "done"

    @server.tool
    def steps_in_thread(count: int, ctx: Context) -> str:
        for number in range(count):
            ctx.from_thread(ctx.progress(number))
        return "done"

    @server.tool
    async def says(level: LogLevel, data: Any, ctx: Context, logger: str | None = None) -> str:
        await ctx.log(level, data, logger)
        return "said"

    @server.tool
    def says_in_thread(ctx: Context) -> str:
        ctx.from_thread(ctx.log("error", "from a thread", "worker"))
        return "said"

    return server


@over_each_wire
async def test_progress_comes_in_order_and_before_the_answer(wire: str) -> None:
    """With total and message as the handler gave them."""
    async with talk(reporting(), wire) as peer:
        await peer.call(1, "steps", {"count": 3}, {"progressToken": "t"})

        await peer.expect(
            progress("t", 0.0, total=3.0, message="step 0"),
            progress("t", 1.0, total=3.0, message="step 1"),
            progress("t", 2.0, total=3.0, message="step 2"),
            text(1, "done"),
        )


@over_each_wire
async def test_progress_from_a_thread_comes_in_order_and_before_the_answer(wire: str) -> None:
    """The handler's thread waits until it is sent."""
    async with talk(reporting(), wire) as peer:
        await peer.call(1, "steps_in_thread", {"count": 3}, {"progressToken": 7})

        await peer.expect(progress(7, 0.0), progress(7, 1.0), progress(7, 2.0), text(1, "done"))


@over_each_wire
@pytest.mark.parametrize("token", ["", 0, 1, "t", -1, 9007199254740993, 1.5])
async def test_the_token_is_echoed_as_it_was_given(wire: str, token: object) -> None:
    """Also where it seems empty."""
    async with talk(reporting(), wire) as peer:
        await peer.call(1, "steps", {"count": 1}, {"progressToken": token})

        got = await peer.receive()
        assert (got["params"]["progressToken"], type(got["params"]["progressToken"])) == (token, type(token))
        await peer.expect(text(1, "done"))


@over_each_wire
@pytest.mark.parametrize("meta", [None, {}, [], {"other": 1}, "x"])
async def test_without_a_token_there_is_no_progress(wire: str, meta: object) -> None:
    """Nobody asked for it."""
    async with talk(reporting(), wire) as peer:
        await peer.call(1, "steps", {"count": 3}, meta)

        await peer.expect(text(1, "done"))


@over_each_wire
async def test_progress_with_half_a_character_does_not_cost_the_call(wire: str) -> None:
    """A cut emoji in the text is replaced."""
    server = Server("s")

    @server.tool
    async def cut(ctx: Context) -> str:
        await ctx.progress(1, message="half \ud83d")
        await ctx.log("error", {"half": "\ud83d", "nan": float("nan")})
        return "done"

    async with talk(server, wire) as peer:
        await peer.call(1, "cut", {}, {"progressToken": "t"})

        await peer.expect(
            progress("t", 1.0, message="half \ufffd"),
            message("error", {"half": "\ufffd", "nan": None}),
            text(1, "done"),
        )


@over_each_wire
async def test_after_the_answer_nothing_is_said_for_a_call(wire: str) -> None:
    """Whatever a task that the handler left behind still wants to say."""
    server, gate = Server("s"), Gate()
    said = asyncio.Event()
    left: list[asyncio.Task[None]] = []

    @server.tool
    async def leaves(ctx: Context) -> str:
        async def later() -> None:
            await gate.wait()
            await ctx.progress(1)
            await ctx.log("error", "late")
            said.set()

        left.append(asyncio.create_task(later()))
        return "done"

    async with talk(server, wire) as peer:
        await peer.call(1, "leaves", {}, {"progressToken": "t"})
        await peer.expect(text(1, "done"))
        gate.open()
        await asyncio.wait_for(said.wait(), 20)

        await peer.expect_silence()


@over_each_wire
async def test_after_its_cancellation_nothing_is_said_for_a_call(wire: str) -> None:
    """The client has forgotten the token."""
    server, gate = Server("s"), Gate()
    said = asyncio.Event()

    @server.tool
    async def stubborn(ctx: Context) -> str:
        try:
            await gate.wait()
        except asyncio.CancelledError:
            await ctx.progress(1)
            await ctx.log("error", "late")
            said.set()
        return "done"

    async with talk(server, wire) as peer:
        await peer.call(1, "stubborn", {}, {"progressToken": "t"})
        await gate.reached.wait()
        await peer.notify("notifications/cancelled", {"requestId": 1})
        await asyncio.wait_for(said.wait(), 20)

        await peer.expect_silence()


@over_each_wire
@pytest.mark.parametrize("minimum", LOG_LEVELS)
async def test_messages_of_the_level_and_above_are_sent(wire: str, minimum: LogLevel) -> None:
    """The client sets the level; the others are not even written."""
    async with talk(reporting(), wire) as peer:
        await peer.ask(0, "logging/setLevel", {"level": minimum})
        await peer.expect(result(0, {}))
        for id, level in enumerate(LOG_LEVELS, start=1):
            await peer.call(id, "says", {"level": level, "data": [level, id], "logger": "l"})
            if LOG_LEVELS.index(level) >= LOG_LEVELS.index(minimum):
                await peer.expect(message(level, [level, id], logger="l"))
            await peer.expect(text(id, "said"))


@over_each_wire
async def test_until_a_level_is_set_it_is_info(wire: str) -> None:
    """Debug is for those who ask."""
    async with talk(reporting(), wire) as peer:
        await peer.call(1, "says", {"level": "debug", "data": "d"})
        await peer.expect(text(1, "said"))
        await peer.call(2, "says", {"level": "info", "data": {"a": None}})
        await peer.expect(message("info", {"a": None}), text(2, "said"))
        await peer.call(3, "says_in_thread")
        await peer.expect(message("error", "from a thread", logger="worker"), text(3, "said"))


async def test_the_level_is_each_clients_own() -> None:
    """One wants everything, the other only the worst."""
    server = reporting()
    async with talk(server) as one, talk(server) as two:
        await one.ask(0, "logging/setLevel", {"level": "debug"})
        await two.ask(0, "logging/setLevel", {"level": "emergency"})
        await one.expect(result(0, {}))
        await two.expect(result(0, {}))
        for peer in (one, two):
            await peer.call(1, "says", {"level": "error", "data": 1})

        await one.expect(message("error", 1), text(1, "said"))
        await two.expect(text(1, "said"))


async def test_on_a_wire_with_streams_each_message_goes_with_its_call() -> None:
    """Progress and log messages travel on the stream of the request they belong to."""
    server, gates = Server("s"), [Gate(), Gate()]

    @server.tool
    async def report(number: int, ctx: Context) -> str:
        await ctx.progress(number)
        await gates[number].wait()
        await ctx.log("error", number)
        return str(number)

    client, served = streams_pair()
    serving = asyncio.ensure_future(server.serve(served))
    async with ScriptedPeer(client) as peer:
        for number in (0, 1):
            await peer.call(number, "report", {"number": number}, {"progressToken": number})
            await gates[number].reached.wait()
        gates[1].open()
        gates[0].open()
        await peer.receive_many(6)

        of_streams: dict[str, list[str]] = {}
        for name, each in client.log:
            of_streams.setdefault(name, []).append(type(each).__name__)
        expected = ["Request", "Notification", "Notification", "Response"]
        assert of_streams == {"stream 1": expected, "stream 2": expected}
        assert served.open_streams == 0
    await serving


async def test_a_client_without_a_general_stream_misses_nothing_of_its_calls() -> None:
    """What belongs to a request needs no other stream."""
    client, served = streams_pair(general=False)
    serving = asyncio.ensure_future(reporting().serve(served))
    async with ScriptedPeer(client) as peer:
        await peer.call(1, "steps", {"count": 1}, {"progressToken": "t"})

        await peer.expect(progress("t", 0.0, total=1.0, message="step 0"), text(1, "done"))
    await serving


async def test_a_dropped_stream_costs_its_own_call_only() -> None:
    """The handler goes on, and so does the conversation."""
    server, gate = Server("s"), Gate()
    finished = asyncio.Event()

    @server.tool
    async def wait() -> str:
        await gate.wait()
        finished.set()
        return "waited"

    client, served = streams_pair()
    serving = asyncio.ensure_future(server.serve(served))
    async with ScriptedPeer(client) as peer:
        await peer.call(1, "wait")
        await gate.reached.wait()
        client.drop(b"1")
        gate.open()
        await asyncio.wait_for(finished.wait(), 20)
        await peer.expect_silence()
        await peer.ask(2, "ping")
        await peer.expect(result(2, {}))
    await serving
