"""When a recorded message is due, and under which names it goes out."""

from __future__ import annotations

import json
from typing import Any

from anywire.record.improvising import Improviser
from anywire.record.playback import Play, Playback
from anywire.record.score import compose
from anywire.wire.codec import decode
from anywire.wire.message import ErrorResponse, Notification, Request, Response
from tests.record.recordings import asks, entries, gives, plain, says, score

SHAKEN = (
    ("→", asks(0, "initialize", capabilities={})),
    ("←", gives(0, capabilities={})),
    ("→", {"jsonrpc": "2.0", "method": "notifications/initialized"}),
)


def give(playing: Playback | Improviser, said: Any, now: float = 0.0, where: str = "here") -> list[Any]:
    """Say something; what is sent because of it."""
    message = decode(json.dumps(said).encode())
    match message:
        case Request():
            plays = playing.ask(message, where, now)
        case Notification():
            plays = playing.hear(message, where, now)
        case Response() | ErrorResponse():
            plays = playing.answer(message, where, now)
        case _:
            raise AssertionError(message)
    return [plain(plays)] if isinstance(plays, ErrorResponse) else [plain(play.message) for play in plays]


def test_a_reply_has_the_id_and_progress_the_token_of_the_client_that_is_there() -> None:
    """Those of the recording are nobody's business."""
    playing = Playback(
        score(
            ("→", asks(1, "tools/call", name="a", _meta={"progressToken": 1})),
            ("←", says("notifications/progress", progressToken=1, progress=0.5)),
            ("←", gives(1, content=[])),
        )
    )

    assert give(playing, asks("x", "tools/call", name="a", _meta={"progressToken": "y"})) == [
        {"method": "notifications/progress", "params": {"progressToken": "y", "progress": 0.5}},
        {"id": "x", "result": {"content": []}},
    ]
    assert playing.is_over


def test_another_request_is_told_what_was_expected_and_changes_nothing() -> None:
    """What differs, and in which line it stands."""
    playing = Playback(score(("→", asks(1, "tools/call", name="a", arguments={"n": 1})), ("←", gives(1))))

    other = give(playing, asks(1, "tools/call", name="a", arguments={"n": 2}))
    unknown = give(playing, asks(2, "tools/list"))

    assert other[0]["error"] == {
        "code": -32602,
        "message": "the recording has another tools/call a here (line 2): params.arguments.n: 1 and 2",
    }
    assert unknown[0]["error"] == {
        "code": -32601,
        "message": "the recording has tools/call a here (line 2), not tools/list",
    }
    assert give(playing, asks(3, "tools/call", arguments={"n": 1}, name="a")) == [{"id": 3, "result": {}}]
    assert "no request any more" in give(playing, asks(4, "tools/list"))[0]["error"]["message"]


def test_presence_may_be_asked_more_often_or_not_at_all() -> None:
    """By whoever wants to know whether somebody is there, or of which era: a bridge asks for itself."""
    playing = Playback(
        score(
            ("→", asks(1, "server/discover")),
            ("←", gives(1, who="s")),
            ("→", asks(2, "server/discover")),
            ("←", gives(2, who="s")),
            ("→", asks(3, "tools/list")),
            ("←", gives(3, tools=[])),
        )
    )

    assert give(playing, asks(1, "server/discover")) == [{"id": 1, "result": {"who": "s"}}]
    assert give(playing, asks(2, "ping")) == [{"id": 2, "result": {}}]
    assert give(playing, asks(3, "tools/list")) == [{"id": 3, "result": {"tools": []}}]
    assert give(playing, asks(4, "server/discover")) == [{"id": 4, "result": {"who": "s"}}]
    assert playing.is_over


def test_requests_that_were_on_their_way_together_may_come_in_any_order() -> None:
    """Two connections overtake each other; what came after the first answer comes after it again."""
    said = (
        ("→", asks(1, "tools/call", name="a")),
        ("→", asks(2, "tools/call", name="b")),
        ("←", gives(2, of="b")),
        ("←", gives(1, of="a")),
        ("→", asks(3, "tools/call", name="c")),
        ("←", gives(3, of="c")),
    )
    playing = Playback(score(*said))

    assert "error" in give(playing, asks(3, "tools/call", name="c"))[0]
    assert give(playing, asks(2, "tools/call", name="b")) == [{"id": 2, "result": {"of": "b"}}]
    assert give(playing, asks(1, "tools/call", name="a")) == [{"id": 1, "result": {"of": "a"}}]
    assert give(playing, asks(3, "tools/call", name="c")) == [{"id": 3, "result": {"of": "c"}}]


def test_the_servers_own_requests_come_at_their_places() -> None:
    """Not before the client is ready; and the reply not before they were answered."""
    playing = Playback(
        score(
            *SHAKEN,
            ("←", asks(9, "roots/list")),
            ("→", gives(9, roots=[])),
            ("→", asks(1, "tools/call", name="a")),
            ("←", asks(10, "elicitation/create")),
            ("→", gives(10, action="accept")),
            ("←", says("notifications/message", data="hm")),
            ("←", gives(1, content=[])),
        )
    )

    assert len(give(playing, asks(0, "initialize", capabilities={}))) == 1
    assert give(playing, says("notifications/initialized"))[0]["method"] == "roots/list"
    assert give(playing, gives(9, roots=[{"uri": "file:///"}])) == []
    assert give(playing, asks(5, "tools/call", name="a"))[0]["method"] == "elicitation/create"
    assert [each.get("method", each.get("id")) for each in give(playing, gives(10, action="decline"))] == [
        *("notifications/message", 5)
    ]


def test_a_reply_does_not_wait_for_what_another_was_asked_for() -> None:
    """A client may be slow to answer, or answer nothing."""
    playing = Playback(
        score(
            *SHAKEN,
            ("←", asks(9, "roots/list")),
            ("→", gives(9, roots=[])),
            ("→", asks(1, "tools/list")),
            ("←", gives(1, tools=[])),
        )
    )

    give(playing, asks(0, "initialize", capabilities={}))
    give(playing, says("notifications/initialized"))
    assert give(playing, asks(5, "tools/list")) == [{"id": 5, "result": {"tools": []}}]
    assert give(playing, gives(9, roots=[])) == []
    assert playing.is_over


def test_the_time_of_a_message_is_counted_from_what_it_waited_for() -> None:
    """A tenth of a second each, in these recordings."""
    playing = Playback(
        score(
            ("→", asks(1, "tools/call", name="a", _meta={"progressToken": 1})),
            ("←", says("notifications/progress", progressToken=1, progress=1)),
            ("←", says("notifications/message", data="hm")),
            ("←", gives(1)),
        )
    )
    request = decode(json.dumps(asks(1, "tools/call", name="a")).encode())
    assert isinstance(request, Request)

    plays = playing.ask(request, "here", 1000.0)

    assert not isinstance(plays, ErrorResponse)
    assert [round(play.at - 1000, 3) for play in plays] == [0.1, 0.2, 0.3]
    assert [play.pause > 0 for play in plays] == [False, False, True]
    assert [(play.where, play.related) for play in plays] == [("here", b"1")] * 3


def test_what_a_subscription_tells_names_the_subscription_of_the_client_that_is_there() -> None:
    """It is the id of its request."""
    key = "io.modelcontextprotocol/subscriptionId"
    playing = Playback(
        score(
            ("→", asks(1, "subscriptions/listen", notifications={})),
            ("←", says("notifications/subscriptions/acknowledged", _meta={key: 1})),
            ("←", gives(1, _meta={key: 1})),
        )
    )

    told = give(playing, asks("mine", "subscriptions/listen", notifications={}))

    assert told[0]["params"]["_meta"] == {key: "mine"}
    assert told[1] == {"id": "mine", "result": {"_meta": {key: "mine"}}}


def test_a_secret_that_was_left_out_is_equal_to_whatever_comes() -> None:
    """A recording without secrets can still be played strictly."""
    hidden = "***0123456789ab"
    playing = Playback(
        score(
            ("→", asks(1, "tools/call", name="a", arguments={"token": hidden, "text": f"with {hidden}!"})),
            ("←", gives(1)),
        )
    )

    given = {"token": "s3cret", "text": "with s3cret!"}
    assert give(playing, asks(1, "tools/call", name="a", arguments=given)) == [{"id": 1, "result": {}}]


def test_a_request_that_was_sent_in_vain_is_so_again() -> None:
    """Its client hears why, and does not wait."""
    playing = Playback(
        score(("→", asks(1, "ping")), ("·", {"event": "failed", "id": 1, "reason": "it broke"}))
    )

    [error] = give(playing, asks(5, "ping"))
    assert (error["id"], "it broke" in error["error"]["message"]) == (5, True)


def test_the_parts_of_a_batch_go_out_together() -> None:
    """When all of them are due."""
    playing = Playback(
        score(("→", [asks(1, "ping"), asks(2, "tools/list")]), ("←", [gives(1), gives(2, tools=[])]))
    )
    groups: list[int] = []
    for id, method in ((1, "ping"), (2, "tools/list")):
        plays = playing.ask(Request(b"%d" % id, method), "here", 0.0)
        assert isinstance(plays, list)
        groups += [play.group for play in plays]

    assert groups[0] == groups[1] > 0


def lenient(*said: Any) -> Improviser:
    """Plays leniently."""
    return Improviser([score(*said)])


def test_the_nearest_request_is_the_one_that_differs_least() -> None:
    """Of that method and name; of two alike, each has its turn."""
    playing = lenient(
        ("→", asks(1, "tools/call", name="add", arguments={"a": 1, "b": 1})),
        ("←", gives(1, sum=2)),
        ("→", asks(2, "tools/call", name="add", arguments={"a": 5, "b": 1})),
        ("←", gives(2, sum=6)),
        ("→", asks(3, "tools/call", name="now", arguments={})),
        ("←", gives(3, time=1)),
        ("→", asks(4, "tools/call", name="now", arguments={})),
        ("←", gives(4, time=2)),
    )

    def call(name: str, **arguments: int) -> Any:
        return give(playing, asks(7, "tools/call", name=name, arguments=arguments))[0]

    assert call("add", a=5, b=2)["result"] == {"sum": 6}
    assert call("add", a=1, b=1)["result"] == {"sum": 2}
    assert [call("now")["result"]["time"] for _ in range(4)] == [1, 2, 1, 2]
    assert call("gone")["error"] == {"code": -32602, "message": "the recording has no tools/call gone"}
    assert give(playing, asks(1, "prompts/list"))[0]["error"]["code"] == -32601
    assert give(playing, asks(1, "ping")) == [{"id": 1, "result": {}}]


def test_what_is_asked_again_has_an_id_of_its_own() -> None:
    """Two of them may wait for their answers at once, and each gets its own."""
    playing = lenient(
        ("→", asks(1, "tools/call", name="a")),
        ("←", asks(1, "elicitation/create")),
        ("→", gives(1, action="accept")),
        ("←", gives(1, done=True)),
    )

    first, second = (give(playing, asks(id, "tools/call", name="a"))[0]["id"] for id in ("x", "y"))

    assert first != second
    assert give(playing, gives(second, action="accept")) == [{"id": "y", "result": {"done": True}}]
    assert give(playing, gives(first, action="accept")) == [{"id": "x", "result": {"done": True}}]
    assert give(playing, gives(first, action="accept")) == []


def test_what_is_not_due_is_no_play() -> None:
    """A request that was never answered is not answered now."""
    assert give(Playback(score(("→", asks(1, "tools/list")))), asks(1, "tools/list")) == list[Play]()


def test_an_answer_is_given_to_the_client_that_was_asked() -> None:
    """Two of them may be asked under one id."""
    both = compose(
        entries(
            ("→", asks(1, "tools/call", name="a")),
            ("←", asks(9, "elicitation/create")),
            ("→", gives(9, action="accept")),
            ("←", gives(1, of="a")),
            ("→", asks(1, "tools/call", name="b"), 2),
            ("←", asks(9, "elicitation/create"), 2),
            ("→", gives(9, action="accept"), 2),
            ("←", gives(1, of="b"), 2),
        )
    )
    playing = Improviser(both)
    for name in "a", "b":
        assert give(playing, asks(5, "tools/call", name=name), where=name)[0]["id"] == 9

    assert give(playing, gives(9, action="accept"), where="b") == [{"id": 5, "result": {"of": "b"}}]
    assert give(playing, gives(9, action="accept"), where="a") == [{"id": 5, "result": {"of": "a"}}]


def test_a_reply_that_answers_nothing_is_not_played() -> None:
    """A server may answer twice; nobody else gets that."""
    playing = Playback(
        score(
            ("→", asks(1, "tools/call", name="a")),
            ("←", gives(1, of="a")),
            ("→", asks(2, "tools/call", name="b")),
            ("←", gives(1, of="a")),
            ("←", gives(2, of="b")),
        )
    )

    assert give(playing, asks(1, "tools/call", name="a")) == [{"id": 1, "result": {"of": "a"}}]
    assert give(playing, asks(2, "tools/call", name="b")) == [{"id": 2, "result": {"of": "b"}}]


def test_who_waited_for_a_server_that_left_hears_so() -> None:
    """A client that left waits for nothing."""
    left = {"event": "closed", "byPeer": True, "reason": "exited with code 7"}
    said = ("→", asks(1, "tools/call", name="a"))
    server = Playback(score(said, ("·", {**left, "direction": "server to client"})))
    client = Playback(score(said, ("·", {**left, "direction": "client to server"})))

    [error] = give(server, asks(5, "tools/call", name="a"))
    assert (error["id"], "exited with code 7" in error["error"]["message"]) == (5, True)
    assert give(client, asks(5, "tools/call", name="a")) == []


def test_what_overlapped_can_be_given_to_a_client_that_asks_one_after_the_other() -> None:
    """A reply that came after a question waits for it; not for ever, if that comes after another request."""
    playing = Playback(
        score(
            ("→", asks(1, "tools/call", name="slow")),
            ("→", asks(2, "tools/call", name="ask")),
            ("←", asks(9, "elicitation/create")),
            ("→", gives(9, action="accept")),
            ("←", gives(2, of="ask")),
            ("←", gives(1, of="slow")),
        )
    )

    assert give(playing, asks(1, "tools/call", name="slow")) == []
    step = playing.stuck()
    assert step is not None
    assert [plain(play.message) for play in playing.release(step, 0.0)] == [
        {"id": 1, "result": {"of": "slow"}}
    ]
    assert playing.stuck() is None
    assert give(playing, asks(2, "tools/call", name="ask"))[0]["method"] == "elicitation/create"
    assert playing.stuck() is None
    assert give(playing, gives(9, action="accept")) == [{"id": 2, "result": {"of": "ask"}}]
