"""Servers over HTTP with which one can talk, and which get one thing wrong."""

from __future__ import annotations

import asyncio
import gzip
import json
from collections.abc import Mapping
from dataclasses import replace
from typing import ClassVar

from tests.cli.servers.http.healthy import (
    JSON,
    REVISIONS,
    STREAM,
    Asked,
    HealthyHttp,
    Json,
    Told,
    as_json,
    as_stream,
)


class InitializeResult(HealthyHttp):
    def __init__(self) -> None:
        super().__init__()
        self.capabilities = None  # pyright: ignore[reportAttributeAccessIssue] it is wrong


class InitializeRevision(HealthyHttp):
    def revision(self, wanted: str) -> str:
        return "1.0"

    def refuse_version(self, asked: Asked) -> Told | None:
        return Told(400) if asked.headers.get("mcp-protocol-version") == "1999-01-01" else None


class Redirect(HealthyHttp):
    path = "/mcp/"

    def answer(self, asked: Asked) -> Told | None:
        if asked.path == "/mcp":
            return Told(307, headers={"Location": "/mcp/"})
        return super().answer(asked)


class SessionId(HealthyHttp):
    def initialize(self, asked: Asked) -> Told | None:
        told = super().initialize(asked)
        assert told is not None
        self.sessions.add("a session")
        return Told(told.status, told.media, told.body, {"Mcp-Session-Id": "a session"})


class SessionUnknown(HealthyHttp):
    def refuse_session(self, asked: Asked) -> Told | None:
        known = asked.headers.get("mcp-session-id") in self.sessions
        if known or asked.rpc_method == "ping":
            return super().refuse_session(asked)
        return Told(400, "text/plain", b"Bad Request: no valid session")


class SessionUnknownAgain(SessionUnknown):
    """Takes any session."""

    def refuse_session(self, asked: Asked) -> Told | None:
        return None if asked.rpc_method == "tools/list" else super().refuse_session(asked)


class SessionSometimes(HealthyHttp):
    """Two workers take turns, and one of them does not know."""

    turn = False

    def refuse_session(self, asked: Asked) -> Told | None:
        if asked.rpc_method == "ping":
            self.turn = not self.turn
            return Told(404) if self.turn else None
        return super().refuse_session(asked)


class SessionForgotten(HealthyHttp):
    def initialize(self, asked: Asked) -> Told | None:
        told = super().initialize(asked)
        self.sessions.clear()
        return told


class SessionForgottenAgain(SessionForgotten):
    """Does not look at the session of a notification."""

    def refuse_session(self, asked: Asked) -> Told | None:
        refused = super().refuse_session(asked)
        return refused if "id" in asked.message else None


class VersionRefused(HealthyHttp):
    def refuse_version(self, asked: Asked) -> Told | None:
        return Told(400, "text/plain", b"Bad Request") if "mcp-protocol-version" in asked.headers else None


class NotificationRefused(HealthyHttp):
    def notification(self, asked: Asked) -> Told | None:
        unknown = asked.rpc_method != "notifications/initialized"
        return Told(400, "text/plain", b"unknown") if unknown else Told(202)


class NotificationAnswer(HealthyHttp):
    def notification(self, asked: Asked) -> Told | None:
        return as_json(None)


class NotificationAnswerAgain(HealthyHttp):
    """Has nothing to say, and says so."""

    def notification(self, asked: Asked) -> Told | None:
        return Told(204)


class NotificationAnswerOnceMore(HealthyHttp):
    """Gives a body with the right status."""

    def notification(self, asked: Asked) -> Told | None:
        return Told(202, JSON, b'{"jsonrpc":"2.0","id":null}')


class RequestRefused(HealthyHttp):
    def refuse_session(self, asked: Asked) -> Told | None:
        return Told(404) if asked.rpc_method == "ping" else None


class BreaksOff(HealthyHttp):
    def result(self, method: str) -> Json:
        if method == "anywire/unknown":
            raise ConnectionError
        return super().result(method)


class Ping(HealthyHttp):
    def result(self, method: str) -> Json:
        return super().result("nothing" if method == "ping" else method)


class UnknownMethodCode(HealthyHttp):
    def result(self, method: str) -> Json:
        if method == "anywire/unknown":
            return {"error": {"code": -32603, "message": "Internal error"}}
        return super().result(method)


class UnknownMethod(HealthyHttp):
    """Says with a status what a JSON-RPC error should say."""

    def shaped(self, asked: Asked, reply: Json, headers: Mapping[str, str] | None = None) -> Told | None:
        if asked.rpc_method == "anywire/unknown":
            return Told(500, "text/plain", b"KeyError")
        return super().shaped(asked, reply, headers)


class IdsChanged(HealthyHttp):
    def shaped(self, asked: Asked, reply: Json, headers: Mapping[str, str] | None = None) -> Told | None:
        return super().shaped(asked, {**reply, "id": 99 if reply["id"] == 0 else reply["id"]}, headers)


class BigIds(HealthyHttp):
    def shaped(self, asked: Asked, reply: Json, headers: Mapping[str, str] | None = None) -> Told | None:
        told = super().shaped(asked, reply, headers)
        assert told is not None
        body = told.body.replace(b"9007199254740993", b"9007199254740992")
        return Told(told.status, told.media, body, told.headers)


class ToolsList(HealthyHttp):
    def result(self, method: str) -> Json:
        return {"result": {"tools": "none"}} if method == "tools/list" else super().result(method)


class ToolsListAgain(HealthyHttp):
    """Fails."""

    def shaped(self, asked: Asked, reply: Json, headers: Mapping[str, str] | None = None) -> Told | None:
        return Told(500) if asked.rpc_method == "tools/list" else super().shaped(asked, reply, headers)


class ToolsUndeclared(HealthyHttp):
    def __init__(self) -> None:
        super().__init__()
        self.capabilities = {}


class ToolSchema(HealthyHttp):
    def __init__(self) -> None:
        super().__init__()
        self.tools = [{"name": "add", "description": "Add.", "inputSchema": {}}]


class ToolName(HealthyHttp):
    def __init__(self) -> None:
        super().__init__()
        self.tools[0]["name"] = "add two numbers"


class ToolDuplicate(HealthyHttp):
    def __init__(self) -> None:
        super().__init__()
        self.tools *= 2


class ToolDescription(HealthyHttp):
    def __init__(self) -> None:
        super().__init__()
        del self.tools[0]["description"]


class ToolNameHost(HealthyHttp):
    def __init__(self) -> None:
        super().__init__()
        self.tools[0]["name"] = "calculator.add"


class OfOneTool(HealthyHttp):
    """Has one tool, with this in its schema."""

    schema: ClassVar[Json] = {}

    def __init__(self) -> None:
        super().__init__()
        self.tools[0]["inputSchema"] = {"type": "object", **self.schema}


class ToolSchemaTop(OfOneTool):
    schema: ClassVar[Json] = {"anyOf": [{"required": ["a"]}, {"required": ["b"]}]}


class ToolSchemaPart(OfOneTool):
    schema: ClassVar[Json] = {"properties": {"a": {"type": "array", "items": None}}}


class ToolSchemaPartAgain(OfOneTool):
    """Marks an argument as needed as older drafts did."""

    schema: ClassVar[Json] = {"properties": {"a": {"type": "string", "required": True}}}


class ToolSchemaItems(OfOneTool):
    schema: ClassVar[Json] = {"properties": {"a": {"anyOf": [{"type": "array"}, {"type": "null"}]}}}


class ToolSchemaRef(OfOneTool):
    schema: ClassVar[Json] = {"properties": {"a": {"$ref": "https://schemas.example/a.json"}}}


class ToolSchemaRefAgain(OfOneTool):
    """Has lost its definitions on the way."""

    schema: ClassVar[Json] = {"properties": {"a": {"$ref": "#/$defs/A"}}}


class ToolArgumentName(OfOneTool):
    schema: ClassVar[Json] = {"properties": {"first number": {"type": "integer"}}}


class ToolHeader(OfOneTool):
    schema: ClassVar[Json] = {"properties": {"a": {"type": "object", "x-mcp-header": "A"}}}


class ToolOutputSchema(HealthyHttp):
    def __init__(self) -> None:
        super().__init__()
        self.tools[0]["outputSchema"] = {"type": "array"}


class NullMember(HealthyHttp):
    def __init__(self) -> None:
        super().__init__()
        self.tools[0] |= {"annotations": None, "outputSchema": None}


class NullMemberAgain(HealthyHttp):
    """Has no further pages, and says so."""

    def result(self, method: str) -> Json:
        more = {"tools": self.tools, "nextCursor": None}
        return {"result": more} if method == "tools/list" else super().result(method)


class ToolsLarge(HealthyHttp):
    def __init__(self) -> None:
        super().__init__()
        self.tools = [{**self.tools[0], "name": f"add_{number}"} for number in range(150)]


class VersionUnchecked(HealthyHttp):
    def refuse_version(self, asked: Asked) -> Told | None:
        return None


class RevisionRefused(HealthyHttp):
    def initialize(self, asked: Asked) -> Told | None:
        wanted = asked.message["params"]["protocolVersion"]
        return Told(400, "text/plain", b"version") if wanted > "2099" else super().initialize(asked)


class RevisionEchoed(HealthyHttp):
    def revision(self, wanted: str) -> str:
        return wanted


class AcceptAny(HealthyHttp):
    def post(self, asked: Asked) -> Told | None:
        accept = asked.headers.get("accept", "")
        return super().post(asked) if JSON in accept or STREAM in accept else Told(406)


class AcceptOne(HealthyHttp):
    def post(self, asked: Asked) -> Told | None:
        return Told(406) if asked.headers.get("accept") in (JSON, STREAM) else super().post(asked)


class AcceptIgnored(HealthyHttp):
    def shaped(self, asked: Asked, reply: Json, headers: Mapping[str, str] | None = None) -> Told | None:
        return as_json(reply, headers=headers)


class Streams(HealthyHttp):
    """Answers with a stream where that is accepted."""

    def shaped(self, asked: Asked, reply: Json, headers: Mapping[str, str] | None = None) -> Told | None:
        if asked.headers.get("accept") == JSON:
            return as_json(reply, headers=headers)
        return as_stream(reply, headers)


class StreamCompressed(Streams):
    def shaped(self, asked: Asked, reply: Json, headers: Mapping[str, str] | None = None) -> Told | None:
        told = super().shaped(asked, reply, headers)
        assert told is not None
        if told.media != STREAM or "gzip" not in asked.headers.get("accept-encoding", ""):
            return told
        return replace(
            told, body=gzip.compress(told.body), headers={**told.headers, "Content-Encoding": "gzip"}
        )


class StreamCollected(Streams):
    """A gateway waits for the end of every stream."""

    collects = True

    async def write(self, writer: asyncio.StreamWriter, told: Told) -> None:
        await super().write(writer, replace(told, headers={**told.headers, "Via": "1.1 gateway.example"}))


class OneClient(HealthyHttp):
    def initialize(self, asked: Asked) -> Told | None:
        again = bool(self.sessions)
        return Told(400, "text/plain", b"initialized") if again else super().initialize(asked)


class CodingUnwanted(HealthyHttp):
    def shaped(self, asked: Asked, reply: Json, headers: Mapping[str, str] | None = None) -> Told | None:
        told = super().shaped(asked, reply, headers)
        assert told is not None
        if told.media == STREAM:
            return told
        return replace(
            told, body=gzip.compress(told.body), headers={**told.headers, "Content-Encoding": "gzip"}
        )


class OriginStrict(HealthyHttp):
    def refuse_stranger(self, asked: Asked) -> Told | None:
        return Told(403) if "origin" in asked.headers else super().refuse_stranger(asked)


class HostStrict(HealthyHttp):
    def refuse_stranger(self, asked: Asked) -> Told | None:
        known = asked.headers["host"] == self.origin.removeprefix("http://")
        return super().refuse_stranger(asked) if known else Told(421)


class NewestRefused(HealthyHttp):
    def initialize(self, asked: Asked) -> Told | None:
        wanted = asked.message["params"]["protocolVersion"]
        return Told(400, "text/plain", b"version") if wanted == REVISIONS[0] else super().initialize(asked)


class LongMessage(HealthyHttp):
    def post(self, asked: Asked) -> Told | None:
        long = len(asked.body) > 100_000
        return Told(413, "text/html", b"<h1>Payload too large</h1>") if long else super().post(asked)


class Declared(HealthyHttp):
    def __init__(self) -> None:
        super().__init__()
        self.capabilities["resources"] = {}


class ProbeFails(HealthyHttp):
    def post(self, asked: Asked) -> Told | None:
        return Told(500) if asked.rpc_method == "server/discover" else super().post(asked)


class GetStatus(HealthyHttp):
    status = 404

    def get(self, asked: Asked) -> Told | None:
        return Told(self.status)


class GetStatusAgain(GetStatus):
    """Refuses the right type."""

    status = 406


class GetStatusOnceMore(GetStatus):
    """Fails."""

    status = 500


class GetType(HealthyHttp):
    def get(self, asked: Asked) -> Told | None:
        return as_json({"status": "ok"})


class GetEnds(HealthyHttp):
    def get(self, asked: Asked) -> Told | None:
        return Told(200, STREAM, b": here\n\n")


class StreamBuffered(HealthyHttp):
    """A proxy stands before it and waits for more."""

    async def write(self, writer: asyncio.StreamWriter, told: Told) -> None:
        if told.open:
            await asyncio.Event().wait()
        await super().write(writer, told)


class Origin(HealthyHttp):
    def refuse_stranger(self, asked: Asked) -> Told | None:
        return (
            None if asked.headers.get("origin") == "http://evil.example" else super().refuse_stranger(asked)
        )


class Host(HealthyHttp):
    def refuse_stranger(self, asked: Asked) -> Told | None:
        return Told(403) if asked.headers.get("origin", self.origin) != self.origin else None


class Delete(HealthyHttp):
    def delete(self, asked: Asked) -> Told | None:
        return Told(501)


class DeleteIgnored(HealthyHttp):
    def delete(self, asked: Asked) -> Told | None:
        return Told(200, JSON, json.dumps({"ok": True}).encode())


#: Those that do no worse than the healthy one.


class WithoutSessions(HealthyHttp):
    """Knows neither sessions nor the general stream."""

    def initialize(self, asked: Asked) -> Told | None:
        told = super().initialize(asked)
        assert told is not None
        return Told(told.status, told.media, told.body)

    def refuse_session(self, asked: Asked) -> Told | None:
        return None

    def get(self, asked: Asked) -> Told | None:
        return Told(405, headers={"Allow": "POST"})


class WithoutEnd(HealthyHttp):
    """Lets no client end a session."""

    def delete(self, asked: Asked) -> Told | None:
        return Told(405)


class Older(HealthyHttp):
    """Speaks a revision in which no header names the version."""

    def revision(self, wanted: str) -> str:
        return "2025-03-26"

    def refuse_version(self, asked: Asked) -> Told | None:
        return Told(400) if "mcp-protocol-version" in asked.headers else None
