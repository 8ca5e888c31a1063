"""Which reply belongs to which request, which rounds are one call, and what was never answered."""

from __future__ import annotations

from typing import Any

from anywire.record.entry import Entry
from anywire.record.story import Teller, Told
from tests.record.recordings import asks, entries, gives, says


def told(*said: Any) -> tuple[list[Told], Teller]:
    """What a recording tells, and its teller at the end."""
    teller = Teller()
    return [each for entry in entries(*said) for each in teller.take(entry)], teller


def rounds(things: list[Told]) -> list[int]:
    """The number of the round that each request is."""
    return [each.about.round for each in things if each.about is not None and hasattr(each.message, "params")]


def asked(name: str, **more: Any) -> Any:
    """A call of a tool."""
    return {"name": name, "arguments": {}, **more}


def wants(id: int, *keys: str, state: str | None = None) -> Any:
    """A result that asks for something."""
    requests = {key: {"method": "elicitation/create"} for key in keys}
    more = {} if state is None else {"requestState": state}
    return gives(id, resultType="input_required", inputRequests=requests, **more)


def test_replies_find_their_requests_in_either_direction() -> None:
    """Both sides count their ids from the same number on."""
    things, teller = told(
        ("→", asks(1, "tools/call", name="a")),
        ("←", asks(1, "sampling/createMessage")),
        ("→", gives(1, role="assistant")),
        ("←", gives(1, content=[])),
        ("←", gives(1, again=True)),
    )

    assert [each.about and each.about.method for each in things] == [
        *("tools/call", "sampling/createMessage", "sampling/createMessage", "tools/call"),
        None,
    ]
    assert teller.open == []


def test_progress_and_cancellation_belong_to_their_request() -> None:
    """By the token, by the id; a cancelled request is not one that was never answered."""
    things, teller = told(
        ("→", asks(7, "tools/call", name="a", _meta={"progressToken": "t"})),
        ("←", says("notifications/progress", progressToken="t", progress=1)),
        ("→", says("notifications/cancelled", requestId=7)),
        ("→", asks(8, "tools/call", name="b")),
    )

    assert [each.about and each.about.subject for each in things] == ["a", "a", "a", "b"]
    assert [each.subject for each in teller.open] == ["b"]


def test_what_a_closed_conversation_left_is_told_there() -> None:
    """Nobody can answer it any more."""
    things, teller = told(("→", asks(1, "tools/list")), ("·", {"event": "closed"}))

    assert [each.method for each in things[-1].left] == ["tools/list"]
    assert teller.open == []


def test_each_message_of_a_batch_is_told() -> None:
    """With the line that it stands in."""
    things, teller = told(
        ("→", [asks(1, "ping"), asks(2, "tools/list")]), ("←", [gives(2, tools=[]), gives(1)])
    )

    assert [each.about and each.about.method for each in things] == [
        "ping",
        "tools/list",
        "tools/list",
        "ping",
    ]
    assert (teller.messages, teller.open) == (2, [])


def test_rounds_are_one_call_where_the_state_comes_back() -> None:
    """Byte for byte; the third is a round of the first as well."""
    things, _ = told(
        ("→", asks(1, "tools/call", **asked("deploy"))),
        ("←", wants(1, "a", state="s1")),
        ("→", asks(2, "tools/call", **asked("deploy", requestState="s1", inputResponses={"a": {}}))),
        ("←", wants(2, "b", state="s2")),
        ("→", asks(3, "tools/call", **asked("deploy", requestState="s2", inputResponses={"b": {}}))),
        ("←", gives(3, content=[])),
        ("→", asks(4, "tools/call", **asked("deploy", requestState="s3", inputResponses={"b": {}}))),
    )

    assert rounds(things) == [1, 2, 3, 1]
    last = things[5].about
    assert last is not None
    assert last.first is not None
    assert last.first.id == b"1"


def test_rounds_without_a_state_are_joined_where_only_one_call_fits() -> None:
    """Method, name and keys must be those of one open call; of two alike, none is guessed."""
    answer = asked("deploy", inputResponses={"a": {}})
    one, _ = told(
        ("→", asks(1, "tools/call", **asked("deploy"))),
        ("←", wants(1, "a")),
        ("→", asks(2, "tools/call", **asked("other", inputResponses={"a": {}}))),
        ("→", asks(3, "tools/call", **asked("deploy", inputResponses={"b": {}}))),
        ("→", asks(4, "tools/call", **answer)),
    )
    two, _ = told(
        ("→", asks(1, "tools/call", **asked("deploy"))),
        ("→", asks(2, "tools/call", **asked("deploy"))),
        ("←", wants(1, "a")),
        ("←", wants(2, "a")),
        ("→", asks(3, "tools/call", **answer)),
    )

    assert rounds(one) == [1, 1, 1, 2]
    assert rounds(two) == [1, 1, 1]


def test_one_state_of_two_calls_is_told_apart_by_the_keys_or_not_at_all() -> None:
    """A server may give everybody the same state."""
    things, _ = told(
        ("→", asks(1, "tools/call", **asked("deploy"))),
        ("→", asks(2, "tools/call", **asked("deploy"))),
        ("←", wants(1, "a", state="s")),
        ("←", wants(2, "b", state="s")),
        ("→", asks(3, "tools/call", **asked("deploy", requestState="s"))),
        ("→", asks(4, "tools/call", **asked("deploy", requestState="s", inputResponses={"b": {}}))),
    )

    assert rounds(things) == [1, 1, 1, 2]
    assert things[-1].about is not None
    assert things[-1].about.first is not None
    assert things[-1].about.first.id == b"2"


def test_a_request_whose_id_is_taken_for_another_is_told_there() -> None:
    """Nobody can tell which of them a reply is to."""
    things, teller = told(("→", asks(1, "tools/list")), ("→", asks(1, "ping")), ("←", gives(1)))

    assert [[each.method for each in thing.left] for thing in things] == [[], ["tools/list"], []]
    assert teller.open == []


def test_a_time_that_nothing_can_show_is_none() -> None:
    """A recording may have been written by anybody."""
    for time in "0001-01-01T00:00:00Z", "9999-12-31T23:59:59Z", "yesterday":
        assert Entry(time=time).seconds == 0.0
