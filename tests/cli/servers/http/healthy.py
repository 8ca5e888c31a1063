"""A server over HTTP that does everything right, for others to get one thing wrong.

It runs on the test's own event loop, speaks HTTP by hand and knows nothing of anywire.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Any

REVISIONS = ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")
JSON = "application/json"
STREAM = "text/event-stream"

Json = dict[str, Any]


@dataclass(frozen=True)
class Asked:
    """One request."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes

    @property
    def message(self) -> Json:
        """The message in the body, empty where there is none."""
        return json.loads(self.body) if self.body else {}

    @property
    def rpc_method(self) -> str:
        """The method of that message."""
        return str(self.message.get("method"))


@dataclass(frozen=True)
class Told:
    """One response; `open` leaves the body without an end."""

    status: int
    media: str = ""
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    open: bool = False


def as_json(message: object, status: int = 200, headers: Mapping[str, str] | None = None) -> Told:
    """A message as a body."""
    return Told(status, JSON, json.dumps(message).encode(), headers or {})


def as_stream(message: object, headers: Mapping[str, str] | None = None) -> Told:
    """A message as the one event of a stream."""
    data = json.dumps(message).encode()
    return Told(200, STREAM, b"event: message\ndata: " + data + b"\n\n", headers or {})


def chunked(told: Told) -> Told:
    """A response whose length is told piece by piece, as a stream has it."""
    return replace(told, body=b"%x\r\n%b\r\n0\r\n\r\n" % (len(told.body), told.body))


class HealthyHttp:
    """Overridden where a server gets something wrong."""

    path = "/mcp"
    #: Whether streams have a length, as they have behind a gateway that waits for their end.
    collects = False

    def __init__(self) -> None:
        self.capabilities: Json = {"tools": {}}
        self.tools: list[Json] = [
            {"name": "add", "description": "Add two numbers.", "inputSchema": {"type": "object"}}
        ]
        self.sessions: set[str] = set()
        self.origin = ""
        #: Every request, in order.
        self.asked: list[Asked] = []
        self._connections: set[asyncio.Task[None]] = set()

    # HTTP.

    @asynccontextmanager
    async def running(self) -> AsyncGenerator[str]:
        """Serve on a free port; yields the URL that a user would give."""
        server = await asyncio.start_server(self._begin, "127.0.0.1", 0)
        self.origin = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        try:
            yield f"{self.origin}/mcp"
        finally:
            server.close()
            for task in self._connections:
                task.cancel()
            await asyncio.gather(*self._connections, return_exceptions=True)

    def _begin(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.get_running_loop().create_task(self._connection(reader, writer))
        self._connections.add(task)

    async def _connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            with contextlib.suppress(OSError, asyncio.IncompleteReadError):
                await self.converse(reader, writer)
        finally:
            writer.close()

    async def converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer the requests of one connection."""
        while True:
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
            first, *lines = head.strip().split("\r\n")
            method, path, _ = first.split()
            pairs = (line.split(":", 1) for line in lines)
            headers = {name.strip().lower(): value.strip() for name, value in pairs}
            body = await reader.readexactly(int(headers.get("content-length", 0)))
            asked = Asked(method, path, headers, body)
            self.asked.append(asked)
            told = self.answer(asked)
            if told is None:
                return
            await self.write(writer, told)
            if told.open:
                await reader.read()
                return

    async def write(self, writer: asyncio.StreamWriter, told: Told) -> None:
        """Send a response."""
        length = {} if told.open or told.status == 204 else {"Content-Length": str(len(told.body))}
        if told.media == STREAM and not told.open and not self.collects:
            length, told = {"Transfer-Encoding": "chunked"}, chunked(told)
        media = {"Content-Type": told.media} if told.media else {}
        head = f"HTTP/1.1 {told.status} X\r\n" + "".join(
            f"{name}: {value}\r\n" for name, value in {**media, **length, **told.headers}.items()
        )
        writer.write(head.encode() + b"\r\n" + told.body)
        await writer.drain()

    # What is answered; None: the connection is closed.

    def answer(self, asked: Asked) -> Told | None:
        """Any request."""
        if asked.path != self.path:
            return Told(404)
        return self.refuse_stranger(asked) or self.serve(asked)

    def refuse_stranger(self, asked: Asked) -> Told | None:
        """A host or an origin of elsewhere."""
        port = self.origin.rpartition(":")[2]
        if asked.headers["host"] not in (f"127.0.0.1:{port}", f"localhost:{port}"):
            return Told(421)
        return Told(403) if asked.headers.get("origin", self.origin) != self.origin else None

    def serve(self, asked: Asked) -> Told | None:
        """A request to the right path."""
        match asked.method:
            case "POST":
                return self.post(asked)
            case "GET":
                return self.get(asked)
            case "DELETE":
                return self.delete(asked)
            case _:
                return Told(405)

    def post(self, asked: Asked) -> Told | None:
        """A message."""
        message = asked.message
        if asked.rpc_method == "initialize":
            return self.initialize(asked)
        refused = self.refuse_version(asked) or self.refuse_session(asked)
        if refused is not None:
            return refused
        if "id" not in message:
            return self.notification(asked)
        member = self.result(asked.rpc_method)
        return self.shaped(asked, {"jsonrpc": "2.0", "id": message["id"], **member})

    def refuse_version(self, asked: Asked) -> Told | None:
        """A version that is not spoken."""
        return Told(400) if asked.headers.get("mcp-protocol-version") not in REVISIONS else None

    def refuse_session(self, asked: Asked) -> Told | None:
        """A session that is not known."""
        return Told(404) if asked.headers.get("mcp-session-id") not in self.sessions else None

    def initialize(self, asked: Asked) -> Told | None:
        """The beginning of a session."""
        session = f"session-{len(self.asked)}"
        self.sessions.add(session)
        version = self.revision(asked.message["params"]["protocolVersion"])
        result = {
            "protocolVersion": version,
            "capabilities": self.capabilities,
            "serverInfo": {"name": "Healthy", "version": "1.0"},
        }
        reply = {"jsonrpc": "2.0", "id": asked.message["id"], "result": result}
        return self.shaped(asked, reply, {"Mcp-Session-Id": session})

    def revision(self, wanted: str) -> str:
        """The revision to agree on."""
        return wanted if wanted in REVISIONS else REVISIONS[0]

    def notification(self, asked: Asked) -> Told | None:
        """What wants no reply."""
        return Told(202)

    def result(self, method: str) -> Json:
        """The member that answers: a result or an error."""
        match method:
            case "ping":
                return {"result": {}}
            case "tools/list":
                return {"result": {"tools": self.tools}}
            case _:
                return {"error": {"code": -32601, "message": f"Method not found: {method}"}}

    def shaped(self, asked: Asked, reply: Json, headers: Mapping[str, str] | None = None) -> Told | None:
        """The reply as JSON where that is accepted, and else as a stream."""
        accept = asked.headers.get("accept", "")
        if not accept or JSON in accept or "*/*" in accept:
            return as_json(reply, headers=headers)
        return as_stream(reply, headers)

    def get(self, asked: Asked) -> Told | None:
        """The general stream."""
        return self.refuse_session(asked) or Told(200, STREAM, b": here\n\n", open=True)

    def delete(self, asked: Asked) -> Told | None:
        """The end of a session."""
        self.sessions.discard(asked.headers.get("mcp-session-id", ""))
        return Told(204)
