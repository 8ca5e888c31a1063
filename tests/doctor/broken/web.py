"""Servers over HTTP, one fault each, and what stands before servers: a proxy.  They know nothing of anywire."""

from __future__ import annotations

import asyncio
import gzip
import json
import ssl
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager

from tests.doctor.broken.speak import ADD, PARSE_ERROR, REVISIONS, Json, answer

Converse = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]

JSON = "application/json"
STREAM = "text/event-stream"
SESSION = "6f1c"


@asynccontextmanager
async def listening(converse: Converse, tls: ssl.SSLContext | None = None) -> AsyncGenerator[int]:
    """Converse with whoever connects; yields the port."""
    tasks: set[asyncio.Task[None]] = set()

    async def connection(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await converse(reader, writer)
        except (OSError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    def begin(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        tasks.add(asyncio.get_running_loop().create_task(connection(reader, writer)))

    server = await asyncio.start_server(begin, "127.0.0.1", 0, ssl=tls)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


class Plain:
    """Nothing is wrong with this: a session, a general stream, guards on Host and Origin."""

    path = "/mcp"
    port = 0

    async def converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer the requests of one connection."""
        while True:
            first, *lines = (await reader.readuntil(b"\r\n\r\n")).decode().strip().split("\r\n")
            method, path, _ = first.split()
            headers = {name.lower(): value.strip() for name, value in (line.split(":", 1) for line in lines)}
            body = await reader.readexactly(int(headers.get("content-length", 0)))
            writer.write(self.respond(method, path, headers, body))
            await writer.drain()

    def respond(self, method: str, path: str, headers: Mapping[str, str], body: bytes) -> bytes:
        """Return the bytes of a response."""
        refusal = self.refuse(headers)
        if refusal is not None or path != self.path:
            return response(refusal or 404)
        if method == "POST":
            return self.post(headers, json.loads(body))
        if headers.get("mcp-session-id") != SESSION:
            return response(404)
        return response(200, STREAM, None) + b"4\r\n:\n\n\n\r\n" if method == "GET" else response(405)

    def refuse(self, headers: Mapping[str, str]) -> int | None:
        """The status for a stranger."""
        here = {f"{name}:{self.port}" for name in ("127.0.0.1", "localhost")}
        if headers["host"] not in here:
            return 421
        return None if headers.get("origin", f"http://127.0.0.1:{self.port}").split("/")[2] in here else 403

    def post(self, headers: Mapping[str, str], message: Json) -> bytes:
        """Answer a message."""
        if message["method"] != "initialize":
            if headers.get("mcp-protocol-version") not in REVISIONS:
                return response(400, JSON, PARSE_ERROR)
            if headers.get("mcp-session-id") != SESSION:
                return response(404)
        reply = answer(message, [ADD])
        return response(202) if reply is None else self.told(headers, message, reply)

    def told(self, headers: Mapping[str, str], message: Json, reply: Json) -> bytes:
        """Return a response with a reply."""
        session = {"Mcp-Session-Id": SESSION} if message["method"] == "initialize" else {}
        if JSON in headers.get("accept", JSON) or "*/*" in headers["accept"] or not headers["accept"]:
            return response(200, JSON, reply, session)
        return response(200, STREAM, reply, session)


def response(
    status: int, media: str = "", reply: Json | None = None, more: Mapping[str, str] | None = None
) -> bytes:
    """Return the bytes of a response; a stream is sent piece by piece and ends with its reply."""
    data = b"" if reply is None else json.dumps(reply).encode()
    if media == STREAM:
        event = b"data: " + data + b"\n\n"
        data = b"" if reply is None else b"%x\r\n%b\r\n0\r\n\r\n" % (len(event), event)
        return head(status, media, {"Transfer-Encoding": "chunked", **(more or {})}) + data
    return head(status, media, {"Content-Length": str(len(data)), **(more or {})}) + data


def head(status: int, media: str, more: Mapping[str, str]) -> bytes:
    """Return the head of a response."""
    lines = [f"HTTP/1.1 {status} X", *([f"Content-Type: {media}"] if media else [])]
    return "\r\n".join([*lines, *(f"{name}: {value}" for name, value in more.items()), "\r\n"]).encode()


# The faults.


class AtTheTop(Plain):
    """Is at `/`, and was asked for at `/mcp`."""

    path = "/"


class OnlyPages(Plain):
    """Serves files, and takes nothing."""

    def respond(self, method: str, path: str, headers: Mapping[str, str], body: bytes) -> bytes:
        return response(501 if method == "POST" else 404, "text/html", {"error": "Unsupported method"})


class OldStream(Plain):
    """Speaks HTTP+SSE."""

    path = "/sse"

    def respond(self, method: str, path: str, headers: Mapping[str, str], body: bytes) -> bytes:
        if path != self.path or method != "GET":
            return response(405 if path == self.path else 404)
        event = b"event: endpoint\ndata: /messages?session=1\n\n"
        return response(200, STREAM, None) + b"%x\r\n%b\r\n" % (len(event), event)


class WantsJsonOnly(Plain):
    """Compares Accept with one type, letter by letter."""

    def post(self, headers: Mapping[str, str], message: Json) -> bytes:
        return super().post(headers, message) if headers["accept"] == JSON else response(406)


class WantsCharset(Plain):
    """Compares Content-Type with what one client sends."""

    def post(self, headers: Mapping[str, str], message: Json) -> bytes:
        right = headers["content-type"] == "application/json; charset=utf-8"
        return super().post(headers, message) if right else response(415)


class AnotherWorker(Plain):
    """Every second connection is taken by a worker that does not know the session."""

    def __init__(self) -> None:
        self.connections = 0

    async def converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        worker = self if self.connections % 2 else Stranger()
        worker.port = self.port
        await Plain.converse(worker, reader, writer)


class Stranger(Plain):
    """Knows no session."""

    def post(self, headers: Mapping[str, str], message: Json) -> bytes:
        return super().post(headers, message) if message["method"] == "initialize" else response(404)


class LostAtOnce(Plain):
    """Issues a session and knows nothing of it."""

    def post(self, headers: Mapping[str, str], message: Json) -> bytes:
        if "mcp-session-id" not in headers:
            return super().post(headers, message)
        error = {"code": -32000, "message": "Bad Request: No valid session ID provided"}
        return response(400, JSON, {"jsonrpc": "2.0", "id": None, "error": error})


class OldVersions(Plain):
    """Agrees to a version, and does not know it in a header."""

    def post(self, headers: Mapping[str, str], message: Json) -> bytes:
        new = headers.get("mcp-protocol-version") == REVISIONS[0]
        return response(400) if new else super().post(headers, message)


class NoGuard(Plain):
    """Lets in whatever host a web page has it called by."""

    def refuse(self, headers: Mapping[str, str]) -> int | None:
        return 403 if "evil" in headers.get("origin", "") else None


class StrictGuard(Plain):
    """Stands behind a proxy that does not pass on the name it knows itself by."""

    def refuse(self, headers: Mapping[str, str]) -> int | None:
        return 421 if headers["host"] != "mcp.example" else None


class Found(Plain):
    """Redirects as web sites do: what was a POST comes back as a GET."""

    path = "/mcp/"

    def respond(self, method: str, path: str, headers: Mapping[str, str], body: bytes) -> bytes:
        if path == "/mcp":
            return response(302, more={"Location": "/mcp/"})
        return super().respond(method, path, headers, body)


class ToTls(Plain):
    """Sends everybody to https, and its clients away."""

    def respond(self, method: str, path: str, headers: Mapping[str, str], body: bytes) -> bytes:
        return response(308, more={"Location": f"https://127.0.0.1:{self.port}{path}"})


class Text(Plain):
    """Says that its JSON is text."""

    def told(self, headers: Mapping[str, str], message: Json, reply: Json) -> bytes:
        return super().told(headers, message, reply).replace(JSON.encode(), b"text/plain", 1)


class Compressed(Plain):
    """Compresses everything, events as well."""

    def told(self, headers: Mapping[str, str], message: Json, reply: Json) -> bytes:
        if headers.get("accept") == JSON or "gzip" not in headers.get("accept-encoding", ""):
            return super().told(headers, message, reply)
        told = response(200, STREAM, reply, {"Mcp-Session-Id": SESSION, "Content-Encoding": "gzip"})
        begin, _, _ = told.partition(b"\r\n\r\n")
        event = gzip.compress(b"data: " + json.dumps(reply).encode() + b"\n\n")
        return begin + b"\r\n\r\n%x\r\n%b\r\n0\r\n\r\n" % (len(event), event)


class Locked(Plain):
    """Wants a token, and does not say where one is to be had."""

    def respond(self, method: str, path: str, headers: Mapping[str, str], body: bytes) -> bytes:
        return response(401, JSON, {"error": "unauthorized"})


class Mixed(Plain):
    """Serves both eras, and looks for the name where there is none."""

    def post(self, headers: Mapping[str, str], message: Json) -> bytes:
        meta = message.get("params", {}).get("_meta", {})
        if "io.modelcontextprotocol/protocolVersion" not in meta:
            return super().post(headers, message)
        error = {"code": -32020, "message": "Header mismatch: Mcp-Name is missing"}
        return response(400, JSON, {"jsonrpc": "2.0", "id": message["id"], "error": error})


class Batches(Plain):
    """Answers with arrays."""

    def told(self, headers: Mapping[str, str], message: Json, reply: Json) -> bytes:
        return spoiled(super().told(headers, message, reply), lambda body: b"[%b]" % body)


class Mark(Plain):
    """Begins with a byte order mark."""

    def told(self, headers: Mapping[str, str], message: Json, reply: Json) -> bytes:
        return spoiled(super().told(headers, message, reply), lambda body: b"\xef\xbb\xbf%b" % body)


class Unfinished(Plain):
    """Ends its stream where the event is not at its end."""

    def told(self, headers: Mapping[str, str], message: Json, reply: Json) -> bytes:
        if headers.get("accept") == JSON:
            return super().told(headers, message, reply)
        event = b"data: " + json.dumps(reply).encode() + b"\n"
        more = {"Transfer-Encoding": "chunked", "Mcp-Session-Id": SESSION}
        return head(200, STREAM, more) + b"%x\r\n%b\r\n0\r\n\r\n" % (len(event), event)


class Characters(Plain):
    """Counts something else than bytes."""

    def told(self, headers: Mapping[str, str], message: Json, reply: Json) -> bytes:
        told = super().told(headers, message, reply)
        body = told.partition(b"\r\n\r\n")[2]
        return told.replace(b"Content-Length: %d" % len(body), b"Content-Length: %d" % (len(body) - 5))


class OwnIds(Plain):
    """Counts by itself."""

    def told(self, headers: Mapping[str, str], message: Json, reply: Json) -> bytes:
        return super().told(headers, message, {**reply, "id": 1000})


class SaysPage(Plain):
    """Sends JSON, and says that it is a page."""

    def told(self, headers: Mapping[str, str], message: Json, reply: Json) -> bytes:
        return super().told(headers, message, reply).replace(JSON.encode(), b"text/html", 1)


class KeepsSession(Plain):
    """Wants a session that it tells nobody."""

    def post(self, headers: Mapping[str, str], message: Json) -> bytes:
        if message["method"] == "initialize":
            return response(200, JSON, answer(message, [ADD]))
        error = {"code": -32600, "message": "Bad Request: Mcp-Session-Id is missing"}
        return response(400, JSON, {"jsonrpc": "2.0", "id": None, "error": error})


class Circle(Plain):
    """Leads to itself."""

    def respond(self, method: str, path: str, headers: Mapping[str, str], body: bytes) -> bytes:
        return response(307, more={"Location": path})


class Unmarked(Plain):
    """Compresses, and does not say so."""

    def told(self, headers: Mapping[str, str], message: Json, reply: Json) -> bytes:
        return spoiled(super().told(headers, message, reply), gzip.compress)


def spoiled(told: bytes, spoil: Callable[[bytes], bytes]) -> bytes:
    """Do that to the body of a response that is no stream."""
    begin, _, body = told.partition(b"\r\n\r\n")
    if STREAM.encode() in begin:
        return told
    spoilt = spoil(body)
    length = b"Content-Length: %d"
    return begin.replace(length % len(body), length % len(spoilt)) + b"\r\n\r\n" + spoilt


class GoesAway(Plain):
    """Crashes over its list of tools; `listener` is what takes its connections."""

    def __init__(self) -> None:
        self.listener: asyncio.Server | None = None
        self.writers: list[asyncio.StreamWriter] = []

    async def converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.writers.append(writer)
        try:
            await super().converse(reader, writer)
        except (OSError, asyncio.IncompleteReadError):
            writer.close()

    def post(self, headers: Mapping[str, str], message: Json) -> bytes:
        if message["method"] != "tools/list":
            return super().post(headers, message)
        if self.listener is not None:
            self.listener.close()
        for writer in self.writers:
            writer.close()
        raise ConnectionResetError


class Proxy:
    """Passes answers on when it has all of them: an event stream, which has no end, never."""

    def __init__(self, behind: int) -> None:
        self.behind = behind

    async def converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer the requests of one connection."""
        there, to = await asyncio.open_connection("127.0.0.1", self.behind)
        try:
            while True:
                begin = await reader.readuntil(b"\r\n\r\n")
                to.write(begin + await reader.readexactly(length_of(begin)))
                told = await there.readuntil(b"\r\n\r\n")
                if b"chunked" in told:
                    told += await there.readuntil(b"0\r\n\r\n")
                writer.write(told + await there.readexactly(length_of(told)))
        finally:
            to.close()


def length_of(head: bytes) -> int:
    """Return the length of the body that a head tells."""
    for line in head.lower().split(b"\r\n"):
        if line.startswith(b"content-length:"):
            return int(line.split(b":")[1])
    return 0


async def no_http(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Speaks TLS only: whatever else comes is answered with an alert."""
    await reader.read(1)
    writer.write(bytes((21, 3, 3, 0, 2, 2, 40)))
    await writer.drain()
