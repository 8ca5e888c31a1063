"""A peer that a test plays says clearly what it missed."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from anywire import Server
from anywire.errors import ConfigError, TransportBroken
from anywire.testing import ScriptedPeer, in_virtual_time, scripted_peer, streams_pair
from anywire.transport.contract import Callbacks
from anywire.transport.memory import memory_pair
from anywire.wire.framing import Framing
from anywire.wire.message import Batch, Fault, Message, create_notification, create_request

PING = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
PONG: dict[str, Any] = {"jsonrpc": "2.0", "id": 1, "result": {}}


@pytest.mark.parametrize("framing", Framing)
async def test_a_server_is_spoken_to_in_memory(framing: Framing) -> None:
    """In any shape that a message has; bytes as they are."""
    peer, transport = scripted_peer(framing)
    server = Server("s")
    serving = asyncio.ensure_future(server.serve(transport))
    async with peer:
        await peer.send(PING)
        await peer.send('{"jsonrpc":"2.0","id":1,"method":"ping"}')
        await peer.send(b'{"jsonrpc":"2.0","id":1,"method":"ping"}')
        await peer.send(create_request(1, "ping"))
        await peer.ask(1, "ping")
        await peer.expect(PONG, PONG, PONG, PONG, PONG)
        body = b'{"jsonrpc":"2.0","id":1,"method":"ping"}'
        header = b"Content-Length: %d\r\n\r\n" % len(body)
        await peer.send_bytes(body + b"\n" if framing is Framing.NEWLINE else header + body)
        await peer.expect(PONG)
        await peer.expect_silence()
        assert not peer.ended
        peer.end()
        await peer.expect_end()
        assert peer.ended
    await serving
    assert peer.closed
    assert peer.closed_with is None


async def test_what_was_not_expected_is_shown() -> None:
    """Both of them, the wanted and the got."""
    client, server = memory_pair()
    async with ScriptedPeer(client) as peer, ScriptedPeer(server) as other:
        await other.send(PONG)
        with pytest.raises(AssertionError, match=r"expected .*'ping'.*, got .*'result'"):
            await peer.expect(PING)
        await other.send(PONG)
        with pytest.raises(AssertionError, match=r"nothing was expected, got \[.*'result'"):
            await peer.expect_silence()
        await peer.expect(PONG)
        await other.notify("n")
        with pytest.raises(AssertionError, match="an answer to initialize was expected, not Notification"):
            await peer.initialize()


@in_virtual_time
async def test_a_wait_is_bounded() -> None:
    """By the peer's patience."""
    client, server = memory_pair()
    async with ScriptedPeer(client, patience=7) as peer, ScriptedPeer(server):
        with pytest.raises(AssertionError, match="a message was expected within 7 s"):
            await peer.receive()
        with pytest.raises(AssertionError, match="the end was expected within 7 s"):
            await peer.expect_end()
        assert asyncio.get_running_loop().time() == pytest.approx(14)


async def test_a_closed_wire_ends_a_wait_at_once() -> None:
    """There is nothing to wait for; what had come in can still be read."""
    client, server = memory_pair()
    async with ScriptedPeer(client) as peer, ScriptedPeer(server) as other:
        await other.notify("last")
        await other.close()
        await peer.expect_end()
        await peer.close()
        await peer.expect({"jsonrpc": "2.0", "method": "last"})
        with pytest.raises(AssertionError, match=r"a message was expected, but the wire is closed \(None\)"):
            await peer.receive()


async def test_only_messages_are_sent_as_messages() -> None:
    """What is none needs bytes, and a wire that has them."""
    client, server = memory_pair()
    async with ScriptedPeer(client) as peer, ScriptedPeer(server):
        with pytest.raises(ConfigError, match="this is no message: "):
            await peer.send("{}")
        with pytest.raises(ConfigError, match="this wire has no bytes"):
            await peer.send_bytes(b"x")


async def test_what_is_no_message_comes_as_a_fault() -> None:
    """From a wire with bytes."""
    peer, transport = scripted_peer()
    await transport.start()
    async with peer:
        transport.write(b"noise\n")
        fault = await peer.receive_message()
        transport.post(create_notification("n"))
        await peer.expect({"jsonrpc": "2.0", "method": "n"})
    await transport.close()

    assert isinstance(fault, Fault)
    assert fault.data == b"noise"


async def test_batches_are_arrays() -> None:
    """Both ways, built here or read."""
    client, server = streams_pair()
    async with ScriptedPeer(client) as peer, ScriptedPeer(server) as other:
        await peer.send([PING])
        assert await other.receive() == [PING]
        await other.send(Batch((create_notification("n"),)))
        await peer.expect([{"jsonrpc": "2.0", "method": "n"}])


class Whole:
    """A wire that cannot be half closed, and whose end has a reason."""

    def __init__(self) -> None:
        self.callbacks = Callbacks()
        self.closed = False

    async def start(self) -> None: ...

    async def send(self, message: Message | Batch, related: bytes | None = None) -> None: ...

    def post(self, message: Message | Batch, related: bytes | None = None) -> None: ...

    async def close(self) -> None:
        self.closed = True
        self.callbacks.on_close(TransportBroken("it broke"))


async def test_a_wire_that_cannot_be_half_closed_says_so() -> None:
    """And why it ended is known."""
    async with ScriptedPeer(Whole()) as peer:
        with pytest.raises(ConfigError, match="cannot end its sending alone"):
            peer.end()

    assert str(peer.closed_with) == "it broke"
