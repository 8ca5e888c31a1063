"""Routes with nothing around them: what is to be done is done into lists."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

from anywire.bridge.sharing.delivery import Delivery, Failed, Note, Reopened, ToClient, ToServer
from anywire.bridge.sharing.handshake import Declares
from anywire.bridge.sharing.routes import Routes
from anywire.wire.codec import decode, decode_value, encode, encode_value
from anywire.wire.limits import DEFAULT_LIMITS, Limits
from anywire.wire.message import Batch, Fault, Message, Request


def message(value: object) -> Message | Batch:
    """Return the message of plain JSON data, or of JSON text, as if it had been read."""
    made = decode(value if isinstance(value, bytes) else encode_value(value))
    assert not isinstance(made, Fault), made
    return made


def plain(each: Message | Batch) -> Any:
    """Return a message as plain JSON data."""
    return decode_value(encode(each), object)


def reply(id: object, result: object = None) -> dict[str, Any]:
    """A reply."""
    return {"jsonrpc": "2.0", "id": id, "result": {} if result is None else result}


def note(method: str, params: object = None) -> dict[str, Any]:
    """A notification."""
    return {"jsonrpc": "2.0", "method": method, **({} if params is None else {"params": params})}


def initialize(revision: str = "2025-11-25", capabilities: object = None) -> dict[str, object]:
    """The params of `initialize`."""
    return {"protocolVersion": revision, "capabilities": capabilities or {}, "clientInfo": {"name": "c"}}


def question(id: object = 1, method: str = "roots/list", params: object = None) -> dict[str, Any]:
    """A request of either side."""
    return {"jsonrpc": "2.0", "id": id, "method": method, "params": params or {}}


class World:
    """One server and its clients, as lists of what came in."""

    def __init__(self, limits: Limits = DEFAULT_LIMITS, declares: Declares = Declares.ALL) -> None:
        self.routes = Routes(limits, declares)
        #: What the server got.
        self.server: list[Message] = []
        #: What each connection got.
        self.inbox: dict[int, list[Message | Batch | Failed | Reopened]] = {}
        #: What whoever runs the bridge was told.
        self.notes: list[str] = []

    def join(self, owner: Hashable = None) -> int:
        """Add a connection, of an owner of its own unless one is named."""
        key = self.routes.join(object() if owner is None else owner)
        self.inbox[key] = []
        return key

    def do(self, deliveries: list[Delivery]) -> None:
        """Do what is to be done."""
        for delivery in deliveries:
            match delivery:
                case ToServer():
                    self.server.append(delivery.message)
                case ToClient():
                    self.inbox[delivery.to].append(delivery.message)
                case Failed() | Reopened():
                    self.inbox[delivery.to].append(delivery)
                case Note():
                    self.notes.append(delivery.sentence)

    # What is said.

    def client(self, key: int, value: object) -> None:
        """A client says something."""
        self.do(self.routes.from_client(key, message(value)))

    def ask(self, key: int, id: object, method: str, params: object = None) -> None:
        """A client asks something."""
        given = {} if params is None else {"params": params}
        self.client(key, {"jsonrpc": "2.0", "id": id, "method": method, **given})

    def notify(self, key: int, method: str, params: object = None) -> None:
        """A client tells something."""
        given = {} if params is None else {"params": params}
        self.client(key, {"jsonrpc": "2.0", "method": method, **given})

    def say(self, value: object) -> None:
        """The server says something."""
        self.do(self.routes.from_server(message(value)))

    def tell(self, method: str, params: object = None) -> None:
        """The server tells something."""
        given = {} if params is None else {"params": params}
        self.say({"jsonrpc": "2.0", "method": method, **given})

    def answer(self, request: Any, result: object = None) -> None:
        """The server answers a request, given as it came from `asked`."""
        self.say({"jsonrpc": "2.0", "id": request["id"], "result": {} if result is None else result})

    def leave(self, key: int) -> None:
        """A connection leaves."""
        self.do(self.routes.leave(key))

    # What came.

    def heard(self) -> list[Any]:
        """Return what the server got since the last time."""
        got, self.server = self.server, []
        return [plain(each) for each in got]

    def asked(self) -> Any:
        """Return the only thing that the server got since the last time."""
        (got,) = self.heard()
        return got

    def got(self, key: int) -> list[Any]:
        """Return what a connection got since the last time."""
        got, self.inbox[key] = self.inbox[key], []
        return [each if isinstance(each, Failed | Reopened) else plain(each) for each in got]

    def greet(self, key: int, capabilities: object = None, revision: str = "2025-11-25") -> None:
        """Let a connection shake hands, whoever is the first."""
        params = {
            "protocolVersion": revision,
            "capabilities": capabilities or {},
            "clientInfo": {"name": "c"},
        }
        self.ask(key, "hello", "initialize", params)
        for each in list(self.server):
            if isinstance(each, Request) and each.method == "initialize":
                result = {"protocolVersion": revision, "capabilities": {}, "serverInfo": {"name": "s"}}
                self.answer(plain(each), result)
        (reply,) = self.got(key)
        assert reply["id"] == "hello", reply
        self.notify(key, "notifications/initialized")
        greeting = ("initialize", "notifications/initialized")
        self.server = [each for each in self.server if getattr(each, "method", "") not in greeting]
