"""`notifications/cancelled`: the handler is stopped, and nothing is sent for the call any more."""

from __future__ import annotations

import asyncio
import threading

import pytest

from anywire import Context, Server
from anywire.testing import in_virtual_time
from tests.interaction.talk import Gate, over_each_wire, result, talk, text


class Watched:
    """A server with one tool that waits, and what became of its calls."""

    def __init__(self) -> None:
        self.server = Server("s")
        self.gate = Gate()
        self.cancelled = asyncio.Event()
        self.reason = ""
        self.server.tool(self.wait)

    async def wait(self, ctx: Context) -> str:
        try:
            await self.gate.wait()
        except asyncio.CancelledError:
            assert ctx.cancelled
            self.reason = ctx.cancel_reason
            self.cancelled.set()
            raise
        return "waited"


@over_each_wire
@pytest.mark.parametrize(
    ("reason", "told"),
    [
        ({"reason": "changed my mind"}, "changed my mind"),
        ({}, "cancelled by client"),
        ({"reason": 5}, "cancelled by client"),
    ],
)
async def test_cancelling_stops_the_handler_and_is_not_answered(
    wire: str, reason: dict[str, object], told: str
) -> None:
    """The handler gets a `CancelledError`, the context the reason, the client nothing."""
    watched = Watched()
    async with talk(watched.server, wire) as peer:
        await peer.call(1, "wait")
        await watched.gate.reached.wait()
        await peer.notify("notifications/cancelled", {"requestId": 1, **reason})
        await asyncio.wait_for(watched.cancelled.wait(), 20)

        assert watched.reason == told
        await peer.ask(2, "ping")
        await peer.expect(result(2, {}))
        await peer.expect_silence()


@over_each_wire
@pytest.mark.parametrize(("id", "other"), [("a", "b"), (1, "1"), ("1", 1), (1, 1.5)])
async def test_only_the_call_of_that_very_id_is_stopped(wire: str, id: object, other: object) -> None:
    """Ids are compared with their types."""
    watched = Watched()
    async with talk(watched.server, wire) as peer:
        await peer.call(id, "wait")
        await watched.gate.reached.wait()
        await peer.notify("notifications/cancelled", {"requestId": other})
        await peer.expect_silence()
        watched.gate.open()

        await peer.expect(text(id, "waited"))


@over_each_wire
async def test_a_call_cancelled_in_the_same_breath_never_answers(wire: str) -> None:
    """Request and cancellation arrive together."""
    watched = Watched()
    async with talk(watched.server, wire) as peer:
        await peer.call(1, "wait")
        await peer.notify("notifications/cancelled", {"requestId": 1})
        await peer.ask(2, "ping")

        await peer.expect(result(2, {}))
        await peer.expect_silence()


@over_each_wire
async def test_cancelling_what_is_answered_changes_nothing(wire: str) -> None:
    """The race that every client loses now and then."""
    server = Server("s")

    @server.tool
    async def quick() -> str:
        return "quick"

    async with talk(server, wire) as peer:
        await peer.call(1, "quick")
        await peer.expect(text(1, "quick"))
        await peer.notify("notifications/cancelled", {"requestId": 1})
        await peer.call(1, "quick")

        await peer.expect(text(1, "quick"))


@over_each_wire
async def test_a_handler_that_ignores_its_cancellation_is_not_answered(wire: str) -> None:
    """It may finish; nobody waits for it."""
    server, gate = Server("s"), Gate()
    finished = asyncio.Event()

    @server.tool
    async def stubborn() -> str:
        try:
            await gate.wait()
        except asyncio.CancelledError:
            pass
        finished.set()
        return "all the same"

    async with talk(server, wire) as peer:
        await peer.call(1, "stubborn")
        await gate.reached.wait()
        await peer.notify("notifications/cancelled", {"requestId": 1})
        await asyncio.wait_for(finished.wait(), 20)

        await peer.expect_silence()


@over_each_wire
async def test_an_id_used_again_after_its_cancellation_has_its_own_answer(wire: str) -> None:
    """The late end of the first call must not answer the second."""
    server = Server("s")
    gates = [Gate(), Gate()]
    calls = 0

    @server.tool
    async def stubborn() -> str:
        nonlocal calls
        mine = calls
        calls += 1
        try:
            await gates[mine].wait()
        except asyncio.CancelledError:
            await gates[mine].wait()
        return f"call {mine}"

    async with talk(server, wire) as peer:
        await peer.call(1, "stubborn")
        await gates[0].reached.wait()
        await peer.notify("notifications/cancelled", {"requestId": 1})
        await peer.call(1, "stubborn")
        await gates[1].reached.wait()
        gates[0].open()
        await peer.expect_silence()
        gates[1].open()

        await peer.expect(text(1, "call 1"))


@over_each_wire
async def test_an_id_used_again_at_once_is_not_answered_by_the_cancellation(wire: str) -> None:
    """Request, cancellation and the same id again, in one breath."""
    watched = Watched()
    async with talk(watched.server, wire) as peer:
        await peer.call(1, "wait")
        await watched.gate.reached.wait()
        await peer.notify("notifications/cancelled", {"requestId": 1})
        await peer.call(1, "wait")
        await peer.expect_silence()
        watched.gate.open()

        await peer.expect(text(1, "waited"))


@over_each_wire
async def test_a_handler_in_a_thread_can_see_that_it_is_cancelled(wire: str) -> None:
    """A thread cannot be stopped, so it looks; its result goes nowhere."""
    server = Server("s")
    started, ended = threading.Event(), threading.Event()
    go_on = threading.Event()
    seen: list[str] = []

    @server.tool
    def work(ctx: Context) -> str:
        seen.append(f"{ctx.cancelled}")
        started.set()
        assert go_on.wait(20)
        seen.append(f"{ctx.cancelled} {ctx.cancel_reason}")
        ended.set()
        return "late"

    async with talk(server, wire) as peer:
        await peer.call(1, "work")
        await asyncio.to_thread(started.wait, 20)
        await peer.notify("notifications/cancelled", {"requestId": 1, "reason": "enough"})
        await peer.ask(2, "ping")
        await peer.expect(result(2, {}))
        go_on.set()
        await asyncio.to_thread(ended.wait, 20)

        assert seen == ["False", "True enough"]
        await peer.expect_silence()


async def test_a_call_that_waits_for_a_thread_is_cancelled_before_it_runs() -> None:
    """All threads are busy: the withdrawn call never begins."""
    from anywire.wire.limits import DEFAULT_LIMITS

    server = Server("s", limits=DEFAULT_LIMITS.replace(worker_threads=1))
    started, release = threading.Event(), threading.Event()
    ran: list[str] = []

    @server.tool
    def work(name: str) -> str:
        ran.append(name)
        started.set()
        assert release.wait(20)
        return name

    async with talk(server) as peer:
        await peer.call(1, "work", {"name": "first"})
        await asyncio.to_thread(started.wait, 20)
        await peer.call(2, "work", {"name": "second"})
        await peer.notify("notifications/cancelled", {"requestId": 2})
        await peer.call(3, "work", {"name": "third"})
        await peer.expect_silence()
        release.set()

        await peer.expect(text(1, "first"), text(3, "third"))
        assert ran == ["first", "third"]


@in_virtual_time
async def test_a_cancelled_handler_may_clean_up_although_the_client_leaves() -> None:
    """It has until the server has drained."""
    server, gate = Server("s"), Gate()
    cleaned: list[str] = []

    @server.tool
    async def careful() -> None:
        try:
            await gate.wait()
        finally:
            await asyncio.sleep(2)
            cleaned.append("rolled back")

    async with talk(server) as peer:
        await peer.call(1, "careful")
        await gate.reached.wait()
        await peer.notify("notifications/cancelled", {"requestId": 1})
        peer.end()
        await peer.expect_end()

    assert cleaned == ["rolled back"]


@over_each_wire
async def test_initialize_and_its_like_cannot_be_cancelled_late(wire: str) -> None:
    """What is answered at once is out of reach."""
    async with talk(Server("s"), wire) as peer:
        await peer.ask(1, "initialize", {"protocolVersion": "2025-11-25"})
        await peer.notify("notifications/cancelled", {"requestId": 1})

        assert (await peer.receive())["result"]["protocolVersion"] == "2025-11-25"
