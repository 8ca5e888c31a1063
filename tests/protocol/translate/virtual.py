"""Both sides of a virtual conversation, played by a test: a stateless request, and a handshake server."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from anywire.errors import AnywireError
from anywire.protocol.modern import Envelope, read_envelope
from anywire.protocol.translate.input_rounds import CallInRounds
from anywire.protocol.translate.modern_client import read_request
from anywire.protocol.translate.virtual_handshake import (
    Answer,
    Failed,
    Step,
    ToClient,
    ToServer,
    VirtualHandshake,
    WantsInput,
)
from anywire.wire.codec import decode, encode
from anywire.wire.event import Refused
from anywire.wire.limits import DEFAULT_LIMITS
from anywire.wire.message import Batch, Fault, Message, Request

REVISION = "2026-07-28"
SERVER_INFO = b'"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"played","version":"1","x":1e3}}'
CAPABLE: dict[str, Any] = {"sampling": {"tools": {}}, "elicitation": {"form": {}, "url": {}}, "roots": {}}
ALL: dict[str, Any] = {
    "tools": {"listChanged": True},
    "prompts": {"listChanged": True},
    "resources": {"listChanged": True, "subscribe": True},
    "logging": {},
}


def meta(capabilities: object = CAPABLE, level: str | None = None, **more: object) -> dict[str, Any]:
    """What a request says of itself."""
    key = "io.modelcontextprotocol/"
    said: dict[str, Any] = {key + "protocolVersion": REVISION, key + "clientCapabilities": capabilities}
    if level is not None:
        said[key + "logLevel"] = level
    return said | more


def message(raw: bytes | Mapping[str, Any]) -> Message:
    """Read one message."""
    read = decode(raw if isinstance(raw, bytes) else json.dumps({"jsonrpc": "2.0", **raw}).encode())
    assert not isinstance(read, Fault | Batch), read
    return read


def request(method: str, params: Mapping[str, Any] | None = None, id: object = 7, **said: Any) -> Request:
    """A request of a stateless client."""
    made = message({"id": id, "method": method, "params": {**(params or {}), "_meta": meta(**said)}})
    assert isinstance(made, Request)
    return made


def refusal(asked: Request) -> dict[str, Any]:
    """The error that a request is refused with."""
    found = read_request(asked, "played", DEFAULT_LIMITS)
    assert isinstance(found, Refused), found
    assert found.reply.id == asked.id
    return json.loads(found.reply.error)


def conversation(asked: Request) -> VirtualHandshake:
    """What a request becomes."""
    found = read_request(asked, "played", DEFAULT_LIMITS)
    assert isinstance(found, VirtualHandshake), found
    return found


class Played:
    """A request that is served, with what it made of what the server said."""

    def __init__(self, asked: Request) -> None:
        self.conversation = conversation(asked)
        #: What was sent to the server, and what to the client, as bytes.
        self.sent: list[bytes] = []
        self.told: list[bytes] = []
        #: How often the client was answered, how often it was let down.
        self.answers: list[bytes] = []
        self.failures: list[AnywireError] = []
        self.wants_input = 0
        self.do(self.conversation.begin())

    @property
    def call(self) -> CallInRounds:
        """The conversation of a call that may ask."""
        assert isinstance(self.conversation, CallInRounds)
        return self.conversation

    def do(self, steps: list[Step]) -> None:
        """Note what is to be done."""
        for step in steps:
            match step:
                case ToServer(what):
                    self.sent.append(encode(what))
                case ToClient(what):
                    self.told.append(encode(what))
                case Answer(what):
                    self.answers.append(encode(what))
                case Failed(error):
                    self.failures.append(error)
                case WantsInput():
                    self.wants_input += 1

    def say(self, *said: bytes | Mapping[str, Any]) -> Played:
        """Let the server say something."""
        for each in said:
            self.do(self.conversation.receive(message(each)))
        return self

    def last(self) -> Any:
        """What was sent to the server last."""
        return json.loads(self.sent[-1])

    def answer(self) -> Any:
        """The one answer of the client's request; nothing else was said of it."""
        assert len(self.answers) == 1, (self.answers, self.failures)
        assert self.failures == []
        return json.loads(self.answers[0])

    def greet(self, capabilities: object = ALL, revision: str = "2025-11-25", more: bytes = b"") -> Played:
        """Let the server shake hands; then forget what was sent for that."""
        result = b'{"protocolVersion":"%b","capabilities":%b,"serverInfo":{"name":"played","version":"1","x":1e3}%b}'
        filled = result % (revision.encode(), json.dumps(capabilities).encode(), more)
        self.say(b'{"jsonrpc":"2.0","id":1,"result":%b}' % filled)
        return self

    def ask(self, id: object, method: str, params: object = None) -> Played:
        """Let the server ask the client."""
        given = {} if params is None else {"params": params}
        return self.say({"id": id, "method": method, **given})

    def round(self, state: str = "S") -> dict[str, Any]:
        """Ask the client what is to be asked, and return the questions."""
        assert self.call.wants_input
        self.do(self.call.ask(state))
        result = json.loads(self.answers.pop())["result"]
        assert (result["resultType"], result["requestState"]) == ("input_required", state)
        return result["inputRequests"]

    def come_back(self, responses: object, id: object = 8, **said: Any) -> Played:
        """Let the client make its request again, with answers."""
        first = json.loads(self.conversation.request.params or b"{}")
        params = {key: value for key, value in first.items() if key not in ("_meta", "inputResponses")}
        again = request(self.conversation.request.method, {**params, "inputResponses": responses}, id, **said)
        assert self.call.fault_of(again) == ""
        envelope = read_envelope(again.params)
        assert isinstance(envelope, Envelope)
        self.do(self.call.resume(again, envelope))
        return self
