"""Replies to a batch go out together, in whatever order they become ready."""

from __future__ import annotations

from itertools import permutations
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anywire.wire.batch import BatchReplies
from anywire.wire.message import ErrorResponse, Response, id_key
from tests.wire.strategies import thorough

Reply = Response | ErrorResponse


def reply(id: int) -> Response:
    """The reply to that request."""
    return Response(b"%d" % id, b"{}")


def begin(ids: list[int]) -> BatchReplies:
    """A batch of these requests that has been read."""
    replies = BatchReplies()
    replies.begin()
    for id in ids:
        replies.expect(b"%d" % id)
    assert replies.finish_reading() == []
    return replies


@pytest.mark.parametrize("order", list(permutations([1, 2, 3])))
def test_replies_wait_for_the_last_one(order: tuple[int, ...]) -> None:
    replies = begin([1, 2, 3])

    out = [replies.add(reply(id)) for id in order]

    assert out == [[], [], [reply(id) for id in order]]
    assert not replies.active


@pytest.mark.parametrize("early", range(4))
def test_replies_may_come_while_the_batch_is_being_read(early: int) -> None:
    replies = BatchReplies()
    replies.begin()
    out: list[list[Reply] | None] = []
    for id in range(3):
        replies.expect(b"%d" % id)
        if id < early:
            out.append(replies.add(reply(id)))
    read = replies.finish_reading()
    out += [replies.add(reply(id)) for id in range(early, 3)]

    assert read == ([reply(0), reply(1), reply(2)] if early >= 3 else [])
    assert [given for given in [read, *out] if given] == [[reply(0), reply(1), reply(2)]]
    assert not replies.active


def test_what_is_answered_at_once_waits_with_the_others() -> None:
    replies = BatchReplies()
    refusal = ErrorResponse(b"null", b"{}")
    replies.begin()
    replies.add_now(refusal)
    replies.expect(b"1")

    assert replies.finish_reading() == []
    assert replies.add(reply(1)) == [refusal, reply(1)]


def test_a_batch_of_nothing_but_refusals_is_answered_when_it_has_been_read() -> None:
    replies = BatchReplies()
    replies.begin()
    replies.add_now(ErrorResponse(b"null", b"{}"))

    assert replies.finish_reading() == [ErrorResponse(b"null", b"{}")]
    assert not replies.active


def test_a_batch_of_notifications_has_no_answer() -> None:
    replies = BatchReplies()
    assert not replies.active
    replies.begin()
    assert replies.active

    assert replies.finish_reading() == []
    assert not replies.active


def test_a_reply_to_no_batch_is_none_of_its_business() -> None:
    replies = begin([1])

    assert replies.add(reply(2)) is None
    assert replies.add(ErrorResponse(None, b"{}")) is None
    assert replies.active
    assert begin([]).add(reply(1)) is None


def test_a_second_reply_to_one_request_is_none_of_its_business() -> None:
    replies = begin([1, 2])

    assert replies.add(reply(1)) == []
    assert replies.add(reply(1)) is None
    assert replies.add(reply(2)) == [reply(1), reply(2)]


def test_a_request_is_found_however_its_id_is_spelled() -> None:
    replies = BatchReplies()
    replies.begin()
    replies.expect(b'"\\u0061"')
    replies.finish_reading()

    assert replies.add(Response(b'"a"', b"{}")) == [Response(b'"a"', b"{}")]


def test_a_cancelled_request_is_not_waited_for() -> None:
    replies = begin([1, 2])

    assert replies.add(reply(1)) == []
    assert replies.drop(b"2") == [reply(1)]
    assert not replies.active


def test_a_batch_whose_requests_were_all_cancelled_has_no_answer() -> None:
    replies = begin([1, 2])

    assert replies.drop(b"1") == []
    assert replies.drop(b"2") == []
    assert replies.drop(b"2") == []
    assert not replies.active


def test_a_request_that_is_cancelled_while_its_batch_is_read_is_not_waited_for() -> None:
    replies = BatchReplies()
    replies.begin()
    replies.expect(b"1")
    assert replies.drop(b"1") == []
    replies.expect(b"2")
    assert replies.add(reply(2)) == []

    assert replies.finish_reading() == [reply(2)]


def test_two_batches_do_not_mix() -> None:
    replies = begin([1, 2])
    replies.begin()
    replies.expect(b"3")
    assert replies.add(reply(1)) == []
    assert replies.finish_reading() == []

    assert replies.add(reply(3)) == [reply(3)]
    assert replies.active
    assert replies.add(reply(2)) == [reply(1), reply(2)]


@given(
    st.lists(st.integers(1, 4), min_size=1, max_size=4),
    st.randoms(use_true_random=False),
    st.sets(st.integers(0, 15)),
)
@thorough(300)
def test_in_any_interleaving_each_batch_is_answered_once_and_whole(
    sizes: list[int], random: Random, cancelled: set[int]
) -> None:
    replies = BatchReplies()
    batches: list[list[int]] = []
    out: list[list[Reply]] = []
    waiting: list[int] = []
    for size in sizes:
        ids = [sum(map(len, batches)) + at for at in range(size)]
        batches.append(ids)
        replies.begin()
        for id in ids:
            replies.expect(b"%d" % id)
            waiting.append(id)
            while waiting and random.random() < 0.3:
                out.append(settle(replies, waiting.pop(random.randrange(len(waiting))), cancelled))
        out.append(replies.finish_reading())
    while waiting:
        out.append(settle(replies, waiting.pop(random.randrange(len(waiting))), cancelled))

    answered = [{int(each.id or b"-1") for each in group} for group in out if group]
    expected = [set(ids) - cancelled for ids in batches]
    assert sorted(map(sorted, answered)) == sorted(sorted(ids) for ids in expected if ids)
    assert not replies.active


def settle(replies: BatchReplies, id: int, cancelled: set[int]) -> list[Reply]:
    """Answer a request, or cancel it."""
    if id in cancelled:
        return replies.drop(id_key(b"%d" % id))
    out = replies.add(reply(id))
    assert out is not None
    return out
