"""Servers of the stateless era over HTTP: one that does everything right, and some that get one thing wrong."""

from __future__ import annotations

import base64
import json

from tests.cli.servers.http.healthy import STREAM, Asked, HealthyHttp, Json, Told, as_json

VERSION = "2026-07-28"
PREFIX = "io.modelcontextprotocol/"


class Stateless(HealthyHttp):
    """Serves requests that say their version as that has it, all others as before."""

    def __init__(self) -> None:
        super().__init__()
        self.capabilities = {"tools": {"listChanged": True}}

    def post(self, asked: Asked) -> Told | None:
        params: Json = asked.message.get("params", {})
        meta: Json = params.get("_meta", {})
        version = meta.get(PREFIX + "protocolVersion")
        if version is None:
            return self.post_in_session(asked)
        if PREFIX + "clientCapabilities" not in meta:
            return self.without_capabilities(asked)
        if self.mismatch(asked, version):
            return self.refused(asked, 400, -32020, "Header mismatch")
        if version != VERSION:
            return self.unsupported(asked, version)
        return self.serve_alone(asked)

    def post_in_session(self, asked: Asked) -> Told | None:
        """A message of the handshake era."""
        return super().post(asked)

    def mismatch(self, asked: Asked, version: str) -> bool:
        """Whether the headers say something else than the body."""
        name = asked.headers.get("mcp-name")
        if name is not None and name.startswith("=?base64?"):
            name = base64.b64decode(name[9:-2]).decode()
        told = (asked.headers.get("mcp-method"), asked.headers.get("mcp-protocol-version"), name)
        return told != (asked.rpc_method, version, asked.message["params"].get("name"))

    def without_capabilities(self, asked: Asked) -> Told | None:
        """A client that does not say what it can do."""
        return self.refused(asked, 400, -32602, "Invalid params")

    def unsupported(self, asked: Asked, version: str) -> Told | None:
        """A version that is not spoken."""
        data = {"supported": [VERSION], "requested": version}
        return self.refused(asked, 400, -32022, "Unsupported protocol version", data)

    def refused(self, asked: Asked, status: int, code: int, text: str, data: object = None) -> Told:
        """An error."""
        error = {"code": code, "message": text} | ({} if data is None else {"data": data})
        return as_json({"jsonrpc": "2.0", "id": asked.message["id"], "error": error}, status)

    def serve_alone(self, asked: Asked) -> Told | None:
        """A request that stands for itself."""
        match asked.rpc_method:
            case "server/discover":
                return self.complete(asked, self.discover())
            case "tools/list":
                return self.complete(asked, {"tools": self.tools})
            case "subscriptions/listen":
                method = "notifications/subscriptions/acknowledged"
                data = json.dumps({"jsonrpc": "2.0", "method": method, "params": {}}).encode()
                return Told(200, STREAM, b"data: " + data + b"\n\n", open=True)
            case method:
                return self.refused(asked, self.unknown_status(), -32601, f"Method not found: {method}")

    def unknown_status(self) -> int:
        """The status of a method that does not exist."""
        return 404

    def discover(self) -> Json:
        """What it says of itself."""
        return {"supportedVersions": [VERSION], "capabilities": self.capabilities}

    def complete(self, asked: Asked, result: Json) -> Told | None:
        """A result."""
        reply = {"jsonrpc": "2.0", "id": asked.message["id"], "result": self.frame(result)}
        return self.shaped(asked, reply)

    def frame(self, result: Json) -> Json:
        """What every result says of itself."""
        meta = {PREFIX + "serverInfo": {"name": "Healthy", "version": "1.0"}}
        return {**result, "resultType": "complete", "ttlMs": 0, "cacheScope": "private", "_meta": meta}


class StatelessOnly(Stateless):
    """Shakes no hands."""

    def post_in_session(self, asked: Asked) -> Told | None:
        return self.unsupported(asked, "a handshake")


class DiscoverMissing(StatelessOnly):
    def serve_alone(self, asked: Asked) -> Told | None:
        if asked.rpc_method == "server/discover":
            return self.refused(asked, 404, -32601, "Method not found")
        return super().serve_alone(asked)


class DiscoverResult(StatelessOnly):
    def discover(self) -> Json:
        return {"capabilities": self.capabilities}


class ResultType(Stateless):
    def frame(self, result: Json) -> Json:
        framed = super().frame(result)
        del framed["resultType"]
        return framed


class CacheHints(Stateless):
    def frame(self, result: Json) -> Json:
        return {**super().frame(result), "ttlMs": None}


class EnvelopeUnchecked(Stateless):
    def without_capabilities(self, asked: Asked) -> Told | None:
        return self.serve_alone(asked)


class VersionRefusal(Stateless):
    def unsupported(self, asked: Asked, version: str) -> Told | None:
        return self.refused(asked, 400, -32602, "Unsupported protocol version")


class VersionIgnored(Stateless):
    def unsupported(self, asked: Asked, version: str) -> Told | None:
        return self.serve_alone(asked)


class MirrorRefused(Stateless):
    """Takes no name that is wrapped."""

    def mismatch(self, asked: Asked, version: str) -> bool:
        return super().mismatch(asked, version) or "=?base64?" in asked.headers.get("mcp-name", "")


class MirrorRefusedAgain(Stateless):
    """Wants a name of everything."""

    def mismatch(self, asked: Asked, version: str) -> bool:
        return "mcp-name" not in asked.headers


class MirrorUnchecked(Stateless):
    def mismatch(self, asked: Asked, version: str) -> bool:
        return False


class ListenBuffered(Stateless):
    """A proxy lets the head through and waits for more of the body."""

    def serve_alone(self, asked: Asked) -> Told | None:
        if asked.rpc_method == "subscriptions/listen":
            return Told(200, STREAM, open=True)
        return super().serve_alone(asked)


class UnknownStatus(Stateless):
    def unknown_status(self) -> int:
        return 200


class SessionMinted(Stateless):
    def complete(self, asked: Asked, result: Json) -> Told | None:
        told = super().complete(asked, result)
        assert told is not None
        return Told(told.status, told.media, told.body, {"Mcp-Session-Id": "minted"})
