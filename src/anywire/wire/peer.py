"""One end of a JSON-RPC conversation, without I/O: who asked what, and what became of it.

A `Peer` makes the requests that go out, matches what comes in, and settles each request exactly
once: by an answer, an error, a cancellation, a deadline, or the end of the wire.  For requests that
come in it knows which are unanswered, so that each is answered at most once and a cancelled one not
at all.

Time is an argument: `now` is in seconds on any clock that does not run backwards.  `deadline()` says
when `tick(now)` must be called next.  Nothing here raises on what a peer sends.

Rules that are decided here, once:

* Requests in flight are keyed by the decoded id with its type; a second request under an id in
  flight is refused.
* A reply is matched exactly first.  A string that spells the number of a request in flight (some
  peers turn `0` into `"0"`) is accepted and flagged as `folded`.
* An error without an id settles the request in flight when there is only one; else it is reported.
* Progress restarts the clock of its request, up to a total.
* While this side owes the peer an answer that may take long (`pause`), no clock of ours runs.
* A reply that matches nothing (late, duplicate, invented) is reported and changes nothing.
* `initialize` and `server/discover` are never cancelled on the wire.

Specification: JSON-RPC 2.0 §4–5; MCP `basic/utilities/cancellation`, `basic/utilities/progress`.
"""

from __future__ import annotations

import heapq
import math
from typing import Final

import msgspec

from anywire.errors import (
    AnywireError,
    DeadlineExceeded,
    LimitExceeded,
    PeerError,
    RemoteProtocolError,
    RequestCancelled,
    TransportClosed,
)
from anywire.wire.codec import decode_value, encode_value
from anywire.wire.event import (
    CANCELLED,
    CancelReceived,
    Event,
    Outcome,
    ProgressReceived,
    Refused,
    Settled,
    Unmatched,
    read_cancel,
)
from anywire.wire.limits import DEFAULT_LIMITS, Limits
from anywire.wire.message import (
    NULL_ID,
    ErrorResponse,
    Fault,
    FaultKind,
    JsonRpcErrorCode,
    Message,
    Notification,
    Request,
    Response,
    error_reply,
    folded_key,
    id_key,
)
from anywire.wire.splice import with_progress_token

__all__ = (
    "OPENING",
    "CancelReceived",
    "Event",
    "Outcome",
    "Peer",
    "ProgressReceived",
    "Refused",
    "Settled",
    "Unmatched",
    "peer_error",
    "read_cancel",
)

PROGRESS: Final = "notifications/progress"
#: What opens a conversation, which a server that does not know it must not be told to stop.
OPENING: Final = frozenset({"initialize", "server/discover"})


class _Pending(msgspec.Struct, gc=False):
    """One request of ours that is unanswered.  Times are absolute, None: no bound."""

    key: bytes
    method: str
    started: float
    silence: float | None
    deadline: float | None
    total_deadline: float | None


class _ProgressParams(msgspec.Struct, rename="camel"):
    progress_token: msgspec.Raw = msgspec.Raw()


_progress_decoder = msgspec.json.Decoder(_ProgressParams)


class Peer:
    """The state of one side of one connection.  See the module for the rules."""

    __slots__ = (
        "_closed",
        "_deadlines",
        "_incoming",
        "_most",
        "_next_id",
        "_outgoing",
        "_over",
        "_paused_at",
    )

    def __init__(self, limits: Limits = DEFAULT_LIMITS) -> None:
        self._most = limits.requests_in_flight
        self._over = False
        self._next_id = 0
        self._outgoing: dict[bytes, _Pending] = {}
        self._incoming: set[bytes] = set()
        self._deadlines: list[tuple[float, bytes]] = []
        self._paused_at: float | None = None
        self._closed: AnywireError | None = None

    def __repr__(self) -> str:
        state = "closed" if self._closed else "open"
        return f"<Peer {state}, {len(self._outgoing)} out, {len(self._incoming)} in>"

    @property
    def outgoing(self) -> int:
        """The number of our requests that are unanswered."""
        return len(self._outgoing)

    @property
    def incoming(self) -> int:
        """The number of the peer's requests that are unanswered."""
        return len(self._incoming)

    # Our requests.

    def request(
        self,
        method: str,
        params: bytes | None,
        now: float,
        *,
        timeout: float | None = None,
        total: float | None = None,
        progress: bool = False,
    ) -> Request:
        """Begin a request and return the message to send; its `id` is the key of its `Settled`.

        It is settled after `timeout` seconds without answer or progress, after `total` seconds in
        any case; None means never.  `progress` asks the peer to report: the id is the token.

        Raises the error the wire ended with when it has ended.
        """
        if self._closed is not None:
            raise self._closed.with_traceback(None)  # or each raise would add to the last one's
        key = b"%d" % self._next_id
        self._next_id += 1
        if progress:
            params = with_progress_token(params, key)
        deadline = None if timeout is None else now + timeout
        limit = None if total is None else now + total
        if limit is not None and (deadline is None or limit < deadline):
            deadline = limit
        self._outgoing[key] = _Pending(key, method, now, timeout, deadline, limit)
        if deadline is not None:
            self._forget_settled()
            heapq.heappush(self._deadlines, (deadline, key))
        return Request(key, method, params)

    def cancel(self, key: bytes, reason: str = "") -> Settled | None:
        """Give up a request of ours; None when it has been settled already.

        The `Settled` carries the notification to send, but for what opens a conversation, which must
        not be cancelled.
        """
        return self.settle(key, RequestCancelled(reason or "cancelled by this side"), reason)

    def settle(self, key: bytes, error: AnywireError, reason: str = "") -> Settled | None:
        """Settle a request of ours with an error of this side and tell the peer to stop."""
        pending = self._outgoing.pop(key, None)
        if pending is None:
            return None
        if pending.method in OPENING:
            return Settled(key, error)
        params = b'{"requestId":%b%b}' % (key, b',"reason":' + encode_value(reason) if reason else b"")
        return Settled(key, error, Notification(CANCELLED, params))

    def fail(self, key: bytes, error: AnywireError) -> Settled | None:
        """Settle a request of ours that cannot have an answer; the peer has nothing to stop."""
        return Settled(key, error) if self._outgoing.pop(key, None) is not None else None

    # What comes in.

    def receive(self, message: Message, now: float) -> Event:
        """Take one message of the peer and say what it means."""
        if type(message) is Request:
            return self.receive_request(message)
        if type(message) is Notification:
            if message.method == CANCELLED:
                return self._receive_cancel(message)
            if message.method == PROGRESS:
                return self._receive_progress(message, now)
            return message
        return self.receive_reply(message)

    def receive_request(self, request: Request) -> Request | Refused:
        """Take a request of the peer: it comes back when it is to be handled."""
        incoming, key = self._incoming, id_key(request.id)
        if key in incoming:
            id = request.id[:100].decode(errors="replace")
            reason = f"Invalid Request: a request with the id {id} is in flight already"
            return self._refuse(request, JsonRpcErrorCode.InvalidRequest, reason)
        if len(incoming) >= self._most:
            reason = f"more than {self._most} requests are unanswered; wait for some of them"
            return self._refuse(request, JsonRpcErrorCode.InternalError, reason)
        incoming.add(key)
        return request

    def receive_fault(self, fault: Fault) -> Settled | None:
        """Settle the request whose reply could not be used; None when the fault is no such reply."""
        if not fault.may_settle:
            return None
        pending = self._sole() if fault.id is None and _is_message(fault) else self._find(fault.id or b"")[0]
        if pending is None:
            return None
        del self._outgoing[pending.key]
        text = f"the reply to {pending.method} could not be used: {fault.reason}"
        too_large = fault.kind is FaultKind.TOO_LARGE
        return Settled(pending.key, LimitExceeded(text) if too_large else RemoteProtocolError(text))

    def respond(self, id: bytes) -> bool:
        """Take a request of the peer out of the table; True when it may be answered now.

        False: it was answered or cancelled before, and nothing may be sent for it.
        """
        # An id that is a key is its own, so nearly none has to be made into one again.
        key = id if id in self._incoming else id_key(id)
        try:
            self._incoming.remove(key)
        except KeyError:
            return False
        return True

    def _refuse(self, request: Request, code: int, reason: str) -> Refused:
        return Refused(error_reply(request.id, code, reason))

    def _receive_cancel(self, message: Notification) -> Event:
        cancelled = read_cancel(message)
        if cancelled is None or cancelled.key not in self._incoming:
            return message  # malformed, unknown or finished: ignored above, as the specification asks
        self._incoming.remove(cancelled.key)
        return cancelled

    def _receive_progress(self, message: Notification, now: float) -> Event:
        try:
            params = decode_value(message.params or b"{}", _ProgressParams, _progress_decoder)
        except msgspec.MsgspecError:
            return message
        pending, _ = self._find(bytes(params.progress_token))
        if pending is None or message.params is None:
            return message  # an unknown or finished token
        if pending.silence is not None:
            deadline = now + pending.silence
            total = pending.total_deadline
            pending.deadline = deadline if total is None else min(deadline, total)
        return ProgressReceived(pending.key, message.params)

    def receive_reply(self, message: Response | ErrorResponse) -> Settled | Unmatched:
        """Take a reply of the peer."""
        id, folded = message.id, False
        pending = None if id is None else self._outgoing.pop(id, None)  # as nearly always
        if pending is None:
            if id is None or id == NULL_ID:
                pending = self._sole()
            else:
                pending, folded = self._find(id)
            if pending is None:
                return Unmatched(message)
            del self._outgoing[pending.key]
        outcome = message.result if type(message) is Response else peer_error(message)
        return Settled(pending.key, outcome, None, folded)

    def _find(self, id: bytes) -> tuple[_Pending | None, bool]:
        """Find our request of that id: exactly, or with the type folded (then True comes with it)."""
        key = id_key(id)
        if (pending := self._outgoing.get(key)) is not None:
            return pending, False
        return self._outgoing.get(folded_key(key)), True

    def _sole(self) -> _Pending | None:
        return next(iter(self._outgoing.values())) if len(self._outgoing) == 1 else None

    # Time.

    def deadline(self) -> float | None:
        """Return when `tick` must be called, None when nothing waits for the clock.

        It may be early, never late.
        """
        if self._paused_at is not None:
            return None
        self._forget_settled()
        while self._deadlines and self._deadlines[0][1] not in self._outgoing:
            heapq.heappop(self._deadlines)
        return self._deadlines[0][0] if self._deadlines else None

    def tick(self, now: float) -> list[Settled]:
        """Settle the requests whose time is over."""
        settled: list[Settled] = []
        while (first := self.deadline()) is not None and first <= now:
            _, key = heapq.heappop(self._deadlines)
            pending = self._outgoing[key]
            if pending.deadline is not None and pending.deadline > now:
                heapq.heappush(self._deadlines, (pending.deadline, key))  # it made progress meanwhile
                continue
            done = self.settle(key, DeadlineExceeded(_waited(pending, now)), "timed out")
            if done is not None:
                settled.append(done)
        return settled

    def pause(self, now: float) -> None:
        """Let no request of ours run out of time until `resume`."""
        if self._paused_at is None:
            self._paused_at = now

    def resume(self, now: float) -> None:
        """Let the clocks go on: what was paused was no time."""
        if self._paused_at is None:
            return
        paused, self._paused_at = now - self._paused_at, None
        for pending in self._outgoing.values():
            if pending.deadline is not None:
                pending.deadline += paused
            if pending.total_deadline is not None:
                pending.total_deadline += paused

    def _forget_settled(self) -> None:
        """Throw the deadlines of settled requests away before they outnumber the others."""
        if len(self._deadlines) > 2 * len(self._outgoing) + 64:
            self._deadlines = [entry for entry in self._deadlines if entry[1] in self._outgoing]
            heapq.heapify(self._deadlines)

    # The end.

    def end(self, error: AnywireError | None = None) -> list[Settled]:
        """The peer sends no more: settle all requests of ours with the reason; its own can still be answered.

        Later requests raise the same reason.  A second call changes nothing.
        """
        if self._closed is not None:
            return []
        self._closed = error or TransportClosed("the connection is closed")
        settled = [Settled(key, self._closed) for key in self._outgoing]
        self._outgoing.clear()
        self._deadlines.clear()
        return settled

    def close(self, error: AnywireError | None = None) -> list[Settled]:
        """The wire has ended: settle all requests of ours with the reason, forget the peer's.

        Later requests raise the same reason.  A second call changes nothing.
        """
        if self._over:
            return []
        self._over = True
        settled = self.end(error)
        self._incoming.clear()
        return settled


def _waited(pending: _Pending, now: float) -> str:
    """Say how long was waited, and for what: an answer at all, or the end of a call that reported."""
    total = math.inf if pending.total_deadline is None else pending.total_deadline - pending.started
    silence = math.inf if pending.silence is None else pending.silence
    if now >= pending.started + total and total != silence:
        return f"{pending.method} did not end within {total:g} s"
    return f"no answer to {pending.method} within {silence:g} s"


def _is_message(fault: Fault) -> bool:
    """Say whether this was one of the peer's messages; a line of its log may have an `error`, too."""
    return fault.kind is FaultKind.TOO_LARGE or b'"jsonrpc"' in fault.data


def peer_error(message: ErrorResponse) -> PeerError:
    """Return the exception for an error that the peer answered with."""
    error = message.detail()
    data = None if isinstance(error.data, msgspec.UnsetType) else bytes(error.data)
    return PeerError(error.code, error.message, data)
