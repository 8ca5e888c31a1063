"""A client cannot tell whether it has its server for itself: what it gets is the same, byte for byte."""

from __future__ import annotations

from collections import deque
from typing import Protocol, TypeAlias

from hypothesis import given, settings
from hypothesis import strategies as st

from anywire.bridge.sharing.delivery import ToClient, ToServer
from anywire.bridge.sharing.routes import Routes
from anywire.wire.codec import decode, encode
from anywire.wire.message import Batch, Fault, Message, Notification, Request, id_key
from anywire.wire.splice import get_member

#: Ids and tokens in the spellings in which they come.
NAMES = ('"a"', '"\\u0061"', "0", "1", "1.0", "-7", "12345678901234567890123", '"é"', '"\\ud800"', '""')
#: What a call carries that nobody here knows.
EXTRAS = ('"x":1.0e-5', '"\\u006eame" : [1,2]', '"big":12345678901234567890123', '"nested":{"id":1}')

EVENTS = ("call", "call", "call", "work", "work", "cancel", "follow", "unfollow", "change", "ping", "odd")
events = st.lists(
    st.tuples(
        st.integers(0, 2),
        st.sampled_from(EVENTS),
        st.sampled_from(NAMES),
        st.sampled_from(NAMES),
        st.sampled_from(EXTRAS),
    ),
    min_size=1,
    max_size=40,
)

Story: TypeAlias = list[tuple[int, str, str, str, str]]


class Wire(Protocol):
    """How clients and the server hear each other."""

    def up(self, client: int, text: bytes) -> None:
        """A client says something."""
        ...

    def down(self, client: int, text: bytes) -> None:
        """The server says something that is for a client."""
        ...


def read(text: bytes) -> Message:
    """Return the message of a text, as if it had been read."""
    message = decode(text)
    assert not isinstance(message, Fault | Batch), text
    return message


class Server:
    """Does what it was asked when it is told to: the oldest thing of a client first."""

    def __init__(self) -> None:
        self.waiting: dict[int, deque[Request]] = {client: deque() for client in range(3)}
        self.followed: set[int] = set()

    def take(self, message: Message) -> None:
        """Take what came for it; whose it is stands in it."""
        if isinstance(message, Request):
            owner = get_member(message.params or b"", "of")
            if owner is not None:
                self.waiting[int(owner)].append(message)
        elif isinstance(message, Notification) and message.method == "notifications/cancelled":
            id = get_member(message.params or b"", "requestId")
            for client, requests in self.waiting.items():
                stay = (each for each in requests if id is None or id_key(each.id) != id_key(id))
                self.waiting[client] = deque(stay)

    def work(self, client: int) -> list[bytes]:
        """Do one thing and return what there is to say."""
        if not self.waiting[client]:
            return []
        request = self.waiting[client].popleft()
        said: list[bytes] = []
        if request.method.startswith("resources/"):
            (self.followed.add if request.method.endswith("/subscribe") else self.followed.discard)(client)
            return [b'{"jsonrpc":"2.0","id":%b,"result":{}}' % request.id]
        params = request.params or b""
        token = get_member(get_member(params, "_meta") or b"", "progressToken")
        if token is not None:
            said.append(
                b'{"jsonrpc": "2.0","method":"notifications/progress",'
                b'"params":{"x":1.0, "progressToken" : %b,"progress":1}}' % token
            )
        seen = b"[%b,%b]" % (get_member(params, "of") or b"", get_member(params, "extra") or b"")
        if request.method == "odd":
            said.append(b'{"id":%b,"jsonrpc":"2.0","error":{"code":-1.0,"message":"\\u00e9"}}' % request.id)
        else:
            said.append(b'{"jsonrpc":"2.0","result":{"seen" :%b},"z":1,"id": %b}' % (seen, request.id))
        return said

    def change(self, client: int) -> list[bytes]:
        """The resource of a client has changed."""
        method = b"notifications/resources/updated"
        text = b'{"jsonrpc":"2.0","method":"%b","params":{"uri":"r%d"}}' % (method, client)
        return [text] if client in self.followed else []


class Alone:
    """Each client has the wire to its server for itself."""

    def __init__(self, server: Server) -> None:
        self.server = server
        self.got: dict[int, list[bytes]] = {client: [] for client in range(3)}

    def up(self, client: int, text: bytes) -> None:
        """What it says arrives as it is."""
        self.server.take(read(text))

    def down(self, client: int, text: bytes) -> None:
        """What it is told arrives as it is."""
        self.got[client].append(text)


class Shared:
    """All clients are on the routes to one server."""

    def __init__(self, server: Server) -> None:
        self.server = server
        self.routes = Routes()
        self.keys = {client: self.routes.join(client) for client in range(3)}
        self.got: dict[int, list[bytes]] = {client: [] for client in range(3)}

    def up(self, client: int, text: bytes) -> None:
        """What it says arrives under other names."""
        for each in self.routes.from_client(self.keys[client], read(text)):
            assert isinstance(each, ToServer | ToClient)
            self._do(each)

    def down(self, client: int, text: bytes) -> None:
        """Whom it is for is found out."""
        for each in self.routes.from_server(read(text)):
            assert isinstance(each, ToServer | ToClient)
            self._do(each)

    def _do(self, each: ToServer | ToClient) -> None:
        if isinstance(each, ToServer):
            assert encode(each.message)
            self.server.take(read(encode(each.message)))
        else:
            assert not isinstance(each.message, Batch)
            client = next(client for client, key in self.keys.items() if key == each.to)
            self.got[client].append(encode(each.message))


class Teller:
    """Tells a story on a wire; `only` for one client."""

    def __init__(self, server: Server, wire: Wire) -> None:
        self.server = server
        self.wire = wire
        #: The ids that each client has in use, as they came.
        self.open: dict[int, list[bytes]] = {client: [] for client in range(3)}

    def tell(self, story: Story, only: int | None = None) -> None:
        """Let it happen, and everything be answered in the end."""
        for client, event, id, token, extra in story:
            if only is None or client == only:
                self.happen(client, event, id, token, extra)
        for client in range(3):
            self.drain(client)

    def happen(self, client: int, event: str, id: str, token: str, extra: str) -> None:
        """Let one thing happen."""
        match event:
            case "work":
                self.work(client)
            case "change":
                for text in self.server.change(client):
                    self.wire.down(client, text)
            case "cancel":
                self.say(client, f'"method":"notifications/cancelled","params":{{"requestId":{id}}}')
                self.open[client] = [each for each in self.open[client] if each != id_key(id.encode())]
            case "follow" | "unfollow":
                self.drain(client)  # what need not be asked again is answered at once
                method = "resources/subscribe" if event == "follow" else "resources/unsubscribe"
                self.say(
                    client, f'"id":{id},"method":"{method}","params":{{"of":{client},"uri":"r{client}"}}'
                )
                self.drain(client)
            case _ if id_key(id.encode()) not in self.open[client]:
                self.open[client].append(id_key(id.encode()))
                meta = f'"_meta":{{"y":1,"progressToken":{token}}}' if event == "call" else '"_meta":{}'
                params = f'{{"of":{client},{meta},"extra":{{{extra}}}}}'
                self.say(client, f'"params":{params},{extra},"id":{id},"method":"{event}"')
            case _:
                pass

    def say(self, client: int, members: str) -> None:
        """Let a client say something."""
        self.wire.up(client, f'{{"jsonrpc":"2.0",{members}}}'.encode())

    def work(self, client: int) -> None:
        """Let the server do one thing."""
        del self.open[client][:1]
        for text in self.server.work(client):
            self.wire.down(client, text)

    def drain(self, client: int) -> None:
        """Let the server do everything that a client has asked."""
        while self.server.waiting[client]:
            self.work(client)


@settings(max_examples=150, deadline=None)
@given(events)
def test_what_a_client_gets_does_not_depend_on_who_else_is_there(story: Story) -> None:
    """Of three clients that use the same names each gets what it gets from a server of its own."""
    server = Server()
    shared = Shared(server)
    Teller(server, shared).tell(story)
    for client in range(3):
        server = Server()
        alone = Alone(server)
        Teller(server, alone).tell(story, only=client)
        assert shared.got[client] == alone.got[client]
