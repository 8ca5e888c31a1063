"""When a lost server has a successor, how soon, and when it is given up."""

from __future__ import annotations

import asyncio

import pytest

from anywire.errors import ProcessExited, RemoteProtocolError, SpawnFailed, TransportBroken
from anywire.testing.clock import in_virtual_time
from anywire.wire.limits import Limits
from tests.bridge.stage import CRASH, LEFT, LISTS, Stage


@in_virtual_time
async def test_a_server_that_left_in_order_comes_back_when_it_is_needed() -> None:
    async with Stage() as stage:
        server = await stage.opened()
        server.lose(LEFT)
        await stage.client.expect_silence()
        assert len(stage.servers) == 1
        await stage.client.call(1, "pay")
        successor = await stage.taken_over()
        await successor.answers("tools/call")

        await stage.hears_of(*LISTS)
        await stage.client.expect({"jsonrpc": "2.0", "id": 1, "result": {}})


@in_virtual_time
async def test_a_server_that_left_in_order_while_somebody_listens_comes_back_at_once() -> None:
    async with Stage() as stage:
        server = await stage.opened()
        await stage.client.ask(1, "resources/subscribe", {"uri": "a:1"})
        await server.answers("resources/subscribe")
        await stage.client.receive()
        server.lose(LEFT)
        successor = await stage.taken_over()

        await successor.answers("resources/subscribe")


@in_virtual_time
async def test_servers_that_do_not_come_up_are_given_up_and_everybody_is_told() -> None:
    """The relay ends with the last error, as if it were the first."""
    async with Stage(Limits(restarts=3)) as stage:
        server = await stage.opened()
        stage.failing = 9
        await stage.client.call(1, "pay")
        await stage.client.ask(2, "tools/list")
        await server.hears("tools/call")
        await server.hears("tools/list")
        server.lose()
        first, second = await stage.client.receive_many(2)
        error = await stage.ended()

        assert isinstance(error, SpawnFailed)
        assert (first["id"], "exited with code 3" in first["error"]["message"]) == (1, True)
        assert (second["id"], "no program was found" in second["error"]["message"]) == (2, True)
        assert stage.failing == 6
        assert stage.reports[-1] == "given up: 3 servers in a row brought nothing"


@in_virtual_time
async def test_servers_that_leave_by_themselves_at_once_are_given_up() -> None:
    """However well they shake hands: ever later, and not for ever."""
    async with Stage(Limits(restarts=4)) as stage:
        server = await stage.opened()
        loop, times = asyncio.get_running_loop(), list[float]()
        server.lose()
        for _ in range(4):
            successor = await stage.taken_over()
            times.append(loop.time())
            successor.lose()
        error = await stage.ended()

        assert isinstance(error, ProcessExited)
        assert error.returncode == 3
        assert times == pytest.approx([0, 0.5, 1.5, 3.5])


@in_virtual_time
async def test_a_server_that_ran_for_a_while_is_forgiven_what_was_before() -> None:
    async with Stage(Limits(restarts=2)) as stage:
        server = await stage.opened()
        loop = asyncio.get_running_loop()
        for _ in range(5):
            server.lose()
            lost = loop.time()
            server = await stage.taken_over()
            assert loop.time() == pytest.approx(lost)
            await asyncio.sleep(61)


@in_virtual_time
async def test_calls_that_end_their_server_fail_alone_however_many_they_are() -> None:
    """It is the call that is at fault: the next server is tried, a little later each time."""
    async with Stage(Limits(restarts=2, restart_most_seconds=2)) as stage:
        server = await stage.opened()
        for number in range(10):
            await stage.client.call(number, "fatal")
            await server.hears("tools/call")
            server.lose()
            failed = await stage.client.receive()
            assert (failed["id"], failed["error"]["code"]) == (number, -32603)
            server = await stage.taken_over()
            await stage.hears_of(*LISTS)


@in_virtual_time
async def test_a_successor_that_is_silent_is_not_waited_for_without_end() -> None:
    async with Stage(Limits(restarts=2, request_seconds=5)) as stage:
        server = await stage.opened()
        await stage.client.ask(1, "tools/list")
        await server.hears("tools/list")
        server.lose()
        for _ in range(2):
            await (await stage.next_server()).hears("initialize")
        failed = await stage.client.receive()
        error = await stage.ended()

        assert failed["error"]["message"] == "a lost server has no successor yet, after 5 s"
        assert str(error) == "the new server did not answer initialize within 5 s"


@in_virtual_time
async def test_a_successor_of_another_revision_cannot_take_over() -> None:
    """The client cannot be told, so the relay ends."""
    async with Stage() as stage:
        server = await stage.opened()
        server.lose()
        successor = await stage.next_server()
        await stage.client.call(1, "pay")
        await successor.opens("2024-11-05")
        failed = await stage.client.receive()
        error = await stage.ended()

        assert isinstance(error, RemoteProtocolError)
        assert "it speaks revision 2024-11-05 now, and 2025-11-25 was agreed on" in str(error)
        assert failed["error"]["message"] == str(error)


@in_virtual_time
async def test_a_successor_that_is_lost_before_it_takes_over_has_one_itself() -> None:
    """What waits goes on waiting."""
    async with Stage() as stage:
        server = await stage.opened()
        server.lose()
        second = await stage.next_server()
        await stage.client.call(1, "pay")
        await second.hears("initialize")
        second.lose(TransportBroken("reset"))
        third = await stage.next_server()
        refused = await third.hears("initialize")
        error = {"code": -32603, "message": "not yet"}
        await third.peer.send({"jsonrpc": "2.0", "id": refused["id"], "error": error})
        fourth = await stage.next_server()
        await fourth.opens()
        fourth.lose()  # in the same breath
        fifth = await stage.taken_over()

        assert (await fifth.answers("tools/call"))["id"] == 1
        assert any("refused initialize: not yet" in report for report in stage.reports)


@in_virtual_time
async def test_a_server_that_is_lost_before_the_conversation_was_opened_is_an_error() -> None:
    """A client whose handshake was refused has no conversation either."""
    for answers in (False, True):
        async with Stage() as stage:
            server = await stage.next_server()
            await stage.client.ask(1, "initialize", {})
            request = await server.hears("initialize")
            if answers:
                error = {"code": -32603, "message": "not you"}
                await server.peer.send({"jsonrpc": "2.0", "id": request["id"], "error": error})
                await stage.client.receive()
            server.lose()
            assert await stage.ended() is CRASH
            assert len(stage.servers) == 1


@in_virtual_time
async def test_a_server_that_is_lost_when_its_client_has_left_has_no_successor() -> None:
    async with Stage() as stage:
        server = await stage.opened()
        await stage.client.ask(1, "tools/list")
        await server.hears("tools/list")
        stage.client.end()
        await server.peer.expect_silence()
        server.lose()

        assert "exited with code 3" in (await stage.client.receive())["error"]["message"]
        assert await stage.ended() is CRASH
        assert len(stage.servers) == 1
