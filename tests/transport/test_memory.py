"""Two ends in one process: what the kit does not ask about."""

from __future__ import annotations

import asyncio

import pytest

from anywire.errors import ConnectFailed, TransportClosed
from anywire.testing import ScriptedPeer
from anywire.transport.contract import Transport
from anywire.transport.memory import MemoryListener, MemoryTransport, memory_pair
from anywire.wire.limits import DEFAULT_LIMITS
from anywire.wire.message import create_notification

NOTE = create_notification("note")
SMALL = DEFAULT_LIMITS.replace(requests_in_flight=3)


async def turn() -> None:
    for _ in range(10):
        await asyncio.sleep(0)


async def full(client: MemoryTransport) -> asyncio.Future[None]:
    """Send until a sender waits for room, and return it."""
    await client.start()
    for _ in range(3):
        await client.send(NOTE)
    waiting = asyncio.ensure_future(client.send(NOTE))
    await turn()
    assert not waiting.done()
    return waiting


async def test_a_sender_waits_while_the_other_end_has_too_much() -> None:
    """It goes on as soon as that has been received."""
    client, server = memory_pair(SMALL)
    waiting = await full(client)
    await server.start()

    await asyncio.wait_for(waiting, 20)


@pytest.mark.parametrize("end", ["client", "server"])
async def test_a_waiting_sender_is_let_go_by_the_end(end: str) -> None:
    """Of either side."""
    client, server = memory_pair(SMALL)
    waiting = await full(client)
    await (client if end == "client" else server).close()

    await asyncio.wait_for(waiting, 20)


async def test_a_message_to_a_closed_end_is_lost_without_an_error() -> None:
    """As in a pipe whose reader has gone; the sender hears the end in time."""
    client, server = memory_pair()
    await client.start()
    await server.close()
    client.post(NOTE)
    await client.send(NOTE)
    await client.close()


async def test_an_end_may_send_no_more_and_still_receive() -> None:
    """Half of a conversation is over, the other goes on."""
    client, server = memory_pair()
    async with ScriptedPeer(client) as one, ScriptedPeer(server) as other:
        await one.notify("last")
        client.end_sending()
        client.end_sending()
        await other.expect({"jsonrpc": "2.0", "method": "last"})
        await other.expect_end()
        with pytest.raises(TransportClosed):
            client.post(NOTE)
        assert not client.closed
        await other.notify("answer")
        await one.expect({"jsonrpc": "2.0", "method": "answer"})
        await other.close()
        await one.expect_end()


async def test_the_start_of_an_end_is_told_once() -> None:
    """That is when the other end is given to whoever serves it."""
    client, _ = memory_pair()
    starts: list[None] = []
    client.on_start = lambda: starts.append(None)
    await client.start()

    assert starts == [None]
    await client.close()


async def test_a_listener_connects_only_while_it_is_served() -> None:
    """Before and after, nobody is there."""
    listener = MemoryListener()
    accepted: list[Transport] = []
    with pytest.raises(ConnectFailed):
        listener.connect()
    serving = asyncio.ensure_future(listener.serve(accepted.append))
    await turn()
    clients = [listener.connect() for _ in range(3)]
    assert len(accepted) == 3
    await listener.close()
    await serving

    assert all(transport.closed for transport in accepted)
    with pytest.raises(ConnectFailed):
        listener.connect()
    for client in clients:
        await client.close()


async def test_a_listener_forgets_what_has_ended() -> None:
    """One that accepts for weeks does not grow."""
    listener = MemoryListener()
    serving = asyncio.ensure_future(listener.serve(lambda _: None))
    await turn()
    for _ in range(10):
        client = listener.connect()
        await client.close()
        assert client.other is not None
        await client.other.close()

    assert len(listener._accepted) == 1
    await listener.close()
    await serving
