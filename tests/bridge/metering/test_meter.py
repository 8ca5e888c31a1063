"""In which state a server is, and what its conversations tell of it."""

from __future__ import annotations

from anywire.bridge.metering.calls import OTHER
from anywire.bridge.metering.conversation import MeteredConversation
from anywire.bridge.metering.meter import ServerMeter, State
from anywire.errors import (
    AnywireError,
    ConnectFailed,
    DeadlineExceeded,
    HttpStatusError,
    ProcessExited,
    SpawnFailed,
    TransportBroken,
)
from anywire.wire.message import (
    Batch,
    Fault,
    FaultKind,
    Notification,
    Request,
    Response,
    create_error_response,
    create_notification,
    create_request,
    create_response,
)

CRASH = ProcessExited("serve --token ***", 3, "the disk is full")


class Conversation(MeteredConversation):
    """One with a child, which tells its meter."""

    def __init__(self, meter: ServerMeter, *, is_child: bool = True) -> None:
        super().__init__(meter, is_child=is_child)

    def opened(self, now: float) -> Conversation:
        """It is open at that time, and the server has said something."""
        self.silent(now).received(create_notification("notifications/message"), now)
        return self

    def silent(self, now: float) -> Conversation:
        """It is open at that time."""
        self.starting(now)
        self.started(now)
        return self


def meter() -> ServerMeter:
    """One of a server that nobody uses."""
    return ServerMeter("notes", 0.0)


def errors(of: ServerMeter) -> dict[str, dict[str, int]]:
    """The errors by method and kind."""
    return {name: calls.errors for name, calls in of.methods.items() if calls.errors}


# States.


def test_a_server_is_started_used_and_left() -> None:
    """Idle, starting until its first word, running, and idle again; each since when it is."""
    notes = meter()
    conversation = Conversation(notes)
    told = [(notes.state, notes.since)]
    conversation.starting(1.0)
    told.append((notes.state, notes.since))
    conversation.started(1.5)
    told.append((notes.state, notes.since))
    conversation.received(create_notification("notifications/message"), 2.0)
    told.append((notes.state, notes.since))
    assert (notes.uptime(5.0), notes.children, notes.sessions) == (3.5, 1, 1)
    conversation.ended(6.0)
    conversation.ended(7.0)
    told.append((notes.state, notes.since))

    assert told == [
        (State.IDLE, 0.0),
        (State.STARTING, 1.0),
        (State.STARTING, 1.0),
        (State.RUNNING, 2.0),
        (State.IDLE, 6.0),
    ]
    assert (notes.uptime(9.0), notes.children, notes.starts, notes.restarts) == (0.0, 0, 1, 0)
    assert notes.last_error is None


def test_a_server_that_cannot_be_started_is_failing() -> None:
    """With the reason and the time, until one of its successors says something."""
    notes = meter()
    first = Conversation(notes)
    first.starting(1.0)
    first.lost(SpawnFailed("there is no program 'x'"), 2.0)
    first.ended(2.5)  # who made it closes it
    assert (notes.state, notes.since, notes.children) == (State.FAILING, 2.0, 0)
    assert notes.last_error is not None
    assert (notes.last_error.at, notes.last_error.text) == (2.0, "there is no program 'x'")
    assert notes.last_error.plain == "the server behind the bridge could not be started; see the bridge's log"

    second = Conversation(notes).silent(3.0)
    assert notes.state is State.FAILING  # it may end as the first did
    second.received(create_notification("notifications/message"), 4.0)

    assert (notes.state, notes.since, notes.starts, notes.restarts) == (State.RUNNING, 4.0, 2, 1)
    assert notes.last_error is not None


def test_a_server_that_crashes_is_failing_and_its_successor_is_a_restart() -> None:
    """A start that no loss came before is none."""
    notes = meter()
    Conversation(notes).opened(0.0)
    crashing = Conversation(notes).opened(1.0)
    crashing.lost(CRASH, 2.0)

    assert (notes.state, notes.children, notes.conversations) == (State.FAILING, 1, 1)
    assert (notes.starts, notes.restarts) == (2, 0)
    Conversation(notes).opened(3.0)
    Conversation(notes).opened(4.0)
    assert (notes.starts, notes.restarts) == (4, 1)


def test_a_server_that_leaves_in_order_is_idle() -> None:
    """Some do so when nobody uses them; the next start is a restart all the same."""
    notes = meter()
    Conversation(notes).opened(1.0).lost(ProcessExited("serve", 0), 2.0)

    assert (notes.state, notes.last_error) == (State.IDLE, None)
    Conversation(notes).opened(3.0)
    assert (notes.state, notes.restarts) == (State.RUNNING, 1)


def test_a_server_over_http_that_serves_nobody_is_failing() -> None:
    """Its first request shows it; a request that was wrong by itself says nothing of the server."""
    for error, state in (
        (ConnectFailed("nobody is there"), State.FAILING),
        (HttpStatusError("http://x", 401, "", b""), State.FAILING),
        (HttpStatusError("http://x", 503, "", b""), State.FAILING),
        (TransportBroken("the stream broke"), State.FAILING),
        (HttpStatusError("http://x", 400, "", b""), State.RUNNING),
        (DeadlineExceeded("no answer within 5 s"), State.RUNNING),
    ):
        remote = meter()
        conversation = Conversation(remote, is_child=False).opened(1.0)
        conversation.sent(create_request(1, "ping"), 2.0)
        conversation.failed(b"1", error, 3.0)

        assert (remote.state, remote.children, remote.conversations) == (state, 0, 1), error
        assert remote.last_error is not None
        assert remote.last_error.text == str(error)
        conversation.received(create_response(2, {}), 4.0)
        assert remote.state is State.RUNNING


def test_a_session_that_a_remote_server_had_lost_counts_as_a_restart() -> None:
    """The transport has opened it again by itself."""
    remote = meter()
    conversation = Conversation(remote, is_child=False).opened(1.0)

    conversation.reopened()

    assert (remote.starts, remote.restarts, remote.state) == (2, 1, State.RUNNING)


def test_its_owner_may_disable_or_refuse_a_server() -> None:
    """With the reason; when it is allowed again, its own state shows."""
    notes = meter()
    notes.disable("the file says so", 1.0)
    assert (notes.state, notes.since, notes.reason) == (State.DISABLED, 1.0, "the file says so")
    conversation = Conversation(notes).opened(2.0)
    notes.refuse("there is no command", 3.0)
    assert (notes.state, notes.since, notes.reason) == (State.REFUSED, 3.0, "there is no command")

    notes.allow(4.0)

    assert (notes.state, notes.reason) == (State.RUNNING, "")
    conversation.ended(5.0)


def test_sessions_are_counted_by_who_knows_them() -> None:
    """Many clients may share one conversation."""
    notes = meter()
    Conversation(notes).opened(1.0)
    notes.count_sessions = lambda: 7

    assert (notes.sessions, notes.conversations) == (7, 1)


# Calls.


def test_each_call_has_one_end() -> None:
    """An answer, an error, a cancellation, no answer in time, a loss; what comes afterwards counts nothing."""
    notes = meter()
    conversation = Conversation(notes).opened(0.0)
    for id in range(1, 8):
        conversation.sent(create_request(id, "tools/call"), float(id))
    assert notes.in_flight == 7

    conversation.received(create_response(1, {"content": []}), 1.5)
    conversation.received(create_error_response(2, -32602, "no"), 3.0)
    conversation.received(create_response(3, {"content": [], "isError": True}), 4.0)
    conversation.sent(create_notification("notifications/cancelled", {"requestId": 4}), 5.0)
    conversation.failed(b"5", DeadlineExceeded("no answer"), 6.0)
    conversation.fault(Fault(FaultKind.INVALID_REQUEST, "no reply", b"6", is_reply=True), 7.0)
    conversation.received(create_response(4, {}), 8.0)
    conversation.received(create_response(1, {}), 8.0)
    assert notes.in_flight == 1
    conversation.lost(CRASH, 9.0)

    calls = notes.methods["tools/call"]
    assert (calls.count, calls.answered, calls.seconds) == (7, 3, 0.5 + 1.0 + 1.0)
    assert calls.errors == {
        "-32602": 1,
        "tool": 1,
        "cancelled": 1,
        "timed_out": 1,
        "unusable_reply": 1,
        "lost": 1,
    }
    assert (notes.in_flight, notes.noise_lines) == (0, 0)


def test_who_leaves_cancels_what_he_asked() -> None:
    """A conversation that this side ends is no loss."""
    notes = meter()
    conversation = Conversation(notes).opened(0.0)
    conversation.sent(create_request("a", "tools/call"), 1.0)

    conversation.ended(2.0)

    assert errors(notes) == {"tools/call": {"cancelled": 1}}
    assert (notes.state, notes.last_error) == (State.IDLE, None)


def test_ids_are_the_same_however_they_are_spelled() -> None:
    r"""`"a"` and `"\u0061"` are one."""
    notes = meter()
    conversation = Conversation(notes).opened(0.0)
    conversation.sent(Request(rb'"\u0061"', "ping"), 0.0)

    conversation.received(Response(b'"a"', b"{}"), 1.0)

    assert notes.methods["ping"].answered == 1


def test_a_batch_is_its_messages() -> None:
    """On the way there and on the way back."""
    notes = meter()
    conversation = Conversation(notes).opened(0.0)
    conversation.sent(Batch((create_request(1, "ping"), create_request(2, "x/y"), Notification("n"))), 0.0)
    conversation.received(
        Batch((create_response(1, {}), Fault(FaultKind.PARSE_ERROR, "?"), create_response(2, {}))), 1.0
    )

    assert {name: calls.answered for name, calls in notes.methods.items()} == {"ping": 1, OTHER: 1}


def test_what_cannot_be_sent_is_lost() -> None:
    """The one who sends it hears so himself."""
    notes = meter()
    conversation = Conversation(notes).opened(0.0)
    batch = Batch((create_request(1, "ping"), create_notification("n")))
    conversation.sent(batch, 0.0)

    conversation.unsent(batch)

    assert errors(notes) == {"ping": {"lost": 1}}


def test_requests_that_are_never_answered_fill_no_memory() -> None:
    """They are counted, and beyond a bound they are not timed."""
    notes = meter()
    conversation = Conversation(notes).opened(0.0)
    for id in range(12_000):
        conversation.sent(Request(b"%d" % id, "ping"), 0.0)
    conversation.received(Response(b"11999", b"{}"), 1.0)

    assert notes.methods["ping"].count == 12_000
    assert notes.in_flight == 10_000
    assert notes.methods["ping"].answered == 0


def test_methods_of_a_stranger_fill_no_memory() -> None:
    """All that MCP does not have are one."""
    notes = meter()
    conversation = Conversation(notes).opened(0.0)
    for number in range(1000):
        conversation.sent(Request(b"%d" % number, f"x/{number}"), 0.0)

    assert notes.methods[OTHER].count == 1000
    assert len(notes.methods) == 1


def test_noise_and_broken_parts_of_a_wire_are_noted() -> None:
    """Neither says that the server does not work."""
    notes = meter()
    conversation = Conversation(notes).opened(0.0)
    conversation.fault(Fault(FaultKind.PARSE_ERROR, "no JSON"), 1.0)
    conversation.fault(Fault(FaultKind.INVALID_REQUEST, "?", b"9", is_reply=True), 1.0)
    conversation.fault(AnywireError("the stream could not be resumed"), 2.0)

    assert (notes.noise_lines, notes.state) == (2, State.RUNNING)
    assert notes.last_error is not None
    assert notes.last_error.text == "the stream could not be resumed"


def test_a_conversation_that_cannot_be_opened_is_failing_whatever_the_reason() -> None:
    """A request that this side cannot even send, or an answer that comes too late."""
    for error in (AnywireError("the request cannot be sent"), DeadlineExceeded("too late")):
        notes = meter()
        conversation = Conversation(notes)
        conversation.starting(0.0)
        conversation.started(0.0)
        conversation.sent(create_request(1, "initialize"), 1.0)
        conversation.failed(b"1", error, 2.0)
        conversation.ended(3.0)
        assert notes.state is State.FAILING
        assert notes.last_error is not None
        assert notes.last_error.text == str(error)
