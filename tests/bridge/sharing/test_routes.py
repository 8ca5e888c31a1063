"""Which message goes where when several clients share one server: requests, replies, progress, batches."""

from __future__ import annotations

from typing import Any

from anywire.errors import LimitExceeded, TransportBroken
from anywire.wire.codec import encode
from anywire.wire.limits import Limits
from anywire.wire.message import Batch, Fault, FaultKind, Request
from tests.bridge.sharing.world import World, initialize, message, note, plain, question, reply

# Requests and replies.


def test_equal_ids_of_two_clients_are_two_requests() -> None:
    """Each gets its own answer, under its own id, in its own spelling."""
    world = World()
    one, two = world.join(), world.join()
    world.client(one, b'{"jsonrpc":"2.0","id":1.0,"method":"tools/call","params":{"x":1.0e-5}}')
    world.client(two, b'{"jsonrpc":"2.0","id":1.0,"method":"tools/call"}')
    first, second = world.server
    assert isinstance(first, Request)
    assert encode(first) == b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"x":1.0e-5}}'
    world.say(b'{"jsonrpc":"2.0","id":2,"result":{"y": 1.0}}')
    (got,) = world.inbox[two]
    assert not isinstance(got, Batch)
    assert encode(got) == b'{"jsonrpc":"2.0","id":1.0,"result":{"y": 1.0}}'  # pyright: ignore[reportArgumentType]
    assert world.got(one) == []
    world.say({"jsonrpc": "2.0", "id": "1", "error": {"code": 5, "message": "m"}})
    assert world.got(one) == [{"jsonrpc": "2.0", "id": 1.0, "error": {"code": 5, "message": "m"}}]
    del second


def test_a_reply_that_comes_twice_is_handed_on_once() -> None:
    """Numbers are never used again, so a late one cannot be taken for another's."""
    world = World()
    one = world.join()
    world.ask(one, "a", "tools/call")
    asked = world.asked()
    world.answer(asked)
    world.answer(asked)
    world.answer({"id": 99})
    assert world.got(one) == [reply("a")]


def test_an_error_without_an_id_settles_the_only_request_there_is() -> None:
    """Where there are two nobody can tell, and nobody is told."""
    world = World()
    one, two = world.join(), world.join()
    error = {"jsonrpc": "2.0", "error": {"code": -32700, "message": "m"}}
    world.ask(one, 1, "x")
    world.ask(two, 1, "x")
    world.say(error)
    assert world.got(one) == world.got(two) == []
    world.answer(world.heard()[0])
    assert world.got(one) == [reply(1)]
    world.say(error)
    assert world.got(two) == [{**error, "id": 1}]


def test_a_reply_that_cannot_be_used_fails_its_request() -> None:
    """Its client hears why; noise concerns nobody."""
    world = World()
    one = world.join()
    world.ask(one, "a", "tools/call")
    number = str(world.asked()["id"]).encode()
    fault = Fault(FaultKind.TOO_LARGE, "too large", number, is_reply=True)
    assert world.routes.fault_of_server(Fault(FaultKind.PARSE_ERROR, "noise")) is None
    world.do(world.routes.fault_of_server(fault) or [])
    (failed,) = world.got(one)
    assert failed.id == b'"a"'
    assert isinstance(failed.error, LimitExceeded)
    assert world.routes.fault_of_server(fault) is None


def test_a_request_that_could_not_be_sent_fails() -> None:
    """The wire says so, under the id that it saw."""
    world = World()
    one = world.join()
    world.ask(one, "a", "x")
    error = TransportBroken("broken")
    world.do(world.routes.failed(str(world.asked()["id"]).encode(), error))
    (failed,) = world.got(one)
    assert (failed.id, failed.error) == (b'"a"', error)


def test_a_second_request_under_an_id_in_flight_is_refused() -> None:
    """As anywhere; the first goes on."""
    world = World()
    one = world.join()
    world.ask(one, 1, "x")
    world.ask(one, 1, "y")
    (refused,) = world.got(one)
    assert refused["error"]["code"] == -32600
    world.answer(world.asked())
    assert world.got(one) == [reply(1)]


def test_one_client_cannot_have_more_in_flight_than_its_share() -> None:
    """The others have room left, up to what the server has from all of them."""
    world = World(Limits(shared_requests=2, requests_in_flight=3))
    one, two = world.join(), world.join()
    for id in (1, 2, 3):
        world.ask(one, id, "x")
    (refused,) = world.got(one)
    assert refused["id"] == 3
    assert "more than 2 requests" in refused["error"]["message"]
    world.ask(two, 1, "x")
    world.ask(two, 2, "x")
    (refused,) = world.got(two)
    assert "of all who share this server" in refused["error"]["message"]
    world.answer(world.heard()[0])
    world.ask(two, 2, "x")
    assert len(world.heard()) == 1


def test_params_that_name_something_twice_are_refused() -> None:
    """Another reader could take from them the name of somebody else's."""
    world = World()
    one = world.join()
    world.client(
        one,
        b'{"jsonrpc":"2.0","id":1,"method":"x","params":{"_meta":{"progressToken":1},"_meta":{"progressToken":2}}}',
    )
    world.client(
        one, b'{"jsonrpc":"2.0","id":2,"method":"resources/unsubscribe","params":{"uri":"a","uri":"b"}}'
    )
    world.ask(one, 3, "x")
    world.client(
        one, b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":9,"requestId":3}}'
    )
    assert [each["error"]["code"] for each in world.got(one)] == [-32602, -32602]
    assert [each["method"] for each in world.heard()] == ["x"]


# Progress and cancelling.


def test_progress_goes_to_whose_token_it_is() -> None:
    """Two clients may use the same one; each sees its own again."""
    world = World()
    one, two = world.join(), world.join()
    for key in (one, two):
        world.client(
            key, b'{"jsonrpc":"2.0","id":0,"method":"x","params":{"_meta":{"progressToken":"\\u0074"}}}'
        )
    first, second = world.heard()
    tokens = [each["params"]["_meta"]["progressToken"] for each in (first, second)]
    assert len(set(tokens)) == 2
    world.say(
        b'{"jsonrpc":"2.0","method":"notifications/progress","params":{"progress":1.0,"progressToken":%d}}'
        % tokens[1]
    )
    (got,) = world.inbox[two]
    assert b'"progress":1.0,"progressToken":"\\u0074"' in encode(got)  # pyright: ignore[reportArgumentType]
    assert world.got(one) == []
    world.answer(second)
    world.got(two)
    world.tell("notifications/progress", {"progressToken": tokens[1], "progress": 2})
    world.tell("notifications/progress", {"progressToken": "\u0074", "progress": 2})
    assert world.got(two) == world.got(one) == []


def test_a_request_without_a_token_hears_no_progress() -> None:
    """Numbers of requests are not tokens that somebody gave."""
    world = World()
    one = world.join()
    world.ask(one, 1, "x")
    world.tell("notifications/progress", {"progressToken": world.asked()["id"], "progress": 2})
    assert world.got(one) == []


def test_a_client_takes_back_its_own_request_only() -> None:
    """Its late reply is dropped."""
    world = World()
    one, two = world.join(), world.join()
    world.ask(one, 7, "x")
    asked = world.asked()
    world.notify(two, "notifications/cancelled", {"requestId": 7})
    world.notify(two, "notifications/cancelled", {"requestId": asked["id"]})
    assert world.heard() == []
    world.client(
        one, b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"reason":"r","requestId":7}}'
    )
    assert world.asked() == note("notifications/cancelled", {"reason": "r", "requestId": asked["id"]})
    world.answer(asked)
    assert world.got(one) == []


def test_what_a_connection_asked_is_taken_back_when_it_leaves() -> None:
    """Late replies are dropped, nothing of it is kept."""
    world = World()
    one, two = world.join(), world.join()
    world.ask(one, 1, "x")
    world.ask(two, 1, "x")
    asked = world.heard()[0]
    world.leave(one)
    cancel = world.asked()
    assert cancel["method"] == "notifications/cancelled"
    assert cancel["params"]["requestId"] == asked["id"]
    world.answer(asked)
    assert world.got(one) == world.got(two) == []
    world.leave(two)
    assert world.routes.is_idle


# Batches.


def test_a_batch_reaches_the_server_in_pieces_and_is_answered_whole() -> None:
    """Once all its requests have their answer; what is no message in it has one at once."""
    world = World()
    one = world.join()
    items = b'{"jsonrpc":"2.0","id":1,"method":"x"},{"jsonrpc":"2.0","method":"n"},7,{"jsonrpc":"2.0","id":2,"method":"x"}'
    world.client(one, b"[%b]" % items)
    first, noted, second = world.heard()
    assert noted == note("n")
    world.answer(second)
    assert world.got(one) == []
    world.answer(first)
    (answered,) = world.got(one)
    assert [each.get("id") for each in answered] == [None, 2, 1]


def test_a_batch_waits_for_nothing_that_was_taken_back_or_failed() -> None:
    """What cannot be answered is an error in it; what was cancelled is not in it."""
    world = World()
    one = world.join()
    world.client(one, [question(id, "x") for id in (1, 2, 3)])
    asked = world.heard()
    world.do(world.routes.failed(str(asked[0]["id"]).encode(), TransportBroken("broken")))
    world.answer(asked[1])
    world.notify(one, "notifications/cancelled", {"requestId": 3})
    (answered,) = world.got(one)
    assert [each["id"] for each in answered] == [1, 2]
    assert answered[0]["error"]["message"] == "broken"


def test_a_batch_of_what_is_answered_here_is_one_answer_too() -> None:
    """Nothing of it has to go to the server."""
    world = World()
    one, two = world.join(), world.join()
    world.greet(one)
    items = [
        question(1, "initialize", initialize()),
        question(2, "logging/setLevel", {"level": "x"}),
        question(2, "tasks/list"),
    ]
    world.client(two, items)
    (answered,) = world.got(two)
    assert [each["id"] for each in answered] == [1, 2, 2]
    assert world.heard() == []


def test_a_batch_of_the_server_is_taken_apart() -> None:
    """Its messages are for different clients."""
    world = World()
    one, two = world.join(), world.join()
    world.ask(one, 1, "x")
    world.ask(two, 1, "x")
    world.say([reply(each["id"]) for each in world.heard()])
    assert world.got(one) == world.got(two) == [reply(1)]


# The stateless era.

ENVELOPE: dict[str, Any] = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
}
TAG = "io.modelcontextprotocol/subscriptionId"


def test_what_is_told_on_a_subscription_goes_to_whose_it_is_under_its_own_id() -> None:
    """The tag is the id of the request, on notifications and on the final result."""
    world = World()
    one, two = world.join(), world.join()
    for key in (one, two):
        world.ask(key, "s", "subscriptions/listen", {"_meta": ENVELOPE, "notifications": {}})
    first, second = (each["id"] for each in world.heard())
    world.tell("notifications/tools/list_changed", {"_meta": {TAG: second}})
    assert world.got(two) == [note("notifications/tools/list_changed", {"_meta": {TAG: "s"}})]
    world.tell("notifications/resources/updated", {"_meta": {TAG: "s"}, "uri": "a"})
    assert world.got(one) == world.got(two) == []
    world.answer({"id": first}, {"resultType": "complete", "_meta": {TAG: first}})
    assert world.got(one) == [reply("s", {"resultType": "complete", "_meta": {TAG: "s"}})]
    world.tell("notifications/cancelled", {"requestId": second})
    assert world.got(two) == [note("notifications/cancelled", {"requestId": "s"})]
    assert world.heard() == []


def test_a_subscription_ends_with_its_connection() -> None:
    """Its request is cancelled at the server."""
    world = World()
    one = world.join()
    world.ask(one, 5, "subscriptions/listen", {"_meta": ENVELOPE})
    number = world.asked()["id"]
    world.leave(one)
    assert world.asked()["params"]["requestId"] == number
    assert world.routes.is_idle


def test_requests_that_stand_for_themselves_pass_whatever_they_are() -> None:
    """Methods of the other era among them: the server says what it thinks of those."""
    world = World()
    one = world.join()
    for id, method in enumerate(("server/discover", "resources/subscribe", "logging/setLevel", "tasks/list")):
        world.ask(one, id, method, {"_meta": ENVELOPE})
    assert [each["params"]["_meta"] for each in world.heard()] == [ENVELOPE] * 4
    world.leave(one)
    cancelled = [each["params"]["requestId"] for each in world.heard()]
    assert cancelled == [2, 3, 4]


def test_a_log_message_of_the_stateless_era_goes_to_the_only_running_call() -> None:
    """A subscription is no call."""
    world = World()
    one, two = world.join(), world.join()
    world.ask(one, 1, "subscriptions/listen", {"_meta": ENVELOPE})
    world.ask(two, 1, "tools/call", {"_meta": ENVELOPE})
    world.tell("notifications/message", {"level": "debug", "data": 1})
    assert (len(world.got(one)), len(world.got(two))) == (0, 1)


def test_built_messages_are_renamed_as_well_as_those_that_were_read() -> None:
    """Tools above make messages without a frame."""
    world = World()
    one = world.join()
    params = b'{"_meta":{"progressToken":"t"}}'
    world.do(world.routes.from_client(one, Request(b'"a"', "x", params)))
    asked = world.asked()
    assert (asked["id"], asked["params"]["_meta"]["progressToken"]) == (1, 1)
    assert plain(message({"jsonrpc": "2.0", "method": "m"})) == note("m")
