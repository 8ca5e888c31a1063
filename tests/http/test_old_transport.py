"""HTTP+SSE, the transport of 2024-11-05: our server, our client, and both with others."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from urllib.parse import urljoin

import pytest

from anywire import Client, connect
from anywire.errors import (
    AnywireError,
    ConnectFailed,
    HttpStatusError,
    RemoteProtocolError,
    TransportBroken,
    TransportClosed,
)
from anywire.transport.sse_client import SseClientTransport
from anywire.transport.sse_server import SseListener
from anywire.wire.limits import Limits
from anywire.wire.message import create_request
from tests.http.crooked import Asked, Crooked, Out, Quirk, crooked, event, note, reply, welcome
from tests.http.in_process import AsgiExchange
from tests.http.raw import Caller, Connection, ask, call, connection, initialize, text_of
from tests.http.raw import note as notification
from tests.http.serving import QUICK, on_socket, until
from tests.http.tools import Tools


@asynccontextmanager
async def served(limits: Limits = QUICK) -> AsyncGenerator[tuple[str, Tools, SseListener]]:
    """Serve tools the old way; yields the address of the stream."""
    tools = Tools(limits)
    listener = SseListener(tools.accept, limits=limits)
    async with on_socket(listener) as origin:
        yield f"{origin}/sse", tools, listener


@asynccontextmanager
async def raw_session(url: str) -> AsyncGenerator[tuple[Connection, Caller]]:
    """A stream and a caller that POSTs to where it says."""
    async with Caller(url).begin("GET", Content_Type=None) as stream:
        head = await stream.head()
        assert head["content-type"] == "text/event-stream"
        first = await stream.event()
        assert first is not None
        assert first.fields["event"] == "endpoint"
        caller = Caller(urljoin(url, first.fields["data"]))
        caller.path = caller.url[caller.url.index("/", 8) :]
        yield stream, caller


# The server.


async def test_the_first_event_says_where_to_post_and_replies_come_on_the_stream() -> None:
    async with served() as (url, _, _), raw_session(url) as (stream, caller):
        opened = await caller.post(initialize("2024-11-05"))
        welcome = await stream.message()
        called = await caller.post(call(1, "echo", {"text": "x"}))
        answer = await stream.message()

    assert [(each.status, each.body) for each in (opened, called)] == [(202, b"")] * 2
    assert welcome.fields["event"] == "message"
    assert welcome.message["result"]["protocolVersion"] == "2024-11-05"
    assert text_of(answer.message) == "x"


@pytest.mark.parametrize("path", ["/sse", "/sse/", "/a/b/sse", "/"])
async def test_the_address_is_relative_so_that_it_holds_under_any_prefix(path: str) -> None:
    """A proxy that strips a prefix changes nothing."""
    tools = Tools()
    async with (
        on_socket(SseListener(tools.accept, limits=QUICK)) as origin,
        raw_session(origin + path) as (stream, caller),
    ):
        assert caller.url.startswith(urljoin(origin + path, "messages?"))
        await caller.post(initialize())
        await stream.message()


async def test_the_end_of_the_stream_is_the_end_of_the_session() -> None:
    async with served() as (url, tools, listener):
        async with raw_session(url) as (stream, caller):
            await caller.post(initialize())
            await stream.message()
            stream.reset()
        await until(lambda: not len(listener), "the session is gone")

        assert tools.transports[0].closed
        assert (await caller.post(ask(1, "ping"))).status == 404


async def test_a_session_cannot_be_guessed_and_must_be_named() -> None:
    async with served() as (url, _, _), raw_session(url) as (_, caller):
        base, _, query = caller.path.partition("?")
        unnamed = await caller.request("POST", ask(1, "ping"), path=base)
        unknown = await caller.request("POST", ask(1, "ping"), path=f"{base}?session_id=guess")

    assert len(query) > 32
    assert (unnamed.status, unknown.status) == (404, 404)


@pytest.mark.parametrize(
    ("method", "path", "headers", "status"),
    [
        ("POST", "/sse", {}, 405),
        ("GET", "/messages?session_id=x", {}, 405),
        ("GET", "/sse", {"Accept": "application/json"}, 406),
        ("GET", "/sse", {"Host": "evil.example"}, 421),
        ("GET", "/sse", {"Origin": "https://evil.example"}, 403),
        ("POST", "/messages?session_id=x", {"Content_Type": "text/plain"}, 415),
    ],
)
async def test_what_does_not_belong_here_is_refused(
    method: str, path: str, headers: dict[str, str], status: int
) -> None:
    async with served() as (url, _, _):
        message = ask(1, "ping") if method == "POST" else None

        assert (await Caller(url).request(method, message, path=path, **headers)).status == status


async def test_a_body_that_is_no_message_or_too_large_is_refused() -> None:
    async with served() as (url, _, _), raw_session(url) as (stream, caller):
        broken = await caller.post(b"not json")
        large = await caller.post(call(1, "echo", {"text": "x" * 5_000_000}))
        await caller.post(ask(2, "ping"))
        answer = await stream.message()

    assert (broken.status, broken.message["error"]["code"]) == (400, -32700)
    assert (large.status, large.message["error"]["code"]) == (413, -32600)
    assert answer.message["id"] == 2


async def test_a_silent_stream_is_kept_alive() -> None:
    async with served(QUICK.replace(keep_alive_seconds=0.02)) as (url, _, _), raw_session(url) as (stream, _):
        event = await stream.event()

    assert event is not None
    assert event.comment == "keep-alive"


async def test_too_many_sessions_are_refused() -> None:
    async with served(QUICK.replace(sessions=1)) as (url, _, _), raw_session(url):
        assert (await Caller(url).request("GET")).status == 503


async def test_a_slow_reader_is_bounded() -> None:
    limits = QUICK.replace(write_high_bytes=64 * 1024, write_low_bytes=16 * 1024)
    async with served(limits) as (url, tools, listener), connection(url, buffer=4096) as slow:
        slow.write("GET", "/sse", {"Accept": "text/event-stream"}, None)
        await slow.head()
        first = await slow.event()
        assert first is not None
        caller = Caller(urljoin(url, first.fields["data"]))
        caller.path = caller.url[caller.url.index("/", 8) :]
        await caller.post(call(1, "steps", {"count": 200, "size": 100_000}, token="t"))
        (session,) = listener._sessions.values()
        await until(lambda: session.stream.full, "the stream is full")
        assert session.stream.size < 64 * 1024 + 200_000

        seen = [(await slow.message()).message for _ in range(201)]
        assert text_of(seen[-1]) == "200 steps"
        assert tools.runs["steps"] == 1


async def test_a_client_that_reads_nothing_is_listened_to_no_more() -> None:
    """It asks and asks; what it has not read holds back its next question, until it reads."""
    limits = QUICK.replace(write_high_bytes=64 * 1024, write_low_bytes=16 * 1024)
    async with served(limits) as (url, tools, listener), connection(url, buffer=4096) as deaf:
        caller = await deaf_caller(url, deaf)
        (session,) = listener._sessions.values()
        asking = asyncio.ensure_future(ask_until_held(caller))
        await until(lambda: session.gate.held, "it is held")
        asked = tools.runs["large"]
        assert session.stream.size < 64 * 1024 + 200_000

        for _ in range(asked):
            await deaf.message()
        await until(lambda: tools.runs["large"] > asked, "it is heard again")
        asking.cancel()


async def test_a_client_that_asked_much_at_once_and_reads_nothing_loses_its_session() -> None:
    """What was taken from it before it was held is answered; more than the limit is not kept."""
    limits = QUICK.replace(write_high_bytes=64 * 1024, unread_bytes=300_000)
    ends: list[AnywireError | None] = []
    async with served(limits) as (url, tools, listener), connection(url, buffer=4096) as deaf:
        caller = await deaf_caller(url, deaf)
        (session,) = listener._sessions.values()
        end_of_server = session.callbacks.on_close

        def note_end(error: AnywireError | None) -> None:
            ends.append(error)
            end_of_server(error)

        session.callbacks.on_close = note_end
        for _ in range(300):
            if not session.closed:
                session.deliver(
                    create_request(1, "tools/call", {"name": "large", "arguments": {"size": 50_000}})
                )
        size = session.stream.size
        await until(lambda: ends, "it has ended")

        assert size < 400_000
        assert "the client does not read its stream: 3" in str(ends[0])
        assert (await caller.post(ask(9, "ping"))).status == 404
    assert tools.runs["large"] < 300


async def deaf_caller(url: str, deaf: Connection) -> Caller:
    """Open a session on a connection that is not read any further; return who POSTs to it."""
    deaf.write("GET", "/sse", {"Accept": "text/event-stream"}, None)
    await deaf.head()
    first = await deaf.event()
    assert first is not None
    caller = Caller(urljoin(url, first.fields["data"]))
    caller.path = caller.url[caller.url.index("/", 8) :]
    return caller


async def ask_until_held(caller: Caller) -> None:
    """Ask for more and more."""
    for id in range(1000):
        await caller.post(call(id, "large", {"size": 100_000}))


async def test_the_end_of_the_server_answers_what_it_was_asked() -> None:
    """What was cancelled or has its answer is not answered again."""
    async with served() as (url, tools, listener), raw_session(url) as (stream, caller):
        for message in (
            call(1, "hold"),
            call("two", "hold"),
            call(3, "hold"),
            call(4, "echo", {"text": "x"}),
        ):
            await caller.post(message)
        await caller.post(notification("notifications/cancelled", {"requestId": 3}))
        await tools.until_held(2)
        await listener.close()
        messages = {each["id"]: each for each in await stream.messages()}

    assert set(messages) == {1, "two", 4}
    for id in (1, "two"):
        assert messages[id]["error"]["message"] == "the session ended before the request was answered"


async def test_the_end_of_the_server_ends_the_streams_and_lets_nobody_in() -> None:
    async with served() as (url, _, listener), raw_session(url) as (stream, _):
        await listener.close()

        assert await stream.messages() == []
        assert (await Caller(url).request("GET")).status == 503


# The client.


async def test_a_client_calls_tools_the_old_way() -> None:
    async with served() as (url, _, _), connect(f"sse+{url}", limits=QUICK) as client:
        seen: list[float] = []

        def see(progress: float, total: float | None, message: str | None) -> None:
            seen.append(progress)

        texts = [f"é {number}" for number in range(30)]
        results = await asyncio.gather(*(client.call_tool("echo", {"text": text}) for text in texts))
        steps = await client.call_tool("steps", {"count": 3}, on_progress=see)

    assert [result.text for result in results] == texts
    assert (steps.text, seen) == ("3 steps", [1, 2, 3])


async def test_a_client_finds_out_that_a_server_is_an_old_one() -> None:
    """Which takes no POST at the address it is given."""
    async with served() as (url, tools, listener):
        async with connect(url, limits=QUICK) as client:
            assert (await client.call_tool("echo", {"text": "x"})).text == "x"
            assert len(tools.transports) == 1
        await until(lambda: not len(listener), "the session has ended")


async def test_a_server_that_takes_neither_is_told_as_what_it_said_first() -> None:
    async def quirk(asked: Asked, out: Out) -> bool | None:
        await out.whole(404, "text/plain", f"no {asked.method} here".encode())
        return True

    async with crooked(quirk) as server:
        with pytest.raises(HttpStatusError, match=r"404.*no POST here"):
            await connect(server.url, limits=QUICK, era="legacy").open()

    assert [each.method for each in server.seen] == ["POST", "GET"]


async def test_a_cancelled_call_is_stopped() -> None:
    async with served() as (url, tools, _), connect(f"sse+{url}", limits=QUICK) as client:
        calling = asyncio.ensure_future(client.call_tool("hold"))
        await tools.until_held()
        calling.cancel()
        await until(lambda: tools.cancelled == 1, "the handler was cancelled")


async def test_a_stream_that_is_lost_ends_the_conversation_with_the_reason() -> None:
    async with served() as (url, tools, listener):
        client = connect(f"sse+{url}", limits=QUICK)
        await client.open()
        calling = asyncio.ensure_future(client.call_tool("hold"))
        await tools.until_held()
        await listener.close()
        with pytest.raises(AnywireError, match="the session ended before"):
            await calling
        with pytest.raises((TransportBroken, TransportClosed)):
            await client.ping()
        await client.close()


async def test_a_client_that_was_led_to_an_old_server_ends_with_its_stream() -> None:
    """As one that knew from the start."""
    async with served() as (url, tools, listener):
        client = connect(url, limits=QUICK)
        await client.open()
        calling = asyncio.ensure_future(client.call_tool("hold"))
        await tools.until_held()
        await listener.close()
        with pytest.raises(AnywireError, match="the session ended before"):
            await calling
        with pytest.raises(TransportBroken, match="ended the stream"):
            await client.ping()
        await client.close()


async def test_an_application_of_this_process_can_be_called_the_old_way() -> None:
    tools = Tools()
    listener = SseListener(tools.accept, limits=QUICK)
    exchange = AsgiExchange(listener)
    transport = SseClientTransport("http://127.0.0.1/sse", exchange=lambda: exchange, limits=QUICK)
    async with connect(transport, limits=QUICK) as client:
        assert (await client.call_tool("echo", {"text": "x"})).text == "x"

    assert exchange.failures == []
    assert len(listener) == 0


# Servers that do one thing wrong.


class OldServer:
    """Answers POSTs on the one stream, with a quirk."""

    def __init__(self, quirk: Quirk | None = None, endpoint: str = "/post", start: bytes = b"") -> None:
        self._quirk = quirk
        self._endpoint = endpoint
        self._start = start
        self._stream: Out | None = None
        self.answers = 202

    async def __call__(self, asked: Asked, out: Out) -> bool | None:
        """Answer one request."""
        if self._quirk is not None and await self._quirk(asked, out):
            return True
        if asked.method == "GET":
            await out.stream(self._start + event(self._endpoint.encode(), name="endpoint"))
            self._stream = out
            await out.gone.wait()
        else:
            await out.whole(self.answers, "text/plain", b"Accepted" if self.answers != 204 else b"")
            if "id" in asked.message and self._stream is not None:
                result: object = welcome("2024-11-05") if asked.rpc == "initialize" else {"tools": []}
                await self._stream.write(event(reply(asked, result), name="message"))
        return True


@asynccontextmanager
async def old(quirk: OldServer) -> AsyncGenerator[tuple[Crooked, Client]]:
    """A client of an old server that does one thing wrong."""
    async with crooked(quirk) as server, connect(f"sse+{server.url}", limits=QUICK) as client:
        yield server, client


@pytest.mark.parametrize("status", [200, 201, 202, 204])
async def test_a_post_may_be_answered_with_any_success(status: int) -> None:
    quirk = OldServer()
    quirk.answers = status
    async with old(quirk) as (_, client):
        assert json.loads(await client.request("tools/list")) == {"tools": []}


@pytest.mark.parametrize("endpoint", ["/post", "post?x=1", "{origin}/post", " /post ", "//{host}/post"])
async def test_the_endpoint_may_be_relative_or_absolute(endpoint: str) -> None:
    async def quirk(asked: Asked, out: Out) -> bool | None:
        if asked.method == "GET":
            origin = server.url.removesuffix("/mcp")
            inner._endpoint = endpoint.replace("{origin}", origin).replace("{host}", origin[7:])
        return None

    inner = OldServer(quirk)
    async with crooked(inner) as server, connect(f"sse+{server.url}", limits=QUICK) as client:
        await client.request("tools/list")

    assert {each.path for each in server.seen if each.method == "POST"} <= {"/post", "/post?x=1"}


@pytest.mark.parametrize(
    "endpoint", ["http://elsewhere.example/post", "//elsewhere.example/", "https://127.0.0.1/", ""]
)
async def test_an_endpoint_of_another_origin_is_refused(endpoint: str) -> None:
    """Credentials are for this server alone."""
    async with crooked(OldServer(endpoint=endpoint)) as server:
        with pytest.raises(RemoteProtocolError, match="names no address of this server"):
            await connect(f"sse+{server.url}", limits=QUICK).open()


@pytest.mark.parametrize(
    "start",
    [b": hi\r\n\r\n", b"\xef\xbb\xbf", b"event: ping\ndata:\n\n", b"data: {}\n\n", b"retry: 1\nid: 3\n\n"],
)
async def test_what_comes_before_the_endpoint_is_passed_over(start: bytes) -> None:
    async with old(OldServer(start=start)) as (_, client):
        await client.request("tools/list")


async def test_an_endpoint_that_does_not_come_is_told() -> None:
    async def quirk(asked: Asked, out: Out) -> bool | None:
        await out.stream(b": hi\n\n")
        await out.gone.wait()
        return True

    async with crooked(quirk) as server:
        with pytest.raises(ConnectFailed, match=r"no endpoint event within 0\.2 s"):
            await connect(f"sse+{server.url}", limits=QUICK.replace(connect_seconds=0.2)).open()


@pytest.mark.parametrize(
    ("status", "content", "body"),
    [(200, "text/html", b"<p>hi"), (401, "text/plain", b"who?"), (500, None, b"oops")],
)
async def test_a_stream_that_is_none_is_told(status: int, content: str | None, body: bytes) -> None:
    async def quirk(asked: Asked, out: Out) -> bool | None:
        await out.whole(status, content, body)
        return True

    async with crooked(quirk) as server:
        with pytest.raises(HttpStatusError) as caught:
            await connect(f"sse+{server.url}", limits=QUICK).open()

    assert (caught.value.status, caught.value.start) == (status, body)


async def test_a_post_that_is_refused_fails_its_call_and_nothing_else() -> None:
    async def quirk(asked: Asked, out: Out) -> bool | None:
        if asked.rpc == "tools/call":
            await out.whole(503, "text/plain", b"later")
            return True
        return None

    async with old(OldServer(quirk)) as (server, client):
        with pytest.raises(HttpStatusError, match=r"503.*later"):
            await client.request("tools/call")
        await client.request("tools/list")
        assert len(server.asked("POST", "tools/call")) == 1


async def test_unknown_events_and_junk_are_passed_over() -> None:
    heard: list[str] = []

    async def quirk(asked: Asked, out: Out) -> bool | None:
        if asked.rpc == "tools/call" and inner._stream is not None:
            junk = (
                event(b"junk") + event(b'{"type":"heartbeat"}', name="heartbeat") + event(b"", name="message")
            )
            await inner._stream.write(junk + event(note("notifications/x"), name="message") + b": ping\n\n")
        return None

    inner = OldServer(quirk)
    async with (
        crooked(inner) as server,
        connect(
            f"sse+{server.url}", limits=QUICK, on_notification=lambda each: heard.append(each.method)
        ) as client,
    ):
        await client.request("tools/call")
        await until(lambda: heard, "the notification has come")

    assert heard == ["notifications/x"]


async def test_a_redirect_on_the_same_origin_is_followed() -> None:
    async def quirk(asked: Asked, out: Out) -> bool | None:
        if asked.path in ("/mcp", "/post"):
            await out.whole(307, None, headers=[("Location", asked.path + "/")])
            return True
        return None

    async with old(OldServer(quirk)) as (server, client):
        await client.request("tools/list")
        assert {each.path for each in server.seen} == {"/mcp", "/mcp/", "/post", "/post/"}


async def test_a_hook_that_fails_is_told_at_once() -> None:
    async def hook() -> dict[str, str]:
        raise RuntimeError("please log in again")

    async with served() as (url, _, _):
        with pytest.raises(AnywireError, match="please log in again"):
            await connect(f"sse+{url}", hook=hook, limits=QUICK).open()


async def test_messages_are_posted_in_the_order_of_the_calls() -> None:
    """One after the other, on however many connections."""

    async def quirk(asked: Asked, out: Out) -> bool | None:
        if asked.rpc == "slow":
            await asyncio.sleep(0.05)  # a server may take its time; the next must not overtake
        return None

    async with crooked(OldServer(quirk)) as server:
        transport = SseClientTransport(server.url, limits=QUICK)
        await transport.start()
        for number, method in enumerate(["slow", "quick", "slow", "quick"]):
            transport.post(create_request(number, method))
        await transport.close()

    assert [each.message["id"] for each in server.asked("POST")] == [0, 1, 2, 3]
