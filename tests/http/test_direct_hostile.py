"""Requests that go straight to a server which breaks the rules, by accident or on purpose."""

from __future__ import annotations

import asyncio
import gzip
import os
import socket
import zlib

import pytest

from anywire import connect
from anywire.errors import ConfigError, DeadlineExceeded, HttpStatusError, TransportBroken
from anywire.transport.http_exchange import LARGE_BYTES
from anywire.wire.limits import DEFAULT_LIMITS
from tests.http.crooked import JSON, Asked, Out, crooked
from tests.http.place import OK, always, exchange, get, is_kept, place
from tests.http.serving import QUICK, until

CHUNKED = b"HTTP/1.1 200 OK\r\nX: first\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n"


def coded(coding: str, body: bytes) -> bytes:
    """An answer in a coding."""
    head = f"HTTP/1.1 200 OK\r\nContent-Encoding: {coding}\r\nContent-Length: {len(body)}\r\n\r\n"
    return head.encode() + body


@pytest.mark.parametrize("late", [OK.replace(b"ok", b"no"), b"x", b""], ids=["answer", "noise", "end"])
async def test_what_came_while_the_loop_was_busy_is_no_answer(late: bytes) -> None:
    """The system knows of it, the loop does not: the next request takes another connection, a POST too."""
    writers: list[asyncio.StreamWriter] = []

    async def answer(_: bytes, writer: asyncio.StreamWriter) -> None:
        writers.append(writer)
        writer.write(OK)

    async with place(answer) as there, exchange() as asking:
        assert await get(asking, there.url, "POST") == (200, b"ok")
        assert is_kept(asking)
        opened = writers[0].get_extra_info("socket")
        with socket.socket(fileno=os.dup(opened.fileno())) as theirs:
            if late:
                theirs.send(late)
            else:
                theirs.shutdown(socket.SHUT_WR)

        assert await get(asking, there.url, "POST") == (200, b"ok")
        assert there.connections == 2


async def test_a_server_that_ends_each_connection_and_does_not_say_so_is_asked_on_another() -> None:
    """However soon the next request follows."""

    async def answer(_: bytes, writer: asyncio.StreamWriter) -> None:
        writer.write(OK)
        writer.close()

    async with place(answer) as there, exchange() as asking:
        for _ in range(20):
            assert await get(asking, there.url, "POST") == (200, b"ok")
            await until(lambda: there.ended == there.connections, "the server has ended it")


async def test_a_server_that_leaves_soon_after_an_answer_is_not_left_with_another_request() -> None:
    """The one that crossed with the end is lost; from then on each has a connection of its own."""
    asked: set[asyncio.StreamWriter] = set()

    async def answer(_: bytes, writer: asyncio.StreamWriter) -> None:
        if writer in asked:
            writer.transport.abort()
        else:
            asked.add(writer)
            writer.write(OK)

    async with place(answer) as there, exchange() as asking:
        assert await get(asking, there.url, "POST") == (200, b"ok")
        with pytest.raises(TransportBroken):
            await get(asking, there.url, "POST")
        for _ in range(5):
            assert await get(asking, there.url, "POST") == (200, b"ok")
        assert there.connections == 6


async def test_a_server_that_leaves_in_the_middle_of_a_handshake_is_asked_once_more() -> None:
    """Nothing has been done yet that must not be done twice."""
    left: list[bool] = []

    async def quirk(asked: Asked, out: Out) -> bool | None:
        if asked.rpc != "initialize" or left:
            return None
        left.append(True)
        out.cut()
        return True

    async with crooked(quirk) as server, connect(server.url, limits=QUICK) as client:
        await client.request("tools/list")
        assert len(server.asked("POST", "initialize")) == 2


@pytest.mark.parametrize(
    ("told", "connections"),
    [("timeout=0", 2), ("max=5, TIMEOUT = 0", 2), ("timeout=5", 1), ("max=0", 1), ("x", 1)],
)
async def test_a_connection_is_kept_no_longer_than_its_server_says(told: str, connections: int) -> None:
    """A request that crosses with the end of one may or may not have been executed."""
    answer = OK.replace(b"\r\n\r\n", f"\r\nKeep-Alive: {told}\r\n\r\n".encode())
    async with place(always(answer)) as there, exchange() as asking:
        for _ in range(2):
            assert await get(asking, there.url, "POST") == (200, b"ok")
        assert there.connections == connections


async def test_a_trailer_changes_no_header() -> None:
    """What was decided by the head stays so."""
    async with place(always(CHUNKED + b"0\r\nX: second\r\n\r\n")) as there, exchange() as asking:
        for _ in range(2):
            async with asking.open("GET", there.url, {}, None) as response:
                assert await response.read() == b"ok"
                assert await response.read() == b""
                assert response.headers["x"] == "first"
        assert there.connections == 1


@pytest.mark.parametrize(
    "end", [b"0\r\nX: " + b"x" * 400_000, b"0\r\n" + b"X: y\r\n" * 60_000, b"1;" + b"x" * 400_000]
)
async def test_what_is_no_body_is_bounded_after_the_head_as_well(end: bytes) -> None:
    """Trailers, and what may stand beside the length of a chunk."""

    async def answer(_: bytes, writer: asyncio.StreamWriter) -> None:
        writer.write(CHUNKED)
        await writer.drain()
        for start in range(0, len(end), 10_000):
            writer.write(end[start : start + 10_000])
            await asyncio.sleep(0)

    async with place(answer) as there, exchange() as asking:
        with pytest.raises(TransportBroken, match="was cut: the trailer of the answer exceeds 65536 bytes"):
            await get(asking, there.url)


@pytest.mark.parametrize("coding", ["xchunked", "chunked, x"])
async def test_a_body_of_an_unknown_transfer_coding_ends_with_its_connection(coding: str) -> None:
    """Only where chunks are the last of the codings do they say where it ends."""

    async def answer(_: bytes, writer: asyncio.StreamWriter) -> None:
        writer.write(f"HTTP/1.1 200 OK\r\nTransfer-Encoding: {coding}\r\n\r\nok".encode())
        writer.close()

    async with place(answer) as there, exchange() as asking:
        assert await get(asking, there.url) == (200, b"ok")


@pytest.mark.parametrize(
    "headers",
    [
        b"Content-Length: 2\r\nContent-Length: 3\r\n",
        b"Content-Length: 2\r\nTransfer-Encoding: chunked\r\n",
        b"Content-Length: -2\r\n",
        b"Content-Length: 2\r\nX: a\0b\r\n",
    ],
    ids=["two lengths", "length and chunks", "negative", "NUL"],
)
async def test_a_head_with_two_meanings_is_none(headers: bytes) -> None:
    """And nothing is said about TLS to somebody who speaks HTTP, if badly."""
    async with place(always(b"HTTP/1.1 200 OK\r\n" + headers + b"\r\nok")) as there, exchange() as asking:
        with pytest.raises(TransportBroken, match="this is no HTTP: ") as caught:
            await get(asking, there.url)
        assert "TLS" not in str(caught.value)
        assert not is_kept(asking)


async def test_who_speaks_no_http_may_speak_tls() -> None:
    """That is told where it is likely."""
    async with place(always(b"\x15\x03\x03\0\x02\x02\x46")) as there, exchange() as asking:
        with pytest.raises(TransportBroken, match="if TLS is spoken there, the address begins with https://"):
            await get(asking, there.url)


@pytest.mark.parametrize(
    ("begin", "what"),
    [(b"", "first byte"), (b"HTTP/1.1 200 OK\r\nX", "whole head"), (b"HTTP/1.1 1", "whole head")],
)
async def test_what_did_not_come_in_time_is_told(begin: bytes, what: str) -> None:
    """A head that has begun is another thing than silence."""
    limits = DEFAULT_LIMITS.replace(first_byte_seconds=0.05)
    async with place(always(begin)) as there, exchange(limits) as asking:
        with pytest.raises(DeadlineExceeded, match=rf"no {what} of an answer within 0\.05 s"):
            await get(asking, there.url)
        await until(lambda: there.ended == 1, "the connection has ended")


@pytest.mark.parametrize("coding", ["utf-8", "Identity", "none", "8bit", ""])
async def test_what_is_no_coding_changes_nothing(coding: str) -> None:
    """Servers write what they like there."""
    async with place(always(coded(coding, b"ok"))) as there, exchange() as asking:
        assert await get(asking, there.url) == (200, b"ok")


@pytest.mark.parametrize("coding", ["zstd", "gzip, gzip", "br, gzip"])
async def test_a_coding_that_python_does_not_know_is_told(coding: str) -> None:
    """Rather than handed on as if it were text."""
    async with place(always(coded(coding, b"ok"))) as there, exchange() as asking:
        with pytest.raises(TransportBroken, match=f"its coding, '{coding}', cannot be undone"):
            await get(asking, there.url)


@pytest.mark.parametrize(
    ("coding", "body"),
    [
        ("gzip", gzip.compress(b"ok") + b"\0" * 100_000),
        ("gzip, identity", gzip.compress(b"o") + gzip.compress(b"") * 1_000 + gzip.compress(b"k")),
        ("deflate", zlib.compress(b"ok") + gzip.compress(b"no")),
    ],
    ids=["padding", "members", "after deflate"],
)
async def test_what_follows_a_coded_body_is_padding_or_more_of_it(coding: str, body: bytes) -> None:
    """However it is cut, and none of it is kept."""

    async def answer(_: bytes, writer: asyncio.StreamWriter) -> None:
        data = coded(coding, body)
        for start in (0, len(data) // 2, len(data) - 9, len(data) - 8):
            writer.write(
                data[start : {0: len(data) // 2, len(data) // 2: len(data) - 9}.get(start, start + 1)]
            )
            await asyncio.sleep(0)
        writer.write(data[len(data) - 7 :])

    async with place(answer) as there, exchange() as asking:
        assert await get(asking, there.url) == (200, b"ok")


async def test_others_have_their_turn_while_little_becomes_a_lot() -> None:
    """A few bytes may stand for a thousand times as many."""
    turns: list[int] = []

    async def others() -> None:
        while True:
            turns.append(1)
            await asyncio.sleep(0)

    async with place(always(coded("gzip", gzip.compress(bytes(8_000_000))))) as there, exchange() as asking:
        async with asking.open("GET", there.url, {}, None) as response:
            first = await response.read()
            beside, size = asyncio.create_task(others()), len(first)
            while chunk := await response.read():
                size += len(chunk)
            beside.cancel()
        assert size == 8_000_000
        assert len(turns) > 10


@pytest.mark.parametrize(
    "headers", [{"X": "a\r\nY: b"}, {"X\r\nY": "b"}, {"X": "a\0"}, {"X": 1}, {"X": b"a"}]
)
async def test_a_header_that_is_none_is_not_sent(headers: dict[str, str]) -> None:
    """It would be another request, or the end of this one."""
    async with place(always(OK)) as there, exchange() as asking:
        with pytest.raises(ConfigError, match="the request cannot be sent"):
            async with asking.open("POST", there.url, headers, b"{}"):
                pass
        assert there.asked == []


async def test_a_header_that_is_given_twice_is_sent_once() -> None:
    """Whatever the case of its name."""
    async with place(always(OK)) as there, exchange() as asking:
        async with asking.open("POST", there.url, {"Host": "a", "host": "b"}, b""):
            pass
        assert there.asked[0].lower().count(b"host:") == 1


async def test_an_address_is_the_same_for_large_requests() -> None:
    """A signature over it would be wrong otherwise."""

    async with place(always(OK)) as there, exchange() as asking:
        for body in (b"", bytes(LARGE_BYTES + 1)):
            url = f"{there.url}/a%2fb%41?c=%2F&d=e%20f+g"
            async with asking.open("POST", url, {"Connection": "close"} if body else {}, body):
                pass
        assert {asked.split(b" ")[1] for asked in there.asked} == {b"/a%2fb%41?c=%2F&d=e%20f+g"}


@pytest.mark.parametrize("status", [200, 400])
async def test_a_call_whose_answer_does_not_end_tells_what_has_come_of_it(status: int) -> None:
    """It is another thing than no answer."""

    async def quirk(asked: Asked, out: Out) -> bool | None:
        if asked.rpc != "tools/call":
            return None
        await out.head(status, {"Content-Type": JSON})
        await out.write(b"{")
        await out.gone.wait()
        return True

    async with crooked(quirk) as server, connect(server.url, limits=QUICK) as client:
        with pytest.raises(DeadlineExceeded) as caught:
            await client.request("tools/call", {"name": "t"}, timeout=0.1)
        begun = f"an answer has begun (HTTP {status}, application/json) that does not end"
        assert str(caught.value) == f"no answer to tools/call within 0.1 s: {begun}"
        assert len(server.asked("POST", "tools/call")) == 1


async def test_an_error_whose_body_cannot_be_read_says_why() -> None:
    """It has a body, if not one that can be shown."""

    async def quirk(asked: Asked, out: Out) -> bool | None:
        if asked.rpc != "tools/call":
            return None
        await out.whole(500, "text/html", b"abcd", [("Content-Encoding", "br")])
        return True

    async with crooked(quirk) as server, connect(server.url, limits=QUICK) as client:
        with pytest.raises(
            HttpStatusError, match=r"HTTP 500, text/html: .*its coding, 'br', cannot be undone"
        ):
            await client.request("tools/call", {"name": "t"})
