"""`StreamableHttpClient`: plain JSON objects out and in, whatever their way."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from anywire.errors import (
    AnywireError,
    ConnectFailed,
    HttpStatusError,
    LocalProtocolError,
    RemoteProtocolError,
    TransportClosed,
)
from anywire.transport.http_plain import MAX_SSE_BYTES, StreamableHttpClient, StreamableHttpOptions
from tests.http.crooked import JSON, Asked, Crooked, Out, Quirk, crooked, event, honest, note, reply
from tests.http.raw import ask, call, initialize, text_of
from tests.http.raw import note as notification
from tests.http.serving import listener_of, on_socket, until
from tests.http.tools import Tools


class Plain:
    """A client and all that it hands on."""

    def __init__(self, url: str, **headers: str) -> None:
        self.frames: list[Any] = []
        self.errors: list[Exception] = []
        options = StreamableHttpOptions(
            url=url, headers=headers, on_frame=self.frames.append, on_error=self.errors.append
        )
        self.client = StreamableHttpClient(options)

    async def shake_hands(self) -> None:
        """Open the conversation as a program would that speaks JSON."""
        await self.client.send(initialize())
        await self.client.send(notification("notifications/initialized"))


@asynccontextmanager
async def plain(url: str, **headers: str) -> AsyncGenerator[Plain]:
    """A client after the handshake, stopped at the end."""
    client = Plain(url, **headers)
    try:
        await client.shake_hands()
        yield client
    finally:
        await client.client.stop()


@asynccontextmanager
async def plain_of(quirk: Quirk, **headers: str) -> AsyncGenerator[tuple[Crooked, Plain]]:
    """A client of a server that does one thing wrong."""
    async with crooked(quirk) as server, plain(server.url, **headers) as client:
        yield server, client


async def test_a_frame_is_posted_and_what_is_answered_is_handed_on() -> None:
    async with on_socket(listener_of(Tools().accept)) as origin, plain(f"{origin}/mcp") as plain_one:
        await plain_one.client.send(call("a", "echo", {"text": "é🙂"}))

        assert [frame["id"] for frame in plain_one.frames] == [0, "a"]
        assert text_of(plain_one.frames[1]) == "é🙂"


@pytest.mark.parametrize("as_stream", [True, False])
async def test_every_frame_of_an_answer_is_handed_on_before_send_returns(as_stream: bool) -> None:
    """JSON or a stream of several: the program does not see which."""

    async def quirk(asked: Asked, out: Out) -> bool | None:
        if asked.rpc != "tools/call":
            return None
        if as_stream:
            await out.stream(event(note("x", 1)), event(note("x", 2)), event(reply(asked, "done")))
        else:
            await out.whole(200, JSON, reply(asked, "done"))
        return True

    async with plain_of(quirk) as (_, client):
        await client.client.send(call(1, "t"))

        kinds = [frame.get("method", frame.get("result")) for frame in client.frames[1:]]
        assert kinds == (["x", "x", "done"] if as_stream else ["done"])


async def test_the_session_and_the_headers_go_on_every_later_request() -> None:
    async with plain_of(honest, X_Key="k") as (server, client):
        await client.client.send(ask(1, "ping"))
        await until(lambda: server.asked("GET"), "the stream was asked for")
    later = server.seen[1:]

    assert {each.method for each in later} == {"POST", "GET", "DELETE"}
    assert {each.get("Mcp-Session-Id") for each in later} == {"session-1"}
    assert {each.get("MCP-Protocol-Version") for each in later} == {"2025-11-25"}
    assert {each.get("X_Key") for each in server.seen} == {"k"}


async def test_what_the_server_says_by_itself_is_handed_on_as_well() -> None:
    tools = Tools()
    async with on_socket(listener_of(tools.accept)) as origin, plain(f"{origin}/mcp") as client:
        tools.tell("notifications/tools/list_changed")
        await until(lambda: len(client.frames) == 2, "the notification has come")

        assert client.frames[1] == {"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}


async def test_a_request_of_the_server_may_have_any_id() -> None:
    """The program answers it with a frame of its own."""

    async def quirk(asked: Asked, out: Out) -> bool | None:
        if asked.rpc == "tools/call":
            await out.stream(
                event(b'{"jsonrpc":"2.0","id":"s-1","method":"ping"}'), event(reply(asked, "done"))
            )
            return True
        return None

    async with plain_of(quirk) as (server, client):
        await client.client.send(call(1, "t"))
        await client.client.send({"jsonrpc": "2.0", "id": client.frames[1]["id"], "result": {}})

        assert server.asked("POST", "")[0].message["id"] == "s-1"


@pytest.mark.parametrize(
    "frame", [ask(1, "ping"), notification("notifications/x"), {"jsonrpc": "2.0", "id": 1, "result": {}}]
)
async def test_a_refused_frame_raises_with_the_status_and_the_first_bytes(frame: dict[str, Any]) -> None:
    """Whatever kind of frame it is; nothing is reported twice."""

    async def quirk(asked: Asked, out: Out) -> bool | None:
        if asked.method == "POST" and asked.rpc not in ("initialize", "notifications/initialized"):
            await out.whole(500, "text/plain", b"oops " * 100)
            return True
        return None

    async with plain_of(quirk) as (_, client):
        with pytest.raises(HttpStatusError, match=r"500.*oops") as caught:
            await client.client.send(frame)

        assert caught.value.start == (b"oops " * 100)[:300]
        assert client.errors == []


async def test_a_server_that_is_not_there_raises() -> None:
    client = Plain("http://127.0.0.1:1/mcp")
    with pytest.raises(ConnectFailed):
        await client.client.send(initialize())
    await client.client.stop()


@pytest.mark.parametrize(
    "frame", [{}, {"jsonrpc": "2.0"}, {"jsonrpc": "1.0", "method": "x"}, {"jsonrpc": "2.0", "method": 1}]
)
async def test_a_frame_that_is_no_message_is_refused_here(frame: dict[str, Any]) -> None:
    async with plain_of(honest) as (server, client):
        before = len(server.asked("POST"))
        with pytest.raises(LocalProtocolError):
            await client.client.send(frame)

        assert len(server.asked("POST")) == before


async def test_stop_ends_the_streams_and_refuses_what_comes_later() -> None:
    """As often as it is called."""
    async with plain_of(honest) as (server, client):
        await client.client.stop()
        await client.client.stop()
        with pytest.raises(TransportClosed):
            await client.client.send(ask(1, "ping"))

    assert len(server.asked("DELETE")) == 1


async def test_stop_before_the_first_frame_is_fine() -> None:
    await Plain("http://127.0.0.1:1/mcp").client.stop()


async def test_the_general_stream_is_opened_once_and_its_troubles_are_not_thrown() -> None:
    async def quirk(asked: Asked, out: Out) -> bool | None:
        if asked.method == "GET":
            await out.stream(event(b"not json"), event(note("x", 1)))
            await out.gone.wait()
            return True
        return None

    async with plain_of(quirk) as (server, client):
        await until(lambda: len(client.frames) == 2, "the message has come")
        await client.client.send(ask(1, "ping"))

        assert len(server.asked("GET")) == 1
        assert [type(error) for error in client.errors] == [RemoteProtocolError]


@pytest.mark.parametrize("as_stream", [True, False])
async def test_one_message_over_the_cap_fails_alone(as_stream: bool) -> None:
    """The cap is for each message, and counts on JSON as well."""

    async def quirk(asked: Asked, out: Out) -> bool | None:
        if asked.rpc != "tools/call":
            return None
        body = reply(asked, "x" * (MAX_SSE_BYTES + 1))
        await (out.stream(event(body)) if as_stream else out.whole(200, JSON, body))
        return True

    async with plain_of(quirk) as (_, client):
        with pytest.raises(AnywireError, match="exceed"):
            await client.client.send(call(1, "t"))
        await client.client.send(ask(2, "ping"))

        assert client.frames[-1]["id"] == 2


async def test_a_stream_that_lives_long_is_not_capped_as_a_whole() -> None:
    """Comments and messages may add up to any size."""

    async def quirk(asked: Asked, out: Out) -> bool | None:
        if asked.rpc != "tools/call":
            return None
        await out.stream()
        for _ in range(12):
            await out.write(
                b": "
                + b"x" * 1_000_000
                + b"\n\n"
                + event(b'{"jsonrpc":"2.0","method":"x","params":"%b"}' % (b"x" * 1_000_000))
            )
        await out.write(event(reply(asked, "done")))
        return True

    async with plain_of(quirk) as (_, client):
        await client.client.send(call(1, "t"))

        assert client.frames[-1]["result"] == "done"
        assert client.errors == []


async def test_what_on_frame_raises_goes_to_the_loop_and_stops_nothing() -> None:
    loop = asyncio.get_running_loop()
    seen: list[Any] = []
    loop.set_exception_handler(lambda _, context: seen.append(context.get("exception")))

    def raises(frame: Any) -> None:
        raise ValueError(frame["id"])

    async with crooked(honest) as server:
        client = StreamableHttpClient(StreamableHttpOptions(url=server.url, on_frame=raises))
        await client.send(initialize())
        await client.send(ask(7, "ping"))
        await client.stop()

    assert [str(error) for error in seen] == ["0", "7"]


async def test_frames_may_be_sent_without_waiting_for_the_one_before() -> None:
    """What is sent in one go waits for the handshake."""
    async with on_socket(listener_of(Tools().accept)) as origin:
        client = Plain(f"{origin}/mcp")
        frames = [
            initialize(),
            notification("notifications/initialized"),
            ask(1, "tools/list"),
            ask(2, "ping"),
        ]
        await asyncio.gather(*(client.client.send(frame) for frame in frames))
        await client.client.stop()

    assert sorted(frame["id"] for frame in client.frames) == [0, 1, 2]
    assert all("result" in frame for frame in client.frames)
