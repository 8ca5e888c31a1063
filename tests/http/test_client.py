"""A client over HTTP: its timeouts, its headers, its way through proxies, its cancellations and its end."""

from __future__ import annotations

import asyncio
import json
import math
import os
import socket
import ssl
import sys
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from anywire import Client, Server, connect
from anywire.errors import (
    AnywireError,
    ConfigError,
    ConnectFailed,
    DeadlineExceeded,
    HttpStatusError,
    SessionError,
    TransportBroken,
    TransportClosed,
)
from anywire.transport.http_client import HttpClientTransport
from anywire.transport.http_exchange import _open_socket
from anywire.transport.http_server import HttpListener
from anywire.wire.codec import decode
from anywire.wire.limits import DEFAULT_LIMITS, Limits
from anywire.wire.message import Batch, Message, Request, Response, create_notification, create_request
from tests.http.crooked import JSON, Asked, Out, crooked, event, honest, note, reply
from tests.http.in_process import AsgiExchange
from tests.http.raw import call, initialize
from tests.http.serving import PATIENCE, QUICK, listener_of, on_socket, until
from tests.http.tools import Tools


@pytest.fixture(autouse=True)
def _no_proxies(monkeypatch: pytest.MonkeyPatch) -> None:
    """The environment of whoever runs the tests is none of their business."""
    for name in list(os.environ):
        if name.lower().endswith("_proxy"):
            monkeypatch.delenv(name)


@asynccontextmanager
async def talking(limits: Limits = QUICK) -> AsyncGenerator[tuple[Client, Tools, HttpListener]]:
    """A client and the tools it can call."""
    tools = Tools(limits)
    listener = listener_of(tools.accept, limits=limits)
    async with on_socket(listener) as origin, connect(f"{origin}/mcp", limits=limits) as client:
        yield client, tools, listener


def decode_request(message: dict[str, object]) -> Request:
    """Make a message of plain JSON data."""
    decoded = decode(json.dumps(message).encode())
    assert isinstance(decoded, Request)
    return decoded


# Calls.


async def test_calls_are_answered_each_with_its_own_reply() -> None:
    async with talking() as (client, _, _):
        texts = [f"é🙂 {number}" for number in range(100)]

        results = await asyncio.gather(*(client.call_tool("echo", {"text": text}) for text in texts))

    assert [result.text for result in results] == texts


async def test_progress_comes_while_the_call_runs() -> None:
    async with talking() as (client, tools, _):
        seen: list[str | None] = []

        def note(progress: float, total: float | None, message: str | None) -> None:
            seen.append(message)

        calling = asyncio.ensure_future(client.call_tool("step_then_hold", on_progress=note))
        await until(lambda: len(seen) == 2, "two reports have come")
        assert not calling.done()
        tools.gate.set()

        assert (await calling).text == "three"
        assert seen == ["one", "two"]


async def test_more_calls_than_connections_wait_for_a_place() -> None:
    """And what a call needs to end never waits for one."""
    async with talking(QUICK.replace(connections=4)) as (client, tools, _):
        calls = [asyncio.ensure_future(client.call_tool("hold", {"name": str(each)})) for each in range(12)]
        await tools.until_held(4)
        await client.notify("notifications/roots/list_changed")
        assert tools.held == 4
        calls[0].cancel()
        await until(lambda: tools.runs["4"] == 1, "the next call has the place of the cancelled one")
        tools.gate.set()

        results = await asyncio.gather(*calls[1:])

    assert [result.text for result in results] == [f"{each} is done" for each in range(1, 12)]
    assert tools.cancelled == 1


async def test_a_batch_is_answered() -> None:
    """Where the revision has batches."""
    received: list[Message | Batch] = []
    async with on_socket(listener_of(Tools().accept)) as origin:
        transport = HttpClientTransport(f"{origin}/mcp", limits=QUICK)
        transport.callbacks.on_message = received.append
        await transport.start()
        await transport.send(decode_request(initialize("2025-03-26")))
        await until(lambda: received, "the handshake is answered")
        await transport.send(Batch((create_request(1, "ping"), create_request(2, "ping"))))
        await until(lambda: len(received) == 2, "the batch is answered")
        await transport.close()

    replies = received[1]
    assert isinstance(replies, Batch)
    assert [item.id for item in replies.items if isinstance(item, Response)] == [b"1", b"2"]


async def test_a_batch_that_is_refused_fails_each_of_its_requests() -> None:
    failed: list[bytes] = []

    async def quirk(asked: Asked, out: Out) -> bool | None:
        await out.whole(500, "text/plain", b"no")
        return True

    async with crooked(quirk) as server:
        transport = HttpClientTransport(server.url, limits=QUICK)
        transport.callbacks.on_failed = lambda id, _: failed.append(id)
        await transport.start()
        await transport.send(Batch((create_request(1, "ping"), create_request(2, "ping"))))
        await until(lambda: len(failed) == 2, "both are reported")
        await transport.close()

    assert failed == [b"1", b"2"]


# Cancellation.


async def test_a_cancelled_call_lets_go_its_post_and_tells_the_server() -> None:
    gone: list[bool] = []

    async def quirk(asked: Asked, out: Out) -> bool | None:
        if asked.rpc == "tools/call":
            await out.gone.wait()
            gone.append(True)
            return True
        return None

    async with crooked(quirk) as server, connect(server.url, limits=QUICK) as client:
        calling = asyncio.ensure_future(client.request("tools/call", {"name": "t"}))
        await until(lambda: server.asked("POST", "tools/call"), "the call has arrived")
        calling.cancel()
        await until(lambda: gone, "the POST was let go")
        await until(lambda: server.asked("POST", "notifications/cancelled"), "the server was told")
        (told,) = server.asked("POST", "notifications/cancelled")
        (asked,) = server.asked("POST", "tools/call")

    assert told.message["params"]["requestId"] == asked.message["id"]


async def test_a_call_that_is_cancelled_at_once_stops_its_handler() -> None:
    async with talking() as (client, tools, _):
        for _ in range(10):
            calling = asyncio.ensure_future(client.call_tool("hold"))
            await tools.until_held()
            calling.cancel()
            await until(lambda: not tools.held, "the handler was cancelled")

    assert tools.cancelled == 10


async def test_a_call_that_times_out_is_cancelled() -> None:
    async with talking() as (client, tools, _):
        with pytest.raises(DeadlineExceeded, match=r"tools/call within 0\.1 s"):
            await client.call_tool("hold", timeout=0.1)
        await until(lambda: tools.cancelled == 1, "the handler was cancelled")


# Timeouts, each with its name.


async def test_a_server_that_is_not_there_is_told_at_once() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # nobody listens there
        port = taken.getsockname()[1]
        with pytest.raises(ConnectFailed, match=f"127.0.0.1:{port}"):
            await connect(f"http://127.0.0.1:{port}/mcp").open()


async def test_a_name_that_leads_nowhere_is_told() -> None:
    with pytest.raises(ConnectFailed, match="no-such-host"):
        await connect("http://no-such-host.invalid/mcp").open()


async def test_a_connection_that_does_not_come_about_is_told_with_its_limit() -> None:
    """A listener that accepts nobody."""
    with socket.socket() as full:
        full.bind(("127.0.0.1", 0))
        full.listen(0)
        fillers = [socket.socket() for _ in range(4)]
        for filler in fillers:
            filler.setblocking(False)
            filler.connect_ex(full.getsockname())
        failed: list[Exception] = []
        transport = HttpClientTransport(
            f"http://127.0.0.1:{full.getsockname()[1]}/mcp", limits=QUICK.replace(connect_seconds=0.2)
        )
        transport.callbacks.on_failed = lambda _, error: failed.append(error)
        await transport.start()
        transport.post(create_request(1, "initialize"))
        await until(lambda: failed, "the request has failed")
        await transport.close()
        for filler in fillers:
            filler.close()

    assert isinstance(failed[0], ConnectFailed)
    assert "no connection within 0.2 s" in str(failed[0])


async def test_a_first_byte_that_does_not_come_is_told_with_its_limit() -> None:
    async def quirk(asked: Asked, out: Out) -> bool | None:
        if asked.rpc == "tools/list":
            await out.gone.wait()
            return True
        return None

    async with (
        crooked(quirk) as server,
        connect(server.url, limits=QUICK.replace(first_byte_seconds=0.1)) as client,
    ):
        with pytest.raises(DeadlineExceeded, match=r"no first byte of an answer within 0\.1 s"):
            await client.request("tools/list")


@pytest.mark.parametrize("as_stream", [True, False])
async def test_an_answer_that_stops_is_told_with_the_limit_of_silence(as_stream: bool) -> None:
    async def quirk(asked: Asked, out: Out) -> bool | None:
        if asked.rpc != "tools/call":
            return None
        if as_stream:
            await out.stream(event(note("x", 1)))
        else:
            await out.head(200, {"Content-Type": JSON, "Content-Length": "1000"})
            await out.write(b'{"jsonrpc"')
        await out.gone.wait()
        return True

    async with (
        crooked(quirk) as server,
        connect(server.url, limits=QUICK.replace(stream_idle_seconds=0.1)) as client,
    ):
        with pytest.raises((DeadlineExceeded, TransportBroken), match=r"nothing more came within 0\.1 s"):
            await client.request("tools/call", {"name": "t"})


async def test_comments_are_a_sign_of_life() -> None:
    async def quirk(asked: Asked, out: Out) -> bool | None:
        if asked.rpc != "tools/call":
            return None
        await out.stream()
        for _ in range(10):
            await out.write(b": still here\n\n")
            await asyncio.sleep(0.05)
        await out.write(event(reply(asked, "done")))
        return True

    async with (
        crooked(quirk) as server,
        connect(server.url, limits=QUICK.replace(stream_idle_seconds=0.3)) as client,
    ):
        assert await client.request("tools/call", {"name": "t"}) == b'"done"'


async def test_an_answer_that_never_ends_is_told_with_the_limit_of_its_whole() -> None:
    async def quirk(asked: Asked, out: Out) -> bool | None:
        if asked.rpc != "tools/call":
            return None
        await out.stream()
        while not out.gone.is_set():
            await out.write(b": still here\n\n")
            await asyncio.sleep(0.01)
        return True

    async with (
        crooked(quirk) as server,
        connect(server.url, limits=QUICK.replace(answer_seconds=0.2)) as client,
    ):
        with pytest.raises(DeadlineExceeded, match=r"not complete within 0\.2 s"):
            await client.request("tools/call", {"name": "t"})


async def test_a_silent_general_stream_is_opened_again() -> None:
    """One that died without a word is found out before the next message is missed."""

    async def quirk(asked: Asked, out: Out) -> bool | None:
        if asked.method != "GET":
            return None
        await out.stream(event(id="1"))
        await out.gone.wait()
        return True

    async with crooked(quirk) as server, connect(server.url, limits=QUICK.replace(stream_idle_seconds=0.1)):
        await until(lambda: len(server.asked("GET")) >= 3, "the stream was opened again")


def test_streams_may_be_silent_for_ever_unless_a_limit_is_set() -> None:
    assert DEFAULT_LIMITS.stream_idle_seconds == math.inf
    assert DEFAULT_LIMITS.answer_seconds == math.inf


# Headers.


async def test_headers_of_the_program_go_on_every_request() -> None:
    """Whatever their case, once each; those of the protocol cannot be lost by it."""
    headers = {"X-Key": "k", "accept": "text/html", "user-agent": "mine"}
    async with crooked(honest) as server, connect(server.url, headers=headers, limits=QUICK) as client:
        await client.ping()
        await until(lambda: server.asked("GET"), "the stream was asked for")

    assert {each.method for each in server.seen} == {"POST", "GET", "DELETE"}
    for each in server.seen:
        names = [name.lower() for name, _ in each.headers]
        assert len(names) == len(set(names))
        assert (each.get("X-Key"), each.get("User-Agent")) == ("k", "mine")
    assert server.seen[0].get("Accept") == "application/json, text/event-stream"


async def test_the_client_says_who_it_is() -> None:
    async with crooked(honest) as server, connect(server.url, limits=QUICK):
        pass

    assert (server.seen[0].get("User-Agent") or "").startswith("anywire/")


async def test_the_hook_gives_each_request_its_own_headers() -> None:
    """Such as a fresh token."""
    count = 0

    async def token() -> Mapping[str, str]:
        nonlocal count
        count += 1
        return {"Authorization": f"Bearer {count}"}

    async with (
        crooked(honest) as server,
        connect(server.url, hook=token, headers={"authorization": "old"}, limits=QUICK) as client,
    ):
        await client.ping()

    tokens = [each.get("Authorization") or "" for each in server.seen]
    assert sorted(tokens) == sorted(f"Bearer {number + 1}" for number in range(count))
    assert len(tokens) == count


async def test_a_hook_that_fails_costs_its_own_request() -> None:
    """And the error says that it was the hook."""
    fails = False

    async def token() -> Mapping[str, str]:
        if fails:
            raise RuntimeError("please log in again")
        return {}

    async with crooked(honest) as server, connect(server.url, hook=token, limits=QUICK) as client:
        fails = True
        with pytest.raises(ConfigError, match=r"hook.*RuntimeError: please log in again"):
            await client.ping()
        fails = False
        await client.ping()


async def test_a_header_that_cannot_be_sent_is_told() -> None:
    async with crooked(honest) as server:
        with pytest.raises(ConfigError, match="cannot be sent"):
            await connect(server.url, headers={"X-Evil": "a\r\nX-More: b"}, limits=QUICK).open()

    assert server.seen == []


async def test_secrets_in_the_address_are_not_told() -> None:
    """Neither a password nor what stands in the query."""

    async def quirk(asked: Asked, out: Out) -> bool | None:
        await out.whole(500, "text/plain", b"no")
        return True

    async with crooked(quirk) as server:
        url = server.url.replace("http://", "http://me:secret@") + "?key=secret"
        client = connect(url, limits=QUICK)
        with pytest.raises(HttpStatusError) as caught:
            await client.open()

    assert "secret" not in f"{caught.value} {client.name} {client!r}"
    assert server.seen[0].path == "/mcp?key=secret"
    assert server.seen[0].get("Authorization") == "Basic bWU6c2VjcmV0"


# The environment.


async def test_a_proxy_of_the_environment_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    """With its credentials; the address of the server is what the proxy is asked for."""
    async with crooked(honest) as proxy:
        monkeypatch.setenv(
            "HTTP_PROXY", proxy.url.replace("http://", "http://me:p%40ss@").removesuffix("/mcp")
        )
        monkeypatch.setenv("http_proxy", os.environ["HTTP_PROXY"])
        async with connect("http://server.example/mcp", limits=QUICK) as client:
            await client.ping()

    assert {each.path for each in proxy.seen} == {"http://server.example/mcp"}
    assert {each.get("Host") for each in proxy.seen} == {"server.example"}
    assert {each.get("Proxy-Authorization") for each in proxy.seen} == {"Basic bWU6cEBzcw=="}


async def test_no_proxy_is_used_for_a_host_that_is_excepted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    async with crooked(honest) as server, connect(server.url, limits=QUICK) as client:
        await client.ping()


@pytest.mark.parametrize("excepted", ["127.0.0.1:{port}", "other.example, 127.0.0.1:{port}", "*"])
async def test_a_host_may_be_excepted_with_its_port(monkeypatch: pytest.MonkeyPatch, excepted: str) -> None:
    monkeypatch.setenv("http_proxy", "socks5://127.0.0.1:1")
    async with crooked(honest) as server:
        port = server.url.rsplit(":", 1)[1].partition("/")[0]
        monkeypatch.setenv("no_proxy", excepted.format(port=port))
        async with connect(server.url, limits=QUICK) as client:
            await client.request("tools/list")


@pytest.mark.parametrize(
    ("variable", "proxy"),
    [
        ("HTTP_PROXY", "socks5://me:hunter2@127.0.0.1:1"),
        ("http_proxy", "socks5h://me:hunter2@127.0.0.1:1"),
        ("HTTP_PROXY", "https://me:hunter2@127.0.0.1:1"),
        ("ALL_PROXY", "socks5://me:hunter2@127.0.0.1:1"),
        ("all_proxy", "garbage://"),
        ("HTTP_PROXY", "http://"),
        ("HTTP_PROXY", "http://[::1"),
        ("HTTP_PROXY", "127.0.0.1:notaport"),
    ],
)
async def test_a_proxy_that_cannot_be_spoken_to_is_not_passed_over(
    monkeypatch: pytest.MonkeyPatch, variable: str, proxy: str
) -> None:
    """Nothing is sent around it; what is told names the variable and not the password."""
    monkeypatch.setenv(variable, proxy)
    async with crooked(honest) as server:
        with pytest.raises(ConfigError, match=f"^{variable} is .* cannot speak to") as refused:
            await connect(server.url, limits=QUICK).open()

        assert "hunter2" not in str(refused.value)
        assert server.seen == []


async def test_a_proxy_that_is_not_there_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
    with pytest.raises(ConnectFailed, match=r"127\.0\.0\.1"):
        await connect("http://server.example/mcp", limits=QUICK).open()


async def test_a_netrc_of_the_user_does_not_get_in_the_way(
    monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Credentials are given by the program, and by nothing that lies about."""
    home = tmp_path_factory.mktemp("home")
    (home / ".netrc").write_text("machine 127.0.0.1 login me password secret\n", encoding="utf-8")
    monkeypatch.setenv("NETRC", str(home / ".netrc"))
    headers = {"Authorization": "Bearer x"}
    async with crooked(honest) as server, connect(server.url, headers=headers, limits=QUICK):
        pass

    assert {each.get("Authorization") for each in server.seen} == {"Bearer x"}


# The end.


async def test_the_end_tells_the_server_and_ends_the_session() -> None:
    async with talking() as (client, tools, listener):
        await client.ping()
        assert len(listener.sessions) == 1
        await client.close()

        assert len(listener.sessions) == 0
        await until(lambda: tools.transports[0].closed, "the server's end is closed")


async def test_what_is_pending_at_the_end_fails() -> None:
    async with talking() as (client, tools, _):
        calling = asyncio.ensure_future(client.call_tool("hold"))
        await tools.until_held()
        await client.close()
        with pytest.raises(TransportClosed):
            await calling
        with pytest.raises(TransportClosed):
            await client.ping()


async def test_the_end_leaves_no_task_and_no_connection_behind() -> None:
    tools = Tools()
    async with on_socket(listener_of(tools.accept)) as origin:
        before = asyncio.all_tasks()
        async with connect(f"{origin}/mcp", limits=QUICK) as client:
            await asyncio.gather(*(client.ping() for _ in range(20)))
            calls = [asyncio.ensure_future(client.call_tool("hold")) for _ in range(5)]
            await tools.until_held(5)
        await asyncio.gather(*calls, return_exceptions=True)
        await until(lambda: not (asyncio.all_tasks() - before), "all tasks have ended")


async def test_a_server_that_does_not_answer_the_farewell_does_not_hold_the_end() -> None:
    async def quirk(asked: Asked, out: Out) -> bool | None:
        if asked.method == "DELETE":
            await out.gone.wait()
            return True
        return None

    async with crooked(quirk) as server:
        client = connect(server.url, limits=QUICK)
        await client.open()
        async with asyncio.timeout(10):
            await client.close()


async def test_a_notification_that_cannot_be_delivered_is_reported() -> None:
    errors: list[object] = []
    transport = HttpClientTransport("http://127.0.0.1:1/mcp", limits=QUICK.replace(connect_seconds=0.1))
    transport.callbacks.on_error = errors.append
    await transport.start()

    await transport.send(create_notification("notifications/x"))
    await transport.close()

    assert isinstance(errors[0], ConnectFailed)


async def test_a_missing_start_is_told() -> None:
    failed: list[Exception] = []
    transport = HttpClientTransport("http://127.0.0.1:1/mcp")
    transport.callbacks.on_failed = lambda _, error: failed.append(error)
    transport.post(create_request(1, "ping"))
    await until(lambda: failed, "the request has failed")
    await transport.close()

    assert "not been started" in str(failed[0])


# Without sockets.


async def test_an_application_of_this_process_can_be_called() -> None:
    """Another exchange is another way to send requests."""
    tools = Tools()
    listener = listener_of(tools.accept)
    exchange = AsgiExchange(listener)
    transport = HttpClientTransport("http://127.0.0.1/mcp", exchange=lambda: exchange, limits=QUICK)
    async with connect(transport, limits=QUICK) as client:
        seen: list[float] = []

        def note(progress: float, total: float | None, message: str | None) -> None:
            seen.append(progress)

        result = await client.call_tool("steps", {"count": 3}, on_progress=note)

    assert (result.text, seen) == ("3 steps", [1, 2, 3])
    assert exchange.failures == []
    assert len(listener.sessions) == 0


_PING_ONCE = """
import asyncio, sys
from anywire import connect

async def main():
    async with connect(sys.argv[1]) as client:
        await client.ping()

asyncio.run(main())
"""


@pytest.mark.parametrize("trusted", [True, False])
async def test_certificates_come_from_the_environment(trusted: bool) -> None:
    """`SSL_CERT_FILE` names whom to trust; whom nobody does is told why."""
    folder = Path(__file__).with_name("certificates")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "certificate.pem", folder / "key.pem")
    environment = {**os.environ, "SSL_CERT_FILE": str(folder / "certificate.pem") if trusted else os.devnull}
    async with crooked(honest, tls=context) as server:
        program = await asyncio.create_subprocess_exec(
            sys.executable, "-c", _PING_ONCE, server.url, env=environment, stderr=asyncio.subprocess.PIPE
        )
        async with asyncio.timeout(PATIENCE):
            _, stderr = await program.communicate()

    assert (program.returncode == 0) is trusted, stderr.decode()
    assert (b"ConnectFailed" in stderr and b"certificate" in stderr) is not trusted
    assert bool(server.asked("POST", "ping")) is trusted


# The order of what is sent.


async def test_what_is_written_in_one_go_waits_for_the_handshake() -> None:
    """A session is there before anything that belongs to it."""

    async def quirk(asked: Asked, out: Out) -> bool | None:
        if asked.rpc in ("initialize", "notifications/initialized"):
            await asyncio.sleep(0.05)
        return None

    async with crooked(quirk) as server:
        transport = HttpClientTransport(server.url, limits=QUICK)
        await transport.start()
        transport.post(decode_request(initialize()))
        transport.post(create_notification("notifications/initialized"))
        transport.post(create_request(1, "tools/list"))
        transport.post(create_notification("notifications/x"))
        await until(lambda: len(server.asked("POST")) == 4, "everything has arrived")
        await transport.close()
    order = [each.rpc for each in server.asked("POST")]

    assert order[:2] == ["initialize", "notifications/initialized"]
    assert {each.get("Mcp-Session-Id") for each in server.seen[1:]} == {"session-1"}


async def test_a_note_that_is_not_answered_holds_the_rest_for_a_while_only() -> None:
    async def quirk(asked: Asked, out: Out) -> bool | None:
        if asked.rpc == "notifications/initialized":
            await out.gone.wait()
            return True
        return None

    async with crooked(quirk) as server:
        transport = HttpClientTransport(server.url, limits=QUICK.replace(probe_seconds=0.1))
        received: list[Message | Batch] = []
        transport.callbacks.on_message = received.append
        await transport.start()
        transport.post(decode_request(initialize()))
        transport.post(create_notification("notifications/initialized"))
        transport.post(create_request(1, "tools/list"))
        await until(lambda: len(received) == 2, "the request was answered")
        await transport.close()


async def test_notifications_arrive_in_the_order_of_the_calls() -> None:
    async def quirk(asked: Asked, out: Out) -> bool | None:
        if asked.rpc == "slow":
            await asyncio.sleep(0.05)  # a server may take its time; the next must not overtake
        return None

    async with crooked(quirk) as server:
        transport = HttpClientTransport(server.url, limits=QUICK)
        await transport.start()
        for number in range(10):
            transport.post(create_notification("slow" if number % 3 == 0 else "quick", number))
        await transport.close()

    assert [each.message["params"] for each in server.asked("POST")] == list(range(10))


async def test_a_request_that_was_never_sent_is_not_cancelled_at_the_server_before_the_handshake() -> None:
    """Everything in one go, the cancellation as well."""
    async with crooked(honest) as server:
        transport = HttpClientTransport(server.url, limits=QUICK)
        errors: list[object] = []
        transport.callbacks.on_error = errors.append
        await transport.start()
        transport.post(decode_request(initialize()))
        transport.post(create_request(1, "tools/call"))
        transport.post(create_notification("notifications/cancelled", {"requestId": 1}))
        await until(lambda: server.asked("POST", "notifications/cancelled"), "it was told")
        await transport.close()

    assert server.asked("POST", "tools/call") == []
    assert errors == []
    assert server.asked("POST", "notifications/cancelled")[0].get("Mcp-Session-Id") == "session-1"


# Back-pressure.


async def test_a_client_that_is_held_reads_nothing_and_holds_the_server() -> None:
    """A bridge whose own client does not read keeps nothing for it."""
    limits = QUICK.replace(write_high_bytes=64 * 1024, write_low_bytes=16 * 1024)
    tools = Tools(limits)
    listener = listener_of(tools.accept, limits=limits)
    received: list[Message | Batch] = []
    async with on_socket(listener) as origin:
        transport = HttpClientTransport(f"{origin}/mcp", limits=limits)
        transport.callbacks.on_message = received.append
        await transport.start()
        await transport.send(decode_request(initialize()))
        await until(lambda: received, "the handshake is answered")
        transport.hold_reading("for a test")
        transport.post(decode_request(call(1, "steps", {"count": 300, "size": 100_000}, token="t")))
        (session,) = listener.sessions._sessions.values()
        await until(lambda: session._full, "the server is held")
        assert len(received) == 1
        transport.release_reading("for a test")
        await until(lambda: len(received) == 302, "everything has come")
        await transport.close()


# What is in between.


@asynccontextmanager
async def cutting_proxy(url: str, seconds: float) -> AsyncGenerator[tuple[str, list[int]]]:
    """A balancer that resets every connection on which the server is silent for so long."""
    target = urlsplit(url)
    cuts: list[int] = []
    tasks: set[asyncio.Task[None]] = set()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        tasks.add(task)
        back, forth = await asyncio.open_connection(target.hostname, target.port)

        async def forward() -> None:
            while chunk := await reader.read(65536):
                forth.write(chunk)

        forwarding = asyncio.create_task(forward())
        try:
            async with asyncio.timeout(seconds) as silence:
                while chunk := await back.read(65536):
                    silence.reschedule(asyncio.get_running_loop().time() + seconds)
                    writer.write(chunk)
        except TimeoutError:
            cuts.append(1)
            writer.transport.abort()
        finally:
            forwarding.cancel()
            writer.close()
            forth.close()
            tasks.discard(task)

    listening = await asyncio.start_server(serve, "127.0.0.1", 0)
    try:
        yield f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}{target.path}", cuts
    finally:
        listening.close()
        for task in list(tasks):
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def test_keep_alive_carries_a_long_call_through_what_cuts_silence() -> None:
    """A balancer that cuts silent streams never finds one."""
    limits = QUICK.replace(keep_alive_seconds=0.05, stream_open_seconds=0.05)
    tools = Tools(limits)
    async with (
        on_socket(listener_of(tools.accept, limits=limits)) as origin,
        cutting_proxy(f"{origin}/mcp", 0.4) as (url, cuts),
        connect(url, limits=limits) as client,
    ):
        calling = asyncio.ensure_future(client.call_tool("hold"))
        await asyncio.sleep(1.2)  # three times what the balancer allows
        tools.gate.set()

        assert (await calling).text == "hold is done"
        assert tools.runs["hold"] == 1
        # Idle connections may go; the streams do not.
        (transport,) = tools.transports
        assert transport.closed is False
    assert len(cuts) <= 2


async def test_a_call_whose_stream_is_cut_at_every_silence_has_its_reply_all_the_same() -> None:
    """Without keep-alive: the stream is resumed as often as it is cut."""
    limits = QUICK.replace(stream_open_seconds=0.02)
    tools = Tools(limits)
    async with (
        on_socket(listener_of(tools.accept, limits=limits)) as origin,
        cutting_proxy(f"{origin}/mcp", 0.15) as (url, cuts),
        connect(url, limits=limits) as client,
    ):
        calling = asyncio.ensure_future(client.call_tool("step_then_hold"))
        await until(lambda: len(cuts) >= 4, "the streams were cut some times")
        tools.gate.set()

        assert (await calling).text == "three"
        assert tools.runs["step_then_hold"] == 1


# What else is wrong around a client.


@pytest.mark.parametrize("given", [None, 5, {"Authorization": None}, {1: "x"}, "Authorization: x"])
async def test_a_hook_that_returns_no_headers_is_told(given: Any) -> None:
    async def hook() -> Any:
        return given

    async with crooked(honest) as server:
        with pytest.raises(ConfigError, match="the hook for headers returned a"):
            await connect(server.url, hook=hook, limits=QUICK).open()
        assert server.seen == []


async def test_a_port_that_speaks_tls_is_told_apart() -> None:
    """To somebody who wrote http:// for https://."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    folder = Path(__file__).with_name("certificates")
    context.load_cert_chain(folder / "certificate.pem", folder / "key.pem")
    async with crooked(honest, tls=context) as server:
        with pytest.raises(AnywireError, match="if TLS is spoken there, the address begins with https://"):
            await connect(server.url.replace("https:", "http:"), limits=QUICK).open()


async def test_certificates_that_cannot_be_read_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """OpenSSL passes over them, and then trusts nobody."""
    monkeypatch.setenv("SSL_CERT_FILE", "/nonexistent")
    with pytest.raises(ConfigError, match="SSL_CERT_FILE is '/nonexistent', which cannot be read"):
        await connect("https://127.0.0.1:1/mcp", limits=QUICK).open()


async def test_a_connection_asks_an_idle_peer_for_a_sign_of_life() -> None:
    """A peer that vanished without a farewell would be waited for without end."""
    address = (socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1", 1))
    with _open_socket(address) as opened:
        assert opened.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE) == 1
        if hasattr(socket, "TCP_KEEPIDLE"):
            assert opened.getsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE) == 60


def test_a_client_works_in_the_loop_it_was_opened_in() -> None:
    """Another one is told so, and the first can still close it."""
    client = connect(Server("s"))
    with asyncio.Runner() as first, asyncio.Runner() as second:
        first.run(client.open())
        for work in (client.ping, client.close, partial(client.notify, "notifications/x")):
            with pytest.raises(SessionError, match="in another event loop"):
                second.run(work())
        first.run(client.close())


async def test_noise_of_a_url_is_not_told_to_go_to_a_stderr(caplog: pytest.LogCaptureFixture) -> None:
    async def quirk(asked: Asked, out: Out) -> bool | None:
        if asked.rpc == "tools/list":
            await out.stream(event(b"rubbish"), event(reply(asked, {"tools": []})))
            return True
        return None

    async with crooked(quirk) as server, connect(server.url, limits=QUICK) as client:
        await client.tools()
    told = [record.message for record in caplog.records if "no message" in record.message]
    assert len(told) == 1
    assert "stderr" not in told[0]
