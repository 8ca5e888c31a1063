"""Messages over a stream of bytes: the order of what is called, whatever a subclass does."""

from __future__ import annotations

import asyncio

import pytest

from anywire.errors import TransportBroken, TransportClosed
from anywire.testing import byte_pair
from anywire.transport.stream import StreamTransport
from anywire.wire.framing import Framing
from anywire.wire.limits import DEFAULT_LIMITS
from anywire.wire.message import Batch, Message, create_notification, create_response
from anywire.wire.newline import NewlineFramer

NOTE = b'{"jsonrpc":"2.0","method":"n"}\n'
SMALL = DEFAULT_LIMITS.replace(write_high_bytes=1000, write_low_bytes=100)


class Bare(StreamTransport):
    """The least a subclass must be: it ends as soon as it is told to, also inside a callback."""

    def __init__(self) -> None:
        super().__init__("bare", NewlineFramer(), DEFAULT_LIMITS)
        self.written: list[bytes] = []
        self.buffered = 0

    async def start(self) -> None:
        self.attach(self)

    def write(self, data: bytes) -> None:
        self.written.append(data)

    async def close(self) -> None:
        self.fire_close(None)


async def turn() -> None:
    for _ in range(10):
        await asyncio.sleep(0)


async def test_nothing_is_handed_over_after_the_end() -> None:
    """Not even the rest of the chunk in which the end was called for, nor the last line."""
    bare = Bare()
    called: list[str] = []

    def close(_: object) -> None:
        called.append("message")
        bare.fire_close(None)

    bare.callbacks.on_message = close
    bare.callbacks.on_end = lambda: called.append("end")
    bare.callbacks.on_close = lambda _: called.append("close")
    await bare.start()
    bare.receive(NOTE * 3 + NOTE[:-1])
    bare.receive_end()
    bare.fire_close(TransportBroken("late"))

    assert called == ["message", "close"]


async def test_the_last_line_comes_before_the_end() -> None:
    """And the end comes once."""
    bare = Bare()
    called: list[str] = []
    bare.callbacks.on_message = lambda _: called.append("message")
    bare.callbacks.on_end = lambda: called.append("end")
    await bare.start()
    bare.receive(NOTE + NOTE[:-1])
    bare.receive_end()
    bare.receive_end()

    assert called == ["message", "message", "end"]


async def test_a_subclass_must_know_how_to_stop_reading() -> None:
    """It is told so, rather than never stopping."""
    bare = Bare()
    with pytest.raises(AssertionError, match="must know how to pause"):
        bare.hold_reading("x")
    bare._holds = {"x"}
    with pytest.raises(AssertionError, match="must know how to resume"):
        bare.release_reading("x")


async def test_reading_is_held_as_long_as_any_reason_holds() -> None:
    """Two reasons are two; letting go of one that does not hold changes nothing."""
    client, server = byte_pair()
    messages: list[Message | Batch] = []
    server.callbacks.on_message = messages.append
    await client.start()
    await server.start()
    server.hold_reading("one")
    server.hold_reading("other")
    client.post(create_notification("n"))
    await turn()
    server.release_reading("one")
    server.release_reading("no such")
    await turn()
    assert messages == []
    server.release_reading("other")
    await turn()

    assert messages == [create_notification("n")]
    await client.close()
    await server.close()


async def test_the_serving_end_stops_reading_while_its_writer_is_full() -> None:
    """The calling end never does: two that both stop would lock each other."""
    client, server = byte_pair(Framing.NEWLINE, Framing.NEWLINE, SMALL)
    at_client: list[Message | Batch] = []
    at_server: list[Message | Batch] = []
    client.callbacks.on_message = at_client.append
    server.callbacks.on_message = at_server.append
    await server.start()
    server.post(create_response(1, "x" * 2000))
    await turn()
    client.write(NOTE)
    await turn()
    assert at_server == []
    await client.start()
    await turn()

    assert len(at_client) == 1
    assert at_server == [create_notification("n")]
    await client.close()
    await server.close()


class Turning(Bare):
    """A bare end that hands on two messages at a time."""

    def __init__(self) -> None:
        super().__init__()
        self._turn = 2
        self.paused = False

    def pause_reading(self) -> None:
        self.paused = True

    def resume_reading(self) -> None:
        self.paused = False


@pytest.mark.parametrize(("answers", "at_once"), [(True, 5), (False, 2)])
async def test_a_turn_goes_on_while_all_of_it_was_answered_in_place(answers: bool, at_once: int) -> None:
    """Where handlers wait for their turn, what came with them waits, and nothing more is read meanwhile."""
    end = Turning()
    messages: list[Message | Batch] = []

    def take(message: Message | Batch) -> None:
        messages.append(message)
        if answers:
            end.post(create_response(len(messages), {}))

    end.callbacks.on_message = take
    await end.start()
    end.receive(NOTE * 5)
    assert (len(messages), end.paused) == (at_once, not answers)
    await turn()

    assert (len(messages), end.paused) == (5, False)
    assert len(end.written) == answers


@pytest.mark.parametrize("broken", [False, True])
async def test_a_sender_that_waits_at_the_end_is_told_if_the_wire_broke(broken: bool) -> None:
    """In order, its message was sent; else it may be lost."""
    bare = Bare()
    await bare.start()
    bare.buffered = 10_000_000
    waiting = asyncio.ensure_future(bare.send(create_notification("n")))
    await turn()
    assert not waiting.done()
    bare.fire_close(TransportBroken("cut") if broken else None)
    if broken:
        with pytest.raises(TransportClosed, match="bare is closed: cut"):
            await waiting
    else:
        await waiting
    with pytest.raises(TransportClosed, match="bare is closed"):
        bare.post(create_notification("n"))
