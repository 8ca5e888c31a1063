"""Servers over HTTP with which no conversation comes about, one fault each."""

from __future__ import annotations

import asyncio

from tests.cli.servers.http.healthy import JSON, STREAM, Asked, HealthyHttp, Told, as_json, as_stream


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
        return Told(421, "text/plain", b"Invalid Host header")


class StatusAgain(HealthyHttp):
    """Wants a version in a header before there is one."""

    def post(self, asked: Asked) -> Told | None:
        return self.refuse_version(asked) or super().post(asked)


class ContentType(HealthyHttp):
    def initialize(self, asked: Asked) -> Told | None:
        return Told(200, "text/plain", b"ok")


class ContentTypeAgain(HealthyHttp):
    """Names no type."""

    def initialize(self, asked: Asked) -> Told | None:
        told = super().initialize(asked)
        assert told is not None
        return Told(200, "", told.body, told.headers)


class NoReply(HealthyHttp):
    def initialize(self, asked: Asked) -> Told | None:
        return Told(200, STREAM, b": goodbye\n\n")


class NoReplyAgain(HealthyHttp):
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
