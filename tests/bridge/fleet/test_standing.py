"""A server that does not come up: what one client has learnt is known to the next, and is told once."""

from __future__ import annotations

import asyncio

from anywire.bridge.fleet.standing import Standing
from anywire.bridge.meeting.upstream import Sharing
from anywire.errors import AnywireError, ConnectFailed, SpawnFailed
from anywire.testing import ScriptedPeer, in_virtual_time
from anywire.transport.contract import Transport
from anywire.transport.layer import Layer
from anywire.transport.memory import memory_pair
from anywire.wire.message import Batch, Message, Request, create_request
from tests.bridge.fleet.houses import LIMITS, Played, house
from tests.bridge.fleet.test_conversations import talk
from tests.bridge.fleet.test_lists import CHANGED, tools

NONE = SpawnFailed("no such program: nothing")


class Unreachable(Layer):
    """What calls a URL where nobody is: it opens, and each request fails."""

    def __init__(self, error: AnywireError) -> None:
        super().__init__(memory_pair()[0])
        self._error = error

    def post(self, message: Message | Batch, related: bytes | None = None) -> None:
        """Fail soon."""
        if isinstance(message, Request):
            asyncio.get_running_loop().call_soon(self._tell_failed, message.id, self._error)


class Calls:
    """Makes transports to nobody, and counts them."""

    def __init__(self) -> None:
        self.made = 0

    def __call__(self) -> Transport:
        self.made += 1
        return Unreachable(ConnectFailed("POST http://h/mcp: Cannot connect"))


async def seconds_of_tools(client: ScriptedPeer) -> float:
    """Ask for the tools; return how long that took."""
    began = asyncio.get_running_loop().time()
    await tools(client)
    return asyncio.get_running_loop().time() - began


@in_virtual_time
async def test_the_next_client_does_not_wait_as_long_for_who_was_late() -> None:
    """And starts no second one while the first one hangs; once it has answered it is as any other."""
    hang = Played()
    async with house({"hang": hang}) as ours, ours.raw() as one, ours.raw() as two, ours.raw() as three:
        await one.initialize()
        assert await seconds_of_tools(one) == LIMITS.member_list_seconds
        await two.initialize()
        assert 0 < await seconds_of_tools(two) <= 1
        assert hang.made == 1
        assert ours.reports == ["tools/list was not answered within 15 s"]
        play = await hang.next()
        await play.opens()
        await play.lists("do")
        second = await hang.next()  # the other client's own: it comes up by now
        await second.opens()
        await second.lists("do")
        await one.expect(CHANGED)
        await two.expect(CHANGED)
        assert await tools(one) == await tools(two) == ["hang__do"]
        await three.initialize()
        assert await tools(three) == ["hang__do"]
        assert hang.made == 2


@in_virtual_time
async def test_clients_take_turns_with_a_server_that_hangs() -> None:
    """However many they are there is one process at a time, and some waits between them."""
    hang = Played()
    async with house({"hang": hang}) as ours:
        clients = [ours.raw() for _ in range(8)]
        await clients[0].initialize()
        await tools(clients[0])
        for client in clients[1:]:
            await client.initialize()
            await tools(client)
        await asyncio.sleep(LIMITS.member_start_seconds * 3)
        assert 2 <= hang.made <= 4
        assert len(ours.reports) == 2  # its list was late, and it did not come up
        await clients[0].call("x", "hang__do")
        for client in clients:
            await client.transport.close()


@in_virtual_time
async def test_a_url_where_nobody_is_costs_a_few_calls_and_one_line() -> None:
    """Whoever comes next hears at once why, and when it is tried again; each name stands there once."""
    calls = Calls()
    async with house({"remote": calls}, discreet=True) as ours:
        for id in range(10):
            async with ours.raw() as client:
                await client.initialize()
                assert await tools(client) == []
                await client.call(id, "remote__do")
                message = (await client.receive())["error"]["message"]
                assert message.startswith("remote: the server behind the bridge could not be reached")
        assert calls.made <= LIMITS.restarts
        assert ours.reports == ["POST http://h/mcp: Cannot connect"]
        assert dict(ours.fleet.troubles) == {"remote": "POST http://h/mcp: Cannot connect"}


@in_virtual_time
async def test_a_client_that_is_told_everything_hears_the_name_once() -> None:
    """And the words of what has failed."""
    async with house({"remote": Calls()}) as ours, ours.raw() as client:
        await client.initialize()
        await client.call(1, "remote__do")
        message = (await client.receive())["error"]["message"]
        assert message.startswith("remote: POST http://h/mcp: Cannot connect")


@in_virtual_time
async def test_who_comes_up_again_and_fails_again_is_told_again() -> None:
    """A reason is told once until all is well."""
    flaky = Played()
    async with house({"flaky": flaky}) as ours, ours.raw() as client:
        flaky.errors = [NONE]
        await client.initialize()
        await (await flaky.next()).opens()
        assert len(ours.reports) == 1
        ours.fleet.troubled("flaky", ours.reports[0])
        assert len(ours.reports) == 2


def test_starts_that_fail_together_count_as_one() -> None:
    """Many clients that come at once do not make the next start late."""
    standing = Standing(LIMITS)
    for start in range(9):
        standing.begun(start, 0.0)
    for start in range(9):
        standing.failed(start, NONE, 5.0, 1.0)
    assert standing.due == 5.0  # at once
    standing.begun("again", 5.0)
    standing.failed("again", NONE, 6.0, 1.0)
    assert standing.due == 6.0 + LIMITS.restart_seconds
    standing.opened("more", 7.0)
    assert standing.error is None


@in_virtual_time
async def test_the_log_names_the_server_whose_question_nobody_can_answer() -> None:
    """Several clients have calls running, so that nobody can tell whom it asks."""
    async with talk(sharing=Sharing.ALL) as t, t.house.raw() as other:
        await other.initialize()
        await t.client.call(1, "left__do")
        await other.call(1, "left__do")
        await t.left.hears("tools/call")
        await t.left.hears("tools/call")
        await t.left.peer.send(create_request(7, "sampling/createMessage", {"messages": [], "maxTokens": 1}))
        refusal = await t.left.peer.receive()
        assert "which of them is meant cannot be told" in refusal["error"]["message"]
        (report,) = t.house.reports
        assert report.startswith("left: the server asked for something that was refused")
