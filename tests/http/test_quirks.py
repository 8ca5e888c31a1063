"""Servers that do one thing wrong, and what a client makes of each."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from itertools import pairwise
from typing import Any

import pytest

from anywire import Client, connect
from anywire.errors import (
    AnywireError,
    HttpStatusError,
    LimitExceeded,
    PeerError,
    RemoteProtocolError,
    TransportBroken,
)
from anywire.wire.limits import Limits
from anywire.wire.message import Notification
from tests.http.crooked import JSON, Asked, Crooked, Out, crooked, event, honest, note, reply, welcome
from tests.http.serving import QUICK, until

#: What a client asks before there is a session.
OPENING = ("server/discover", "initialize")


@asynccontextmanager
async def connected(server: Crooked, limits: Limits = QUICK) -> AsyncGenerator[Heard]:
    """A client that is open, and what it hears."""
    heard = Heard(server.url, limits)
    async with heard.client:
        yield heard


class Heard:
    """A client and the notifications that came to it."""

    def __init__(self, url: str, limits: Limits) -> None:
        self.client: Client = connect(url, limits=limits, on_notification=self.take)
        self.numbers: list[int] = []

    def take(self, notification: Notification) -> None:
        """Note the number of a notification."""
        self.numbers.append(json.loads(notification.params or b"{}").get("n", -1))

    async def list_tools(self) -> Any:
        """Ask for something that only reads."""
        return json.loads(await self.client.request("tools/list"))

    async def call(self, **more: Any) -> Any:
        """Ask for something that may change anything."""
        return json.loads(await self.client.request("tools/call", {"name": "t"}, **more))


# What a notification is answered with.


@pytest.mark.parametrize(
    ("status", "content", "body"),
    [
        (202, None, b""),
        (202, JSON, b""),
        (200, None, b""),
        (200, JSON, b"null"),
        (200, JSON, b'{"jsonrpc":"2.0","id":null}'),
        (200, "text/html", b"<p>ok</p>"),
        (201, "text/plain", b"created"),
        (204, None, b""),
    ],
)
async def test_any_success_is_success_for_a_notification(
    status: int, content: str | None, body: bytes
) -> None:
    """The body does not matter."""

    async def quirk(asked: Asked, out: Out) -> bool | None:
        if asked.rpc.startswith("notifications/"):
            await out.whole(status, content, body)
            return True
        return None

    async with crooked(quirk) as server, connected(server) as heard:
        await heard.client.notify("notifications/roots/list_changed")

        assert await heard.list_tools() == {"tools": []}


@pytest.mark.parametrize("status", [400, 500, 503])
async def test_a_notification_that_is_refused_costs_nothing_else(status: int) -> None:
    async def quirk(asked: Asked, out: Out) -> bool | None:
        if asked.rpc == "notifications/initialized":
            await out.whole(status, "text/plain", b"no")
            return True
        return None

    async with crooked(quirk) as server, connected(server) as heard:
        assert await heard.list_tools() == {"tools": []}


# What a request is answered with.


@pytest.mark.parametrize(
    ("status", "content", "body"),
    [
        (200, "text/plain", b"hello there"),
        (200, "text/html", b"<html>please log in</html>"),
        (200, None, b"who knows"),
        (200, "application/octet-stream", b"\x00\xff\xfe"),
        (202, None, b"accepted"),
        (204, None, b""),
        (301, "text/html", b"moved"),
        (400, "text/plain", b"bad"),
        (401, JSON, b'{"error":"invalid_token"}'),
        (403, "text/plain", b"forbidden"),
        (429, "text/plain", b"slow down"),
        (500, "text/html", b"<html>oops</html>"),
        (502, "text/html", b"bad gateway"),
        (503, JSON, b'{"detail":"starting"}'),
        (504, None, b""),
    ],
)
async def test_an_answer_that_cannot_be_used_fails_its_call_at_once(
    status: int, content: str | None, body: bytes
) -> None:
    """With the status, the content type and the first bytes; the next call is as good as any."""
    bad = True

    async def quirk(asked: Asked, out: Out) -> bool | None:
        if asked.rpc == "tools/list" and bad:
            await out.whole(status, content, body)
            return True
        return None

    async with crooked(quirk) as server, connected(server) as heard:
        with pytest.raises(HttpStatusError) as caught:
            await heard.list_tools()
        bad = False
        assert await heard.list_tools() == {"tools": []}
        asked = server.asked("POST", "tools/list")

    assert caught.value.status == status
    assert caught.value.content_type == (content or "").partition(";")[0]
    assert caught.value.start == (b"" if status == 204 else body)
    told = f"HTTP {status}, {content or 'no type'}: {caught.value.start[:5].decode(errors='backslashreplace') or 'no body'}"
    assert told in str(caught.value)
    assert len(asked) == 2


@pytest.mark.parametrize(
    ("body", "told"),
    [
        (b"not json", "not json"),
        (b"", "''"),
        (b'{"jsonrpc":"2.0","id":1,"result":{', "result"),
        (b'{"jsonrpc":"2.0","id":"another","result":{}}', "another"),
        (b'{"jsonrpc":"2.0","method":"notifications/x"}', "notifications/x"),
        (b"[]", "[]"),
        (b"null", "null"),
    ],
)
async def test_json_that_answers_nothing_fails_its_call_at_once(body: bytes, told: str) -> None:
    async def quirk(asked: Asked, out: Out) -> bool | None:
        if asked.rpc == "tools/call":
            await out.whole(200, JSON, body)
            return True
        return None

    async with crooked(quirk) as server, connected(server) as heard:
        with pytest.raises(RemoteProtocolError) as caught:
            await heard.call()
        asked = server.asked("POST", "tools/call")

    assert told in str(caught.value)
    assert "200" in str(caught.value)
    assert len(asked) == 1


@pytest.mark.parametrize("status", [200, 400, 404, 500])
async def test_a_json_rpc_error_is_the_peers_whatever_the_status(status: int) -> None:
    """Code, message and data come through unchanged."""
    session = None if status == 404 else "session-1"  # with a session it would be gone

    async def quirk(asked: Asked, out: Out) -> bool | None:
        if asked.rpc == "tools/call":
            error = {"code": -32063, "message": "no luck", "data": {"n": 1}}
            body = {"jsonrpc": "2.0", "id": asked.message["id"], "error": error}
            await out.whole(status, JSON, json.dumps(body).encode())
            return True
        return None

    async with crooked(quirk, session=session) as server, connected(server) as heard:
        with pytest.raises(PeerError) as caught:
            await heard.call()

    assert (caught.value.code, caught.value.message, caught.value.data) == (-32063, "no luck", b'{"n": 1}')


@pytest.mark.parametrize("id", ['"id":null,', ""])
@pytest.mark.parametrize("as_stream", [False, True])
async def test_an_error_without_an_id_answers_the_request_it_comes_for(id: str, as_stream: bool) -> None:
    """It came on that request's own response."""

    async def quirk(asked: Asked, out: Out) -> bool | None:
        if asked.rpc != "tools/call":
            return None
        body = b'{"jsonrpc":"2.0",%b"error":{"code":-32700,"message":"what?"}}' % id.encode()
        if as_stream:
            await out.stream(event(body))
        else:
            await out.whole(200, JSON, body)
        return True

    async with crooked(quirk) as server, connected(server) as heard:
        results = await asyncio.gather(heard.call(), heard.call(), return_exceptions=True)

    assert [str(result) for result in results] == ["what? (code -32700)"] * 2


@pytest.mark.parametrize("as_stream", [False, True])
async def test_an_id_whose_type_was_changed_is_still_matched(as_stream: bool) -> None:
    """Some servers turn 1 into "1"."""

    async def quirk(asked: Asked, out: Out) -> bool | None:
        if asked.rpc != "tools/call":
            return None
        body = json.dumps({"jsonrpc": "2.0", "id": str(asked.message["id"]), "result": {"ok": True}}).encode()
        await (out.stream(event(body)) if as_stream else out.whole(200, JSON, body))
        return True

    async with crooked(quirk) as server, connected(server) as heard:
        assert await heard.call() == {"ok": True}
        assert len(server.asked("POST", "tools/call")) == 1


async def test_the_shape_is_chosen_by_the_content_type_of_each_response() -> None:
    """The same server answers JSON and events by turns."""

    async def quirk(asked: Asked, out: Out) -> bool | None:
        if asked.rpc != "tools/call":
            return None
        body = reply(asked, {"id": asked.message["id"]})
        if asked.message["id"] % 2:
            await out.stream(event(body))
        else:
            await out.whole(200, "Application/JSON; charset=utf-8", body)
        return True

    async with crooked(quirk) as server, connected(server) as heard:
        ids = [(await heard.call())["id"] for _ in range(6)]

    assert ids == sorted(ids)


async def test_an_answer_may_be_a_batch_of_one() -> None:
    async def quirk(asked: Asked, out: Out) -> bool | None:
        if asked.rpc == "tools/call":
            await out.whole(200, JSON, b"[" + note("x", 1) + b"," + reply(asked, {"ok": 1}) + b"]")
            return True
        return None

    async with crooked(quirk, revision="2025-03-26") as server, connected(server) as heard:
        assert await heard.call() == {"ok": 1}
        assert heard.numbers == [1]


# Event streams.


@pytest.mark.parametrize("size", [1, 2, 3, 7])
async def test_a_stream_may_be_cut_anywhere(size: int) -> None:
    """One byte at a time, also within a character of several bytes."""

    async def quirk(asked: Asked, out: Out) -> bool | None:
        if asked.rpc != "tools/call":
            return None
        result = json.dumps(
            {"jsonrpc": "2.0", "id": asked.message["id"], "result": "é🙂"}, ensure_ascii=False
        )
        data = b": hi\r\n\r\n" + event(note("x", 1)) + event(result.encode()).replace(b"\n", b"\r\n")
        await out.stream()
        for index in range(0, len(data), size):
            await out.write(data[index : index + size])
            await asyncio.sleep(0)
        return True

    async with crooked(quirk) as server, connected(server) as heard:
        assert await heard.call() == "é🙂"
        assert heard.numbers == [1]


@pytest.mark.parametrize(
    "before",
    [
        b"id: 0\nretry: 3000\ndata:\n\n",
        b"id: 0\nretry: 3000\ndata: \n\n",
        b"event: ping\ndata:\n\n",
        b": comment\n\n: another\n\n",
        b":\n\n",
        b"\n\n\n",
        b"retry: 1\n\n",
        b"\xef\xbb\xbf",
        b"unknown: field\nnofield\n\n",
    ],
)
async def test_what_comes_before_the_reply_and_is_no_message_is_passed_over(before: bytes) -> None:
    """Priming, keep-alive and oddities."""

    async def quirk(asked: Asked, out: Out) -> bool | None:
        if asked.rpc != "tools/call":
            return None
        await out.stream(before, event(reply(asked, {"ok": 1})))
        return True

    async with crooked(quirk) as server, connected(server) as heard:
        assert await heard.call() == {"ok": 1}


@pytest.mark.parametrize("data", [b'{"type":"heartbeat"}', b"ping", b"[]", b"3"])
async def test_an_event_that_is_no_message_is_skipped(data: bytes) -> None:
    """Some servers keep a stream alive with those."""

    async def quirk(asked: Asked, out: Out) -> bool | None:
        if asked.rpc != "tools/call":
            return None
        await out.stream(event(data), event(reply(asked, {"ok": 1})))
        return True

    async with crooked(quirk) as server, connected(server) as heard:
        assert await heard.call() == {"ok": 1}


async def test_a_stream_that_stays_open_after_the_reply_is_left() -> None:
    """Its server owes nothing more."""
    gone: list[bool] = []

    async def quirk(asked: Asked, out: Out) -> bool | None:
        if asked.rpc != "tools/call":
            return None
        await out.stream(event(reply(asked, {"ok": 1})))
        await out.gone.wait()
        gone.append(True)
        return True

    async with crooked(quirk) as server, connected(server) as heard:
        assert await heard.call() == {"ok": 1}
        await until(lambda: gone, "the client has left the stream")


async def test_a_reply_without_its_last_blank_line_is_a_reply() -> None:
    async def quirk(asked: Asked, out: Out) -> bool | None:
        if asked.rpc != "tools/call":
            return None
        await out.stream(b"data: " + reply(asked, {"ok": 1}) + b"\n")
        return True

    async with crooked(quirk) as server, connected(server) as heard:
        assert await heard.call() == {"ok": 1}


async def test_a_reply_may_come_compressed() -> None:
    import gzip

    async def quirk(asked: Asked, out: Out) -> bool | None:
        if asked.rpc != "tools/call":
            return None
        body = gzip.compress(reply(asked, {"ok": 1}))
        await out.whole(200, JSON, body, [("Content-Encoding", "gzip")])
        return True

    async with crooked(quirk) as server, connected(server) as heard:
        assert await heard.call() == {"ok": 1}


@pytest.mark.parametrize("as_stream", [False, True])
async def test_a_reply_over_the_limit_fails_its_own_call(as_stream: bool) -> None:
    """Named by its limit; the next call is as good as any."""

    async def quirk(asked: Asked, out: Out) -> bool | None:
        if asked.rpc != "tools/call":
            return None
        body = reply(asked, "x" * 50_000)
        await (out.stream(event(body)) if as_stream else out.whole(200, JSON, body))
        return True

    async with crooked(quirk) as server, connected(server, QUICK.replace(message_bytes=10_000)) as heard:
        with pytest.raises(LimitExceeded, match="10000"):
            await heard.call()
        assert await heard.list_tools() == {"tools": []}
        assert len(server.asked("POST", "tools/call")) == 1


# Streams that are lost.


@pytest.mark.parametrize("politely", [True, False], ids=["ended", "cut"])
async def test_a_stream_that_was_lost_is_resumed_and_brings_the_reply(politely: bool) -> None:
    """After the second of three events, with its id; the call is sent once."""

    async def quirk(asked: Asked, out: Out) -> bool | None:
        if asked.rpc == "tools/call":
            answers.append(reply(asked, {"ok": 1}))
            await out.stream(event(id="0", retry=1), event(note("x", 1), "1"), event(note("x", 2), "2"))
            if not politely:
                out.cut()
            return True
        if asked.get("Last-Event-ID"):
            await out.stream(event(note("x", 3), "3"), event(answers[0], "4"))
            return True
        return None

    answers: list[bytes] = []
    async with crooked(quirk) as server, connected(server) as heard:
        assert await heard.call() == {"ok": 1}

        (resumed,) = [each for each in server.asked("GET") if each.get("Last-Event-ID")]
        assert heard.numbers == [1, 2, 3]
        assert resumed.get("Last-Event-ID") == "2"
        assert resumed.get("Mcp-Session-Id") == "session-1"
        assert len(server.asked("POST", "tools/call")) == 1


async def test_a_server_that_ends_its_streams_again_and_again_is_polled() -> None:
    """As the newest revision allows: each time with a new id and nothing else."""

    async def quirk(asked: Asked, out: Out) -> bool | None:
        if asked.rpc == "tools/call":
            answers.append(reply(asked, {"ok": 1}))
            await out.stream(event(id="0", retry=1))
            return True
        if (last := asked.get("Last-Event-ID")) is not None:
            following = event(answers[0], "end") if int(last) >= 12 else event(id=str(int(last) + 1))
            await out.stream(following)
            return True
        return None

    answers: list[bytes] = []
    limits = QUICK.replace(reconnect_seconds=0.005, reconnect_most_seconds=0.02)
    async with crooked(quirk) as server, connected(server, limits) as heard:
        assert await heard.call() == {"ok": 1}
        assert len(server.asked("POST", "tools/call")) == 1


async def test_the_wish_to_be_left_alone_for_a_while_is_honoured() -> None:
    """`retry` says how long."""

    async def quirk(asked: Asked, out: Out) -> bool | None:
        loop = asyncio.get_running_loop()
        if asked.rpc == "tools/call":
            answers.append(reply(asked, {"ok": 1}))
            await out.stream(event(id="0", retry=300))
            times.append(loop.time())
            return True
        if asked.get("Last-Event-ID"):
            times.append(loop.time())
            await out.stream(event(answers[0]))
            return True
        return None

    answers: list[bytes] = []
    times: list[float] = []
    async with crooked(quirk) as server, connected(server) as heard:
        await heard.call()

    assert times[1] - times[0] >= 0.29


async def test_a_stream_that_was_lost_without_an_id_fails_a_call_that_may_have_been_executed() -> None:
    """One clear error, and it is not sent again."""

    async def quirk(asked: Asked, out: Out) -> bool | None:
        if asked.rpc == "tools/call":
            await out.stream(event(note("x", 1)))
            return True
        return None

    async with crooked(quirk) as server, connected(server) as heard:
        with pytest.raises(TransportBroken, match="ended without the reply"):
            await heard.call()
        assert len(server.asked("POST", "tools/call")) == 1


async def test_a_stream_that_was_lost_without_an_id_costs_a_reading_call_nothing_but_time() -> None:
    async def quirk(asked: Asked, out: Out) -> bool | None:
        if asked.rpc == "tools/list" and len(server.asked("POST", "tools/list")) < 3:
            await out.stream(event(note("x", 1)))
            out.cut()
            return True
        return None

    async with crooked(quirk) as server, connected(server) as heard:
        assert await heard.list_tools() == {"tools": []}
        assert len(server.asked("POST", "tools/list")) == 3


@pytest.mark.parametrize("status", [400, 404, 405, 501])
async def test_a_stream_that_cannot_be_resumed_fails_its_call(status: int) -> None:
    """The error says that the reply is lost, and with which status."""

    async def quirk(asked: Asked, out: Out) -> bool | None:
        if asked.rpc == "tools/call":
            await out.stream(event(id="0", retry=1))
            return True
        if asked.get("Last-Event-ID"):
            await out.whole(status, "text/plain", b"never heard of it")
            return True
        return None

    async with crooked(quirk) as server, connected(server) as heard:
        with pytest.raises(TransportBroken, match=f"without the reply.*{status}.*never heard"):
            await heard.call()
        assert len(server.asked("POST", "tools/call")) == 1


async def test_a_resumption_may_fail_a_few_times() -> None:
    """503, and cut before its head: the reply is still there."""

    async def quirk(asked: Asked, out: Out) -> bool | None:
        if asked.rpc == "tools/call":
            answers.append(reply(asked, {"ok": 1}))
            await out.stream(event(id="0", retry=1))
            return True
        if asked.get("Last-Event-ID"):
            tries.append(1)
            if len(tries) == 1:
                await out.whole(503, "text/plain", b"starting")
            elif len(tries) == 2:
                out.cut()
            else:
                await out.stream(event(answers[0]))
            return True
        return None

    answers: list[bytes] = []
    tries: list[int] = []
    async with crooked(quirk) as server, connected(server) as heard:
        assert await heard.call() == {"ok": 1}
        assert len(server.asked("POST", "tools/call")) == 1


async def test_a_resumption_that_never_succeeds_ends() -> None:
    limits = QUICK.replace(reconnect_seconds=0.005, reconnect_most_seconds=0.01)

    async def quirk(asked: Asked, out: Out) -> bool | None:
        if asked.rpc == "tools/call":
            await out.stream(event(id="0", retry=1))
            return True
        if asked.get("Last-Event-ID"):
            await out.stream()  # politely, and empty
            return True
        return None

    async with crooked(quirk) as server, connected(server, limits) as heard:
        with pytest.raises(TransportBroken, match="could not be resumed"):
            await heard.call()
        assert len(server.asked("POST", "tools/call")) == 1
        assert len([each for each in server.asked("GET") if each.get("Last-Event-ID")]) < 20


# The general stream.


@pytest.mark.parametrize(
    ("status", "content"),
    [
        (400, JSON),
        (404, "text/html"),
        (404, "text/plain"),
        (405, None),
        (406, None),
        (415, None),
        (501, None),
        (204, None),
        (200, JSON),
        (200, "text/html"),
        (302, None),
    ],
)
async def test_a_general_stream_that_there_is_not_is_asked_for_once(status: int, content: str | None) -> None:
    """Quietly: everything else works, no session is given up, no error is reported."""

    async def quirk(asked: Asked, out: Out) -> bool | None:
        if asked.method == "GET":
            await out.whole(status, content, b"" if status == 204 else b"{}")
            return True
        return None

    limits = QUICK.replace(reconnect_seconds=0.005, reconnect_most_seconds=0.01)
    async with crooked(quirk) as server, connected(server, limits) as heard:
        await until(lambda: server.asked("GET"), "the client has asked for the stream")
        for _ in range(5):
            assert await heard.list_tools() == {"tools": []}
            await asyncio.sleep(0.02)  # long enough for several tries, if there were any

        assert len(server.asked("GET")) == 1
        assert len(server.asked("POST", "initialize")) == 1


@pytest.mark.parametrize(
    "events",
    [(), (event(id="7", retry=1),), (b": hi\n\n",), (event(b"junk"),)],
    ids=["empty", "primed", "comment", "junk"],
)
async def test_a_polite_stream_without_messages_causes_no_storm(events: tuple[bytes, ...]) -> None:
    """Each try that brings nothing makes the wait longer, up to a cap."""

    async def quirk(asked: Asked, out: Out) -> bool | None:
        if asked.method == "GET":
            times.append(asyncio.get_running_loop().time())
            await out.stream(*events)
            return True
        return None

    times: list[float] = []
    limits = QUICK.replace(reconnect_seconds=0.01, reconnect_most_seconds=0.16)
    async with crooked(quirk) as server, connected(server, limits) as heard:
        await until(lambda: len(times) >= 8, "some tries were made")
        waits = [later - earlier for earlier, later in pairwise(times)]
        assert await heard.list_tools() == {"tools": []}

    assert waits[6] >= 0.08
    assert sum(waits) >= (0.01 + 0.02 + 0.04 + 0.08 + 0.16 * 3) / 2


async def test_a_delivered_message_resets_the_wait() -> None:
    """The stream works, and is opened again soon."""

    async def quirk(asked: Asked, out: Out) -> bool | None:
        if asked.method == "GET":
            number = len(server.asked("GET"))
            await out.stream(event(note("x", number), str(number)))
            return True
        return None

    limits = QUICK.replace(reconnect_seconds=0.01, reconnect_most_seconds=30.0)
    async with crooked(quirk) as server, connected(server, limits) as heard:
        await until(lambda: len(heard.numbers) >= 20, "twenty streams were opened")

        ids = [each.get("Last-Event-ID") for each in server.asked("GET")]
        assert heard.numbers[:20] == list(range(1, 21))
        assert ids[:4] == [None, "1", "2", "3"]


@pytest.mark.parametrize("politely", [True, False], ids=["ended", "cut"])
async def test_a_general_stream_that_is_lost_is_opened_where_it_ended(politely: bool) -> None:
    """A load balancer that cuts it loses no message."""

    async def quirk(asked: Asked, out: Out) -> bool | None:
        if asked.method != "GET":
            return None
        if asked.get("Last-Event-ID") == "b":
            await out.stream(event(note("x", 3), "c"))
            await out.gone.wait()
        else:
            await out.stream(event(note("x", 1), "a"), event(note("x", 2), "b"))
            if not politely:
                out.cut()
        return True

    async with crooked(quirk) as server, connected(server) as heard:
        await until(lambda: 3 in heard.numbers, "what was missed has come")

        assert heard.numbers == [1, 2, 3]


@pytest.mark.parametrize("status", [400, 404, 409, 500, 503])
async def test_a_general_stream_that_was_there_is_asked_for_again(status: int) -> None:
    """A server that had it once has it again, at the latest without the id that it has forgotten."""

    async def quirk(asked: Asked, out: Out) -> bool | None:
        if asked.method != "GET":
            return None
        number = len(server.asked("GET"))
        if number == 1:
            await out.stream(event(note("x", 1), "a"))
        elif number < 4:
            await out.whole(status, "text/plain", b"not now")
        else:
            await out.stream(event(note("x", 2), "b"))
            await out.gone.wait()
        return True

    async with crooked(quirk) as server, connected(server) as heard:
        await until(lambda: 2 in heard.numbers, "the stream is there again")


@pytest.mark.parametrize("status", [401, 403, 408, 429, 500, 503])
async def test_a_general_stream_that_is_refused_for_now_is_asked_for_ever_later(status: int) -> None:
    """Quietly: everything else works meanwhile."""

    async def quirk(asked: Asked, out: Out) -> bool | None:
        if asked.method != "GET":
            return None
        if len(server.asked("GET")) < 4:
            await out.whole(status, "text/plain", b"not now")
        else:
            await out.stream(event(note("x", 1)))
            await out.gone.wait()
        return True

    limits = QUICK.replace(reconnect_seconds=0.02, reconnect_most_seconds=0.1)
    async with crooked(quirk) as server, connected(server, limits) as heard:
        assert await heard.list_tools() == {"tools": []}
        await until(lambda: heard.numbers, "the stream is there")
        assert len(server.asked("POST", "initialize")) == 1


@pytest.mark.parametrize("served_before", [True, False])
async def test_a_general_stream_whose_session_is_gone_begins_another(served_before: bool) -> None:
    """404 to the stream may mean no stream or no session: the client finds out, and causes no storm."""

    async def quirk(asked: Asked, out: Out) -> bool | None:
        sessions = len(server.asked("POST", "initialize"))
        if asked.method == "GET" and served_before and len(server.asked("GET")) == 1:
            await out.stream(event(note("x", 1), "a"))
            return True
        if asked.method == "GET" or (asked.rpc == "ping" and sessions == 1):
            await out.whole(404, "text/plain", b"no such thing")
            return True
        return None

    limits = QUICK.replace(reconnect_seconds=0.005, reconnect_most_seconds=0.01)
    async with crooked(quirk) as server, connected(server, limits) as heard:
        await until(lambda: len(server.asked("POST", "ping")) == 2, "the new session has asked as well")
        for _ in range(5):
            assert await heard.list_tools() == {"tools": []}
            await asyncio.sleep(0.02)  # long enough for several tries, if there were any

        assert len(server.asked("GET")) == (3 if served_before else 2)
        assert len(server.asked("POST", "ping")) == 2
        assert len(server.asked("POST", "initialize")) == 2


async def test_no_stream_is_opened_before_the_handshake_is_done() -> None:
    """Servers refuse it, and the version is not known."""
    async with crooked(honest) as server, connected(server) as heard:
        await heard.list_tools()
        await until(lambda: server.asked("GET"), "the client has asked for the stream")
        order = [each.rpc or each.method for each in server.seen]

    assert order.index("notifications/initialized") < order.index("GET")


# Sessions.


@pytest.mark.parametrize(
    "headers",
    [
        [("MCP-SESSION-ID", "abc")],
        [("mcp-session-id", "abc")],
        [("Mcp-Session-Id", "abc"), ("mcp-session-id", "abc")],
        [("Mcp-Session-Id", "  abc  ")],
    ],
)
async def test_the_session_header_may_be_spelled_in_any_case_and_doubled(
    headers: list[tuple[str, str]],
) -> None:
    async def quirk(asked: Asked, out: Out) -> bool | None:
        if asked.rpc == "initialize":
            await out.whole(200, JSON, reply(asked, welcome()), headers)
            return True
        return None

    async with crooked(quirk) as server, connected(server) as heard:
        await heard.list_tools()
        await until(lambda: server.asked("GET"), "the client has asked for the stream")
    later = [each for each in server.seen if each.rpc not in OPENING]

    assert {each.method for each in later} == {"POST", "GET", "DELETE"}
    assert {each.get("Mcp-Session-Id") for each in later} == {"abc"}
    assert all(
        len([1 for name, _ in each.headers if name.lower() == "mcp-session-id"]) == 1 for each in later
    )


async def test_a_server_without_sessions_is_sent_none_and_no_farewell() -> None:
    async with crooked(honest, session=None) as server, connected(server) as heard:
        await heard.list_tools()

    assert all(each.get("Mcp-Session-Id") is None for each in server.seen)
    assert server.asked("DELETE") == []


@pytest.mark.parametrize("revision", ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"])
async def test_the_version_header_is_the_one_that_was_agreed_on(revision: str) -> None:
    """Never our own newest, and none in revisions that have none."""
    async with crooked(honest, revision=revision) as server, connected(server) as heard:
        await heard.list_tools()
        await until(lambda: server.asked("GET"), "the client has asked for the stream")
    versions = {each.get("MCP-Protocol-Version") for each in server.seen if each.rpc not in OPENING}

    assert versions == {revision if revision >= "2025-06-18" else None}
    assert server.asked("POST", "initialize")[0].get("MCP-Protocol-Version") is None


@pytest.mark.parametrize("status", [204, 200, 404, 405, 500])
async def test_the_farewell_may_be_answered_with_anything(status: int) -> None:
    async def quirk(asked: Asked, out: Out) -> bool | None:
        if asked.method == "DELETE":
            await out.whole(status, None)
            return True
        return None

    async with crooked(quirk) as server, connected(server):
        pass

    assert len(server.asked("DELETE")) == 1


# Redirects.


@pytest.mark.parametrize("status", [307, 308])
@pytest.mark.parametrize("location", ["/mcp/", "mcp/", "{url}/"])
async def test_a_redirect_to_the_other_spelling_is_followed(status: int, location: str) -> None:
    """With method, body and headers, on the same origin."""

    async def quirk(asked: Asked, out: Out) -> bool | None:
        if asked.path == "/mcp":
            target = location.replace("{url}", server.url)
            await out.whole(status, None, headers=[("Location", target)])
            return True
        return None

    async with crooked(quirk) as server:
        async with connect(server.url, limits=QUICK, headers={"Authorization": "Bearer x"}) as client:
            await client.request("tools/call", {"name": "t"})
        arrived = [each for each in server.seen if each.path == "/mcp/"]

    assert {each.get("Authorization") for each in arrived} == {"Bearer x"}
    assert {each.method for each in arrived} >= {"POST", "DELETE"}
    assert [each.message["params"]["name"] for each in arrived if each.rpc == "tools/call"] == ["t"]


@pytest.mark.parametrize(
    "location",
    [
        "http://elsewhere.example/mcp",
        "https://ada:secret@elsewhere.example/mcp",
        "https://127.0.0.1/mcp",
        "//elsewhere.example/",
        "http://[",
        None,
    ],
)
async def test_a_redirect_to_another_origin_is_not_followed(location: str | None) -> None:
    """Whatever the headers hold is for this server alone; the error says where it led."""

    async def quirk(asked: Asked, out: Out) -> bool | None:
        await out.whole(307, None, headers=[("Location", location)] if location else [])
        return True

    async with crooked(quirk) as server:
        client = connect(server.url, limits=QUICK, headers={"Authorization": "Bearer x"}, era="legacy")
        with pytest.raises(HttpStatusError, match="307") as caught:
            await client.open()

    assert (location or "nowhere").replace("ada:secret", "***") in str(caught.value)
    assert len(server.seen) == 1


async def test_a_circle_of_redirects_ends() -> None:
    async def quirk(asked: Asked, out: Out) -> bool | None:
        await out.whole(308, None, headers=[("Location", "/mcp")])
        return True

    async with crooked(quirk) as server:
        with pytest.raises(HttpStatusError, match="308"):
            await connect(server.url, limits=QUICK, era="legacy").open()

    assert len(server.seen) < 10


# Connections.


@pytest.mark.parametrize("before_head", [True, False])
async def test_a_connection_that_breaks_fails_a_call_that_may_have_been_executed(before_head: bool) -> None:
    async def quirk(asked: Asked, out: Out) -> bool | None:
        if asked.rpc != "tools/call":
            return None
        if not before_head:
            await out.head(200, {"Content-Type": JSON, "Content-Length": "1000"})
            await out.write(b'{"jsonrpc"')
        out.cut()
        return True

    async with crooked(quirk) as server, connected(server) as heard:
        with pytest.raises(TransportBroken) as caught:
            await heard.call()
        assert len(server.asked("POST", "tools/call")) == 1
        assert await heard.list_tools() == {"tools": []}

    assert "POST" in str(caught.value)


async def test_a_connection_that_breaks_costs_a_reading_call_nothing_but_time() -> None:
    async def quirk(asked: Asked, out: Out) -> bool | None:
        if asked.rpc == "tools/list" and len(server.asked("POST", "tools/list")) < 3:
            out.cut()
            return True
        return None

    async with crooked(quirk) as server, connected(server) as heard:
        assert await heard.list_tools() == {"tools": []}
        assert len(server.asked("POST", "tools/list")) == 3


async def test_a_server_that_always_breaks_is_not_asked_for_ever() -> None:
    async def quirk(asked: Asked, out: Out) -> bool | None:
        if asked.rpc == "tools/list":
            out.cut()
            return True
        return None

    async with crooked(quirk) as server, connected(server, QUICK.replace(connect_seconds=0.5)) as heard:
        with pytest.raises(TransportBroken):
            await heard.list_tools()
        assert len(server.asked("POST", "tools/list")) < 10


async def test_what_is_no_http_is_told() -> None:
    async def quirk(asked: Asked, out: Out) -> bool | None:
        await out.write(b"SSH-2.0-OpenSSH_9.6\r\n")
        return True

    async with crooked(quirk) as server:
        with pytest.raises(AnywireError, match="POST http://127"):
            await connect(server.url, limits=QUICK).open()
