"""The rules of a conversation, one by one."""

from __future__ import annotations

import pytest

from anywire.errors import (
    AnywireError,
    DeadlineExceeded,
    LimitExceeded,
    PeerError,
    RemoteProtocolError,
    RequestCancelled,
    TransportBroken,
    TransportClosed,
)
from anywire.wire.codec import decode, encode
from anywire.wire.limits import Limits
from anywire.wire.message import (
    NULL_ID,
    ErrorResponse,
    Fault,
    FaultKind,
    Notification,
    Request,
    Response,
)
from anywire.wire.peer import (
    CancelReceived,
    Peer,
    ProgressReceived,
    Refused,
    Settled,
    Unmatched,
    read_cancel,
)

NOW = 1000.0


def asking(count: int = 1, method: str = "tools/call", timeout: float | None = None) -> Peer:
    """A peer with requests in flight, whose ids count from 0."""
    peer = Peer()
    for _ in range(count):
        peer.request(method, b"{}", NOW, timeout=timeout)
    return peer


def settled(event: object) -> Settled:
    """The event, which settles a request."""
    assert isinstance(event, Settled)
    return event


def progress(token: bytes, rest: bytes = b'"progress":1') -> Notification:
    """A report of progress."""
    return Notification("notifications/progress", b'{"progressToken":%b,%b}' % (token, rest))


def cancelled(id: bytes) -> Notification:
    """A request taken back."""
    return Notification("notifications/cancelled", b'{"requestId":%b}' % id)


# Our requests.


def test_each_request_has_an_id_of_its_own() -> None:
    peer = Peer()

    sent = [peer.request("x", b"[1]", NOW), peer.request("x", None, NOW)]

    assert sent == [Request(b"0", "x", b"[1]"), Request(b"1", "x")]
    assert peer.outgoing == 2


def test_a_request_that_wants_progress_carries_its_id_as_the_token() -> None:
    request = Peer().request("x", b'{"a":1.0e-5}', NOW, progress=True)

    assert request.params == b'{"_meta":{"progressToken":0},"a":1.0e-5}'


def test_a_result_settles_its_request_and_stays_raw() -> None:
    peer = asking(2)

    event = settled(peer.receive(Response(b"1", b'{"a": 1.0e-5}'), NOW))

    assert event == Settled(b"1", b'{"a": 1.0e-5}')
    assert peer.outgoing == 1


def test_an_error_settles_its_request_with_what_the_peer_said() -> None:
    error = b'{"code":-32001,"message":"no","data":{"n": 1.0e-5}}'

    outcome = settled(asking().receive(ErrorResponse(b"0", error), NOW)).outcome

    assert isinstance(outcome, PeerError)
    assert (outcome.code, outcome.message, outcome.data) == (-32001, "no", b'{"n": 1.0e-5}')


def test_a_reply_that_is_late_or_double_or_invented_changes_nothing() -> None:
    peer = asking(2)
    peer.receive(Response(b"0", b"{}"), NOW)

    for id in (b"0", b"2", b"-1", b'"x"', b"1.5", b'"\\ud800"', b"9" * 5000):
        message = Response(id, b"{}")
        assert peer.receive(message, NOW) == Unmatched(message)
    assert peer.outgoing == 1


@pytest.mark.parametrize("id", [b'"0"', b"0.0", b"0.00", b"0e0", b'"\\u0030"'])
def test_an_id_of_the_right_number_and_the_wrong_type_is_taken_and_flagged(id: bytes) -> None:
    event = settled(asking().receive(Response(id, b"{}"), NOW))

    assert event == Settled(b"0", b"{}", folded=True)


@pytest.mark.parametrize("id", [b"0", b"-0"])
def test_an_id_in_any_spelling_of_its_own_type_is_not_flagged(id: bytes) -> None:
    assert settled(asking().receive(Response(id, b"{}"), NOW)) == Settled(b"0", b"{}")


@pytest.mark.parametrize("id", [b'"00"', b'" 0"', b'"0.0"', b"true", b"false", b'""'])
def test_an_id_that_is_another_one_is_not_taken(id: bytes) -> None:
    message = Response(id, b"{}")

    assert asking().receive(message, NOW) == Unmatched(message)


def test_the_exact_id_is_preferred_to_one_of_another_type() -> None:
    peer = asking(2)

    assert settled(peer.receive(Response(b'"1"', b"1"), NOW)).folded
    assert peer.receive(Response(b"1", b"2"), NOW) == Unmatched(Response(b"1", b"2"))
    assert not settled(peer.receive(Response(b"0", b"3"), NOW)).folded


@pytest.mark.parametrize("id", [None, NULL_ID])
def test_an_error_without_an_id_settles_the_only_request(id: bytes | None) -> None:
    peer = asking()

    event = settled(peer.receive(ErrorResponse(id, b'{"code":-32700,"message":"what?"}'), NOW))

    assert isinstance(event.outcome, PeerError)
    assert event.outcome.message == "what?"
    assert not event.folded


@pytest.mark.parametrize("count", [0, 2])
@pytest.mark.parametrize("id", [None, NULL_ID])
def test_an_error_without_an_id_is_reported_where_it_may_be_anybodys(count: int, id: bytes | None) -> None:
    peer = asking(count)
    message = ErrorResponse(id, b"{}")

    assert peer.receive(message, NOW) == Unmatched(message)
    assert peer.outgoing == count


def test_a_request_of_the_peer_is_never_taken_for_a_reply() -> None:
    peer = asking()
    request = Request(b"0", "roots/list")

    assert peer.receive(request, NOW) == request
    assert (peer.outgoing, peer.incoming) == (1, 1)


def test_other_notifications_are_handed_on() -> None:
    message = Notification("notifications/message", b"{}")

    assert asking().receive(message, NOW) == message


# Giving up.


def test_a_request_that_is_given_up_settles_and_tells_the_peer() -> None:
    event = asking().cancel(b"0", 'no "longer"')

    assert event is not None
    assert isinstance(event.outcome, RequestCancelled)
    assert str(event.outcome) == 'no "longer"'
    assert event.send == Notification(
        "notifications/cancelled", b'{"requestId":0,"reason":"no \\"longer\\""}'
    )


def test_a_reason_is_left_out_where_there_is_none() -> None:
    event = asking().cancel(b"0")

    assert event is not None
    assert str(event.outcome) == "cancelled by this side"
    assert event.send == Notification("notifications/cancelled", b'{"requestId":0}')


def test_initialize_is_never_cancelled_on_the_wire() -> None:
    given_up = asking(1, "initialize").cancel(b"0", "enough")
    (timed_out,) = asking(1, "initialize", timeout=1).tick(NOW + 1)

    assert given_up is not None
    assert given_up.send is None
    assert timed_out.send is None


def test_a_request_that_has_settled_cannot_be_given_up() -> None:
    peer = asking()
    peer.receive(Response(b"0", b"{}"), NOW)

    assert peer.cancel(b"0") is None
    assert peer.settle(b"7", RemoteProtocolError("x")) is None


def test_a_reply_that_comes_after_all_changes_nothing() -> None:
    peer = asking()
    peer.cancel(b"0")
    reply = Response(b"0", b"{}")

    assert peer.receive(reply, NOW) == Unmatched(reply)


def test_a_request_that_cannot_have_an_answer_fails_in_silence() -> None:
    peer = asking()
    reason = RemoteProtocolError("the answer cannot come")

    assert peer.fail(b"0", reason) == Settled(b"0", reason)
    assert peer.fail(b"0", reason) is None
    assert peer.outgoing == 0


# Replies that cannot be used.


def test_a_reply_that_is_too_large_settles_its_request_with_the_limit() -> None:
    event = asking(2).receive_fault(Fault(FaultKind.TOO_LARGE, "too large", b"1", is_reply=True))

    assert event is not None
    assert event.key == b"1"
    assert isinstance(event.outcome, LimitExceeded)


def test_a_reply_with_neither_result_nor_error_settles_its_request() -> None:
    fault = decode(b'{"jsonrpc":"2.0","id":1}')
    assert isinstance(fault, Fault)
    peer = asking(2)

    event = peer.receive_fault(fault)

    assert event is not None
    assert event.key == b"1"
    assert isinstance(event.outcome, RemoteProtocolError)
    assert peer.receive_fault(fault) is None


@pytest.mark.parametrize(
    "line",
    [
        b'{"jsonrpc":"2.0","id":0,"result":{"a"',
        b'{"jsonrpc":"2.0","id":0,"result":nope}',
        b'{"id":0,"result":{}}',
        b'{"jsonrpc":"2.0","result":{}}',
        b'{"jsonrpc":"2.0","id":"0","result":1,"result":2}',
        b'{"jsonrpc":"2.0","id":1,"id":0,"error":{}}',
    ],
)
def test_a_reply_that_cannot_be_read_settles_its_request(line: bytes) -> None:
    fault = decode(line)
    assert isinstance(fault, Fault)

    event = asking().receive_fault(fault)

    assert event is not None
    assert event.key == b"0"
    assert isinstance(event.outcome, RemoteProtocolError)


@pytest.mark.parametrize(
    "line",
    [
        b"listening on port 8000",
        b'{"level":"error","error":"boom"}',
        b'{"result":"ok"}',
        b'{"jsonrpc":"2.0","id":0,"method":',
        b'{"jsonrpc":"2.0","id":7,"result":{}',
    ],
)
def test_a_line_of_a_log_settles_nothing(line: bytes) -> None:
    fault = decode(line)
    assert isinstance(fault, Fault)

    assert asking().receive_fault(fault) is None


def test_a_reply_without_a_readable_id_settles_nothing_where_it_may_be_anybodys() -> None:
    fault = Fault(FaultKind.PARSE_ERROR, "cut", is_reply=True, data=b'{"result":{},"jsonrpc"')

    assert asking(2).receive_fault(fault) is None


# The peer's requests.


def test_a_request_may_be_answered_once() -> None:
    peer = Peer()
    peer.receive(Request(b"1", "x"), NOW)

    assert peer.respond(b"1")
    assert not peer.respond(b"1")
    assert not peer.respond(b"2")


@pytest.mark.parametrize(("first", "second"), [(b"1", b"1"), (b'"a"', b'"\\u0061"'), (b"0", b"-0")])
def test_a_second_request_under_an_id_in_flight_is_refused(first: bytes, second: bytes) -> None:
    peer = Peer()
    peer.receive(Request(first, "x"), NOW)

    event = peer.receive(Request(second, "y"), NOW)

    assert isinstance(event, Refused)
    assert event.reply.id == second
    assert event.reply.detail().code == -32600
    assert peer.incoming == 1


def test_a_refusal_repeats_no_long_id() -> None:
    peer = Peer()
    request = Request(b'"' + b"\xc3\xa9" * 100_000 + b'"', "x")
    peer.receive(request, NOW)

    event = peer.receive(request, NOW)

    assert isinstance(event, Refused)
    assert len(event.reply.error) < 1000
    assert not isinstance(decode(encode(event.reply)), Fault)


@pytest.mark.parametrize(
    "ids", [(b"1", b'"1"'), (b"1", b"1.0"), (b'"1"', b'"1.0"'), (b'"\\ud800"', b'"\\ud801"')]
)
def test_ids_of_different_types_are_different_requests(ids: tuple[bytes, bytes]) -> None:
    peer = Peer()

    for id in ids:
        assert peer.receive(Request(id, "x"), NOW) == Request(id, "x")
    assert [peer.respond(id) for id in ids] == [True, True]


def test_an_id_may_be_used_again_after_its_answer() -> None:
    peer = Peer()
    peer.receive(Request(b"1", "x"), NOW)
    peer.respond(b"1")

    assert peer.receive(Request(b"1", "y"), NOW) == Request(b"1", "y")


def test_more_requests_than_may_be_unanswered_are_refused() -> None:
    peer = Peer(Limits(requests_in_flight=2))
    peer.receive(Request(b"1", "x"), NOW)
    peer.receive(Request(b"2", "x"), NOW)

    event = peer.receive(Request(b"3", "x"), NOW)

    assert isinstance(event, Refused)
    assert event.reply.id == b"3"
    assert event.reply.detail().code == -32603
    peer.respond(b"1")
    assert peer.receive(Request(b"3", "x"), NOW) == Request(b"3", "x")


@pytest.mark.parametrize(
    "id", [b"1", b'"a"', b'"\\ud83d"', b"1e999", b"9" * 5000], ids=lambda id: id[:9].decode()
)
def test_a_request_that_was_taken_back_is_not_answered(id: bytes) -> None:
    peer = Peer()
    peer.receive(Request(id, "x"), NOW)

    event = peer.receive(cancelled(id), NOW)

    assert isinstance(event, CancelReceived)
    assert event.reason == "cancelled by client"
    assert not peer.respond(id)


def test_a_request_is_taken_back_in_any_spelling_of_its_id() -> None:
    peer = Peer()
    peer.receive(Request(b'"\\u0061"', "x"), NOW)

    assert peer.receive(cancelled(b'"a"'), NOW) == CancelReceived(b'"a"', "cancelled by client")


@pytest.mark.parametrize(
    ("reason", "read"),
    [
        (b'"enough"', "enough"),
        (b'"cut \\ud83d"', "cut \ufffd"),
        (b'""', "cancelled by client"),
        (b"null", "cancelled by client"),
        (b"7", "cancelled by client"),
    ],
)
def test_the_reason_of_a_cancellation_is_handed_on(reason: bytes, read: str) -> None:
    message = Notification("notifications/cancelled", b'{"requestId":1,"reason":%b}' % reason)

    assert read_cancel(message) == CancelReceived(b"1", read)


@pytest.mark.parametrize(
    "params",
    [
        None,
        b"{}",
        b"[]",
        b"null",
        b'"x"',
        b"7",
        b'{"requestId":null}',
        b'{"requestId":[1]}',
        b'{"requestId":2}',
        b'{"requestId":"1"}',
    ],
)
def test_a_cancellation_of_nothing_changes_nothing(params: bytes | None) -> None:
    peer = Peer()
    peer.receive(Request(b"1", "x"), NOW)
    message = Notification("notifications/cancelled", params)

    assert peer.receive(message, NOW) == message
    assert peer.respond(b"1")


def test_a_cancellation_with_a_reason_of_any_length_is_read_or_left_alone() -> None:
    message = Notification("notifications/cancelled", b'{"requestId":1,"reason":%b}' % (b"9" * 5000))

    assert Peer().receive(message, NOW) == message


def test_only_a_cancellation_is_read_as_one() -> None:
    assert read_cancel(Notification("notifications/progress", b'{"requestId":1}')) is None


# Time.


def test_without_a_time_limit_nothing_waits_for_the_clock() -> None:
    peer = asking()

    assert peer.deadline() is None
    assert peer.tick(NOW + 1e9) == []


def test_a_request_without_an_answer_times_out_and_tells_the_peer() -> None:
    peer = asking(1, "tools/call", timeout=60)

    assert peer.deadline() == NOW + 60
    assert peer.tick(NOW + 59.9) == []
    (event,) = peer.tick(NOW + 60)

    assert isinstance(event.outcome, DeadlineExceeded)
    assert str(event.outcome) == "no answer to tools/call within 60 s"
    assert event.send == Notification("notifications/cancelled", b'{"requestId":0,"reason":"timed out"}')
    assert peer.deadline() is None


def test_progress_restarts_the_clock() -> None:
    peer = Peer()
    peer.request("x", None, NOW, timeout=10, progress=True)

    event = peer.receive(progress(b"0", b'"progress":1.5,"total": 3'), NOW + 9)

    assert event == ProgressReceived(b"0", b'{"progressToken":0,"progress":1.5,"total": 3}')
    assert peer.tick(NOW + 18.9) == []
    assert peer.deadline() == NOW + 19
    assert len(peer.tick(NOW + 19)) == 1


def test_progress_never_reaches_beyond_the_total() -> None:
    peer = Peer()
    peer.request("x", None, NOW, timeout=10, total=25, progress=True)

    for seconds in (9, 18, 24):
        peer.receive(progress(b"0"), NOW + seconds)
        assert peer.tick(NOW + seconds) == []
    (event,) = peer.tick(NOW + 25)

    assert str(event.outcome) == "x did not end within 25 s"


def test_a_total_holds_without_any_other_limit() -> None:
    peer = Peer()
    peer.request("x", None, NOW, total=5)
    peer.receive(progress(b"0"), NOW + 4)

    assert peer.deadline() == NOW + 5
    assert len(peer.tick(NOW + 5)) == 1


def test_a_total_may_be_shorter_than_the_wait_for_an_answer() -> None:
    peer = Peer()
    peer.request("x", None, NOW, timeout=60, total=5)

    assert peer.deadline() == NOW + 5


def test_progress_of_a_request_without_a_time_limit_is_handed_on() -> None:
    assert isinstance(asking().receive(progress(b"0"), NOW), ProgressReceived)


@pytest.mark.parametrize("token", [b'"0"', b"0.0"])
def test_progress_is_matched_with_the_type_folded_too(token: bytes) -> None:
    event = asking().receive(progress(token), NOW)

    assert isinstance(event, ProgressReceived)
    assert event.key == b"0"


@pytest.mark.parametrize(
    "params",
    [
        None,
        b"[]",
        b"null",
        b"{}",
        b'{"progressToken":7}',
        b'{"progressToken":null}',
        b'{"progressToken":"\\ud800"}',
    ],
)
def test_progress_of_nothing_is_handed_on_as_it_is(params: bytes | None) -> None:
    peer = asking(1, timeout=10)
    message = Notification("notifications/progress", params)

    assert peer.receive(message, NOW + 9) == message
    assert peer.deadline() == NOW + 10


def test_the_next_deadline_is_that_of_the_next_request() -> None:
    peer = Peer()
    for timeout in (30, 10, 20):
        peer.request("x", None, NOW, timeout=timeout)

    assert peer.deadline() == NOW + 10
    peer.receive(Response(b"1", b"{}"), NOW)
    assert peer.deadline() == NOW + 20
    assert {event.key for event in peer.tick(NOW + 30)} == {b"0", b"2"}


@pytest.mark.parametrize("living", [0, 1, 100])
def test_deadlines_of_settled_requests_do_not_gather(living: int) -> None:
    peer = asking(living, timeout=1)

    for _ in range(1000):
        request = peer.request("x", None, NOW, timeout=60)
        assert len(peer._deadlines) <= 2 * peer.outgoing + 65
        peer.receive(Response(request.id, b"{}"), NOW)
    peer.deadline()

    assert len(peer._deadlines) <= 2 * living + 65


def test_many_requests_that_are_settled_at_once_leave_nothing_behind() -> None:
    peer = asking(1, timeout=1)
    requests = [peer.request("x", None, NOW, timeout=60) for _ in range(1000)]
    for request in requests:
        peer.receive(Response(request.id, b"{}"), NOW)

    assert peer.deadline() == NOW + 1
    assert len(peer._deadlines) <= 67


def test_deadlines_stay_in_order_when_settled_ones_are_thrown_away() -> None:
    peer = Peer()
    timeouts = {b"%d" % at: at * 37 % 101 + 1.0 for at in range(400)}
    for timeout in timeouts.values():
        peer.request("x", None, NOW, timeout=timeout)
    for key in [key for key in timeouts if int(key) % 10]:
        peer.receive(Response(key, b"{}"), NOW)
        del timeouts[key]

    while timeouts:
        first = min(timeouts.values())
        assert peer.deadline() == NOW + first
        timed_out = {event.key for event in peer.tick(NOW + first)}
        assert timed_out == {key for key, timeout in timeouts.items() if timeout == first}
        for key in timed_out:
            del timeouts[key]


# The end.


def test_the_end_settles_all_requests_with_its_reason() -> None:
    peer = asking(2)
    reason = TransportBroken("the pipe broke")

    assert peer.close(reason) == [Settled(b"0", reason), Settled(b"1", reason)]
    assert peer.outgoing == 0
    assert peer.deadline() is None


def test_an_end_without_a_reason_has_one() -> None:
    (event,) = asking().close()

    assert isinstance(event.outcome, TransportClosed)


def test_the_end_forgets_the_requests_of_the_peer() -> None:
    peer = Peer()
    peer.receive(Request(b"1", "x"), NOW)
    peer.close()

    assert not peer.respond(b"1")


def test_a_second_end_changes_nothing() -> None:
    peer = asking()
    peer.close(TransportBroken("first"))

    assert peer.close(TransportClosed("second")) == []
    with pytest.raises(TransportBroken, match="first"):
        peer.request("x", None, NOW)


def test_requests_after_the_end_raise_its_reason_without_gathering_their_traces() -> None:
    peer = Peer()
    reason: AnywireError = TransportBroken("gone")
    peer.close(reason)

    for _ in range(3):
        with pytest.raises(TransportBroken) as raised:
            peer.request("x", None, NOW)
        assert raised.value is reason
        assert len(raised.traceback) == 2


def test_a_peer_tells_how_busy_it_is() -> None:
    peer = asking(2)
    peer.receive(Request(b"1", "x"), NOW)

    assert repr(peer) == "<Peer open, 2 out, 1 in>"
    peer.close()
    assert repr(peer) == "<Peer closed, 0 out, 0 in>"


# The clock stands still.


def test_paused_clock_settles_nothing() -> None:
    """Neither by silence nor by the total."""
    peer = Peer()
    peer.request("tools/call", None, 0.0, timeout=5.0, total=8.0)
    peer.pause(4.0)

    assert peer.deadline() is None
    assert peer.tick(100.0) == []


def test_pause_is_no_time() -> None:
    """What was left before it is left after it."""
    peer = Peer()
    request = peer.request("tools/call", None, 0.0, timeout=5.0, total=8.0)
    peer.pause(4.0)
    peer.resume(104.0)

    assert peer.tick(104.9) == []
    assert [settled.key for settled in peer.tick(105.0)] == [request.id]


def test_pause_moves_the_total_too() -> None:
    """Progress after it reaches as far as it would have without."""
    peer = Peer()
    request = peer.request("tools/call", None, 0.0, timeout=5.0, total=8.0, progress=True)
    peer.pause(4.0)
    peer.resume(14.0)
    params = b'{"progressToken":%b,"progress":1}' % request.id
    peer.receive(Notification("notifications/progress", params), 14.5)

    assert peer.tick(17.9) == []
    assert [settled.key for settled in peer.tick(18.0)] == [request.id]


def test_pausing_twice_is_pausing_once() -> None:
    """From the first time on; and resuming what is not paused does nothing."""
    peer = Peer()
    peer.resume(1.0)
    request = peer.request("tools/call", None, 0.0, timeout=5.0)
    peer.pause(1.0)
    peer.pause(3.0)
    peer.resume(11.0)
    peer.resume(50.0)

    assert peer.tick(14.9) == []
    assert [settled.key for settled in peer.tick(15.0)] == [request.id]
