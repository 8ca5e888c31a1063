"""A server whose answers are bytes, and an exchange that asks it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager

from anywire.transport.http_direct import DirectExchange
from anywire.wire.limits import DEFAULT_LIMITS, Limits

#: Answers on one connection: what was read of a request, and the way back.
Answer = Callable[[bytes, asyncio.StreamWriter], Awaitable[None]]
OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"


class Place:
    """A server: where it is, what it has been asked, on how many connections."""

    def __init__(self, answer: Answer) -> None:
        self.answer = answer
        self.url = ""
        self.asked: list[bytes] = []
        self.connections = 0
        self.ended = 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                self.asked.append(head)
                await self.answer(head, writer)
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            self.ended += 1
            writer.close()


@asynccontextmanager
async def place(answer: Answer) -> AsyncGenerator[Place]:
    """A server that answers like that."""
    here = Place(answer)
    server = await asyncio.start_server(here.serve, "127.0.0.1", 0)
    here.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    try:
        yield here
    finally:
        server.close()


@asynccontextmanager
async def exchange(limits: Limits = DEFAULT_LIMITS) -> AsyncGenerator[DirectExchange]:
    """An exchange that is closed at the end."""
    made = DirectExchange(limits)
    try:
        async with asyncio.timeout(20):
            yield made
    finally:
        await made.close()


def is_kept(asking: DirectExchange) -> bool:
    """Whether there is a connection that waits for a request."""
    return asking._pool is not None and any(asking._pool._idle.values())


async def get(asking: DirectExchange, url: str, method: str = "GET") -> tuple[int, bytes]:
    """Return the status and the body of an answer."""
    async with asking.open(method, url, {}, None) as response:
        chunks = [chunk async for chunk in _chunks(response.read)]
        return response.status, b"".join(chunks)


async def _chunks(read: Callable[[], Awaitable[bytes]]) -> AsyncGenerator[bytes]:
    while chunk := await read():
        yield chunk


def always(data: bytes) -> Answer:
    """Answer with these bytes whatever is asked."""

    async def answer(_: bytes, writer: asyncio.StreamWriter) -> None:
        writer.write(data)

    return answer
