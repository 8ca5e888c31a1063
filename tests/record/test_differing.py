"""What counts as a difference between two recordings."""

from __future__ import annotations

from typing import Any

import pytest

from anywire.record.differing import Finding, compare
from anywire.record.score import compose
from tests.record.recordings import asks, entries, gives, says, score


def found(first: Any, second: Any) -> list[Finding]:
    """The differences of two conversations."""
    return list(compare([score(*first)], [score(*second)]))


def call(id: int, text: str, **result: Any) -> list[Any]:
    """A call, and its answer."""
    meta = {"progressToken": id}
    return [
        ("→", asks(id, "tools/call", name="echo", arguments={"text": text}, _meta=meta)),
        ("←", says("notifications/progress", progressToken=id, progress=1)),
        ("←", gives(id, **result)),
    ]


def test_ids_tokens_and_times_do_not_count() -> None:
    """Neither does what stands between."""
    spread = [("·", {"event": "opened"}), *call(9, "a", content=[])]

    assert found(call(1, "a", content=[]), spread) == []


def test_where_a_result_differs_is_told_with_both_lines() -> None:
    """A path, and what stands there in each."""
    one, other = call(1, "a", content=[{"text": "x"}]), call(1, "a", content=[{"text": "y"}])

    assert found(one, other) == [
        Finding(1, 4, 4, 'tools/call: result.content[0].text: "x" and "y"'),
    ]


def test_requests_that_only_one_has_are_told_and_the_others_compared() -> None:
    """One that is missing does not make all behind it different."""
    extra = [("→", asks(5, "tools/list")), ("←", gives(5, tools=[]))]
    one, other = [*call(1, "a"), *call(2, "b")], [*call(1, "a"), *extra, *call(2, "b")]

    assert [each.what for each in found(one, other)] == ["tools/list is in the second recording only"]
    assert [each.what for each in found(other, one)] == ["tools/list is in the first recording only"]


def test_an_error_in_the_place_of_a_result_is_a_difference() -> None:
    """And so is an answer that never came."""
    error = {"jsonrpc": "2.0", "id": 1, "error": {"code": 1, "message": "no"}}
    request = ("→", asks(1, "ping"))

    assert found([request, ("←", gives(1))], [request, ("←", error)])[0].what == "ping: result and error"
    assert found([request, ("←", gives(1))], [request])[0].what == "an answer is in the first recording only"


def test_when_a_notification_came_between_two_requests_does_not_count() -> None:
    """Only which there were, and in which order."""
    a, b = ("←", says("notifications/message", data="a")), ("←", says("notifications/message", data="b"))
    one, other = call(1, "x"), call(2, "y")

    assert found([*one, a, *other, b], [a, *one, *other[:1], b, *other[1:]]) == []
    assert len(found([*one, a, *other, b], [*one, b, *other, a])) == 2


def test_a_conversation_that_only_one_has_is_told() -> None:
    """They are compared in their order."""
    one = compose(entries(("→", asks(1, "ping")), ("←", gives(1))))
    two = compose(entries(("→", asks(1, "ping")), ("←", gives(1)), ("→", asks(1, "ping"), 2)))

    assert [each.what for each in compare(one, two)] == [
        "the conversation with srv is in the second recording only"
    ]


def test_a_secret_that_was_left_out_differs_from_nothing() -> None:
    """Two recordings have two words for it, too."""
    one = call(1, "a", token="***0123456789ab", note="is ***0123456789ab.")
    other = call(1, "a", token="***ba9876543210", note="is ***ba9876543210.")

    assert found(one, other) == []
    assert found(one, call(1, "a", token="s3cret", note="is s3cret.")) == []


@pytest.mark.parametrize(
    ("one", "other", "alike"),
    [
        ("***0123456789ab", "a\nb", True),
        ("is ***0123456789ab.", "is a b.", True),
        ("is ***0123456789ab.", "is .", False),
        ("is ***0123456789ab.\nc", "is a.\nb\nc", False),
        ("is ***0123456789ab.", "is a\nb.", False),
        ("a ***0123456789ab ok ***0123456789ab", "a ***ba9876543210 no ***ba9876543210", False),
        ("a ***0123456789ab: ***0123456789ab", "a ***ba9876543210: x", True),
        ("***0123456789ab-1-***0123456789ab", "xyz-2-xyz", False),
    ],
)
def test_a_word_for_a_secret_stands_for_something_in_its_line(one: str, other: str, alike: bool) -> None:
    """For no other lines, and not for what both recordings have."""
    same = found(call(1, "a", said=one), call(1, "a", said=other)) == []
    back = found(call(1, "a", said=other), call(1, "a", said=one)) == []

    assert same == back == alike


def test_texts_with_many_words_for_secrets_are_compared_in_linear_time() -> None:
    """Each line, each word, once."""
    one = "token: ***0123456789ab-1-***0123456789ab\n" * 2_000 + "***0123456789ab-" * 5_000
    other = "token: abc-1-xyz\n" * 2_000 + "a-" * 5_000 + "b"

    assert len(found(call(1, "a", said=one), call(1, "a", said=other))) == 1
    assert found(call(1, "a", said=one), call(1, "a", said=other[:-1])) == []


def test_a_number_that_was_left_out_differs_from_no_number() -> None:
    """Under the name of a secret; of other numbers each digit counts."""
    assert found(call(1, "a", pin=5, token=0), call(1, "a", pin=5, token=81726354)) == []
    assert len(found(call(1, "a", pin=0), call(1, "a", pin=81726354))) == 1


def test_who_asks_whether_somebody_is_there_and_how_often_does_not_count() -> None:
    """Clients do that when they like."""
    more = [("→", asks(8, "server/discover")), ("←", gives(8)), ("→", asks(9, "ping")), ("←", gives(9))]

    assert found(call(1, "a"), [*more, *call(1, "a")]) == []


def test_an_answer_to_the_server_is_named_by_what_it_answers() -> None:
    """It may be the same but for what the client says."""

    def asked(action: str) -> list[Any]:
        ready = ("→", says("notifications/initialized"))
        return [ready, ("←", asks(1, "elicitation/create")), ("→", gives(1, action=action)), *call(2, "a")]

    assert [each.what for each in found(asked("accept"), asked("decline"))] == [
        'the answer to elicitation/create: result.action: "accept" and "decline"'
    ]
