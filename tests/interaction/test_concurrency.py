"""Reading never waits for handling, and each call is alone in its task."""

from __future__ import annotations

import asyncio
import contextvars
import threading

import pytest

from anywire import Server
from anywire.testing import in_virtual_time
from tests.interaction.talk import Gate, over_each_wire, result, talk, text


@over_each_wire
async def test_a_slow_call_does_not_delay_a_ping(wire: str) -> None:
    """Nor the list, nor another call, nor a second client's."""
    server, gate = Server("s"), Gate()

    @server.tool
    async def slow() -> str:
        await gate.wait()
        return "slow"

    @server.tool
    async def quick() -> str:
        return "quick"

    async with talk(server, wire) as peer:
        await peer.call(1, "slow")
        await gate.reached.wait()
        await peer.ask(2, "ping")
        await peer.expect(result(2, {}))
        await peer.call(3, "quick")
        await peer.expect(text(3, "quick"))
        gate.open()
        await peer.expect(text(1, "slow"))


@over_each_wire
async def test_a_blocking_call_does_not_delay_a_ping(wire: str) -> None:
    """A plain function runs in a thread, so it may block."""
    server = Server("s")
    started, release = threading.Event(), threading.Event()

    @server.tool
    def blocks() -> str:
        started.set()
        assert release.wait(20)
        return "blocked"

    async with talk(server, wire) as peer:
        await peer.call(1, "blocks")
        await asyncio.to_thread(started.wait, 20)
        await peer.ask(2, "ping")
        await peer.expect(result(2, {}))
        release.set()
        await peer.expect(text(1, "blocked"))


@over_each_wire
async def test_sixty_four_calls_run_at_once(wire: str) -> None:
    """None of them ends before all have begun."""
    server = Server("s")
    together = asyncio.Barrier(64)

    @server.tool
    async def meet(number: int) -> str:
        async with together:
            return str(number)

    async with talk(server, wire) as peer:
        for number in range(64):
            await peer.call(number, "meet", {"number": number})

        replies = await peer.receive_many(64)
        assert sorted(replies, key=lambda reply: reply["id"]) == [
            text(number, str(number)) for number in range(64)
        ]


@over_each_wire
async def test_replies_come_as_they_are_ready(wire: str) -> None:
    """A late request may be answered early."""
    server = Server("s")
    gates = [Gate() for _ in range(3)]

    @server.tool
    async def wait(gate: int) -> str:
        await gates[gate].wait()
        return str(gate)

    async with talk(server, wire) as peer:
        for number in range(3):
            await peer.call(number, "wait", {"gate": number})
            await gates[number].reached.wait()
        for number in (2, 0, 1):
            gates[number].open()
            await peer.expect(text(number, str(number)))


@over_each_wire
async def test_each_call_has_a_context_of_its_own(wire: str) -> None:
    """What one sets, no other sees."""
    server = Server("s")
    variable = contextvars.ContextVar("variable", default="unset")
    together = asyncio.Barrier(8)

    @server.tool
    async def remember(word: str) -> str:
        before = variable.get()
        variable.set(word)
        async with together:
            return f"{before} {variable.get()}"

    async with talk(server, wire) as peer:
        for number in range(8):
            await peer.call(number, "remember", {"word": str(number)})

        replies = await peer.receive_many(8)
        assert {reply["id"]: reply["result"]["content"][0]["text"] for reply in replies} == {
            number: f"unset {number}" for number in range(8)
        }


@pytest.mark.parametrize("plain", [False, True])
async def test_a_call_sees_the_context_in_which_serving_began(plain: bool) -> None:
    """Threads included, as with `asyncio.to_thread`."""
    server = Server("s")
    variable = contextvars.ContextVar("variable", default="unset")

    async def read() -> str:
        return variable.get()

    def read_in_thread() -> str:
        return variable.get()

    server.tool(name="read")(read_in_thread if plain else read)
    variable.set("set before")
    async with talk(server) as peer:
        await peer.call(1, "read")

        await peer.expect(text(1, "set before"))


@over_each_wire
async def test_each_call_is_a_task_of_its_own(wire: str) -> None:
    """From its first line on: `current_task`, `timeout` and `TaskGroup` are those of the call."""
    server = Server("s")
    tasks: list[asyncio.Task[object] | None] = []

    @server.tool
    async def task() -> str:
        tasks.append(asyncio.current_task())
        async with asyncio.timeout(20), asyncio.TaskGroup() as group:
            one = group.create_task(asyncio.sleep(0, "one"))
            two = group.create_task(asyncio.sleep(0, "two"))
        return f"{one.result()} {two.result()}"

    async with talk(server, wire) as peer:
        await peer.call(1, "task")
        await peer.call(2, "task")

        replies = await peer.receive_many(2)
        assert sorted(replies, key=lambda reply: reply["id"]) == [text(1, "one two"), text(2, "one two")]
        assert len(set(tasks)) == 2
        assert asyncio.current_task() not in tasks


@in_virtual_time
async def test_a_timeout_in_a_handler_is_its_own_error() -> None:
    """It ends that call with a text, from the first line on, and no other."""
    server = Server("s")

    @server.tool
    async def late() -> str:
        async with asyncio.timeout(5):
            await asyncio.Event().wait()
        return "never"

    @server.tool
    async def caught() -> str:
        try:
            async with asyncio.timeout(5):
                await asyncio.Event().wait()
        except TimeoutError:
            return "caught"
        return "never"

    async with talk(server) as peer:
        await peer.call(1, "late")
        await peer.call(2, "caught")

        replies = {reply["id"]: reply["result"] for reply in await peer.receive_many(2)}
        assert replies[1] == {
            "content": [{"type": "text", "text": "Error in tool 'late': TimeoutError"}],
            "isError": True,
        }
        assert replies[2] == {"content": [{"type": "text", "text": "caught"}]}


async def test_a_handler_that_cancels_itself_is_answered() -> None:
    """A cancellation that nobody asked for is still no reason for silence."""
    server = Server("s")

    @server.tool
    async def gives_up() -> str:
        raise asyncio.CancelledError

    async with talk(server) as peer:
        await peer.call(1, "gives_up")

        assert (await peer.receive())["result"]["isError"] is True


@pytest.mark.parametrize("wires", [("memory", "memory"), ("streams", "streams"), ("newline", "headers")])
async def test_two_clients_with_equal_ids_never_get_each_others_answers(wires: tuple[str, str]) -> None:
    """One server, two conversations, the same ids in flight, one slow and one quick."""
    server = Server("s")
    gates = {"one": Gate(), "two": Gate()}

    @server.tool
    async def wait(gate: str) -> str:
        await gates[gate].wait()
        return gate

    async with talk(server, wires[0]) as one, talk(server, wires[1]) as two:
        await one.call(1, "wait", {"gate": "one"})
        await two.call(1, "wait", {"gate": "two"})
        await gates["one"].reached.wait()
        await gates["two"].reached.wait()
        gates["two"].open()
        await two.expect(text(1, "two"))
        await one.expect_silence()
        await two.notify("notifications/cancelled", {"requestId": 1})
        gates["one"].open()
        await one.expect(text(1, "one"))
        await two.expect_silence()
