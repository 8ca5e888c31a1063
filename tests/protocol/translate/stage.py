"""A translator between a client and a server that a test plays, with a clock that the test turns."""

from __future__ import annotations

import json
from typing import Any

from anywire.errors import AnywireError
from anywire.protocol.translate.effect import Effect, Failed, Noise, ToClient, ToServer
from anywire.protocol.translate.legacy_client import LegacyClient
from anywire.wire.codec import decode, encode, encode_value
from anywire.wire.limits import DEFAULT_LIMITS, Limits
from anywire.wire.message import Fault

MODERN = "2026-07-28"
KEY = "io.modelcontextprotocol/"
DISCOVERED: dict[str, Any] = {
    "resultType": "complete",
    "supportedVersions": [MODERN],
    "capabilities": {"tools": {}},
    "ttlMs": 5,
    "cacheScope": "public",
    "_meta": {KEY + "serverInfo": {"name": "s", "version": "1"}},
}
ALL: dict[str, Any] = {"sampling": {"tools": {}}, "elicitation": {"form": {}, "url": {}}, "roots": {}}


class Stage:
    """What was said to either side stands in `to_server` and `to_client`, as plain data, until it is taken."""

    def __init__(self, *, linger: float = 0.0, limits: Limits = DEFAULT_LIMITS, **options: Any) -> None:
        self.machine = LegacyClient(limits, name="q", linger=linger, **options)
        self.now = 100.0
        self.to_server: list[Any] = []
        self.to_client: list[Any] = []
        #: The frames that were sent, in both directions.
        self.frames: list[bytes] = []
        self.related: list[bytes | None] = []
        self.failed: list[tuple[bytes, AnywireError]] = []
        self.noise: list[Fault | AnywireError] = []

    def take(self, effects: list[Effect]) -> None:
        for effect in effects:
            match effect:
                case ToServer():
                    self.frames.append(encode(effect.message))
                    self.to_server.append(json.loads(self.frames[-1]))
                case ToClient():
                    self.frames.append(encode(effect.message))
                    self.to_client.append(json.loads(self.frames[-1]))
                    self.related.append(effect.related)
                case Failed():
                    self.failed.append((effect.id, effect.error))
                case Noise():
                    self.noise.append(effect.error)

    def client(self, said: Any) -> None:
        """The client says something."""
        message = decode(said if isinstance(said, bytes) else encode_value(said))
        assert not isinstance(message, Fault), message
        self.take(self.machine.from_client(message, self.now))

    def server(self, said: Any) -> None:
        """The server says something, whatever it is."""
        message = decode(said if isinstance(said, bytes) else encode_value(said))
        self.take(self.machine.from_server(message, self.now))

    def pass_time(self, seconds: float) -> None:
        """Let time pass, and what is due happen at its time."""
        end = self.now + seconds
        while (due := self.machine.deadline()) is not None and due <= end:
            self.now = max(self.now, due)
            self.take(self.machine.tick(self.now))
        self.now = end

    def ask(self, id: object, method: str, params: object = None) -> Any:
        """The client asks; return what the server is asked for it, if it is."""
        asked = {"jsonrpc": "2.0", "id": id, "method": method}
        self.client(asked if params is None else asked | {"params": params})
        return self.to_server.pop() if self.to_server else None

    def notify(self, method: str, params: object = None) -> None:
        """The client notifies."""
        said = {"jsonrpc": "2.0", "method": method}
        self.client(said if params is None else said | {"params": params})

    def answer(self, request: Any, result: object) -> None:
        """The server answers a request."""
        self.server({"jsonrpc": "2.0", "id": request["id"], "result": result})

    def reply(self, question: Any, result: object) -> None:
        """The client answers a question."""
        self.client({"jsonrpc": "2.0", "id": question["id"], "result": result})

    def said(self) -> Any:
        """Return the one thing that was said to the client."""
        assert len(self.to_client) == 1, self.to_client
        return self.to_client.pop()

    def shake_hands(self, revision: str = "2025-11-25", server: object = None, client: object = None) -> Any:
        """Open the conversation with these capabilities of either side; return the client's answer."""
        params = {
            "protocolVersion": revision,
            "capabilities": ALL if client is None else client,
            "clientInfo": {"name": "c", "version": "2"},
        }
        asked = self.ask("hello", "initialize", params)
        capabilities: Any = {"tools": {}} if server is None else server
        self.answer(asked, DISCOVERED | {"capabilities": capabilities})
        answer = self.said()
        self.notify("notifications/initialized")
        return answer


def shaken(**options: Any) -> Stage:
    """A stage after the handshake; `server` are the capabilities that the server has."""
    server, revision = options.pop("server", None), options.pop("revision", "2025-11-25")
    client = options.pop("client", None)
    stage = Stage(**options)
    stage.shake_hands(revision, server, client)
    return stage


def plain(request: Any) -> Any:
    """The params of a request to the server, without what it says of itself."""
    params = dict(request["params"])
    params["_meta"] = {key: value for key, value in params["_meta"].items() if not key.startswith(KEY)}
    return params if params["_meta"] else {key: params[key] for key in params if key != "_meta"}
