"""A server that does not read, clients that do not, and who is held because of it."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, cast

import pytest

from anywire.errors import LimitExceeded, TransportClosed
from anywire.testing import ScriptedPeer
from anywire.wire.codec import encode_value
from anywire.wire.limits import Limits
from anywire.wire.message import Notification, create_notification, create_request
from tests.bridge.sharing.hubs import PATIENCE, answered, note, played, soon

if TYPE_CHECKING:
    from anywire.bridge.sharing.hub_connection import HubConnection
    from anywire.testing.byte_wire import ByteTransport


NARROW = Limits(write_high_bytes=4_000, write_low_bytes=1_000, unread_bytes=50_000)
BLOB = "x" * 1_000


def blob(number: int) -> Notification:
    """A notification that is not small."""
    return create_notification("notifications/x", {"n": number, "blob": BLOB})


async def fill(client: ScriptedPeer) -> int:
    """Let a client tell until it is held; return how many it told before."""
    held, end = asyncio.Event(), cast("HubConnection", client.transport)
    end.on_full = held.set
    count = 0
    while not held.is_set():
        sending = asyncio.ensure_future(client.send(blob(count)))
        count += 1
        for _ in range(5):
            await asyncio.sleep(0)
        if held.is_set():
            assert not sending.done()
            sending.cancel()
        await asyncio.gather(sending, return_exceptions=True)
        assert count < 100
    return count


async def test_a_server_that_does_not_read_holds_each_who_floods_it_and_no_other() -> None:
    """When it reads again, everything arrives in order, and others have their turns."""
    async with played(NARROW) as shared:
        one, two = shared.raw(), shared.raw()
        server = await shared.greeted(one, two)
        server_end = cast("ByteTransport", server.transport)
        server_end.hold_reading("the test")
        count = await fill(one)
        async with asyncio.timeout(PATIENCE):
            await two.ask(1, "tools/list")  # is not held
        room, one_end = asyncio.Event(), cast("HubConnection", one.transport)
        one_end.on_room = room.set
        server_end.release_reading("the test")
        got = await server.receive_many(count + 1)
        await soon(room.wait())
        assert [each["params"]["n"] for each in got if "id" not in each] == list(range(count))
        assert "id" not in got[-1]  # who asked last had not to wait for all the others said
        await one.close()
        await two.close()


@pytest.mark.parametrize("which", ["server", "client"])
async def test_who_is_held_is_let_go_at_the_end(which: str) -> None:
    """Nobody waits for room where no more can be sent."""
    async with played(NARROW) as shared:
        one = shared.raw()
        server = await shared.greeted(one)
        cast("ByteTransport", server.transport).hold_reading("the test")
        sending = [asyncio.ensure_future(one.send(blob(number))) for number in range(20)]
        await one.expect_silence()
        assert not sending[-1].done()
        await (server if which == "server" else one).close()
        await one.expect_end()
        await soon(asyncio.gather(*sending))


async def test_what_concerns_others_reaches_a_slow_server_in_the_order_in_which_it_was_said() -> None:
    """Who subscribes after another has left a resource, or has gone, is not left without it."""
    async with played(NARROW.replace(write_low_bytes=0)) as shared:
        one, two, three = shared.raw(), shared.raw(), shared.raw()
        server = await shared.greeted(one, two, three)
        for client, uri in ((one, "a"), (two, "b")):
            await client.ask(uri, "resources/subscribe", {"uri": uri})
            await server.answer(await server.receive(), {})
            await client.expect(answered(uri, {}))
        server_end = cast("ByteTransport", server.transport)
        server_end.hold_reading("the test")
        for number in range(9):
            one.transport.post(blob(number))
            two.transport.post(blob(number))
            await server.ask(number, "ping")
        await one.expect_silence()
        one.transport.post(create_request(1, "resources/unsubscribe", {"uri": "a"}))
        await two.close()
        three.transport.post(create_request(1, "resources/subscribe", {"uri": "a"}))
        three.transport.post(create_request(2, "resources/subscribe", {"uri": "b"}))
        server_end.release_reading("the test")
        got = [each for each in await server.receive_many(3 * 9 + 4) if "/" in each.get("method", "")]
        about = [(each["method"][10:], each["params"]["uri"]) for each in got if "uri" in each["params"]]
        assert about == [("unsubscribe", "a"), ("unsubscribe", "b"), ("subscribe", "a"), ("subscribe", "b")]
        await one.close()
        await three.close()


async def test_those_who_come_and_go_do_not_fill_what_waits_for_a_slow_server() -> None:
    """What they told is bounded together, and theirs alone is left out."""
    async with played(NARROW) as shared:
        stays = shared.raw()
        server = await shared.greeted(stays)
        server_end = cast("ByteTransport", server.transport)
        server_end.hold_reading("the test")
        await fill(stays)
        for _ in range(20):
            visitor = shared.hub.connect(object())
            for number in range(10):
                visitor.post(blob(number))
            await soon(visitor.close())
        stays.transport.post(create_request(1, "x"))
        server_end.release_reading("the test")
        count = 0
        while (await server.receive())["method"] != "x":
            count += 1
        assert count < 80
        await stays.close()


async def test_nothing_is_handed_on_while_it_is_held_or_after_the_end() -> None:
    """Also where a callback holds in the middle of what has come."""
    async with played() as shared:
        one = shared.raw()
        server = await shared.greeted(one)
        end = cast("HubConnection", one.transport)
        got: list[object] = []

        def take(message: object) -> None:
            got.append(message)
            end.hold_reading("the test")

        end.callbacks.on_message = take
        change = encode_value(note("notifications/tools/list_changed")) + b"\n"
        await server.send_bytes(change * 6)
        for count in (1, 2, 3):
            await one.expect_silence()
            assert len(got) == count
            end.release_reading("the test")
        await end.close()
        assert one.closed
        assert len(got) == 3


async def test_a_client_that_cannot_be_held_is_ended_before_it_fills_everything() -> None:
    """... with the reason; the others go on."""
    async with played(NARROW) as shared:
        one, two = shared.raw(), shared.raw()
        server = await shared.greeted(one, two)
        server_end = cast("ByteTransport", server.transport)
        server_end.hold_reading("the test")
        for number in range(100):
            if not one.transport.closed:
                one.transport.post(blob(number))
        with pytest.raises(TransportClosed, match="does not read: more than 50000 bytes wait"):
            one.transport.post(blob(100))
        await one.expect_end()
        assert isinstance(one.closed_with, LimitExceeded)
        server_end.release_reading("the test")
        await two.ask("last", "x")
        while (got := await server.receive()).get("method") != "x":
            pass
        await server.answer(got, {})
        await two.expect(answered("last", {}))
        await two.close()


async def test_a_client_that_does_not_read_holds_nobody_else_and_is_ended_in_the_end() -> None:
    """What comes for it waits, up to a bound; the others hear theirs at once."""
    async with played(NARROW) as shared:
        one, two = shared.raw(), shared.raw()
        server = await shared.greeted(one, two)
        one_end = cast("HubConnection", one.transport)
        one_end.hold_reading("the test")
        for number in range(10):
            await server.notify("notifications/tools/list_changed", {"n": number, "blob": BLOB})
        assert [(await two.receive())["params"]["n"] for _ in range(10)] == list(range(10))
        assert not one.inbox
        one_end.release_reading("the test")
        assert [(await one.receive())["params"]["n"] for _ in range(10)] == list(range(10))
        one_end.hold_reading("the test")
        for number in range(60):
            await server.notify("notifications/tools/list_changed", {"n": number, "blob": BLOB})
        await two.receive_many(60)
        await one.expect_end()
        assert isinstance(one.closed_with, LimitExceeded)
        assert "the client does not read" in str(one.closed_with)
        await two.close()


async def test_a_server_that_asks_without_reading_is_not_read_from() -> None:
    """What we owe it does not grow: answers wait for it, so it waits for us."""
    async with played(NARROW) as shared:
        one = shared.raw()
        server = await shared.greeted(one)
        server_end = cast("ByteTransport", server.transport)
        server_end.hold_reading("the test")
        full = asyncio.Event()
        server_end.on_full = full.set
        server_end.on_room = lambda: None
        asked = 0
        while not full.is_set():
            server_end.post(create_request(asked, "ping", {"blob": BLOB}))
            asked += 1
            await asyncio.sleep(0)
            assert asked < 2_000
        server_end.release_reading("the test")
        ids = [(await server.receive())["id"] for _ in range(asked)]
        assert ids == list(range(asked))
        await one.close()
