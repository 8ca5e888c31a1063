"""Which message goes where when several clients share one server."""

from __future__ import annotations

from typing import Any

import pytest

from anywire.bridge.sharing.handshake import Declares
from anywire.errors import LimitExceeded, TransportBroken
from anywire.wire.codec import encode
from anywire.wire.limits import Limits
from anywire.wire.message import Batch, Fault, FaultKind, Request
from tests.bridge.sharing.world import World, message, plain

RESULT = (
    b'{"protocolVersion":"2025-11-25","capabilities":{"x":1.0e-5},"serverInfo":{"name":"\\u00e9"},'
    b'"unknown" : [12345678901234567890123]}'
)


def reply(id: object, result: object = None) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": id, "result": {} if result is None else result}


def note(method: str, params: object = None) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "method": method, **({} if params is None else {"params": params})}


def initialize(revision: str = "2025-11-25", capabilities: object = None) -> dict[str, object]:
    return {"protocolVersion": revision, "capabilities": capabilities or {}, "clientInfo": {"name": "c"}}


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


# The handshake.


def test_the_handshake_is_done_once_and_answered_to_each_byte_for_byte() -> None:
    """Those who come while it is under way wait for the one; `initialized` is told once."""
    world = World()
    one, two, three = world.join(), world.join(), world.join()
    world.ask(one, 0, "initialize", initialize())
    world.ask(two, "x", "initialize", initialize())
    (asked,) = world.heard()
    world.say(b'{"jsonrpc":"2.0","id":%d,"result":%b}' % (asked["id"], RESULT))
    world.ask(three, 2, "initialize", initialize("2024-11-05"))
    for key, id in ((one, b"0"), (two, b'"x"'), (three, b"2")):
        (got,) = world.inbox[key]
        assert encode(got) == b'{"jsonrpc":"2.0","id":%b,"result":%b}' % (id, RESULT)  # pyright: ignore[reportArgumentType]
    for key in (two, one, three):
        world.notify(key, "notifications/initialized")
    assert world.heard() == [note("notifications/initialized")]


def test_a_refused_handshake_is_tried_anew() -> None:
    """The error is for those who waited for it."""
    world = World()
    one, two = world.join(), world.join()
    world.ask(one, 1, "initialize", initialize())
    world.ask(one, 2, "initialize", initialize())
    world.say({"jsonrpc": "2.0", "id": world.asked()["id"], "error": {"code": 1, "message": "no"}})
    assert [each["id"] for each in world.got(one)] == [1, 2]
    world.ask(two, 1, "initialize", initialize())
    assert world.asked()["method"] == "initialize"


def test_a_handshake_that_failed_on_the_way_is_tried_anew() -> None:
    """Those who waited for it hear of it, and the next one is the first."""
    world = World()
    one, two = world.join(), world.join()
    world.ask(one, 1, "initialize", initialize())
    world.ask(two, 1, "initialize", initialize())
    world.do(world.routes.failed(str(world.asked()["id"]).encode(), TransportBroken("cut")))
    assert [len(world.got(key)) for key in (one, two)] == [1, 1]
    world.ask(two, 2, "initialize", initialize())
    assert world.asked()["method"] == "initialize"


def test_the_handshake_goes_on_when_the_first_client_leaves() -> None:
    """Others wait for it, and it is never cancelled."""
    world = World()
    one, two = world.join(), world.join()
    world.ask(one, 1, "initialize", initialize())
    world.ask(two, 1, "initialize", initialize())
    asked = world.asked()
    world.notify(one, "notifications/cancelled", {"requestId": 1})
    world.leave(one)
    assert world.heard() == []
    world.say(b'{"jsonrpc":"2.0","id":%d,"result":%b}' % (asked["id"], RESULT))
    assert len(world.got(two)) == 1
    assert world.inbox[one] == []


@pytest.mark.parametrize(
    ("revision", "sampling", "elicitation"),
    [
        ("2024-11-05", {}, None),
        ("2025-03-26", {}, None),
        ("2025-06-18", {}, {}),
        ("2025-11-25", {"tools": {}, "context": {}}, {"form": {}, "url": {}}),
        ("2099-01-01", {"tools": {}, "context": {}}, {"form": {}, "url": {}}),
    ],
)
def test_the_server_is_told_of_all_that_a_client_could_do(
    revision: str, sampling: object, elicitation: object
) -> None:
    """As far as the revision that is asked for has words for it; other members stay."""
    world = World()
    world.ask(world.join(), 1, "initialize", {**initialize(revision, {"experimental": {"a": {}}}), "more": 1})
    params = world.asked()["params"]
    expected: dict[str, object] = {"roots": {"listChanged": True}, "sampling": sampling}
    if elicitation is not None:
        expected["elicitation"] = elicitation
    assert params == {**initialize(revision, expected), "more": 1}


def test_the_server_may_be_told_what_the_first_client_can_do() -> None:
    """Then its handshake goes on as it came."""
    world = World(declares=Declares.FIRST)
    world.ask(world.join(), 1, "initialize", initialize(capabilities={"experimental": {"a": {}}}))
    assert world.asked()["params"] == initialize(capabilities={"experimental": {"a": {}}})


# Subscriptions.


def test_a_resource_is_subscribed_to_once_and_told_to_those_who_follow_it() -> None:
    """The last who leaves it, or goes, ends that."""
    world = World()
    one, two, three = (world.join() for _ in range(3))
    world.ask(one, 1, "resources/subscribe", {"uri": "a"})
    world.ask(two, 1, "resources/subscribe", {"uri": "a"})
    world.answer(world.asked())
    world.ask(three, 1, "resources/subscribe", {"uri": "b"})
    world.answer(world.asked())
    assert world.got(one) == world.got(two) == world.got(three) == [reply(1)]
    world.tell("notifications/resources/updated", {"uri": "a"})
    assert world.got(one) == world.got(two) == [note("notifications/resources/updated", {"uri": "a"})]
    assert world.got(three) == []
    world.ask(one, 2, "resources/unsubscribe", {"uri": "a"})
    assert (world.got(one), world.heard()) == ([reply(2)], [])
    world.ask(three, 2, "resources/unsubscribe", {"uri": "a"})
    assert (world.got(three), world.heard()) == ([reply(2)], [])
    world.leave(two)
    assert world.asked()["params"] == {"uri": "a"}
    world.ask(three, 3, "resources/unsubscribe", {"uri": "b"})
    assert world.asked()["method"] == "resources/unsubscribe"


def test_a_change_of_a_part_is_told_to_who_follows_the_whole() -> None:
    """A server may name something below of what was asked for."""
    world = World()
    one, two = world.join(), world.join()
    for key, uri in ((one, "file:///a"), (two, "file:///a/b/")):
        world.ask(key, 1, "resources/subscribe", {"uri": uri})
        world.answer(world.asked())
    world.got(one)
    world.got(two)
    world.tell("notifications/resources/updated", {"uri": "file:///a/b/c#d"})
    assert (len(world.got(one)), len(world.got(two))) == (1, 1)
    world.tell("notifications/resources/updated", {"uri": "file:///ab"})
    assert world.got(one) == world.got(two) == []


def test_a_subscription_that_is_refused_is_refused_to_all_who_wait() -> None:
    """And is asked for again the next time."""
    world = World()
    one, two = world.join(), world.join()
    for key in (one, two):
        world.ask(key, 1, "resources/subscribe", {"uri": "a"})
    world.say({"jsonrpc": "2.0", "id": world.asked()["id"], "error": {"code": 1, "message": "no"}})
    assert "error" in world.got(one)[0]
    assert "error" in world.got(two)[0]
    world.ask(one, 2, "resources/subscribe", {"uri": "a"})
    assert world.asked()["method"] == "resources/subscribe"


def test_who_asked_for_a_resource_and_left_leaves_nothing_behind() -> None:
    """The server is told to stop as soon as it has agreed."""
    world = World()
    one = world.join()
    world.ask(one, 1, "resources/subscribe", {"uri": "a"})
    asked = world.asked()
    world.leave(one)
    assert world.heard() == []
    world.answer(asked)
    stop = world.asked()
    assert (stop["method"], stop["params"]) == ("resources/unsubscribe", {"uri": "a"})
    world.answer(stop)
    assert world.routes.is_idle


def test_a_resource_that_is_left_while_it_is_asked_for_is_not_followed() -> None:
    """Asking anew makes up for it."""
    world = World()
    one = world.join()
    world.ask(one, 1, "resources/subscribe", {"uri": "a"})
    world.ask(one, 2, "resources/unsubscribe", {"uri": "a"})
    asked = world.asked()
    world.answer(asked)
    assert world.got(one) == [reply(2), reply(1)]
    assert world.asked()["method"] == "resources/unsubscribe"
    world.ask(one, 3, "resources/subscribe", {"uri": "a"})
    world.ask(one, 4, "resources/unsubscribe", {"uri": "a"})
    world.ask(one, 5, "resources/subscribe", {"uri": "a"})
    world.answer(world.asked())
    world.got(one)
    world.tell("notifications/resources/updated", {"uri": "a"})
    assert len(world.got(one)) == 1


def test_a_resource_that_is_wanted_after_all_under_the_same_id_is_followed() -> None:
    """What was taken back before, under that id, was another request."""
    world = World()
    one = world.join()
    world.greet(one)
    world.ask(one, 1, "resources/subscribe", {"uri": "u"})
    asked = world.asked()
    world.ask(one, 2, "resources/unsubscribe", {"uri": "u"})
    world.notify(one, "notifications/cancelled", {"requestId": 1})
    world.ask(one, 1, "resources/subscribe", {"uri": "u"})
    world.answer(asked)
    assert world.got(one) == [reply(2), reply(1)]
    world.tell("notifications/resources/updated", {"uri": "u"})
    assert len(world.got(one)) == 1


def test_who_waits_for_the_same_goes_on_waiting_when_the_first_takes_its_request_back() -> None:
    """The server hears nothing of that; progress was the first one's, and is nobody's now."""
    world = World()
    one, two = world.join(), world.join()
    world.greet(one)
    world.greet(two)
    world.ask(one, 1, "resources/subscribe", {"uri": "u", "_meta": {"progressToken": "t"}})
    world.ask(two, 1, "resources/subscribe", {"uri": "u", "_meta": {"progressToken": "t"}})
    asked = world.asked()
    world.notify(one, "notifications/cancelled", {"requestId": 1})
    assert world.heard() == []
    token = asked["params"]["_meta"]["progressToken"]
    world.tell("notifications/progress", {"progressToken": token, "progress": 1})
    world.answer(asked)
    assert world.got(two) == [reply(1)]
    assert world.got(one) == []


def test_a_client_follows_so_many_resources_at_most() -> None:
    """What is kept for it is bounded."""
    world = World(Limits(subscriptions=1))
    one = world.join()
    world.ask(one, 1, "resources/subscribe", {"uri": "a"})
    world.answer(world.asked())
    world.ask(one, 2, "resources/subscribe", {"uri": "b"})
    assert "more than 1" in world.got(one)[1]["error"]["message"]


# Levels, logs and lists.


def test_each_client_gets_the_log_messages_of_the_level_that_it_wants() -> None:
    """The server is told the least severe of them."""
    world = World()
    one, two = world.join(), world.join()
    world.greet(one)
    world.greet(two)
    world.ask(one, 1, "logging/setLevel", {"level": "debug"})
    assert world.asked()["params"] == {"level": "debug"}
    world.ask(two, 1, "logging/setLevel", {"level": "error"})
    assert world.asked()["params"] == {"level": "debug"}
    for key, least in ((one, "debug"), (two, "error")):
        world.got(key)
        world.ask(key, 2, "tools/call")
        for level in ("debug", "error"):
            world.tell("notifications/message", {"level": level, "data": 1})
        assert [each["params"]["level"] for each in world.got(key)] == (
            ["debug", "error"] if least == "debug" else ["error"]
        )
        world.answer(world.asked())
    world.leave(one)
    assert world.asked()["params"] == {"level": "error"}


def test_a_level_that_is_none_is_refused_here() -> None:
    """What one client means by it must not become the level of the others."""
    world = World()
    one = world.join()
    world.ask(one, 1, "logging/setLevel", {"level": "verbose"})
    assert world.got(one)[0]["error"]["code"] == -32602
    assert world.heard() == []


def test_a_server_without_levels_is_not_asked_again() -> None:
    """Its refusal is the answer."""
    world = World()
    one, two = world.join(), world.join()
    world.greet(one)
    world.greet(two)
    world.ask(one, 1, "logging/setLevel", {"level": "debug"})
    world.say({"jsonrpc": "2.0", "id": world.asked()["id"], "error": {"code": -32601, "message": "no"}})
    assert world.got(one)[0]["error"]["code"] == -32601
    world.leave(one)
    assert world.heard() == []


def test_a_level_that_the_server_refused_hides_nothing() -> None:
    """It goes on as before, and so does what is passed on."""
    world = World()
    one = world.join()
    world.greet(one)
    world.ask(one, 1, "logging/setLevel", {"level": "error"})
    world.say({"jsonrpc": "2.0", "id": world.asked()["id"], "error": {"code": -32601, "message": "m"}})
    world.got(one)
    world.tell("notifications/message", {"level": "debug", "data": 1})
    assert len(world.got(one)) == 1


def test_a_log_message_is_passed_on_only_where_it_can_belong_to_one_client_alone() -> None:
    """To the one whose call runs, or to the only one; else to nobody, and that is told once."""
    world = World()
    one, two = world.join(), world.join()
    line = note("notifications/message", {"level": "info", "data": "d"})
    world.greet(one)
    world.say(line)
    assert world.got(one) == [line]
    world.greet(two)
    world.say(line)
    world.say(line)
    assert world.got(one) == world.got(two) == []
    assert len(world.notes) == 1
    world.ask(two, 1, "tools/call")
    world.say(line)
    assert (world.got(one), world.got(two)) == ([], [line])
    world.ask(one, 1, "ping")
    world.say(line)
    assert (world.got(one), world.got(two)) == ([], [line])
    world.ask(one, 2, "tools/call")
    world.say(line)
    assert world.got(one) == world.got(two) == []


def test_connections_of_one_owner_are_one_client() -> None:
    """Its latest call is the one that is meant."""
    world = World()
    one, two = world.join("o"), world.join("o")
    line = note("notifications/message", {"level": "info", "data": "d"})
    world.ask(one, 1, "tools/call")
    world.ask(two, 1, "tools/call")
    world.say(line)
    assert (world.got(one), world.got(two)) == ([], [line])


def test_that_a_list_has_changed_is_told_to_all_who_have_shaken_hands() -> None:
    """It is about the server, and says nothing of anybody."""
    world = World()
    one, two, three = (world.join() for _ in range(3))
    world.greet(one)
    world.greet(two)
    world.tell("notifications/tools/list_changed")
    assert len(world.got(one)) == len(world.got(two)) == 1
    assert world.got(three) == []


# Questions of the server.


def question(id: object = 1, method: str = "roots/list", params: object = None) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": id, "method": method, "params": params or {}}


def test_a_question_goes_to_the_client_whose_call_runs() -> None:
    """Its answer goes back under the id that the server chose."""
    world = World()
    one, two = world.join(), world.join()
    for key in (one, two):
        world.greet(key, {"roots": {}})
    world.ask(two, 1, "tools/call")
    world.heard()
    world.say(question("q"))
    (asked,) = world.got(two)
    assert asked["method"] == "roots/list"
    world.client(one, reply(asked["id"], "not asked"))
    assert world.heard() == []
    world.client(two, reply(str(asked["id"]), [1]))
    assert world.heard() == [reply("q", [1])]
    world.client(two, reply(asked["id"], [2]))
    assert world.heard() == []


def test_a_question_that_may_be_for_any_of_several_is_refused() -> None:
    """With a sentence that says so."""
    world = World()
    one, two = world.join(), world.join()
    world.say(question(0))
    for key in (one, two):
        world.greet(key, {"roots": {}})
        world.ask(key, 1, "tools/call")
    world.heard()
    world.say(question(1))
    assert world.got(one) == world.got(two) == []
    refused = world.asked()
    assert refused["id"] == 1
    assert "which of them is meant cannot be told" in refused["error"]["message"]


@pytest.mark.parametrize(
    ("capabilities", "method", "params", "missing"),
    [
        ({}, "roots/list", {}, "roots"),
        ({"roots": {}}, "roots/list", {}, None),
        ({"roots": None}, "roots/list", {}, "roots"),
        ({}, "sampling/createMessage", {}, "sampling"),
        ({"sampling": {}}, "sampling/createMessage", {"tools": []}, "sampling.tools"),
        ({"sampling": {"tools": {}}}, "sampling/createMessage", {"tools": []}, None),
        ({"elicitation": {}}, "elicitation/create", {}, None),
        ({"elicitation": {"url": {}}}, "elicitation/create", {}, "elicitation.form"),
        ({"elicitation": {"form": {}}}, "elicitation/create", {"mode": "url"}, "elicitation.url"),
        ({"elicitation": {"url": {}}}, "elicitation/create", {"mode": "url"}, None),
        ({}, "x/unknown", {}, None),
    ],
)
def test_a_client_is_asked_only_what_it_said_it_can_do(
    capabilities: object, method: str, params: object, missing: str | None
) -> None:
    """Whatever the server was told that clients can do."""
    world = World()
    one = world.join()
    world.greet(one, capabilities)
    world.say(question(4, method, params))
    if missing is None:
        assert world.got(one)[0]["method"] == method
    else:
        refused = world.asked()
        assert refused["error"]["code"] == -32601
        assert repr(missing) in refused["error"]["message"]


def test_the_server_may_take_its_question_back() -> None:
    """The client hears it under the id that it knows; an answer after that goes nowhere."""
    world = World()
    one = world.join()
    world.greet(one, {"roots": {}})
    world.say(question("q"))
    (asked,) = world.got(one)
    world.tell("notifications/cancelled", {"requestId": "q"})
    assert world.got(one) == [note("notifications/cancelled", {"requestId": asked["id"]})]
    world.client(one, reply(asked["id"]))
    assert world.heard() == []


def test_a_question_to_a_client_that_leaves_is_answered_with_an_error() -> None:
    """The server does not wait for nobody."""
    world = World()
    one = world.join()
    world.greet(one, {"roots": {}})
    world.say(question("q"))
    world.leave(one)
    answered = world.asked()
    assert (answered["id"], answered["error"]["message"]) == ("q", "the client has left")


def test_progress_on_a_question_comes_only_from_whom_it_was_put_to() -> None:
    """A token that the server gave to another is nothing to a client."""
    world = World()
    one, two = world.join(), world.join()
    world.greet(one, {"sampling": {}})
    world.say(question(1, "sampling/createMessage", {"_meta": {"progressToken": 5}}))
    world.got(one)
    report = note("notifications/progress", {"progressToken": 5, "progress": 1})
    world.client(two, report)
    assert world.heard() == []
    world.client(one, report)
    assert world.heard() == [report]


def test_a_ping_of_the_server_is_answered_here_and_that_of_a_client_by_the_server() -> None:
    """Each is told the truth about whom it asks for."""
    world = World()
    one = world.join()
    world.say(question("p", "ping"))
    assert world.heard() == [reply("p")]
    world.ask(one, 1, "ping")
    assert world.asked()["method"] == "ping"


def test_the_end_of_a_visit_is_told_to_whom_the_address_was_given() -> None:
    """Also where it was given with an error; an unknown one is told to nobody."""
    world = World()
    one, two = world.join(), world.join()
    for key in (one, two):
        world.greet(key, {"elicitation": {"url": {}}})
    world.ask(one, 1, "tools/call")
    world.say(question(1, "elicitation/create", {"mode": "url", "elicitationId": "e"}))
    data = {"elicitations": [{"mode": "url", "elicitationId": "f"}]}
    error = {"code": -32042, "message": "m", "data": data}
    world.say({"jsonrpc": "2.0", "id": world.asked()["id"], "error": error})
    world.got(one)
    world.ask(two, 1, "tools/call")
    for name in ("e", "f", "g"):
        world.tell("notifications/elicitation/complete", {"elicitationId": name})
    assert [each["params"]["elicitationId"] for each in world.got(one)] == ["e", "f"]
    assert world.got(two) == []


def test_a_task_is_known_to_the_client_that_began_it() -> None:
    """Its status and its questions go there; others cannot ask for it, nor for the list of all."""
    world = World()
    one, two = world.join(), world.join()
    for key in (one, two):
        world.greet(key, {"roots": {}})
    world.ask(one, 1, "tools/call", {"task": {}})
    world.answer(world.asked(), {"task": {"taskId": "t"}})
    world.got(one)
    world.ask(two, 1, "tools/call")
    world.heard()
    world.tell("notifications/tasks/status", {"taskId": "t", "status": "working"})
    related = {"_meta": {"io.modelcontextprotocol/related-task": {"taskId": "t"}}}
    world.say(question(1, "roots/list", related))
    assert len(world.got(one)) == 2
    assert world.got(two) == []
    world.ask(two, 2, "tasks/get", {"taskId": "t"})
    world.ask(two, 3, "tasks/list")
    assert [each["error"]["code"] for each in world.got(two)] == [-32602, -32601]
    world.ask(one, 2, "tasks/get", {"taskId": "t"})
    assert world.asked()["method"] == "tasks/get"


def test_a_server_that_lost_everything_is_told_again_what_is_wanted_of_it() -> None:
    """Its questions are forgotten, since their ids may come again."""
    world = World()
    one = world.join()
    world.greet(one, {"roots": {}})
    world.ask(one, 1, "resources/subscribe", {"uri": "a"})
    world.ask(one, 2, "logging/setLevel", {"level": "debug"})
    for each in world.heard():
        world.answer(each)
    world.say(question(1))
    world.do(world.routes.reopened())
    told = world.heard()
    assert [each["method"] for each in told] == ["resources/subscribe", "logging/setLevel"]
    for each in told:
        world.answer(each)
    world.got(one)
    world.say(question(1))
    assert len(world.got(one)) == 1


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
