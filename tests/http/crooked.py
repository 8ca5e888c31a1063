"""A server of Streamable HTTP that does one thing wrong: one switch a quirk.

It speaks HTTP over a plain socket, so that nothing keeps it from answering what no library would.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import ssl
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

JSON = "application/json"
STREAM = "text/event-stream"


@dataclass
class Asked:
    """One request that came in."""

    method: str
    path: str
    headers: list[tuple[str, str]]
    body: bytes

    def get(self, name: str) -> str | None:
        """Return the last header of that name."""
        found = [value for each, value in self.headers if each.lower() == name.lower()]
        return found[-1] if found else None

    @property
    def message(self) -> Any:
        """The body as JSON, None where there is none."""
        return json.loads(self.body) if self.body else None

    @property
    def rpc(self) -> str:
        """What the message asks for, empty for a reply or none."""
        message: Any = self.message
        return message.get("method", "") if hasattr(message, "get") else ""


class Out:
    """The way back on one connection."""

    def __init__(self, writer: asyncio.StreamWriter, gone: asyncio.Event) -> None:
        self._writer = writer
        #: Set when the client has closed the connection.
        self.gone = gone

    async def write(self, data: bytes) -> None:
        """Write bytes as they are."""
        self._writer.write(data)
        await self._writer.drain()

    async def head(self, status: int, headers: dict[str, str] | list[tuple[str, str]]) -> None:
        """Write the head of a response whose body ends with the connection."""
        pairs = headers.items() if isinstance(headers, dict) else headers
        lines = [f"HTTP/1.1 {status} X", *(f"{name}: {value}" for name, value in pairs), "Connection: close"]
        await self.write("\r\n".join([*lines, "", ""]).encode())

    async def whole(
        self,
        status: int,
        content: str | None,
        body: bytes = b"",
        headers: list[tuple[str, str]] | None = None,
    ) -> None:
        """Write a whole response."""
        given = [("Content-Type", content)] if content is not None else []
        await self.head(status, [*given, ("Content-Length", str(len(body))), *(headers or [])])
        await self.write(body)

    async def stream(self, *events: bytes, headers: list[tuple[str, str]] | None = None) -> None:
        """Write the head of an event stream, and the first events of it."""
        await self.head(200, [("Content-Type", STREAM), *(headers or [])])
        for event in events:
            await self.write(event)

    def cut(self) -> None:
        """Break the connection without a farewell."""
        self._writer.transport.abort()


#: Answers one request in a way of its own; False: it is answered as it should be.
Quirk = Callable[[Asked, Out], Awaitable[bool | None]]


@dataclass
class Crooked:
    """The server: what it does wrong, and what it was asked."""

    quirk: Quirk
    revision: str = "2025-11-25"
    session: str | None = "session-1"
    url: str = ""
    seen: list[Asked] = field(default_factory=list[Asked])

    def asked(self, method: str, rpc: str | None = None) -> list[Asked]:
        """Return the requests of a method, and of a JSON-RPC method."""
        return [each for each in self.seen if each.method == method and rpc in (None, each.rpc)]

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer the one request of a connection."""
        gone = asyncio.Event()
        watching: asyncio.Task[None] | None = None
        try:
            asked = await _read(reader)
            self.seen.append(asked)
            watching = asyncio.create_task(_watch(reader, gone))
            out = Out(writer, gone)
            if not await self.quirk(asked, out):
                await self._answer(asked, out)
        except (OSError, asyncio.IncompleteReadError):
            pass
        finally:
            if watching is not None:
                watching.cancel()
            writer.close()
            with contextlib.suppress(OSError):
                await writer.wait_closed()

    async def _answer(self, asked: Asked, out: Out) -> None:
        """Answer as one should."""
        if asked.method == "GET":
            await out.whole(405, None, headers=[("Allow", "POST, DELETE")])
        elif asked.method == "DELETE":
            await out.whole(204, None)
        elif asked.rpc == "initialize":
            session = [("Mcp-Session-Id", self.session)] if self.session else []
            await out.whole(200, JSON, reply(asked, welcome(self.revision)), session)
        elif "id" in asked.message and asked.rpc:
            await out.whole(200, JSON, reply(asked, {"tools": []}))
        else:
            await out.whole(202, None)


def welcome(revision: str = "2025-11-25") -> dict[str, object]:
    """The result of `initialize`."""
    return {
        "protocolVersion": revision,
        "capabilities": {"tools": {}},
        "serverInfo": {"name": "crooked", "version": "1"},
    }


def reply(asked: Asked, result: object) -> bytes:
    """The reply to what was asked."""
    return json.dumps({"jsonrpc": "2.0", "id": asked.message["id"], "result": result}).encode()


def event(data: bytes = b"", id: str = "", retry: int | None = None, name: str = "") -> bytes:
    """One server-sent event."""
    lines = [f"event: {name}"] if name else []
    lines += [f"id: {id}"] if id else []
    lines += [f"retry: {retry}"] if retry is not None else []
    return "".join(f"{line}\n" for line in lines).encode() + b"data: " + data + b"\n\n"


def note(method: str, number: int = 0) -> bytes:
    """A notification as it stands in an event."""
    return json.dumps({"jsonrpc": "2.0", "method": method, "params": {"n": number}}).encode()


async def _read(reader: asyncio.StreamReader) -> Asked:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    first, *lines = head.rstrip("\r\n").split("\r\n")
    method, path, _ = first.split(" ")
    headers = [(name, value.strip()) for name, _, value in (line.partition(":") for line in lines)]
    length = int(next((value for name, value in headers if name.lower() == "content-length"), "0"))
    return Asked(method, path, headers, await reader.readexactly(length))


async def _watch(reader: asyncio.StreamReader, gone: asyncio.Event) -> None:
    with contextlib.suppress(OSError):
        while await reader.read(4096):
            pass
    gone.set()


@asynccontextmanager
async def crooked(
    quirk: Quirk,
    *,
    revision: str = "2025-11-25",
    session: str | None = "session-1",
    tls: ssl.SSLContext | None = None,
) -> AsyncGenerator[Crooked]:
    """Serve on a free port of loopback."""
    server = Crooked(quirk, revision, session)
    tasks: set[asyncio.Task[None]] = set()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        tasks.add(task)
        try:
            await server.serve(reader, writer)
        finally:
            tasks.discard(task)

    listening = await asyncio.start_server(serve, "127.0.0.1", 0, ssl=tls)
    scheme = "http" if tls is None else "https"
    server.url = f"{scheme}://127.0.0.1:{listening.sockets[0].getsockname()[1]}/mcp"
    try:
        yield server
    finally:
        listening.close()
        for task in list(tasks):
            task.cancel()
        if tasks:
            await asyncio.wait(list(tasks))


async def honest(asked: Asked, out: Out) -> None:
    """No quirk at all."""
