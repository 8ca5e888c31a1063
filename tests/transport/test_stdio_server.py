"""The serving end of stdio: memory stays bounded, and a client that leaves is noticed and told once."""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import Callable

import pytest

from anywire import Server
from anywire.errors import AnywireError, TransportBroken
from anywire.testing import in_virtual_time
from anywire.transport.stdio_server import StdioServerTransport
from anywire.wire.framing import Framing
from anywire.wire.limits import DEFAULT_LIMITS, Limits
from anywire.wire.message import (
    Batch,
    Fault,
    Message,
    Request,
    Response,
    create_notification,
    create_response,
)

PATIENCE = 20.0
PING = b'{"jsonrpc":"2.0","id":%d,"method":"ping"}\n'
PONG = b'{"jsonrpc":"2.0","id":%d,"result":{}}\n'


class Client:
    """The far ends of two pipes, without any transport in between."""

    def __init__(self, limits: Limits = DEFAULT_LIMITS, framing: Framing | None = None) -> None:
        server_reads, self.write_fd = os.pipe()
        self.read_fd, server_writes = os.pipe()
        os.set_blocking(self.write_fd, False)
        os.set_blocking(self.read_fd, False)
        self.transport = StdioServerTransport(server_reads, server_writes, framing=framing, limits=limits)
        self.messages: list[Message | Batch] = []
        self.errors: list[Fault | AnywireError] = []
        self.events: list[str] = []
        self.closed_with: list[AnywireError | None] = []

    def listen(self) -> None:
        """Note what the transport calls."""
        callbacks = self.transport.callbacks
        callbacks.on_message = self._message
        callbacks.on_error = self._error
        callbacks.on_end = lambda: self.events.append("end")
        callbacks.on_close = self._close

    def _message(self, message: Message | Batch) -> None:
        self.messages.append(message)
        self.events.append("message")

    def _error(self, error: Fault | AnywireError) -> None:
        self.errors.append(error)
        self.events.append("error")

    def _close(self, error: AnywireError | None) -> None:
        self.closed_with.append(error)
        self.events.append("close")

    def write(self, data: bytes) -> int:
        """Write what the pipe takes."""
        with contextlib.suppress(BlockingIOError):
            return os.write(self.write_fd, data)
        return 0

    def read(self) -> bytes:
        """Read what is there."""
        with contextlib.suppress(BlockingIOError):
            return os.read(self.read_fd, 1 << 20)
        return b""

    def stop_reading(self) -> None:
        os.close(self.read_fd)
        self.read_fd = -1

    def stop_writing(self) -> None:
        os.close(self.write_fd)
        self.write_fd = -1

    def close(self) -> None:
        for fd in (self.read_fd, self.write_fd):
            if fd >= 0:
                os.close(fd)


async def until(condition: Callable[[], object]) -> None:
    """Let the loop go on until a condition holds."""
    async with asyncio.timeout(PATIENCE):
        while not condition():  # noqa: ASYNC110 it polls no clock, but the loop
            await asyncio.sleep(0)


async def turn() -> None:
    for _ in range(50):
        await asyncio.sleep(0)


@pytest.mark.parametrize("how", ["inline", "task"])
async def test_a_client_that_does_not_read_is_not_read(how: str) -> None:
    """A flood of requests stops at the pipes; the server's memory stays bounded; reading resumes."""
    limits = DEFAULT_LIMITS.replace(write_high_bytes=64 * 1024, write_low_bytes=16 * 1024)
    server = Server("s", limits=limits)

    def answer() -> str:
        return "x" * 1000

    async def answer_in_task() -> str:
        return "x" * 1000

    server.tool(name="answer", inline=how == "inline")(answer if how == "inline" else answer_in_task)
    call = b'{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"answer"}}\n'
    client = Client(limits)
    serving = asyncio.ensure_future(server.serve(client.transport))
    await until(lambda: client.transport._reader)
    writer = client.transport._fd_writer
    assert writer is not None
    most = sent = idle = 0
    rest = b""
    while idle < 3:
        rest = rest or call % sent
        written = client.write(rest)
        rest = rest[written:]
        if written:
            sent, idle = sent + (not rest), 0
        else:
            await turn()
            idle += 1
        most = max(most, writer.buffered)
    assert sent < 20_000
    assert writer.buffered > limits.write_high_bytes
    # What one chunk of requests asks for may come on top of the limit.
    assert most < limits.write_high_bytes + 1100 * (256 * 1024 // len(call)) + 64 * 1024

    answered = b""
    while answered.count(b"\n") < sent:
        answered += client.read()
        written = client.write(rest)
        sent, rest = sent + (bool(rest) and written == len(rest)), rest[written:]
        await asyncio.sleep(0)
    assert writer.buffered == 0
    client.write(PING % 99_999)
    await until(lambda: client.read() == PONG % 99_999)
    client.stop_writing()
    await asyncio.wait_for(serving, PATIENCE)
    client.close()


async def test_a_sender_waits_while_the_client_does_not_read() -> None:
    """Messages of the server's own wait for room."""
    client = Client()
    await client.transport.start()
    note = create_notification("note", "x" * 2_000_000)
    sending = [asyncio.ensure_future(client.transport.send(note)) for _ in range(4)]
    await turn()
    assert not any(each.done() for each in sending)
    received = b""
    while received.count(b"\n") < 4:
        received += client.read()
        await asyncio.sleep(0)
    await asyncio.wait_for(asyncio.gather(*sending), PATIENCE)
    await client.transport.close()
    client.close()


async def test_a_client_that_stops_reading_for_good_is_told_of_once() -> None:
    """What it had sent is handled first, then comes the end; later replies are dropped."""
    client = Client()
    client.listen()
    await client.transport.start()
    client.write(PING % 1)
    await until(lambda: client.messages)
    client.write(PING % 2 + PING % 3)
    client.stop_reading()
    await until(lambda: "end" in client.events)
    for id in (1, 2, 3):
        client.transport.post(create_response(id, {}))
    await client.transport.send(create_response(4, {}))
    await turn()

    ids = [message.id for message in client.messages if isinstance(message, Request)]
    assert ids == [b"1", b"2", b"3"]
    assert client.events.count("end") == 1
    assert client.events[-1] == "end"
    assert not client.transport.closed
    await client.transport.close()
    assert client.closed_with == [client.transport.broken]
    assert client.events[-2:] == ["error", "close"]
    assert client.events.count("error") == 1
    assert isinstance(client.errors[0], TransportBroken)
    assert "stdio: replies cannot be written" in str(client.errors[0])
    client.close()


async def test_a_client_that_leaves_when_all_is_said_is_no_error() -> None:
    """Hosts close the two ends in any order."""
    client = Client()
    client.listen()
    await client.transport.start()
    client.write(PING % 1)
    await until(lambda: client.messages)
    client.transport.post(create_response(1, {}))
    await turn()
    client.stop_reading()
    await until(lambda: "end" in client.events)
    await client.transport.close()

    assert client.errors == []
    assert client.closed_with == [None]
    client.close()


async def test_a_server_ends_when_its_client_reads_no_more() -> None:
    """Even while the client keeps its other end open; what was asked is still done."""
    server = Server("s")
    done: list[str] = []

    @server.tool(inline=True)
    def note(word: str) -> None:
        done.append(word)

    client = Client()
    serving = asyncio.ensure_future(server.serve(client.transport))
    await until(lambda: client.transport._reader)
    client.write(
        b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"note","arguments":{"word":"a"}}}\n'
    )
    client.stop_reading()
    await asyncio.wait_for(serving, PATIENCE)

    assert done == ["a"]
    client.close()


async def test_a_break_found_while_writing_comes_after_what_is_being_handled() -> None:
    """The chunk that is being read is handed over before anybody hears of it, and each message once."""
    client = Client()
    client.listen()
    await client.transport.start()
    callbacks = client.transport.callbacks
    note = callbacks.on_message

    def reply(message: Message | Batch) -> None:
        note(message)
        assert isinstance(message, Request)
        client.transport.post(create_notification("n", "x" * 100))
        client.transport.post(Response(message.id, b"{}"))

    callbacks.on_message = reply
    client.write(b"".join(PING % id for id in range(20)))
    client.stop_reading()
    await until(lambda: "end" in client.events)

    assert client.events == ["message"] * 20 + ["error", "end"]
    await client.transport.close()
    client.close()


async def test_a_callback_that_raises_about_a_broken_output_does_no_harm() -> None:
    """It goes to the loop's handler; the end comes all the same."""
    seen: list[object] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: seen.append(context.get("exception")))
    client = Client()
    client.listen()
    fault = ValueError("in on_error")

    def fail(_: object) -> None:
        raise fault

    client.transport.callbacks.on_error = fail
    await client.transport.start()
    client.stop_reading()
    client.transport.post(create_response(1, {}))
    await until(lambda: "end" in client.events)
    await client.transport.close()

    assert seen == [fault]
    client.close()


@pytest.mark.parametrize(("size", "whole"), [(300_000, True), (1_500_000, False)])
@in_virtual_time
async def test_closing_waits_as_long_as_the_client_reads(size: int, whole: bool) -> None:
    """However slowly, for some seconds; one that reads a little now and then does not keep it for ever."""
    patience = DEFAULT_LIMITS.shutdown_seconds
    client = Client()
    client.listen()
    await client.transport.start()
    client.transport.post(create_notification("n", "x" * size))
    closing = asyncio.ensure_future(client.transport.close())
    received = b""
    while not closing.done():
        await asyncio.sleep(patience * 0.7)
        received += client.read()
    received += client.read()

    assert (client.closed_with == [None]) is whole
    assert received.endswith(b'"}\n') is whole
    assert asyncio.get_running_loop().time() < 6 * patience
    client.close()


@in_virtual_time
async def test_closing_waits_for_a_slow_client_and_not_for_one_that_is_stuck() -> None:
    """What was sent is written, within bounds; else the reason says how much was not read."""
    slow, stuck = Client(), Client()
    for client in (slow, stuck):
        client.listen()
        await client.transport.start()
        client.transport.post(create_notification("n", "x" * 300_000))
    closing = asyncio.gather(slow.transport.close(), stuck.transport.close())
    received = b""
    while not closing.done():
        received += slow.read()
        await asyncio.sleep(0.001)
    await closing

    assert len(received) > 300_000
    assert received.endswith(b'"}\n')
    assert slow.closed_with == [None]
    assert isinstance(stuck.closed_with[0], TransportBroken)
    assert str(stuck.closed_with[0]).endswith("bytes of replies were not read in time")
    assert asyncio.get_running_loop().time() < 2 * DEFAULT_LIMITS.shutdown_seconds
    slow.close()
    stuck.close()


async def test_nothing_is_said_before_the_framing_is_known_and_it_holds() -> None:
    """The first bytes decide, in both directions; a client may take its time."""
    client = Client()
    serving = asyncio.ensure_future(Server("s").serve(client.transport))
    await until(lambda: client.transport._reader)
    for piece in (
        b"\r\n",
        b"Con",
        b"tent-Length: 40\r\n",
        b"\r\n",
        b'{"jsonrpc":"2.0","id":1,"method":"ping"',
    ):
        client.write(piece)
        await turn()
        assert client.read() == b""
    client.write(b"}")
    client.stop_writing()
    await asyncio.wait_for(serving, PATIENCE)

    assert client.read().startswith(b"Content-Length: ")
    client.close()


async def test_replies_to_one_chunk_are_one_write() -> None:
    """Sixty requests that came together are answered together; handlers get a turn in between of more."""
    client = Client()
    serving = asyncio.ensure_future(Server("s").serve(client.transport))
    await until(lambda: client.transport._reader)
    client.write(b"".join(PING % id for id in range(60)))
    answered = b""
    while not answered:
        answered = client.read()
        await asyncio.sleep(0)
    client.stop_writing()
    await asyncio.wait_for(serving, PATIENCE)

    assert answered == b"".join(PONG % id for id in range(60))
    client.close()
