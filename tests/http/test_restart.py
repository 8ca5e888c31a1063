"""A server that restarts: what a caller notices of it, and what is never done twice."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager

import pytest

from anywire import Client, connect
from anywire.errors import (
    AnywireError,
    ConnectFailed,
    DeadlineExceeded,
    HttpStatusError,
    PeerError,
    TransportBroken,
    TransportClosed,
)
from anywire.transport.http_server import HttpListener
from anywire.wire.message import Notification
from tests.http.crooked import JSON, Asked, Out, crooked, event, reply, welcome
from tests.http.serving import QUICK, listener_of, on_socket, until
from tests.http.tools import Tools


class Restarting:
    """A server that is stopped and started on one port; each start begins with nothing."""

    def __init__(self) -> None:
        self._stack = AsyncExitStack()
        self._port = 0
        self.url = ""
        self.tools = Tools()
        self.listener: HttpListener = listener_of(self.tools.accept)
        #: How often each call began, over all starts.
        self.runs: Counter[str] = Counter()
        #: How many sessions were begun, over all starts.
        self.sessions = 0

    async def start(self) -> None:
        """Start with an empty table of sessions."""
        self.tools = Tools()
        self.listener = listener_of(self.tools.accept)
        origin = await self._stack.enter_async_context(on_socket(self.listener, port=self._port))
        self._port = int(origin.rpartition(":")[2])
        self.url = f"{origin}/mcp"

    async def stop(self) -> None:
        """End all connections and sessions."""
        for transport in self.tools.transports:
            await transport.close()
        self.runs += self.tools.runs
        self.sessions += len(self.tools.transports)
        await self._stack.aclose()

    async def restart(self) -> None:
        """Stop and start, which takes a moment."""
        await self.stop()
        await asyncio.sleep(0.01)
        await self.start()


@asynccontextmanager
async def restarting() -> AsyncGenerator[tuple[Restarting, Client, list[str]]]:
    """A server that can be restarted, a client, and the notifications it hears."""
    server = Restarting()
    await server.start()
    heard: list[str] = []

    def hear(notification: Notification) -> None:
        heard.append(notification.method)

    async with connect(server.url, limits=QUICK, on_notification=hear) as client:
        yield server, client, heard
    await server.stop()


async def test_a_restart_between_two_reading_calls_is_not_noticed() -> None:
    async with restarting() as (server, client, _):
        for _ in range(3):
            assert len(await client.tools()) == 5
            await server.restart()

        assert len(await client.tools()) == 5
        assert len(server.tools.transports) == 1


async def test_a_restart_between_two_calls_of_a_tool_is_not_noticed_either() -> None:
    """The new server refuses the session before it looks at the call, which is sent again then."""
    async with restarting() as (server, client, _):
        await client.call_tool("echo", {"text": "one"})
        await server.restart()

        assert (await client.call_tool("echo", {"text": "two"})).text == "two"
        assert server.tools.runs == {"two": 1}


async def test_a_server_that_is_away_for_a_moment_costs_nothing_but_time() -> None:
    """Nothing is sent while there is no connection."""
    async with restarting() as (server, client, _):
        await server.stop()
        call = asyncio.ensure_future(client.call_tool("echo", {"text": "x"}))
        listing = asyncio.ensure_future(client.tools())
        await asyncio.wait([call, listing], timeout=0.3)
        assert not call.done()
        assert not listing.done()
        await server.start()

        assert (await call).text == "x"
        assert len(await listing) == 5
        assert server.tools.runs == {"x": 1}
        assert len(server.tools.transports) == 1


async def test_a_server_that_stays_away_is_told() -> None:
    async with restarting() as (server, _, _):
        await server.stop()
        impatient = connect(server.url, limits=QUICK)

        with pytest.raises(ConnectFailed):
            await impatient.open()


@pytest.mark.parametrize(
    "tool", ["hold", "step_then_hold"], ids=["before its answer began", "within its stream"]
)
@pytest.mark.parametrize("comes_back", [True, False])
async def test_a_call_that_is_running_when_its_server_restarts_fails_once(
    tool: str, comes_back: bool
) -> None:
    """One clear error, and it was executed at most once."""
    async with restarting() as (server, client, _):
        calling = asyncio.ensure_future(client.call_tool(tool))
        await server.tools.until_held()
        server.tools.transports.clear()  # so that the sessions end with their connections
        await server.stop()
        if comes_back:
            await server.start()

        with pytest.raises((TransportBroken, PeerError), match=r"session ended|reply|disconnected"):
            await calling
        if comes_back:
            assert (await client.call_tool("echo", {"text": "next"})).text == "next"

        assert server.runs[tool] == 1
        assert server.tools.runs[tool] == (0 if comes_back else 1)


async def test_all_who_find_the_session_gone_share_one_handshake() -> None:
    """Twenty calls at once, one of them refused after the other."""
    async with restarting() as (server, client, _):
        await client.ping()
        await server.restart()

        results = await asyncio.gather(*(client.call_tool("echo", {"text": str(each)}) for each in range(20)))

        assert [result.text for result in results] == [str(each) for each in range(20)]
        assert len(server.tools.transports) == 1
        assert set(server.tools.runs.values()) == {1}


async def test_a_session_that_was_ended_by_the_server_begins_anew() -> None:
    """Idle, evicted or ended by hand: 404 means the same."""
    async with restarting() as (server, client, _):
        for number in range(3):
            server.listener.sessions.end(next(iter(server.listener.sessions._sessions)))

            assert (await client.call_tool("echo", {"text": "x"})).text == "x"
            assert len(server.tools.transports) == number + 2


async def test_the_general_stream_is_there_again_after_a_restart() -> None:
    """Without any call: the stream itself finds out."""
    async with restarting() as (server, _, heard):
        await server.restart()
        await until(lambda: server.tools.transports, "a new session has begun")
        server.tools.tell("notifications/after")
        await until(lambda: "notifications/after" in heard, "the message has come")

        assert len(server.tools.transports) == 1


async def test_a_second_refusal_is_an_error() -> None:
    """No circle of handshakes."""

    async def quirk(asked: Asked, out: Out) -> bool | None:
        if asked.rpc in ("tools/list", "tools/call", "ping"):
            await out.whole(404, "text/plain", b"no such session")
            return True
        return None

    async with crooked(quirk) as server, connect(server.url, limits=QUICK) as client:
        for method in ("tools/list", "tools/call"):
            with pytest.raises(AnywireError, match="does not know the session that it has just given"):
                await client.request(method)

        assert len(server.asked("POST", "tools/call")) == 2
        assert len(server.asked("POST", "initialize")) == 5


async def test_a_handshake_that_is_refused_the_second_time_fails_all_who_wait() -> None:
    async def quirk(asked: Asked, out: Out) -> bool | None:
        if asked.rpc == "initialize" and len(server.asked("POST", "initialize")) > 1:
            await out.whole(401, "text/plain", b"please log in")
            return True
        if asked.rpc == "tools/list":
            await out.whole(404, "text/plain", b"no such session")
            return True
        return None

    async with crooked(quirk) as server, connect(server.url, limits=QUICK) as client:
        results = await asyncio.gather(
            *(client.request("tools/list") for _ in range(5)), return_exceptions=True
        )

        assert all(isinstance(result, HttpStatusError) and result.status == 401 for result in results)
        assert len({id(result) for result in results}) == 5


async def test_the_new_session_is_told_that_it_is_initialized_and_named_in_what_follows() -> None:
    sessions = iter(["one", "two"])

    async def quirk(asked: Asked, out: Out) -> bool | None:
        if asked.rpc == "initialize":
            headers = [("Mcp-Session-Id", next(sessions))]
            await out.whole(200, JSON, reply(asked, welcome("2025-06-18")), headers)
            return True
        if asked.rpc == "tools/list" and asked.get("Mcp-Session-Id") == "one":
            await out.whole(404, "text/plain", b"no such session")
            return True
        return None

    async with crooked(quirk) as server:
        async with connect(server.url, limits=QUICK) as client:
            await client.request("tools/list")
        second = [each for each in server.seen if each.get("Mcp-Session-Id") == "two"]
        first, again = server.asked("POST", "initialize")

    assert [each.rpc for each in second if each.method == "POST"] == [
        "notifications/initialized",
        "tools/list",
    ]
    assert [each.method for each in second][-1] == "DELETE"
    assert again.get("Mcp-Session-Id") is None
    assert first.message["params"] == again.message["params"]


async def test_a_reply_to_a_server_that_is_gone_is_not_sent_to_its_successor() -> None:
    """Whose own requests count from the beginning, and would be answered by it."""

    async def quirk(asked: Asked, out: Out) -> bool | None:
        if asked.rpc == "tools/call":
            ping = b'{"jsonrpc":"2.0","id":1,"method":"ping"}'
            await out.stream(event(ping))
            await until(
                lambda: [each for each in server.asked("POST", "") if "result" in each.message], "a pong"
            )
            await out.write(event(reply(asked, "done")))
            return True
        if asked.rpc == "" and asked.method == "POST":
            await out.whole(404, "text/plain", b"no such session")
            return True
        return None

    async with crooked(quirk) as server, connect(server.url, limits=QUICK) as client:
        assert await client.request("tools/call") == b'"done"'
        await until(lambda: len(server.asked("POST", "initialize")) == 2, "a new session has begun")
        await client.ping()

        assert len(server.asked("POST", "")) == 1


async def test_one_503_fails_one_call() -> None:
    """And poisons nothing."""

    async def quirk(asked: Asked, out: Out) -> bool | None:
        if asked.rpc == "tools/call" and len(server.asked("POST", "tools/call")) == 2:
            await out.whole(503, "text/plain", b"try again later")
            return True
        return None

    async with crooked(quirk) as server, connect(server.url, limits=QUICK) as client:
        await client.request("tools/call")
        with pytest.raises(HttpStatusError, match=r"503.*text/plain.*try again later"):
            await client.request("tools/call")
        await client.request("tools/call")

        assert len(server.asked("POST", "tools/call")) == 3
        assert len(server.asked("POST", "initialize")) == 1


async def test_an_error_of_the_handshake_is_the_peers() -> None:
    async def quirk(asked: Asked, out: Out) -> bool | None:
        if asked.rpc == "initialize":
            body = (
                b'{"jsonrpc":"2.0","id":%d,"error":{"code":-32000,"message":"closed"}}' % asked.message["id"]
            )
            await out.whole(200, JSON, body)
            return True
        return None

    async with crooked(quirk) as server:
        client = connect(server.url, limits=QUICK)
        with pytest.raises(PeerError, match="closed"):
            await client.open()


# A 404 that is no session's.


@pytest.mark.parametrize("method", ["tools/call", "tools/list"])
async def test_an_error_that_names_the_request_is_its_answer_whatever_the_status(method: str) -> None:
    """404 says that the session is gone only where it does not say something else."""

    async def quirk(asked: Asked, out: Out) -> bool | None:
        if asked.rpc == method:
            error = b'{"jsonrpc":"2.0","id":%d,"error":{"code":-32001,"message":"no such tool"}}'
            await out.whole(404, JSON, error % asked.message["id"])
            return True
        return None

    async with crooked(quirk) as server, connect(server.url, limits=QUICK) as client:
        with pytest.raises(PeerError, match="no such tool"):
            await client.request(method)

        assert len(server.asked("POST", method)) == 1
        assert len(server.asked("POST", "initialize")) == 1


@pytest.mark.parametrize(
    ("content", "body"),
    [
        ("text/plain", b"not found"),
        ("application/json", b'{"jsonrpc":"2.0","id":null,"error":{"code":-32001,"message":"not found"}}'),
        ("application/json", b'{"jsonrpc":"2.0","id":77,"error":{"code":-32001,"message":"not found"}}'),
        ("application/json", b'{"detail":"not found"}'),
    ],
)
async def test_a_call_is_not_sent_again_while_its_session_lives(content: str, body: bytes) -> None:
    """Whoever said 404 may have executed it: the session, asked for itself, is still there."""

    async def quirk(asked: Asked, out: Out) -> bool | None:
        if asked.rpc == "tools/call":
            await out.whole(404, content, body)
            return True
        return None

    async with crooked(quirk) as server, connect(server.url, limits=QUICK) as client:
        with pytest.raises(HttpStatusError, match=r"404.*not found"):
            await client.call_tool("echo")

        assert len(server.asked("POST", "tools/call")) == 1
        assert len(server.asked("POST", "initialize")) == 1


async def test_a_call_is_sent_again_when_the_server_knows_nothing_of_its_session() -> None:
    async def quirk(asked: Asked, out: Out) -> bool | None:
        if asked.rpc in ("tools/call", "ping") and len(server.asked("POST", "initialize")) == 1:
            await out.whole(404, "text/plain", b"no such session")
            return True
        return None

    async with crooked(quirk) as server, connect(server.url, limits=QUICK) as client:
        await client.request("tools/call")

        assert len(server.asked("POST", "tools/call")) == 2
        assert len(server.asked("POST", "initialize")) == 2


# New sessions that are for nothing.


@pytest.mark.parametrize("refused", ["GET and ping", "everything", "the handshake"])
async def test_a_server_that_loses_each_session_is_asked_ever_more_slowly_and_then_no_more(
    refused: str, caplog: pytest.LogCaptureFixture
) -> None:
    """An idle client makes no storm, says so once, and ends with the reason."""

    async def quirk(asked: Asked, out: Out) -> bool | None:
        if asked.rpc == "initialize":
            if refused != "the handshake" or len(server.asked("POST", "initialize")) == 1:
                return None
            await out.whole(503, "text/plain", b"too many sessions")
        elif asked.rpc == "notifications/initialized" and refused != "everything":
            return None
        else:
            await out.whole(404, "text/plain", b"no such session")
        return True

    limits = QUICK.replace(reconnect_seconds=0.001, reconnect_most_seconds=0.01)
    async with crooked(quirk) as server:
        client = connect(server.url, limits=limits)
        await client.open()
        await until(lambda: client._transport.closed, "the client has given up")
        await until(lambda: "DELETE" in [each.method for each in server.seen], "and has ended its session")
        with pytest.raises(TransportClosed, match="given up: 8 new sessions in a row"):
            await client.ping()
        assert len(server.asked("POST", "initialize")) == 9
        told = [record.message for record in caplog.records if record.levelname == "WARNING"]
        assert [line for line in told if "gone as well" in line] == told
        assert len(told) == 1
        await client.close()


# How long a lost reply is gone after.


async def test_a_call_whose_server_has_gone_says_so_when_its_time_is_over() -> None:
    """It waits no longer than it was asked to, and tells what it has tried."""

    async def quirk(asked: Asked, out: Out) -> bool | None:
        if asked.rpc == "tools/call":
            await out.stream(event(b"", "1"))
            out.cut()
            return True
        if asked.method == "GET" and asked.get("Last-Event-ID"):
            await out.whole(503, "text/plain", b"gone away")
            return True
        return None

    limits = QUICK.replace(reconnect_seconds=0.01, reconnect_most_seconds=100.0)
    async with crooked(quirk) as server, connect(server.url, limits=limits) as client:
        with pytest.raises(DeadlineExceeded, match=r"within 0.3 s.*was lost and not resumed.*503"):
            await client.call_tool("echo", timeout=0.3)


async def test_a_lost_reply_is_gone_after_no_longer_than_a_request_may_take() -> None:
    """For those who wait without a clock."""

    async def quirk(asked: Asked, out: Out) -> bool | None:
        if asked.rpc == "tools/call":
            await out.stream(event(b"", "1"))
            out.cut()
            return True
        if asked.method == "GET" and asked.get("Last-Event-ID"):
            await out.whole(503, "text/plain", b"gone away")
            return True
        return None

    limits = QUICK.replace(reconnect_seconds=0.01, reconnect_most_seconds=0.1, request_seconds=0.1)
    async with crooked(quirk) as server, connect(server.url, limits=limits) as client:
        with pytest.raises(TransportBroken, match=r"could not be resumed in \d tries"):
            await client.call_tool("echo", timeout=20.0)
        assert 2 <= len([each for each in server.asked("GET") if each.get("Last-Event-ID")]) < 8
