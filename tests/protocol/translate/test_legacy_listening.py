"""What a handshake client hears of changes without more ado, and the one request that is open for it."""

from __future__ import annotations

from typing import Any

import pytest

from anywire.errors import TransportBroken
from anywire.wire.limits import DEFAULT_LIMITS
from tests.protocol.translate.stage import KEY, Stage, plain, shaken

LISTS = {"tools": {"listChanged": True}, "prompts": {"listChanged": True}, "resources": {"listChanged": True}}
RESOURCES = {"resources": {"subscribe": True}}
TOOLS_CHANGED = "notifications/tools/list_changed"
LIMITS = DEFAULT_LIMITS.replace(subscriptions=3)


def told(listen: Any, method: str, **params: Any) -> dict[str, Any]:
    """A notification of a request that is open."""
    tagged = {"_meta": {KEY + "subscriptionId": listen["id"]}} | params
    return {"jsonrpc": "2.0", "method": method, "params": tagged}


def acknowledge(stage: Stage, listen: Any, *uris: str) -> None:
    """The server honours a request, of the resources only these."""
    filter = plain(listen)["notifications"] | {"resourceSubscriptions": list(uris)}
    stage.server(told(listen, "notifications/subscriptions/acknowledged", notifications=filter))


def updated(listen: Any, uri: str) -> dict[str, Any]:
    return told(listen, "notifications/resources/updated", uri=uri)


def subscribed(stage: Stage, *uris: str) -> Any:
    """Subscribe one after the other; return the request that is open then."""
    listen = None
    for number, uri in enumerate(uris):
        listen = stage.ask(f"s{number}", "resources/subscribe", {"uri": uri})
        acknowledge(stage, listen, *uris[: number + 1])
    stage.to_client.clear()
    stage.to_server.clear()
    return listen


def heard(stage: Stage) -> list[Any]:
    """What the client has been told since."""
    said = [(each["method"], each.get("params")) for each in stage.to_client]
    stage.to_client.clear()
    return said


# Lists.


def test_after_the_handshake_all_that_the_server_promises_is_listened_to() -> None:
    stage = shaken(server=LISTS)
    listen = stage.to_server.pop()
    assert listen["method"] == "subscriptions/listen"
    assert plain(listen) == {
        "notifications": {"toolsListChanged": True, "promptsListChanged": True, "resourcesListChanged": True}
    }
    stage.server(told(listen, TOOLS_CHANGED))
    acknowledge(stage, listen)
    stage.server(told(listen, TOOLS_CHANGED))
    assert heard(stage) == [(TOOLS_CHANGED, None)] * 2


@pytest.mark.parametrize("server", [{}, {"tools": {}}, {"tools": {"listChanged": False}}, RESOURCES])
def test_where_nothing_is_promised_nothing_is_listened_to(server: Any) -> None:
    stage = shaken(server=server)
    assert stage.to_server == []
    assert stage.machine.deadline() is None


def test_what_is_told_loses_its_tag_and_nothing_else() -> None:
    stage = shaken(server=LISTS)
    listen = stage.to_server.pop()
    acknowledge(stage, listen)
    stage.server(
        b'{"jsonrpc":"2.0", "method":"notifications/resources/updated","x":1,"params":{"uri":"a:\\u0062","n": 1.0e-5,'
        b'"_meta":{"a":1, "io.modelcontextprotocol/subscriptionId":%d}}}' % listen["id"]
    )
    assert stage.frames[-1] == (
        b'{"jsonrpc":"2.0", "method":"notifications/resources/updated","x":1,"params":{"uri":"a:\\u0062","n": 1.0e-5,'
        b'"_meta":{"a":1}}}'
    )


def test_a_second_sign_that_the_client_is_there_opens_nothing_more() -> None:
    stage = shaken(server=LISTS)
    stage.to_server.clear()
    stage.notify("notifications/initialized")
    assert stage.to_server == []


def test_what_belongs_to_a_request_of_nobody_is_not_told() -> None:
    stage = shaken(server=LISTS)
    acknowledge(stage, stage.to_server.pop())
    stage.server(told({"id": 999}, TOOLS_CHANGED))
    stage.server(told({"id": 999}, "notifications/subscriptions/acknowledged", notifications={}))
    assert heard(stage) == []


def test_what_has_no_tag_is_told_all_the_same() -> None:
    stage = shaken()
    stage.server({"jsonrpc": "2.0", "method": TOOLS_CHANGED})
    assert heard(stage) == [(TOOLS_CHANGED, None)]


# Resources.


def test_a_subscription_is_answered_when_the_server_has_acknowledged_it() -> None:
    stage = shaken(server=RESOURCES)
    listen = stage.ask(1, "resources/subscribe", {"uri": "a:b"})
    assert plain(listen) == {"notifications": {"resourceSubscriptions": ["a:b"]}}
    assert stage.to_client == []
    acknowledge(stage, listen, "a:b")
    assert stage.said() == {"jsonrpc": "2.0", "id": 1, "result": {}}
    stage.server(updated(listen, "a:b"))
    assert heard(stage) == [("notifications/resources/updated", {"uri": "a:b"})]


def test_a_uri_goes_to_the_server_as_it_was_written() -> None:
    stage = shaken(server=RESOURCES)
    stage.client(b'{"jsonrpc":"2.0","id":1,"method":"resources/subscribe","params":{"uri":"a:\\u00e9\\/"}}')
    assert b'"resourceSubscriptions":["a:\\u00e9\\/"]' in stage.frames[-1]


@pytest.mark.parametrize("params", [None, {}, {"uri": 1}, [1]])
def test_a_subscription_to_nothing_is_refused(params: Any) -> None:
    stage = shaken(server=RESOURCES)
    assert stage.ask(1, "resources/subscribe", params) is None
    assert stage.said()["error"]["code"] == -32602


def test_a_server_that_will_not_tell_is_an_error_and_the_rest_stays() -> None:
    stage = shaken(server=RESOURCES | {"tools": {"listChanged": True}})
    acknowledge(stage, stage.to_server.pop())
    listen = stage.ask(1, "resources/subscribe", {"uri": "a:b"})
    acknowledge(stage, listen)
    assert stage.said()["error"]["message"] == "the server will not tell of changes of a:b"
    stage.to_server.clear()
    again = stage.ask(2, "resources/subscribe", {"uri": "c:d"})
    assert plain(again)["notifications"]["resourceSubscriptions"] == ["c:d"]


def test_the_new_request_is_open_before_the_old_one_ends() -> None:
    stage = shaken(server=RESOURCES)
    old = subscribed(stage, "a:a")
    new = stage.ask(2, "resources/subscribe", {"uri": "b:b"})
    assert plain(new)["notifications"]["resourceSubscriptions"] == ["a:a", "b:b"]
    stage.server(updated(old, "a:a"))
    assert heard(stage) == [("notifications/resources/updated", {"uri": "a:a"})]
    assert stage.to_server == []
    acknowledge(stage, new, "a:a", "b:b")
    assert stage.to_server.pop()["params"] == {"requestId": old["id"]}
    stage.to_client.clear()
    stage.server(updated(old, "a:a"))
    stage.server(updated(new, "a:a"))
    assert heard(stage) == [("notifications/resources/updated", {"uri": "a:a"})]


def test_what_is_asked_while_a_request_is_being_opened_waits_for_the_next() -> None:
    stage = shaken(server=RESOURCES)
    first = stage.ask(1, "resources/subscribe", {"uri": "a:a"})
    assert stage.ask(2, "resources/subscribe", {"uri": "b:b"}) is None
    assert stage.ask(3, "resources/unsubscribe", {"uri": "a:a"}) is None
    acknowledge(stage, first, "a:a")
    assert stage.said()["id"] == 1
    second = stage.to_server.pop()
    assert plain(second)["notifications"]["resourceSubscriptions"] == ["b:b"]
    acknowledge(stage, second, "b:b")
    assert [each["id"] for each in stage.to_client] == [2, 3]


def test_the_last_subscription_takes_the_request_with_it() -> None:
    stage = shaken(server=RESOURCES)
    listen = subscribed(stage, "a:a")
    cancel = stage.ask(2, "resources/unsubscribe", {"uri": "a:a"})
    assert cancel["params"] == {"requestId": listen["id"]}
    assert stage.said() == {"jsonrpc": "2.0", "id": 2, "result": {}}
    stage.pass_time(1000)
    assert stage.to_server == []


def test_what_is_so_already_is_answered_at_once() -> None:
    stage = shaken(server=RESOURCES)
    subscribed(stage, "a:a")
    assert stage.ask(1, "resources/subscribe", {"uri": "a:a"}) is None
    assert stage.ask(2, "resources/unsubscribe", {"uri": "b:b"}) is None
    assert [each["result"] for each in stage.to_client] == [{}, {}]


def test_subscriptions_are_bounded() -> None:
    stage = shaken(server=RESOURCES, limits=LIMITS)
    subscribed(stage, "a:a", "b:b", "c:c")
    assert stage.ask(1, "resources/subscribe", {"uri": "d:d"}) is None
    assert "more than 3 subscriptions" in stage.said()["error"]["message"]


def test_a_subscription_that_the_client_took_back_is_not_answered() -> None:
    stage = shaken(server=RESOURCES)
    listen = stage.ask(1, "resources/subscribe", {"uri": "a:a"})
    stage.notify("notifications/cancelled", {"requestId": 1})
    acknowledge(stage, listen, "a:a")
    assert stage.to_client == []


def test_a_server_that_refuses_the_request_refuses_the_subscription() -> None:
    stage = shaken(server=RESOURCES)
    listen = stage.ask(1, "resources/subscribe", {"uri": "a:a"})
    stage.server({"jsonrpc": "2.0", "id": listen["id"], "error": {"code": -32601, "message": "no"}})
    assert "refused subscriptions/listen: no" in stage.said()["error"]["message"]
    assert stage.machine.deadline() is None


def test_a_refused_change_leaves_what_was_open_open() -> None:
    stage = shaken(server=RESOURCES)
    old = subscribed(stage, "a:a")
    new = stage.ask(1, "resources/subscribe", {"uri": "b:b"})
    stage.server({"jsonrpc": "2.0", "id": new["id"], "error": {"code": -32603, "message": "no"}})
    assert "error" in stage.said()
    stage.server(updated(old, "a:a"))
    assert len(heard(stage)) == 1


def test_a_server_that_acknowledges_nothing_is_waited_for_no_longer_than_for_any_answer() -> None:
    stage = shaken(server=RESOURCES)
    listen = stage.ask(1, "resources/subscribe", {"uri": "a:a"})
    stage.pass_time(DEFAULT_LIMITS.request_seconds)
    assert "did not acknowledge" in stage.said()["error"]["message"]
    assert stage.to_server[0]["params"] == {"requestId": listen["id"]}


# Ends.


def ends(listen: Any) -> list[Any]:
    result = {"resultType": "complete", "_meta": {KEY + "subscriptionId": listen["id"]}}
    return [
        {"jsonrpc": "2.0", "id": listen["id"], "result": result},
        {"jsonrpc": "2.0", "id": listen["id"], "error": {"code": -32603, "message": "no"}},
        {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": listen["id"]}},
    ]


@pytest.mark.parametrize("how", range(4))
def test_a_request_that_ends_is_opened_anew_after_a_while(how: int) -> None:
    stage = shaken(server=LISTS)
    listen = stage.to_server.pop()
    acknowledge(stage, listen)
    if how == 3:
        stage.take(stage.machine.failed(b"%d" % listen["id"], TransportBroken("cut"), stage.now))
    else:
        stage.server(ends(listen)[how])
        stage.server(ends(listen)[(how + 1) % 3])
    assert (stage.to_server, stage.to_client, stage.failed) == ([], [], [])
    stage.pass_time(DEFAULT_LIMITS.reconnect_seconds)
    again = stage.to_server.pop()
    assert again["id"] != listen["id"]
    assert plain(again) == plain(listen)


def test_ever_later_and_soon_again_when_it_held() -> None:
    stage = shaken(server=LISTS)
    waits: list[float] = []
    for _ in range(9):
        listen = stage.to_server.pop()
        acknowledge(stage, listen)
        stage.server(ends(listen)[0])
        due = stage.machine.deadline()
        assert due is not None
        waits.append(due - stage.now)
        stage.pass_time(waits[-1])
    assert waits == [1, 2, 4, 8, 16, 32, 60, 60, 60]
    listen = stage.to_server.pop()
    acknowledge(stage, listen)
    stage.pass_time(61)
    stage.server(ends(listen)[0])
    stage.pass_time(1)
    assert len(stage.to_server) == 1


def test_a_server_that_never_honoured_one_is_not_asked_for_ever() -> None:
    stage = shaken(server=LISTS)
    stage.server(ends(stage.to_server.pop())[1])
    assert stage.machine.deadline() is None


def test_a_subscription_while_nothing_is_open_opens_at_once() -> None:
    stage = shaken(server=RESOURCES)
    listen = subscribed(stage, "a:a")
    stage.server(ends(listen)[0])
    again = stage.ask(1, "resources/subscribe", {"uri": "a:a"})
    assert plain(again)["notifications"]["resourceSubscriptions"] == ["a:a"]
    acknowledge(stage, again, "a:a")
    assert stage.said()["result"] == {}
    assert stage.machine.deadline() is None


# Where requests have ways of their own.


def test_the_old_request_lingers_where_it_may_be_late_and_nothing_is_told_twice() -> None:
    stage = shaken(server=RESOURCES, linger=0.25)
    old = subscribed(stage, "a:a")
    new = stage.ask(1, "resources/subscribe", {"uri": "b:b"})
    acknowledge(stage, new, "a:a", "b:b")
    stage.to_client.clear()
    for first, second in ((old, new), (new, old)):
        stage.server(updated(first, "a:a"))
        assert len(heard(stage)) == 1
        stage.server(updated(second, "a:a"))
        assert heard(stage) == []
    stage.server(updated(old, "a:a"))  # from before
    assert len(heard(stage)) == 1
    stage.pass_time(0.25)
    assert stage.to_server.pop()["params"] == {"requestId": old["id"]}
    stage.server(updated(new, "a:a"))
    assert len(heard(stage)) == 1


def test_only_one_old_request_lingers() -> None:
    stage = shaken(server=RESOURCES, linger=0.25)
    first = subscribed(stage, "a:a")
    second = stage.ask(1, "resources/subscribe", {"uri": "b:b"})
    acknowledge(stage, second, "a:a", "b:b")
    third = stage.ask(2, "resources/subscribe", {"uri": "c:c"})
    acknowledge(stage, third, "a:a", "b:b", "c:c")
    assert stage.to_server.pop()["params"] == {"requestId": first["id"]}
    stage.server(ends(second)[0])
    stage.pass_time(10)
    assert stage.to_server == []


def test_an_old_request_tells_nothing_of_what_is_not_subscribed_to_any_more() -> None:
    stage = shaken(server=RESOURCES, linger=0.25)
    old = subscribed(stage, "a:a", "b:b")
    stage.pass_time(1)
    new = stage.ask(1, "resources/unsubscribe", {"uri": "a:a"})
    acknowledge(stage, new, "b:b")
    assert stage.said()["result"] == {}
    stage.server(updated(old, "a:a"))
    assert heard(stage) == []
    stage.server(updated(old, "b:b"))
    assert len(heard(stage)) == 1
