"""A server that is lost in the midst of a conversation, and what its client notices of it."""

from __future__ import annotations

import asyncio

import pytest

from anywire.bridge.recovery.waiting import Waiting
from anywire.testing.clock import in_virtual_time
from anywire.wire.limits import Limits
from anywire.wire.message import ErrorResponse, Request, Response
from tests.bridge.stage import CAPABILITIES, LISTS, Stage


@in_virtual_time
async def test_a_successor_is_told_what_the_client_had_said_in_its_handshake() -> None:
    """With the params of the client, byte for byte, under an id of ours; the client hears what may differ."""
    async with Stage() as stage:
        server = await stage.next_server()
        order = (
            b'{"params":{"x":1.0e-5,"protocolVersion":"2025-11-25","capabilities":{},'
            b'"clientInfo":{"name":"\\ud83d","version":"1"}},"jsonrpc":"2.0","method":"initialize","id":0}'
        )
        await stage.client.send_bytes(order + b"\n")
        await server.opens()
        await stage.client.receive()
        await stage.client.notify("notifications/initialized")
        await server.hears("notifications/initialized")
        server.lose()
        successor = await stage.next_server()
        again = await successor.peer.receive_message()

        assert isinstance(again, Request)
        assert again.frame == order.replace(b'"id":0', b'"id":"anywire-again-1"')
        result = {"protocolVersion": "2025-11-25", "capabilities": CAPABILITIES, "serverInfo": {}}
        await successor.peer.answer({"id": "anywire-again-1"}, result)
        await successor.hears("notifications/initialized")
        await stage.hears_of(*LISTS)
        await stage.client.expect_silence()


@in_virtual_time
async def test_the_level_and_the_subscriptions_are_set_anew() -> None:
    """Those that hold: not what was refused, nor what was ended."""
    async with Stage() as stage:
        server = await stage.opened()
        await stage.client.ask(1, "logging/setLevel", {"level": "debug"})
        await server.answers("logging/setLevel")
        for number, uri in enumerate(("a:1", "a:2", "a:3"), 2):
            await stage.client.ask(number, "resources/subscribe", {"uri": uri})
        await server.answers("resources/subscribe")
        await server.answers("resources/subscribe")
        refused = await server.hears("resources/subscribe")
        error = {"code": -32002, "message": "there is none"}
        await server.peer.send({"jsonrpc": "2.0", "id": refused["id"], "error": error})
        await stage.client.ask(5, "resources/unsubscribe", {"uri": "a:1"})
        await server.answers("resources/unsubscribe")
        await stage.client.receive_many(5)
        server.lose()
        successor = await stage.taken_over()

        assert (await successor.answers("logging/setLevel"))["params"] == {"level": "debug"}
        assert (await successor.answers("resources/subscribe"))["params"] == {"uri": "a:2"}
        *_, updated = await stage.hears_of(*LISTS, "notifications/resources/updated")
        assert updated["params"] == {"uri": "a:2"}
        await successor.peer.expect_silence()
        await stage.client.expect_silence()  # the answers were for us


@in_virtual_time
async def test_what_only_reads_is_asked_again_and_the_rest_fails_at_once() -> None:
    """With the exit code and the last words; each request is settled once."""
    async with Stage() as stage:
        server = await stage.opened()
        await stage.client.call(1, "pay")
        await stage.client.ask(2, "tools/list", {"cursor": "x"})
        await stage.client.ask(3, "unheard/of")
        for method in ("tools/call", "tools/list", "unheard/of"):
            await server.hears(method)
        server.lose()
        failed = await stage.client.receive_many(2)
        successor = await stage.taken_over()

        assert [each["id"] for each in failed] == [1, 3]
        for each in failed:
            told = each["error"]["message"]
            assert told == "server exited with code 3; its last words: the disk is full"
        request = await successor.answers("tools/list", {"tools": []})
        assert (request["id"], request["params"]) == (2, {"cursor": "x"})
        await stage.hears_of(*LISTS)
        await stage.client.expect({"jsonrpc": "2.0", "id": 2, "result": {"tools": []}})
        await successor.peer.expect_silence()


@in_virtual_time
async def test_a_request_that_ends_two_servers_is_not_asked_a_third_time() -> None:
    async with Stage() as stage:
        server = await stage.opened()
        await stage.client.ask(1, "resources/read", {"uri": "a:poison"})
        await server.hears("resources/read")
        server.lose()
        successor = await stage.taken_over()
        await successor.hears("resources/read")
        successor.lose()
        *_, failed = await stage.client.receive_many(3)
        third = await stage.taken_over()

        assert (failed["id"], "exited with code 3" in failed["error"]["message"]) == (1, True)
        await third.peer.expect_silence()


@in_virtual_time
async def test_what_is_asked_meanwhile_waits_for_the_successor_in_order() -> None:
    """Behind what is asked again; what is cancelled meanwhile is not asked at all."""
    async with Stage() as stage:
        server = await stage.opened()
        await stage.client.ask(1, "tools/list")
        await server.hears("tools/list")
        server.lose()
        successor = await stage.next_server()
        await stage.client.call(2, "pay")
        await stage.client.call(3, "unwanted")
        await stage.client.notify("notifications/roots/list_changed")
        await stage.client.notify("notifications/cancelled", {"requestId": 3})
        await stage.client.call(4, "ship")
        await stage.client.expect_silence()
        await successor.opens()

        for method in ("notifications/initialized", "tools/list"):
            await successor.hears(method)
        assert (await successor.hears("tools/call"))["id"] == 2
        await successor.hears("notifications/roots/list_changed")
        assert (await successor.hears("tools/call"))["id"] == 4
        await successor.peer.expect_silence()


@in_virtual_time
async def test_a_client_is_told_not_to_answer_a_lost_server_and_its_late_answer_is_dropped() -> None:
    """Also where the successor asks under the same id."""
    async with Stage() as stage:
        server = await stage.opened()
        await server.peer.ask(7, "roots/list")
        await stage.client.receive()
        server.lose()
        (cancelled,) = await stage.hears_of("notifications/cancelled")
        successor = await stage.taken_over()
        await stage.hears_of(*LISTS)
        await successor.peer.ask(7, "sampling/createMessage", {"maxTokens": 1.0})
        asked = await stage.client.receive()
        await stage.client.send({"jsonrpc": "2.0", "id": 7, "result": {"roots": []}})
        await stage.client.answer(asked, {"role": "assistant"})

        assert cancelled["params"] == {"requestId": 7, "reason": "the server was lost"}
        assert asked["id"] != 7
        await successor.peer.expect({"jsonrpc": "2.0", "id": 7, "result": {"role": "assistant"}})
        await successor.peer.ask(7, "roots/list")
        again = await stage.client.receive()
        assert again["id"] == 7  # the late answer has come: there is nothing to mistake it for
        await stage.client.expect_silence()


@in_virtual_time
async def test_a_question_under_another_id_is_withdrawn_under_that() -> None:
    async with Stage() as stage:
        server = await stage.opened()
        await server.peer.ask("q", "roots/list")
        await stage.client.receive()
        server.lose()
        successor = await stage.taken_over()
        await stage.hears_of("notifications/cancelled", *LISTS)
        await successor.peer.ask("q", "roots/list")
        asked = await stage.client.receive()
        await successor.peer.notify("notifications/cancelled", {"requestId": "q", "reason": "enough"})
        (cancelled,) = await stage.hears_of("notifications/cancelled")

        assert cancelled["params"] == {"requestId": asked["id"], "reason": "enough"}


@in_virtual_time
async def test_a_handshake_that_the_client_had_not_finished_is_finished_by_the_client() -> None:
    async with Stage() as stage:
        server = await stage.next_server()
        await stage.client.ask(1, "initialize", {"protocolVersion": "2025-11-25"})
        await server.opens()
        await stage.client.receive()
        server.lose()
        successor = await stage.next_server()
        await successor.opens()
        await successor.peer.expect_silence()
        await stage.client.notify("notifications/initialized")

        await successor.hears("notifications/initialized")
        await stage.client.expect_silence()


@in_virtual_time
async def test_a_client_that_leaves_meanwhile_still_gets_its_answer() -> None:
    """What it had asked for is asked again; then everything ends."""
    async with Stage() as stage:
        server = await stage.opened()
        await stage.client.ask(1, "tools/list")
        await server.hears("tools/list")
        server.lose()
        stage.client.end()
        successor = await stage.taken_over()
        await successor.answers("tools/list", {"tools": []})

        await stage.hears_of(*LISTS)
        assert (await stage.client.receive())["id"] == 1
        assert await stage.ended() is None


@in_virtual_time
async def test_nobody_on_the_network_is_told_whose_server_was_lost() -> None:
    async with Stage(discreet=True) as stage:
        server = await stage.opened()
        await stage.client.call(1, "pay")
        await server.hears("tools/call")
        server.lose()
        failed = await stage.client.receive()
        await stage.taken_over()

        told = "the server behind the bridge exited with code 3; see the bridge's log"
        assert failed["error"]["message"] == told
        assert any("the disk is full" in report for report in stage.reports)


@in_virtual_time
async def test_a_client_that_asks_for_much_meanwhile_is_held() -> None:
    limits = Limits(write_high_bytes=10_000, write_low_bytes=1_000)
    async with Stage(limits) as stage:
        server = await stage.opened()
        server.lose()
        successor = await stage.next_server()

        async def ask() -> None:
            for number in range(100):
                await stage.client.call(number, "pay", {"for": "x" * 1_000})

        asking = asyncio.ensure_future(ask())
        await stage.client.expect_silence()
        assert not asking.done()
        assert len(stage.relay._waiting) <= 12
        await successor.opens()

        await successor.hears("notifications/initialized")
        assert [(await successor.hears("tools/call"))["id"] for _ in range(100)] == list(range(100))


@in_virtual_time
async def test_a_client_may_not_take_an_id_of_ours_while_it_is_in_use() -> None:
    async with Stage() as stage:
        server = await stage.opened()
        await stage.client.ask(1, "logging/setLevel", {"level": "debug"})
        await server.answers("logging/setLevel")
        await stage.client.receive()
        await stage.client.ask("anywire-again-1", "tools/list")
        await server.hears("tools/list")
        server.lose()
        successor = await stage.next_server()
        assert (await successor.opens())["id"] == "anywire-again-2"
        await successor.hears("notifications/initialized")
        ours = await successor.hears("logging/setLevel")
        await successor.answers("tools/list", {"tools": []})
        await stage.hears_of(*LISTS)
        assert (await stage.client.receive())["id"] == "anywire-again-1"
        await stage.client.ask(ours["id"], "ping")
        refused = await stage.client.receive()

        assert refused["error"]["message"] == "that id is in use; take another"


@in_virtual_time
async def test_a_second_request_under_an_id_costs_the_first_one_nothing() -> None:
    """It is refused, and does not reach the server; the first one has its answer."""
    async with Stage() as stage:
        server = await stage.opened()
        await stage.client.ask(1, "tools/call", {"name": "a"})
        asked = await server.hears("tools/call")
        await stage.client.ask(1, "tools/call", {"name": "b"})
        assert (await stage.client.receive())["error"]["message"] == "that id is in use; take another"
        await server.peer.answer(asked, {"of": "a"})
        assert (await stage.client.receive())["result"] == {"of": "a"}
        await stage.client.ask(1, "tools/call", {"name": "c"})
        await server.answers("tools/call", {"of": "c"})
        assert (await stage.client.receive())["result"] == {"of": "c"}


@in_virtual_time
async def test_a_transport_that_shook_hands_again_by_itself_is_told_the_rest() -> None:
    """As over HTTP, when the server has lost the session."""
    async with Stage() as stage:
        server = await stage.opened()
        await stage.client.ask(1, "resources/subscribe", {"uri": "a:1"})
        await server.answers("resources/subscribe")
        await stage.client.receive()
        await server.peer.ask(3, "roots/list")
        await stage.client.receive()
        server.wire.callbacks.on_reopened()

        await server.answers("resources/subscribe")
        await stage.hears_of("notifications/cancelled", *LISTS, "notifications/resources/updated")
        await stage.client.expect_silence()
        assert len(stage.servers) == 1


@in_virtual_time
async def test_each_request_that_waits_in_vain_is_told_however_many_wait() -> None:
    """Those that fall due one after the other as well."""
    limits = Limits(request_seconds=1.0)
    told: list[bytes] = []
    waiting = Waiting(None, lambda request, why: told.append(request.id), limits)
    ids = [b"%d" % number for number in range(2_000)]
    for number, id in enumerate(ids):
        waiting.put(Request(id, "ping"))
        if number % 20 == 0:
            await asyncio.sleep(0.001)
    await asyncio.sleep(2.0)
    assert told == ids
    assert len(waiting) == 0


@in_virtual_time
@pytest.mark.parametrize(
    ("asked", "answered"), [("7", '"7"'), ("7", "7.0"), ('"x"', "null"), ("7", None)], ids=str
)
async def test_an_answer_with_the_wrong_kind_of_id_is_that_of_the_request(
    asked: str, answered: str | None
) -> None:
    """A number of the wrong type; an error without an id, where only one request is in flight."""
    async with Stage() as stage:
        server = await stage.opened()
        await stage.client.send_bytes(b'{"jsonrpc":"2.0","id":%b,"method":"ping"}\n' % asked.encode())
        await server.hears("ping")
        spelled = "" if answered is None else f',"id":{answered}'
        said = (
            '"result":{"z":1.0}'
            if answered not in (None, "null")
            else '"error":{"code":-32000,"message":"no"}'
        )
        await server.peer.send_bytes(f'{{"jsonrpc":"2.0"{spelled},{said}}}\n'.encode())
        reply = await stage.client.receive_message()
        assert isinstance(reply, Response | ErrorResponse)
        assert reply.id == asked.encode()


@in_virtual_time
async def test_a_second_answer_reaches_nobody() -> None:
    """Nor does one to something that was never asked; an error that names no request does."""
    async with Stage() as stage:
        server = await stage.opened()
        await stage.client.ask(7, "tools/list")
        asked = await server.hears("tools/list")
        for id in (asked["id"], asked["id"], 99):
            await server.peer.answer({"id": id}, {"n": id})
        await server.peer.send({"jsonrpc": "2.0", "id": None, "error": {"code": -32700, "message": "?"}})
        assert (await stage.client.receive())["id"] == 7
        assert (await stage.client.receive())["error"]["message"] == "?"
        await stage.client.expect_silence()


@in_virtual_time
async def test_who_waits_for_a_successor_is_told_when_the_bridge_ends() -> None:
    """As one is whose call is in flight."""
    async with Stage() as stage:
        server = await stage.opened()
        server.lose()
        await stage.next_server()  # which says nothing
        await stage.client.ask(8, "tools/list")
        await stage.client.expect_silence()
        assert stage.running is not None
        stage.running.cancel()
        reply = await stage.client.receive()
        assert (reply["id"], reply["error"]["code"]) == (8, -32603)


@in_virtual_time
async def test_a_batch_is_refused_by_the_bridge_where_the_revision_has_none() -> None:
    """Each request in it by its id: a server's one error would name none, and might be taken for another's."""
    async with Stage() as stage:
        server = await stage.opened()
        await stage.client.ask(1, "tools/call", {"name": "slow"})
        slow = await server.hears("tools/call")
        ask = {"jsonrpc": "2.0", "method": "tools/list"}
        await stage.client.send([{**ask, "id": 11}, {"jsonrpc": "2.0", "method": "x"}, {**ask, "id": 12}])
        await stage.client.send([{"jsonrpc": "2.0", "method": "x"}])
        refused = [await stage.client.receive() for _ in range(3)]
        assert [(each.get("id"), each["error"]["code"]) for each in refused] == [
            (11, -32600),
            (12, -32600),
            (None, -32600),
        ]
        await server.peer.answer(slow, {"content": []})
        assert (await stage.client.receive())["id"] == 1
        await server.peer.expect_silence()
