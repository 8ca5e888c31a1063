"""Requests that go straight to a server: what a connection is used for, and what goes another way."""

from __future__ import annotations

import asyncio
import gzip
import zlib

import pytest

from anywire.errors import ConnectFailed, DeadlineExceeded, TransportBroken
from anywire.wire.limits import DEFAULT_LIMITS
from tests.http.place import OK, always, exchange, get, is_kept, place
from tests.http.serving import until


async def test_one_connection_carries_one_request_after_the_other() -> None:
    """A new one for each would cost a round trip."""
    async with place(always(OK)) as there, exchange() as asking:
        for _ in range(5):
            assert await get(asking, there.url) == (200, b"ok")

        assert there.connections == 1


async def test_what_is_announced_before_a_response_is_none() -> None:
    """A server may say that it goes on, or give hints, first."""
    interim = b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n"
    async with place(always(interim + OK)) as there, exchange() as asking:
        for _ in range(2):
            assert await get(asking, there.url) == (200, b"ok")

        assert there.connections == 1


TEXT = b"a text " * 200_000


@pytest.mark.parametrize(
    ("coding", "coded"),
    [
        ("gzip", gzip.compress(TEXT)),
        ("x-gzip", gzip.compress(TEXT[:10]) + gzip.compress(TEXT[10:])),
        ("deflate", zlib.compress(TEXT)),
        ("deflate", zlib.compress(TEXT)[2:-4]),
        ("identity", TEXT),
    ],
    ids=["gzip", "two members", "deflate", "without a header", "identity"],
)
async def test_a_coding_is_undone_however_it_is_cut(coding: str, coded: bytes) -> None:
    """Also when there is far more in it than it looks like."""

    async def answer(_: bytes, writer: asyncio.StreamWriter) -> None:
        head = f"HTTP/1.1 200 OK\r\nContent-Encoding: {coding}\r\nContent-Length: {len(coded)}\r\n\r\n"
        writer.write(head.encode())
        for byte in (coded[:1], coded[1:3], coded[3:]):
            writer.write(byte)
            await writer.drain()
            await asyncio.sleep(0)

    async with place(answer) as there, exchange() as asking:
        assert await get(asking, there.url) == (200, TEXT)
        assert b"Accept-Encoding: gzip, deflate" in there.asked[0]


@pytest.mark.parametrize("coding", ["br", "gzip"])
async def test_what_cannot_be_undone_is_told(coding: str) -> None:
    """Nobody asked for the one; the other is none."""
    answer = f"HTTP/1.1 200 OK\r\nContent-Encoding: {coding}\r\nContent-Length: 2\r\n\r\nok".encode()
    async with place(always(answer)) as there, exchange() as asking:
        with pytest.raises(TransportBroken, match=r"the answer was cut: (its coding, 'br'|this is no gzip)"):
            await get(asking, there.url)


async def test_a_body_may_end_with_its_connection() -> None:
    """As before there were lengths."""

    async def answer(_: bytes, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.0 200 OK\r\n\r\nall of it")
        writer.close()

    async with place(answer) as there, exchange() as asking:
        assert await get(asking, there.url) == (200, b"all of it")


@pytest.mark.parametrize(
    "head", [b"Content-Length: 9\r\n\r\nhal", b"Transfer-Encoding: chunked\r\n\r\n9\r\nhal"]
)
async def test_a_body_that_is_cut_is_no_whole_one(head: bytes) -> None:
    """What has come of it is had first."""

    async def answer(_: bytes, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\n" + head)
        writer.close()

    async with (
        place(answer) as there,
        exchange() as asking,
        asking.open("GET", there.url, {}, None) as response,
    ):
        assert await response.read() == b"hal"
        with pytest.raises(TransportBroken, match="the answer was cut"):
            await response.read()


async def test_the_rest_of_an_answer_is_waited_for_and_its_connection_kept() -> None:
    """The end of an event stream comes a moment after the reply."""
    read = asyncio.Event()

    async def answer(_: bytes, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nreply\r\n")
        await read.wait()
        writer.write(b"0\r\n\r\n")

    async with place(answer) as there, exchange() as asking:
        async with asking.open("GET", there.url, {}, None) as response:
            assert await response.read() == b"reply"
        read.set()
        await until(lambda: is_kept(asking), "the connection is kept")
        assert await get(asking, there.url) == (200, b"reply")
        assert there.connections == 1


async def test_an_answer_that_goes_on_is_not_waited_for() -> None:
    """Neither for its end nor for more than a little of it."""

    async def answer(_: bytes, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 100000000\r\n\r\nbeginning")

    async with place(answer) as there, exchange() as asking:
        async with asking.open("GET", there.url, {}, None) as response:
            assert await response.read() == b"beginning"
        await until(lambda: there.ended == 1, "the connection has ended")


async def test_a_response_that_nobody_asked_for_ends_its_connection() -> None:
    """It would be taken for the answer to the next request."""
    async with place(always(OK + OK)) as there, exchange() as asking:
        assert await get(asking, there.url) == (200, b"ok")
        assert await get(asking, there.url) == (200, b"ok")
        assert there.connections == 2


async def test_a_cancelled_request_ends_its_connection() -> None:
    """That is how a server hears of it."""
    came = asyncio.Event()

    async def answer(_: bytes, writer: asyncio.StreamWriter) -> None:
        came.set()

    async with place(answer) as there, exchange() as asking:
        task = asyncio.create_task(get(asking, there.url))
        await came.wait()
        task.cancel()
        await until(lambda: there.ended == 1, "the connection has ended")


@pytest.mark.parametrize("method", ["GET", "POST"])
async def test_what_may_be_done_twice_is_sent_again_when_it_crosses_with_the_end(method: str) -> None:
    """A kept connection may end just then; a POST may have been executed."""
    closing: list[bool] = []

    async def answer(_: bytes, writer: asyncio.StreamWriter) -> None:
        if len(closing) == 1:
            writer.transport.abort()
        else:
            writer.write(OK)
        closing.append(True)

    async with place(answer) as there, exchange() as asking:
        await get(asking, there.url)
        if method == "GET":
            assert await get(asking, there.url, method) == (200, b"ok")
        else:
            with pytest.raises(TransportBroken):
                await get(asking, there.url, method)


async def test_a_first_byte_and_a_connection_are_not_waited_for_without_end() -> None:
    """Each is told with its bound."""

    async def answer(_: bytes, writer: asyncio.StreamWriter) -> None:
        pass

    limits = DEFAULT_LIMITS.replace(first_byte_seconds=0.05)
    async with place(answer) as there, exchange(limits) as asking:
        both = await asyncio.gather(*(get(asking, there.url) for _ in range(2)), return_exceptions=True)
        assert all(isinstance(each, DeadlineExceeded) and "within 0.05 s" in str(each) for each in both)
    async with exchange() as asking:
        with pytest.raises(ConnectFailed, match=r"Cannot connect to host 127\.0\.0\.1:1 "):
            await get(asking, "http://127.0.0.1:1/")


async def test_a_head_without_end_is_bounded() -> None:
    """Nobody else would bound it."""
    async with place(always(b"HTTP/1.1 200 OK\r\nx: " + b"x" * 100_000)) as there, exchange() as asking:
        with pytest.raises(TransportBroken, match="the head of the answer exceeds 65536 bytes"):
            await get(asking, there.url)


@pytest.mark.parametrize(
    ("path", "headers", "sent"),
    [
        ("/a%20b%2f?c=%2F+d", {}, b"GET /a%20b%2f?c=%2F+d HTTP/1.1"),
        ("/a b?c=[d]", {}, b"GET /a%20b?c=%5Bd%5D HTTP/1.1"),
        ("/ä", {}, b"GET /%C3%A4 HTTP/1.1"),
        ("/a/../b", {}, b"GET /b HTTP/1.1"),
        ("/a?b=c", {"Host": "other"}, b"GET /a?b=c HTTP/1.1"),
    ],
)
async def test_what_is_unusual_is_sent_as_well(path: str, headers: dict[str, str], sent: bytes) -> None:
    """Whoever sends it."""
    async with place(always(OK)) as there, exchange() as asking:
        async with asking.open("GET", there.url + path, headers, None) as response:
            assert await response.read() == b"ok"
        assert there.asked[0].startswith(sent)
        assert there.asked[0].lower().count(b"host:") == 1


async def test_who_speaks_first_is_told_apart() -> None:
    """Nothing was sent to what is no HTTP server."""

    async def greet(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"220 mail.example ESMTP\r\n")
        await reader.read()
        writer.close()

    server = await asyncio.start_server(greet, "127.0.0.1", 0)
    url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/"
    try:
        async with exchange() as asking:
            with pytest.raises((ConnectFailed, TransportBroken)):
                await get(asking, url)
    finally:
        server.close()
