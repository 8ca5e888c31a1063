"""A relay between a client on this side's pipes and a server in a child process."""

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from anywire.bridge.relay import Relay
from anywire.errors import AnywireError, DeadlineExceeded, ProcessExited, SpawnFailed
from anywire.testing import scripted_peer
from anywire.transport.posix_fds import FdReader
from anywire.transport.process import Command
from anywire.transport.stdio_client import StdioClientTransport
from anywire.transport.stdio_server import StdioServerTransport
from anywire.wire.detect import new_framer
from anywire.wire.framing import Framing
from anywire.wire.limits import Limits
from anywire.wire.message import Fault

SCRIPTED = Path(__file__).with_name("servers") / "scripted.py"


class Conversation:
    """A client at the face of a running relay; reads and writes frames."""

    def __init__(
        self, how: str | None, face: Framing = Framing.NEWLINE, limits: Limits | None = None
    ) -> None:
        limits = limits or Limits(request_seconds=30.0)
        read_fd, self.input_fd = os.pipe()
        self.output_fd, write_fd = os.pipe()
        self.framer = new_framer(face, limits)
        self.frames: asyncio.Queue[bytes | Fault | None] = asyncio.Queue()
        self.reports: list[str] = []
        argv = (sys.executable, str(SCRIPTED), how) if how else ("/no/such/program",)
        self.target = StdioClientTransport(Command(argv), limits=limits, on_stderr=lambda line: None)
        self.face = StdioServerTransport(read_fd, write_fd, framing=face, limits=limits)
        self.relay = Relay(
            self.face,
            lambda: self.target,
            self.reports.append,
            limits,
        )
        self.reader = FdReader(self.output_fd, self._receive, lambda: self.frames.put_nowait(None))
        self.reader.resume()
        self.running = asyncio.create_task(self.relay.run())

    def _receive(self, chunk: bytes) -> None:
        for frame in self.framer.feed(chunk):
            self.frames.put_nowait(frame)

    def write(self, *bodies: bytes) -> None:
        os.write(self.input_fd, b"".join(self.framer.frame(body) for body in bodies))

    def end(self) -> None:
        if self.input_fd >= 0:
            os.close(self.input_fd)
            self.input_fd = -1

    async def next(self) -> bytes:
        async with asyncio.timeout(20):
            frame = await self.frames.get()
        assert isinstance(frame, bytes), frame
        return frame

    async def finish(self) -> AnywireError | None:
        """End the client's side and return what the relay ended with."""
        self.end()
        try:
            async with asyncio.timeout(20):
                await self.running
        except AnywireError as error:
            return error
        return None


@pytest.fixture
async def conversations() -> AsyncIterator[list[Conversation]]:
    opened: list[Conversation] = []
    yield opened
    for conversation in opened:
        conversation.end()
        conversation.running.cancel()
        await asyncio.gather(conversation.running, return_exceptions=True)
        conversation.reader.close()


def request(id: str, method: str = "x", params: str = "{}") -> bytes:
    return f'{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{params}}}'.encode()


async def test_what_the_server_writes_arrives_byte_for_byte(conversations: list[Conversation]) -> None:
    conversations.append(client := Conversation("echo"))
    client.write(request("1", params='{"z":1.0,"a":"é🙂"}'))
    assert await client.next() == '{"jsonrpc":"2.0","id":1,"result":{"z": 1.0, "a": "é🙂"}}'.encode()
    assert await client.finish() is None


async def test_a_headers_face_gets_the_same_values_in_ascii(conversations: list[Conversation]) -> None:
    conversations.append(client := Conversation("echo", Framing.HEADERS))
    client.write(request('"\\u0061"', params='{"a":"é🙂"}'))
    body = await client.next()
    assert body.isascii()
    assert json.loads(body) == {"jsonrpc": "2.0", "id": "a", "result": {"a": "é🙂"}}


async def test_requests_before_the_end_of_input_are_answered_after_it(
    conversations: list[Conversation],
) -> None:
    conversations.append(client := Conversation("echo"))
    client.write(*(request(str(number)) for number in range(40)))
    client.end()
    ids = [json.loads(await client.next())["id"] for _ in range(40)]
    assert ids == list(range(40))
    assert await client.finish() is None


async def test_a_server_that_dies_settles_the_call_with_exit_code_and_last_words(
    conversations: list[Conversation],
) -> None:
    conversations.append(client := Conversation("die"))
    client.write(request("7"))
    reply = json.loads(await client.next())
    assert reply["id"] == 7
    assert "exited with code 3" in reply["error"]["message"]
    assert "its last words: the database is gone" in reply["error"]["message"]
    error = await client.finish()
    assert isinstance(error, ProcessExited)
    assert error.returncode == 3


async def test_a_server_that_cannot_be_started_is_one_sentence(conversations: list[Conversation]) -> None:
    conversations.append(client := Conversation(None))
    error = await client.finish()
    assert isinstance(error, SpawnFailed)
    assert str(error) == "/no/such/program was not started: no program '/no/such/program' was found"


async def test_noise_of_the_server_is_reported_once_and_does_not_reach_the_client(
    conversations: list[Conversation],
) -> None:
    conversations.append(client := Conversation("noise", Framing.HEADERS))
    client.write(request("1"), request("2"))
    assert [json.loads(await client.next())["id"] for _ in range(2)] == [1, 2]
    await client.finish()
    assert len(client.reports) == 2
    assert "'✓ ready'" in client.reports[0]
    assert "it belongs on stderr" in client.reports[0]
    assert "wrote 4 things on stdout that are no messages" in client.reports[1]


async def test_a_damaged_reply_fails_its_call(conversations: list[Conversation]) -> None:
    conversations.append(client := Conversation("broken-reply"))
    client.write(request('"a"'))
    reply = json.loads(await client.next())
    assert reply["id"] == "a"
    assert "its reply cannot be used" in reply["error"]["message"]


async def test_a_malformed_message_of_the_client_is_answered_here_and_costs_nothing_else(
    conversations: list[Conversation],
) -> None:
    conversations.append(client := Conversation("echo"))
    client.write(b'{"jsonrpc":"2.0","id":5,"method":"x","params":{oops}}', request("6"))
    first, second = json.loads(await client.next()), json.loads(await client.next())
    assert (first["id"], first["error"]["code"]) == (5, -32700)
    assert second["id"] == 6


async def test_a_request_of_the_server_reaches_the_client_and_its_answer_the_server(
    conversations: list[Conversation],
) -> None:
    conversations.append(client := Conversation("asks"))
    client.write(request("1"))  # the server asks under the same id, in the other direction
    assert await client.next() == b'{"jsonrpc":"2.0","id":1,"method":"roots/list"}'
    client.write(b'{"jsonrpc":"2.0","id":1,"result":{"roots":[]}}')
    assert json.loads(await client.next()) == {"jsonrpc": "2.0", "id": 1, "result": {"roots": []}}


async def test_an_answer_that_is_no_message_is_an_error_to_the_server_that_asked() -> None:
    client, face = scripted_peer()
    server, target = scripted_peer()
    running = asyncio.create_task(Relay(face, lambda: target, lambda sentence: None).run())
    async with asyncio.timeout(20), client, server:
        await server.ask("q", "roots/list")
        assert (await client.receive())["id"] == "q"
        await client.send_bytes(b'{"jsonrpc":"2.0","id":"q","result":{},"error":{}}\n')
        reply = await server.receive()
        assert (reply["id"], reply["error"]["code"]) == ("q", -32603)
        assert "the client's reply cannot be used" in reply["error"]["message"]
        await client.send_bytes(b'{"jsonrpc":"2.0","id":"q","result":{},"error":{}}\n')
        await server.expect_silence()
        await client.close()
        await running


async def test_a_cancelled_request_is_not_waited_for_at_the_end(conversations: list[Conversation]) -> None:
    conversations.append(client := Conversation("deaf"))
    client.write(
        request("1"),
        b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}',
    )
    assert await client.finish() is None


async def test_a_client_that_does_not_read_holds_the_server_and_loses_nothing(
    conversations: list[Conversation],
) -> None:
    conversations.append(client := Conversation("flood"))
    client.reader.pause()
    client.write(request("1"))
    while client.face._room.is_set():  # noqa: ASYNC110 until the face is full
        await asyncio.sleep(0)
    writer = client.face._fd_writer
    assert writer is not None
    assert writer.buffered < 8 * 1024 * 1024
    client.reader.resume()
    for _ in range(500):
        assert json.loads(await client.next())["method"] == "notifications/x"
    assert json.loads(await client.next())["id"] == 1


async def test_a_client_that_asks_faster_than_the_server_answers_is_held_and_loses_nothing(
    conversations: list[Conversation],
) -> None:
    conversations.append(client := Conversation("echo", limits=Limits(requests_in_flight=4)))
    client.write(*(request(str(number)) for number in range(300)))
    client.end()
    assert [json.loads(await client.next())["id"] for _ in range(300)] == list(range(300))
    assert await client.finish() is None


async def test_a_server_that_never_answers_is_not_waited_for_without_end(
    conversations: list[Conversation],
) -> None:
    conversations.append(client := Conversation("deaf", limits=Limits(request_seconds=0.2)))
    client.write(request("1"))
    error = await client.finish()
    reply = json.loads(await client.next())
    assert reply["id"] == 1
    assert "did not answer within 0.2 s after the last request" in reply["error"]["message"]
    assert isinstance(error, DeadlineExceeded)


async def test_a_stopped_relay_leaves_no_child(conversations: list[Conversation]) -> None:
    conversations.append(client := Conversation("deaf"))
    client.write(request("1"))
    while client.target.child is None:  # noqa: ASYNC110 until it has been started
        await asyncio.sleep(0)
    pid = client.target.child.pid
    client.running.cancel()
    await asyncio.gather(client.running, return_exceptions=True)
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
