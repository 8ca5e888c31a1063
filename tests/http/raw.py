"""A client of HTTP that knows nothing of this project: it writes bytes and reads what comes back."""

from __future__ import annotations

import asyncio
import json
import socket
import struct
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from tests.http.serving import PATIENCE

BOTH = "application/json, text/event-stream"
LATEST = "2025-11-25"


@dataclass
class Event:
    """One server-sent event, field by field, or a comment."""

    fields: dict[str, str] = field(default_factory=dict[str, str])
    comment: str | None = None

    @property
    def id(self) -> str:
        """Its id."""
        return self.fields["id"]

    @property
    def message(self) -> Any:
        """Its data as JSON."""
        return json.loads(self.fields["data"])


@dataclass
class Answer:
    """The head of a response, and its body once that was read."""

    status: int
    headers: list[tuple[str, str]]
    body: bytes = b""

    def __getitem__(self, name: str) -> str:
        """Return the one header of that name."""
        (value,) = [value for each, value in self.headers if each.lower() == name]
        return value

    def __contains__(self, name: str) -> bool:
        return any(each.lower() == name for each, _ in self.headers)

    @property
    def message(self) -> Any:
        """The body as JSON."""
        return json.loads(self.body)

    @property
    def error(self) -> str:
        """The text of the JSON-RPC error in the body."""
        return self.message["error"]["message"]


class Connection:
    """One connection; every wait is bounded."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, host: str) -> None:
        self.reader = reader
        self.writer = writer
        self._host = host
        self._rest = b""
        self._chunked = False
        self._length: int | None = None

    def write(
        self,
        method: str,
        path: str,
        headers: Mapping[str, str],
        body: bytes | None,
        *,
        length: int | None = None,
    ) -> None:
        """Write a request; `length` is what it claims when that is not so."""
        lines = [f"{method} {path} HTTP/1.1"]
        headers = {"Host": self._host, **headers}
        lines += [f"{name}: {value}" for name, value in headers.items()]
        if body is not None or length is not None:
            lines.append(f"Content-Length: {len(body or b'') if length is None else length}")
        self.writer.write("\r\n".join([*lines, "", ""]).encode() + (body or b""))

    async def head(self) -> Answer:
        """Read the head of the response."""
        async with asyncio.timeout(PATIENCE):
            block = await self.reader.readuntil(b"\r\n\r\n")
        first, *lines = block.decode("latin-1").rstrip().split("\r\n")
        headers = [(name, value.strip()) for name, _, value in (line.partition(":") for line in lines)]
        answer = Answer(int(first.split()[1]), headers)
        self._chunked = "transfer-encoding" in answer and answer["transfer-encoding"] == "chunked"
        self._length = int(answer["content-length"]) if "content-length" in answer else None
        if answer.status in (204, 304):
            self._length = 0
        return answer

    async def more(self) -> bytes:
        """Read some more of the body, empty at its end."""
        async with asyncio.timeout(PATIENCE):
            if self._chunked:
                size = int(await self.reader.readuntil(b"\r\n"), 16)
                chunk = await self.reader.readexactly(size + 2)
                return chunk[:-2]
            if self._length is None:
                return await self.reader.read(65536)
            chunk = await self.reader.read(min(self._length, 65536)) if self._length else b""
            self._length -= len(chunk)
            return chunk

    async def body(self) -> bytes:
        """Read the rest of the body."""
        chunks: list[bytes] = []
        while chunk := await self.more():
            chunks.append(chunk)
        return b"".join(chunks)

    async def event(self) -> Event | None:
        """Read the next event or comment, None at the end of the stream."""
        while b"\n\n" not in self._rest:
            chunk = await self.more()
            if not chunk:
                assert not self._rest, f"the stream ended within an event: {self._rest!r}"
                return None
            self._rest += chunk
        block, _, self._rest = self._rest.partition(b"\n\n")
        event = Event()
        for line in block.decode().split("\n"):
            name, _, value = line.partition(":")
            if name:
                event.fields[name] = value.removeprefix(" ")
            else:
                event.comment = value.removeprefix(" ")
        return event

    async def message(self) -> Event:
        """Read the next event that carries a message."""
        while (event := await self.event()) is not None:
            if event.fields.get("data"):
                return event
        raise AssertionError("the stream ended")

    async def messages(self) -> list[Any]:
        """Read all messages to the end of the stream."""
        found: list[Any] = []
        while (event := await self.event()) is not None:
            if event.fields.get("data"):
                found.append(event.message)
        return found

    def reset(self) -> None:
        """Vanish without a farewell."""
        handle: socket.socket = self.writer.get_extra_info("socket")
        handle.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.writer.transport.abort()

    async def close(self) -> None:
        """Close it."""
        self.writer.close()
        try:
            await self.writer.wait_closed()
        except OSError:
            pass  # it was reset


@asynccontextmanager
async def connection(url: str, *, buffer: int | None = None) -> AsyncGenerator[Connection]:
    """Open a connection; `buffer` is how much the kernel may keep for a client that does not read."""
    parts = urlsplit(url)
    assert parts.hostname is not None
    handle = socket.socket(socket.AF_INET6 if ":" in parts.hostname else socket.AF_INET)
    handle.setblocking(False)
    if buffer is not None:
        handle.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, buffer)
    await asyncio.get_running_loop().sock_connect(handle, (parts.hostname, parts.port))
    reader, writer = await asyncio.open_connection(sock=handle, limit=buffer or 2**22)
    opened = Connection(reader, writer, parts.netloc)
    try:
        yield opened
    finally:
        await opened.close()


class Caller:
    """Speaks to one URL, one connection a request; keeps the session it was given."""

    def __init__(self, url: str, revision: str | None = LATEST) -> None:
        self.url = url
        self.path = urlsplit(url).path or "/"
        self.revision = revision
        self.session: str | None = None

    def headers(self, **more: str | None) -> dict[str, str]:
        """Return what goes on a request; names are written with underscores, None leaves one out."""
        headers: dict[str, str | None] = {"Accept": BOTH, "Content-Type": "application/json"}
        if self.session is not None:
            headers["Mcp-Session-Id"] = self.session
            headers["MCP-Protocol-Version"] = self.revision
        for name, value in more.items():
            spelling = name.replace("_", "-")
            headers = {each: old for each, old in headers.items() if each.lower() != spelling.lower()}
            headers[spelling] = value
        return {name: value for name, value in headers.items() if value is not None}

    @asynccontextmanager
    async def begin(
        self, method: str, message: object = None, *, path: str | None = None, **headers: str | None
    ) -> AsyncGenerator[Connection]:
        """Send a request and leave the reading to the caller."""
        body = (
            None
            if message is None
            else message
            if isinstance(message, bytes)
            else json.dumps(message).encode()
        )
        async with connection(self.url) as opened:
            opened.write(method, path or self.path, self.headers(**headers), body)
            yield opened

    async def request(
        self, method: str, message: object = None, *, path: str | None = None, **headers: str | None
    ) -> Answer:
        """Send a request and read the whole response."""
        async with self.begin(method, message, path=path, **headers) as opened:
            answer = await opened.head()
            answer.body = await opened.body()
            return answer

    async def post(self, message: object, **headers: str | None) -> Answer:
        """POST a message and read the whole response."""
        return await self.request("POST", message, **headers)

    async def initialize(self, revision: str | None = None) -> Answer:
        """Shake hands and keep the session."""
        self.revision = revision or self.revision
        self.session = None
        answer = await self.post(initialize(self.revision or LATEST))
        self.session = answer["mcp-session-id"]
        accepted = await self.post(note("notifications/initialized"))
        assert accepted.status == 202
        return answer

    @asynccontextmanager
    async def listen(self, **headers: str | None) -> AsyncGenerator[Connection]:
        """Open the general stream and read its head."""
        async with self.begin("GET", Content_Type=None, **headers) as stream:
            head = await stream.head()
            assert head.status == 200, await stream.body()
            yield stream


def ask(id: object, method: str, params: object = None) -> dict[str, object]:
    """A request."""
    return {"jsonrpc": "2.0", "id": id, "method": method, **({} if params is None else {"params": params})}


def note(method: str, params: object = None) -> dict[str, object]:
    """A notification."""
    return {"jsonrpc": "2.0", "method": method, **({} if params is None else {"params": params})}


def call(id: object, tool: str, arguments: object = None, token: object = None) -> dict[str, object]:
    """A call of a tool."""
    params: dict[str, object] = {"name": tool, "arguments": arguments or {}}
    if token is not None:
        params["_meta"] = {"progressToken": token}
    return ask(id, "tools/call", params)


def initialize(revision: str = LATEST, id: object = 0) -> dict[str, object]:
    """The opening of a conversation."""
    client = {"name": "raw", "version": "1"}
    return ask(id, "initialize", {"protocolVersion": revision, "capabilities": {}, "clientInfo": client})


def text_of(message: Any) -> str:
    """Return the text of a tool's result."""
    return message["result"]["content"][0]["text"]
