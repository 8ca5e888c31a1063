"""A peer beside a simple model of it: each step is done on both, and they must agree."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest

from anywire.errors import (
    AnywireError,
    DeadlineExceeded,
    LimitExceeded,
    PeerError,
    RemoteProtocolError,
    RequestCancelled,
    TransportClosed,
)
from anywire.wire.limits import Limits
from anywire.wire.message import (
    ErrorResponse,
    Fault,
    FaultKind,
    Notification,
    Request,
    Response,
    id_key,
)
from anywire.wire.peer import (
    CancelReceived,
    Peer,
    ProgressReceived,
    Refused,
    Settled,
    Unmatched,
)

#: How a peer may spell the id of our request number `n`, and whether its type is wrong then.
SPELLINGS: tuple[tuple[bytes, bool], ...] = (
    (b"%d", False),
    (b'"%d"', True),
    (b"%d.0", True),
    (b"%d.00", True),
)
#: Ids of the peer's requests; some of them are the same id in another spelling.
THEIR_IDS: tuple[bytes, ...] = (b"0", b"-0", b"1", b"1.0", b'"1"', b'"a"', b'"\\u0061"', b'"\\ud800"')
IN_FLIGHT = 5


@dataclass
class Waiting:
    """What the model knows of a request of ours that is unanswered."""

    method: str
    silence: float | None
    deadline: float | None
    latest: float | None


@dataclass
class Conversation:
    """The peer, the model, and what has become of every request."""

    peer: Peer = field(default_factory=lambda: Peer(Limits(requests_in_flight=IN_FLIGHT)))
    now: float = 1000.0
    waiting: dict[bytes, Waiting] = field(default_factory=dict[bytes, Waiting])
    settled: list[bytes] = field(default_factory=list[bytes])
    begun: int = 0
    theirs: set[bytes] = field(default_factory=set[bytes])
    closed: bool = False

    # Our requests.

    def request(self, method: str, timeout: float | None, total: float | None, progress: bool) -> None:
        """Begin a request."""
        if self.closed:
            with pytest.raises(TransportClosed):
                self.peer.request(method, None, self.now)
            return
        sent = self.peer.request(method, None, self.now, timeout=timeout, total=total, progress=progress)
        assert sent.id == b"%d" % self.begun
        assert (sent.params is not None) == progress
        self.begun += 1
        latest = None if total is None else self.now + total
        bounds = [
            bound for bound in (None if timeout is None else self.now + timeout, latest) if bound is not None
        ]
        self.waiting[sent.id] = Waiting(method, timeout, min(bounds, default=None), latest)
        assert len(self.peer._deadlines) <= 2 * len(self.waiting) + 65

    def reply(self, number: int, spelling: int, failure: bool) -> None:
        """The peer answers request `number`, which may be settled, or never begun."""
        form, folded = SPELLINGS[spelling]
        id, key = form % number, b"%d" % number
        message = ErrorResponse(id, b'{"code":-1,"message":"no"}') if failure else Response(id, b"{}")
        event = self.peer.receive(message, self.now)
        if key not in self.waiting:
            assert event == Unmatched(message)
            return
        assert isinstance(event, Settled)
        assert event.folded is folded
        assert event.outcome == b"{}" or isinstance(event.outcome, PeerError)
        assert isinstance(event.outcome, PeerError) is failure
        self._take(event, key)

    def error_without_id(self, id: bytes | None) -> None:
        """The peer says that something was wrong with a message it could not read."""
        message = ErrorResponse(id, b"{}")
        event = self.peer.receive(message, self.now)
        if len(self.waiting) == 1:
            assert isinstance(event, Settled)
            self._take(event, next(iter(self.waiting)))
        else:
            assert event == Unmatched(message)

    def fault(self, number: int | None, kind: FaultKind, is_reply: bool, data: bytes) -> None:
        """Something came that is no message."""
        id = None if number is None else b"%d" % number
        settled = self.peer.receive_fault(Fault(kind, "why", id, is_reply, data))
        key: bytes | None = id if id in self.waiting else None
        if id is None and len(self.waiting) == 1 and (kind is FaultKind.TOO_LARGE or b'"jsonrpc"' in data):
            key = next(iter(self.waiting))
        if key is None or not is_reply:
            assert settled is None
            return
        assert settled is not None
        assert isinstance(
            settled.outcome, LimitExceeded if kind is FaultKind.TOO_LARGE else RemoteProtocolError
        )
        self._take(settled, key)

    def cancel(self, number: int, reason: str) -> None:
        """We give a request up, which may be settled already."""
        key = b"%d" % number
        settled = self.peer.cancel(key, reason)
        if key not in self.waiting:
            assert settled is None
            return
        assert settled is not None
        assert isinstance(settled.outcome, RequestCancelled)
        self._take(settled, key, told=True)

    def progress(self, number: int, spelling: int) -> None:
        """The peer reports progress of a request, which may be settled."""
        key = b"%d" % number
        token = SPELLINGS[spelling][0] % number
        message = Notification("notifications/progress", b'{"progressToken":%b,"progress":1}' % token)
        event = self.peer.receive(message, self.now)
        if key not in self.waiting:
            assert event == message
            return
        assert event == ProgressReceived(key, message.params or b"")
        waiting = self.waiting[key]
        if waiting.silence is not None:
            bounds = [self.now + waiting.silence, *([] if waiting.latest is None else [waiting.latest])]
            waiting.deadline = min(bounds)

    # Time.

    def pass_time(self, seconds: float) -> None:
        """The clock moves on, and the peer is told."""
        self.now += seconds
        due = {
            key
            for key, each in self.waiting.items()
            if each.deadline is not None and each.deadline <= self.now
        }
        settled = self.peer.tick(self.now)
        assert {each.key for each in settled} == due
        for each in settled:
            assert isinstance(each.outcome, DeadlineExceeded)
            self._take(each, each.key, told=True)

    # The peer's requests.

    def their_request(self, id: bytes) -> None:
        """The peer asks something."""
        request = Request(id, "x")
        event = self.peer.receive(request, self.now)
        if id_key(id) in self.theirs or len(self.theirs) >= IN_FLIGHT:
            assert isinstance(event, Refused)
            assert event.reply.id == id
        else:
            assert event == request
            self.theirs.add(id_key(id))

    def respond(self, id: bytes) -> None:
        """A handler is done: may it answer?"""
        may = self.peer.respond(id)
        assert may is (id_key(id) in self.theirs)
        self.theirs.discard(id_key(id))

    def their_cancel(self, id: bytes) -> None:
        """The peer gives its request up, which may have been answered."""
        message = Notification("notifications/cancelled", b'{"requestId":%b,"reason":"enough"}' % id)
        event = self.peer.receive(message, self.now)
        if id_key(id) in self.theirs:
            assert event == CancelReceived(id_key(id), "enough")
            self.theirs.remove(id_key(id))
        else:
            assert event == message

    # The end.

    def close(self, error: AnywireError | None = None) -> None:
        """The wire ends."""
        settled = self.peer.close(error)
        if self.closed:
            assert settled == []
            return
        assert {each.key for each in settled} == set(self.waiting)
        for each in settled:
            assert isinstance(each.outcome, TransportClosed)
            self._take(each, each.key)
        self.closed = True
        self.theirs.clear()

    # What holds at any time.

    def check(self) -> None:
        """Compare the peer with the model."""
        deadline = self.peer.deadline()
        deadlines = [each.deadline for each in self.waiting.values() if each.deadline is not None]
        assert (deadline is None) == (not deadlines)
        assert deadline is None or deadline <= min(deadlines)
        assert len(self.peer._deadlines) <= 2 * self.peer.outgoing + 65
        assert self.peer.outgoing == len(self.waiting)
        assert self.peer.incoming == len(self.theirs)

    def finish(self) -> None:
        """End it, and look whether each request was settled exactly once."""
        self.close()
        self.check()
        assert sorted(self.settled, key=int) == [b"%d" % number for number in range(self.begun)]

    def _take(self, settled: Settled, key: bytes, told: bool = False) -> None:
        assert settled.key == key
        waiting = self.waiting.pop(key)
        self.settled.append(key)
        if not told or waiting.method == "initialize":
            assert settled.send is None
        else:
            assert settled.send is not None
            assert settled.send.method == "notifications/cancelled"
            assert settled.send.params is not None
            assert settled.send.params.startswith(b'{"requestId":' + key)
