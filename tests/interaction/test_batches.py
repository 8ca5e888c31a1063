"""Arrays of messages: part of 2025-03-26, refused by one error in every other revision."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from anywire import Server
from anywire.protocol.revisions import BATCH_REVISION, MCP_PROTOCOL_VERSIONS
from tests.interaction.talk import Gate, error, framed, over_each_raw_wire, over_each_wire, result, talk, text

OTHERS = [revision for revision in MCP_PROTOCOL_VERSIONS if revision != BATCH_REVISION]
ONLY = "Invalid Request: batches are part of revision 2025-03-26 only"


def ask(id: object, method: str = "ping", params: object = None) -> dict[str, Any]:
    request: dict[str, Any] = {"jsonrpc": "2.0", "id": id, "method": method}
    return request if params is None else request | {"params": params}


def call(id: object, tool: str) -> dict[str, Any]:
    return ask(id, "tools/call", {"name": tool})


def tell(method: str, params: object = None) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "method": method} | ({} if params is None else {"params": params})


def gated(gate: Gate) -> Server:
    server = Server("s")

    @server.tool
    async def wait() -> str:
        await gate.wait()
        return "waited"

    @server.tool
    async def quick() -> str:
        return "quick"

    return server


@over_each_wire
async def test_a_batch_is_answered_by_one_array(wire: str) -> None:
    """Requests of all kinds and notifications in between: one array, with one reply for each request."""
    server = gated(Gate())
    async with talk(server, wire, BATCH_REVISION) as peer:
        await peer.send([ask(1), tell("notifications/x"), ask("2", "no/such"), call(3, "quick"), ask(4)])

        replies = await peer.receive()

        assert sorted(replies, key=lambda reply: str(reply["id"])) == [
            result(1, {}),
            error("2", -32601, "Method not found: no/such"),
            text(3, "quick"),
            result(4, {}),
        ]
        await peer.expect_silence()


@over_each_wire
async def test_what_is_answered_at_once_is_in_the_order_of_the_batch(wire: str) -> None:
    """Replies that wait for nothing stand as their requests stood."""
    async with talk(gated(Gate()), wire, BATCH_REVISION) as peer:
        await peer.send([ask(3), ask(1), ask(2)])

        await peer.expect([result(3, {}), result(1, {}), result(2, {})])


@over_each_wire
async def test_a_batch_waits_for_its_slowest_and_nothing_else_does(wire: str) -> None:
    """Requests beside the batch are answered meanwhile, a second batch too."""
    gate = Gate()
    async with talk(gated(gate), wire, BATCH_REVISION) as peer:
        await peer.send([call(1, "wait"), ask(2)])
        await gate.reached.wait()
        await peer.ask(3, "ping")
        await peer.send([ask(4)])

        await peer.expect(result(3, {}), [result(4, {})])
        gate.open()
        assert sorted(await peer.receive(), key=lambda reply: reply["id"]) == [
            text(1, "waited"),
            result(2, {}),
        ]


@over_each_wire
async def test_a_batch_of_notifications_is_not_answered(wire: str) -> None:
    """There is nothing to answer, so there is no empty array either."""
    async with talk(Server("s"), wire, BATCH_REVISION) as peer:
        await peer.send([tell("notifications/x"), tell("notifications/y")])
        await peer.expect_silence()


@over_each_raw_wire
async def test_invalid_items_fail_alone(wire: str) -> None:
    """Each wrong item has its own error in the array; replies among the items have none."""
    async with talk(Server("s"), wire, BATCH_REVISION) as peer:
        body = b'[1,{"jsonrpc":"2.0","id":1,"method":"ping"},{"id":2,"method":"ping"},{"id":3,"result":1},[]]'
        await peer.send_bytes(framed(wire, body))

        replies = await peer.receive()

        codes = [(reply["id"], reply.get("error", {}).get("code")) for reply in replies]
        assert sorted(codes, key=str) == sorted(
            [(None, -32600), (1, None), (2, -32600), (None, -32600)], key=str
        )


@over_each_raw_wire
async def test_an_empty_batch_is_one_error(wire: str) -> None:
    """Not an array, as JSON-RPC 2.0 has it."""
    async with talk(Server("s"), wire, BATCH_REVISION) as peer:
        await peer.send_bytes(framed(wire, b"[]"))

        assert (await peer.receive())["error"]["code"] == -32600


@over_each_wire
async def test_initialize_inside_a_batch_is_refused(wire: str) -> None:
    """The others are served, and the revision stays what it was."""
    async with talk(Server("s"), wire, BATCH_REVISION) as peer:
        await peer.send([ask(1, "initialize", {"protocolVersion": "2025-11-25"}), ask(2)])
        await peer.expect(
            [
                error(1, -32600, "Invalid Request: initialize must not be part of a batch"),
                result(2, {}),
            ]
        )
        await peer.send([ask(3)])
        await peer.expect([result(3, {})])


@over_each_wire
@pytest.mark.parametrize("revision", [*OTHERS, None])
async def test_elsewhere_a_batch_is_one_error(wire: str, revision: str | None) -> None:
    """Answered at once, whatever it holds; nothing of it is done."""
    async with talk(Server("s"), wire, revision) as peer:
        await peer.send(
            [ask(1), ask(2, "initialize", {"protocolVersion": "2025-03-26"}), tell("notifications/x")]
        )
        await peer.ask(3, "ping")

        refused = await peer.receive()
        assert refused["error"] == {"code": -32600, "message": ONLY}
        assert refused.get("id") is None
        assert ("id" in refused) == (revision != "2025-11-25")
        await peer.expect(result(3, {}))


@over_each_wire
async def test_a_cancelled_item_is_left_out(wire: str) -> None:
    """The array goes out without it, as soon as nothing else is awaited."""
    gate = Gate()
    async with talk(gated(gate), wire, BATCH_REVISION) as peer:
        await peer.send([ask(1), call(2, "wait")])
        await gate.reached.wait()
        await peer.expect_silence()
        await peer.notify("notifications/cancelled", {"requestId": 2})

        await peer.expect([result(1, {})])


@over_each_wire
async def test_a_batch_whose_only_request_is_cancelled_is_not_answered(wire: str) -> None:
    """No reply is left, so nothing is sent."""
    gate = Gate()
    async with talk(gated(gate), wire, BATCH_REVISION) as peer:
        await peer.send([call(1, "wait")])
        await gate.reached.wait()
        await peer.notify("notifications/cancelled", {"requestId": 1})

        await peer.expect_silence()


@over_each_wire
async def test_a_batch_may_cancel_its_own_request(wire: str) -> None:
    """The item before is cancelled by the item after it."""
    async with talk(gated(Gate()), wire, BATCH_REVISION) as peer:
        await peer.send([call(1, "wait"), tell("notifications/cancelled", {"requestId": 1}), ask(2)])

        await peer.expect([result(2, {})])


@over_each_wire
async def test_an_id_that_is_taken_is_refused_in_its_own_batch(wire: str) -> None:
    """Twice in one batch, or in flight already: the refusal is part of the array."""
    gate = Gate()
    async with talk(gated(gate), wire, BATCH_REVISION) as peer:
        await peer.call(1, "wait")
        await gate.reached.wait()
        await peer.send([ask(1), call(2, "wait"), ask(2)])
        await peer.expect_silence()
        gate.open()

        single, batch = sorted(await peer.receive_many(2), key=lambda reply: isinstance(reply, list))
        assert single == text(1, "waited")
        taken = "Invalid Request: a request with the id %d is in flight already"
        assert batch == [error(1, -32600, taken % 1), error(2, -32600, taken % 2), text(2, "waited")]


@over_each_wire
async def test_a_refusal_beside_a_batch_is_not_taken_for_its_reply(wire: str) -> None:
    """A request under an id that a batch has in flight is refused by itself; the batch is complete later."""
    gate = Gate()
    async with talk(gated(gate), wire, BATCH_REVISION) as peer:
        await peer.send([call(1, "wait"), ask(2)])
        await gate.reached.wait()
        await peer.ask(1, "ping")

        await peer.expect(error(1, -32600, "Invalid Request: a request with the id 1 is in flight already"))
        gate.open()
        assert sorted(await peer.receive(), key=lambda reply: reply["id"]) == [
            text(1, "waited"),
            result(2, {}),
        ]


@over_each_raw_wire
async def test_a_fault_beside_a_batch_is_not_taken_for_its_reply(wire: str) -> None:
    """A malformed message with an id that a batch has in flight is answered by itself."""
    gate = Gate()
    async with talk(gated(gate), wire, BATCH_REVISION) as peer:
        await peer.send([call(1, "wait"), ask(2)])
        await gate.reached.wait()
        await peer.send_bytes(framed(wire, b'{"jsonrpc":"2.0","id":1,"method":5}'))

        assert (await peer.receive())["error"]["code"] == -32600
        gate.open()
        assert sorted(await peer.receive(), key=lambda reply: reply["id"]) == [
            text(1, "waited"),
            result(2, {}),
        ]


@over_each_wire
async def test_two_batches_are_answered_each_by_its_own_array(wire: str) -> None:
    """Replies never change their batch, in whatever order they come."""
    gates = [Gate(), Gate()]
    server = Server("s")

    @server.tool
    async def wait(gate: int) -> str:
        await gates[gate].wait()
        return str(gate)

    async def both_reached() -> None:
        await asyncio.gather(*(gate.reached.wait() for gate in gates))

    def waits(id: int, gate: int) -> dict[str, Any]:
        return ask(id, "tools/call", {"name": "wait", "arguments": {"gate": gate}})

    async with talk(server, wire, BATCH_REVISION) as peer:
        await peer.send([waits(1, 0), waits(2, 0)])
        await peer.send([waits(3, 1), waits(4, 1)])
        await both_reached()
        gates[1].open()
        assert ids(await peer.receive()) == [3, 4]
        gates[0].open()
        assert ids(await peer.receive()) == [1, 2]


async def test_a_batch_in_flight_at_the_end_is_answered() -> None:
    """The client sends no more, but its batch is finished first."""
    gate = Gate()
    async with talk(gated(gate), "newline", BATCH_REVISION) as peer:
        await peer.send([call(1, "wait"), ask(2)])
        await gate.reached.wait()
        peer.end()
        gate.open()

        assert ids(await peer.receive()) == [1, 2]
        await peer.expect_end()


def ids(replies: list[dict[str, Any]]) -> list[int]:
    return sorted(reply["id"] for reply in replies)
