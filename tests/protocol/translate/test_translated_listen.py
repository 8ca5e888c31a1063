"""Subscriptions of a stateless client, which a handshake server grants resource by resource."""

from __future__ import annotations

import json
from typing import Any

import pytest

from anywire.errors import TransportBroken
from anywire.protocol.translate.modern_client import read_request
from anywire.wire.event import Refused
from anywire.wire.limits import Limits
from tests.protocol.translate.virtual import ALL, Played, refusal, request

SUBSCRIPTION = "io.modelcontextprotocol/subscriptionId"
EVERYTHING = {"toolsListChanged": True, "promptsListChanged": True, "resourcesListChanged": True}
UPDATED = {"method": "notifications/resources/updated", "params": {"uri": "a:b"}}


def listening(wanted: dict[str, Any], offered: Any = ALL, id: object = 7) -> Played:
    return Played(request("subscriptions/listen", {"notifications": wanted}, id)).greet(offered)


def told(played: Played) -> list[Any]:
    return [json.loads(each) for each in played.told]


@pytest.mark.parametrize(
    ("offered", "granted"),
    [
        (ALL, EVERYTHING),
        ({"tools": {"listChanged": True}, "prompts": {}}, {"toolsListChanged": True}),
        ({"tools": {"listChanged": False}}, {}),
        ({}, {}),
    ],
)
def test_a_subscription_is_acknowledged_with_what_the_server_tells(offered: Any, granted: Any) -> None:
    """Nothing is asked of the server for that."""
    played = listening(EVERYTHING, offered, id="s")
    params = {"_meta": {SUBSCRIPTION: "s"}, "notifications": granted}
    assert told(played) == [
        {"jsonrpc": "2.0", "method": "notifications/subscriptions/acknowledged", "params": params}
    ]
    assert (played.conversation.opening, played.conversation.over) == (False, False)
    assert played.last()["method"] == "notifications/initialized"


def test_resources_are_subscribed_to_before_that() -> None:
    """It names those that the server has granted; one that is named twice is asked for once."""
    played = listening({"resourceSubscriptions": ["a:b", "c:d", "a:b"]})
    assert [json.loads(sent)["params"] for sent in played.sent[2:]] == [{"uri": "a:b"}, {"uri": "c:d"}]
    assert (played.told, played.conversation.opening) == ([], True)
    played.say({"id": 3, "error": {"code": -32002, "message": "none"}})
    assert played.told == []
    played.say({"id": 2, "result": {}})
    assert told(played)[0]["params"]["notifications"] == {"resourceSubscriptions": ["a:b"]}


def test_what_comes_before_the_acknowledgement_is_told_after_it() -> None:
    """Once each."""
    played = listening({**EVERYTHING, "resourceSubscriptions": ["a:b"]})
    played.say(UPDATED, {"method": "notifications/tools/list_changed"}, UPDATED, {"id": 2, "result": {}})
    assert [each["method"] for each in told(played)] == [
        "notifications/subscriptions/acknowledged",
        "notifications/resources/updated",
        "notifications/tools/list_changed",
    ]


def test_what_is_told_names_the_subscription_and_keeps_its_bytes() -> None:
    """Under the id as it was written."""
    played = listening({"toolsListChanged": True, "resourceSubscriptions": ["a:b"]}, id=1.5)
    played.say({"id": 2, "result": {}})
    played.say(
        b'{"jsonrpc":"2.0","odd":1E400,"method":"notifications/resources/updated",'
        b'"params":{"uri":"a:b\\ud83d","_meta":{"x":1.0}}}',
        {"method": "notifications/tools/list_changed"},
    )
    assert played.told[1] == (
        b'{"jsonrpc":"2.0","odd":1E400,"method":"notifications/resources/updated",'
        b'"params":{"uri":"a:b\\ud83d","_meta":{"%b":1.5,"x":1.0}}}' % SUBSCRIPTION.encode()
    )
    assert told(played)[2]["params"] == {"_meta": {SUBSCRIPTION: 1.5}}


def test_nothing_is_told_that_was_not_asked_for() -> None:
    """Nor what belongs to no subscription."""
    played = listening({"promptsListChanged": True})
    for method in (
        "tools/list_changed",
        "resources/list_changed",
        "resources/updated",
        "message",
        "progress",
    ):
        played.say({"method": f"notifications/{method}", "params": {"uri": "a:b"}})
    assert len(played.told) == 1


def test_a_subscription_that_is_cancelled_is_taken_back_at_the_server() -> None:
    """Resource by resource."""
    played = listening({"resourceSubscriptions": ["a:b", "c:d"]})
    played.say({"id": 2, "result": {}}, {"id": 3, "result": {}})
    played.do(played.conversation.cancel("enough"))
    assert [(each["method"], each["params"]["uri"]) for each in map(json.loads, played.sent[-2:])] == [
        ("resources/unsubscribe", "a:b"),
        ("resources/unsubscribe", "c:d"),
    ]
    assert (played.say(UPDATED).answers, len(played.told)) == ([], 1)


def test_a_server_that_ends_in_order_ends_the_subscription_so() -> None:
    """One that is lost fails it, as it does one that was not acknowledged yet."""
    played = listening(EVERYTHING)
    played.do(played.conversation.lose(None))
    result = played.answer()["result"]
    assert (result["resultType"], result["_meta"][SUBSCRIPTION]) == ("complete", 7)

    reason = TransportBroken("gone")
    lost = listening(EVERYTHING)
    lost.do(lost.conversation.lose(reason))
    assert (lost.failures, lost.answers) == ([reason], [])
    early = listening({"resourceSubscriptions": ["a:b"]})
    early.do(early.conversation.lose(None))
    assert [str(error) for error in early.failures] == ["played ended before it shook hands"]


def test_a_conversation_that_was_lost_and_opened_anew_has_its_subscriptions_again() -> None:
    """Those that were granted."""
    played = listening({"resourceSubscriptions": ["a:b"]}).say({"id": 2, "result": {}})
    played.do(played.conversation.reopened())
    assert (played.last()["method"], played.last()["params"]) == ("resources/subscribe", {"uri": "a:b"})
    assert len(played.say({"id": 3, "result": {}}, UPDATED).told) == 2


@pytest.mark.parametrize(
    "params", [{}, {"notifications": 5}, {"notifications": {"resourceSubscriptions": [1]}}]
)
def test_a_subscription_to_nothing_that_is_known_is_invalid(params: Any) -> None:
    """Before a server is asked."""
    assert refusal(request("subscriptions/listen", params))["code"] == -32602


def test_a_subscription_to_too_many_resources_is_refused() -> None:
    """The limit is in the sentence."""
    asked = request("subscriptions/listen", {"notifications": {"resourceSubscriptions": ["a:", "b:", "c:"]}})
    found = read_request(asked, "played", Limits(subscriptions=2))
    assert isinstance(found, Refused)
    assert b"more than 2 resources in one subscription" in found.reply.error
