"""What clients that share one server have agreed with it: the handshake, subscriptions, levels."""

from __future__ import annotations

import pytest

from anywire.bridge.sharing.handshake import Declares
from anywire.errors import TransportBroken
from anywire.wire.codec import encode
from anywire.wire.limits import Limits
from tests.bridge.sharing.world import World, initialize, note, reply

RESULT = (
    b'{"protocolVersion":"2025-11-25","capabilities":{"x":1.0e-5},"serverInfo":{"name":"\\u00e9"},'
    b'"unknown" : [12345678901234567890123]}'
)


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
