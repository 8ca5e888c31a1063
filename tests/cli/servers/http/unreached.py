"""Servers over HTTP with which no conversation comes about, one fault each."""

from __future__ import annotations

import asyncio
from typing import ClassVar

from tests.cli.servers.http.healthy import JSON, STREAM, Asked, HealthyHttp, Json, Told, as_json, as_stream


class NoHttp(HealthyHttp):
    async def converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"220 mail.example ESMTP\r\n")
        await reader.readuntil(b"\r\n\r\n")


class NoHttpAgain(HealthyHttp):
    """Closes the connection instead of answering."""

    def answer(self, asked: Asked) -> Told | None:
        return None


class NoFirstByte(HealthyHttp):
    async def converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await asyncio.Event().wait()


class Authorization(HealthyHttp):
    def serve(self, asked: Asked) -> Told | None:
        return Told(401, headers={"WWW-Authenticate": 'Bearer resource_metadata="https://x.example/"'})


class AuthorizationAgain(HealthyHttp):
    """Knows who asks, and that this is not enough."""

    def serve(self, asked: Asked) -> Told | None:
        return Told(403, "text/plain", b"insufficient scope")


class Challenge(HealthyHttp):
    def serve(self, asked: Asked) -> Told | None:
        return Told(401)


class OldTransport(HealthyHttp):
    def post(self, asked: Asked) -> Told | None:
        return Told(405, headers={"Allow": "GET"})

    def get(self, asked: Asked) -> Told | None:
        return Told(200, STREAM, b"event: endpoint\ndata: messages?session_id=1\n\n", open=True)


class OldTransportAgain(OldTransport):
    """Is not even at the path that was given."""

    path = "/sse"


class WrongPath(HealthyHttp):
    path = "/elsewhere"


class WrongPathAgain(HealthyHttp):
    """Insists on a slash at the end."""

    path = "/mcp/"


class WrongPathAtTheTop(HealthyHttp):
    """Is at no path at all."""

    path = "/"


class WrongPathOnceMore(HealthyHttp):
    """Takes no POST at all."""

    def post(self, asked: Asked) -> Told | None:
        return Told(405, "text/html", b"<h1>Method not allowed</h1>")

    def get(self, asked: Asked) -> Told | None:
        return Told(405)


class RedirectMethod(HealthyHttp):
    status = 301

    def answer(self, asked: Asked) -> Told | None:
        return Told(self.status, headers={"Location": f"{asked.path}/"})


class RedirectMethodAgain(RedirectMethod):
    status = 302


class RedirectElsewhere(HealthyHttp):
    def answer(self, asked: Asked) -> Told | None:
        return Told(307, headers={"Location": "https://user:secret@login.example/mcp?key=secret"})


class RedirectElsewhereAgain(HealthyHttp):
    """Forgets to say where."""

    def answer(self, asked: Asked) -> Told | None:
        return Told(308)


class Html(HealthyHttp):
    def serve(self, asked: Asked) -> Told | None:
        return Told(200, "text/html", b"<!doctype html><title>Please log in</title>")


class ServerError(HealthyHttp):
    def serve(self, asked: Asked) -> Told | None:
        return Told(502, "text/html", b"<h1>Bad gateway</h1>")


class Status(HealthyHttp):
    def serve(self, asked: Asked) -> Told | None:
        return Told(429, "text/plain", b"Too many requests")


class HostRefused(HealthyHttp):
    def refuse_stranger(self, asked: Asked) -> Told | None:
        return Told(421, "text/plain", b"Invalid Host header")


class HostRefusedAgain(HealthyHttp):
    """Knows itself by one name only, and does not say that this is why."""

    def refuse_stranger(self, asked: Asked) -> Told | None:
        return None if asked.headers["host"].startswith("localhost") else Told(400)


class HostRefusedOnceMore(HealthyHttp):
    """Says so where it could be taken for a matter of authorization."""

    def refuse_stranger(self, asked: Asked) -> Told | None:
        return as_json({"error": "Host 127.0.0.1 not allowed"}, 403)


class OriginWanted(HealthyHttp):
    def refuse_stranger(self, asked: Asked) -> Told | None:
        return None if asked.headers.get("origin") == self.origin else Told(403)


class AcceptRefused(HealthyHttp):
    def post(self, asked: Asked) -> Told | None:
        return super().post(asked) if asked.headers["accept"] == JSON else Told(406)


class AcceptRefusedAgain(HealthyHttp):
    """Whatever is accepted."""

    def post(self, asked: Asked) -> Told | None:
        return Told(406)


class BodyTypeRefused(HealthyHttp):
    def post(self, asked: Asked) -> Told | None:
        return super().post(asked) if "charset" in asked.headers["content-type"] else Told(415)


class BodyTypeRefusedAgain(HealthyHttp):
    """Is a form."""

    def post(self, asked: Asked) -> Told | None:
        return Told(415, "text/html", b"<h1>Unsupported media type</h1>")


class VersionWanted(HealthyHttp):
    def post(self, asked: Asked) -> Told | None:
        return self.refuse_version(asked) or super().post(asked)


class EndpointMissing(OldTransport):
    def get(self, asked: Asked) -> Told | None:
        return Told(200, STREAM, open=True)


class EndpointMissingAgain(OldTransport):
    """A proxy keeps all of the stream back."""

    def get(self, asked: Asked) -> Told | None:
        return Told(200, STREAM, open=True)

    async def write(self, writer: asyncio.StreamWriter, told: Told) -> None:
        if told.open:
            await asyncio.Event().wait()
        await super().write(writer, told)


class Metadata(HealthyHttp):
    """Points at metadata that are not there."""

    document: ClassVar[Json] = {}
    url = "/.well-known/oauth-protected-resource/mcp"

    def answer(self, asked: Asked) -> Told | None:
        if asked.path == self.url and self.document:
            return as_json(self.document)
        return super().answer(asked)

    def serve(self, asked: Asked) -> Told | None:
        pointer = f'Bearer resource_metadata="{self.origin}{self.url}"'
        return Told(401, headers={"WWW-Authenticate": pointer})


class MetadataAgain(Metadata):
    """Says of another resource where to log in, and without being asked."""

    document: ClassVar[Json] = {
        "resource": "https://other.example/mcp",
        "authorization_servers": ["https://as.example"],
    }

    def serve(self, asked: Asked) -> Told | None:
        return Told(401)


class MetadataOnceMore(MetadataAgain):
    """Names nobody to log in at."""

    url = "/.well-known/oauth-protected-resource"
    document: ClassVar[Json] = {"resource": "https://other.example/mcp", "authorization_servers": []}


class AuthorizationOnceMore(MetadataAgain):
    """Says all that is to be said."""

    def answer(self, asked: Asked) -> Told | None:
        if asked.path == self.url:
            return as_json({**self.document, "resource": f"{self.origin}/mcp"})
        return super().answer(asked)


class ContentType(HealthyHttp):
    def initialize(self, asked: Asked) -> Told | None:
        return Told(200, "text/plain", b"ok")


class ContentTypeAgain(HealthyHttp):
    """Names no type."""

    def initialize(self, asked: Asked) -> Told | None:
        told = super().initialize(asked)
        assert told is not None
        return Told(200, "", told.body, told.headers)


class ContentTypeOnceMore(HealthyHttp):
    """Is a page of a program."""

    def initialize(self, asked: Asked) -> Told | None:
        return Told(200, "text/plain")


class CodingBroken(HealthyHttp):
    def initialize(self, asked: Asked) -> Told | None:
        return Told(200, JSON, b"hello", {"Content-Encoding": "gzip"})


class NoReplyAtTheTop(HealthyHttp):
    """Takes every message as if it were a notification."""

    def initialize(self, asked: Asked) -> Told | None:
        return Told(202)


class HtmlAgain(HealthyHttp):
    """A gateway lets nobody in."""

    def serve(self, asked: Asked) -> Told | None:
        return Told(403, "text/html", b"<h1>Forbidden</h1>")


class NoReply(HealthyHttp):
    def initialize(self, asked: Asked) -> Told | None:
        return Told(200, STREAM, b": goodbye\n\n")


class IdsChangedAgain(HealthyHttp):
    """Answers another request."""

    def initialize(self, asked: Asked) -> Told | None:
        return as_stream({"jsonrpc": "2.0", "id": "another", "result": {}})


class BadMessage(HealthyHttp):
    def initialize(self, asked: Asked) -> Told | None:
        return as_json({"id": asked.message["id"], "result": {}})


class BadMessageAgain(HealthyHttp):
    """Sends no JSON."""

    def initialize(self, asked: Asked) -> Told | None:
        return Told(200, JSON, b"<xml/>")


class InitializeRefused(HealthyHttp):
    def initialize(self, asked: Asked) -> Told | None:
        error = {"code": -32602, "message": "who are you?"}
        return as_json({"jsonrpc": "2.0", "id": asked.message["id"], "error": error}, 400)
