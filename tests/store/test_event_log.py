"""Events that can be sent again: of one stream, all that came later, or nothing."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anywire.store.event_log import MemoryEventLog, SharedBudget, stream_of
from tests.wire.strategies import thorough

PLENTY = 1_000_000


def log_of(max_events: int = 100, max_bytes: int = PLENTY) -> MemoryEventLog:
    """A log of these bounds."""
    return MemoryEventLog(max_events, max_bytes)


def after(log: MemoryEventLog, event_id: str) -> list[bytes] | None:
    """The data of the events behind that one."""
    events = log.after(event_id)
    return None if events is None else [event.data for event in events]


# Ids.


@pytest.mark.parametrize("stream", ["g", "p0", "p17", "a_b", "_", "é"])
def test_an_id_names_its_stream(stream: str) -> None:
    log = log_of()

    assert stream_of(log.append(stream, b"1").id) == stream
    assert stream_of(log.mark(stream)) == stream


def test_ids_are_unique_over_all_streams() -> None:
    log = log_of(max_events=3)
    ids = [log.append(stream, b"").id for stream in ("a", "b", "a", "a", "b", "c", "a_1", "a")]

    assert len(set(ids)) == len(ids)


def test_an_event_is_what_was_appended() -> None:
    event = log_of().append("g", b"{}")

    assert (event.stream, event.data) == ("g", b"{}")


# What is sent again.


def test_what_came_later_is_sent_again_in_order() -> None:
    log = log_of()
    first = log.append("g", b"1")
    log.append("g", b"2")
    log.append("g", b"3")

    assert after(log, first.id) == [b"2", b"3"]


def test_nothing_came_after_the_last_event() -> None:
    log = log_of()

    assert after(log, log.append("g", b"1").id) == []


def test_events_of_another_stream_are_never_sent_again() -> None:
    log = log_of()
    first = log.append("p0", b"p0 1")
    log.append("p1", b"p1 1")
    log.append("g", b"g 1")
    log.append("p0", b"p0 2")
    log.append("p01", b"p01 1")
    log.append("p0_1", b"p0_1 1")

    assert after(log, first.id) == [b"p0 2"]


def test_what_was_sent_again_is_sent_again_once_more() -> None:
    """The connection may break a second time."""
    log = log_of()
    first = log.append("g", b"1")
    log.append("g", b"2")

    assert after(log, first.id) == after(log, first.id) == [b"2"]


def test_a_mark_stands_for_a_moment() -> None:
    log = log_of()
    log.append("g", b"before")
    mark = log.mark("g")
    log.append("p0", b"elsewhere")
    log.append("g", b"behind")

    assert after(log, mark) == [b"behind"]


def test_a_mark_may_stand_before_everything() -> None:
    log = log_of()
    mark = log.mark("g")

    assert after(log, mark) == []
    log.append("g", b"1")
    assert after(log, mark) == [b"1"]


def test_a_mark_in_a_new_stream_stands_behind_what_others_had() -> None:
    log = log_of(max_events=2)
    for _ in range(5):
        log.append("g", b"x")
    mark = log.mark("p0")
    log.append("p0", b"1")

    assert after(log, mark) == [b"1"]


# Bounds.


def test_no_more_events_are_kept_than_allowed() -> None:
    log = log_of(max_events=3)
    ids = [log.append("g", b"%d" % number).id for number in range(10)]

    assert after(log, ids[6]) == [b"7", b"8", b"9"]
    assert len(log._events) == 3


def test_no_more_bytes_are_kept_than_allowed() -> None:
    log = log_of(max_bytes=30)
    ids = [log.append("g", b"x" * 10).id for _ in range(10)]

    assert [after(log, id) is not None for id in ids] == [False] * 6 + [True] * 4
    assert log._bytes == 30


def test_a_large_event_drops_as_many_as_it_must() -> None:
    log = log_of(max_bytes=30)
    first = log.append("g", b"x" * 10)
    second = log.append("g", b"x" * 10)
    log.append("g", b"y" * 25)

    assert after(log, first.id) is None
    assert after(log, second.id) == [b"y" * 25]


def test_the_newest_event_is_kept_whatever_its_size() -> None:
    """It may be the reply that somebody comes back for."""
    log = log_of(max_bytes=10)
    mark = log.mark("p0")
    log.append("p0", b"x" * 1000)

    assert after(log, mark) == [b"x" * 1000]

    log.append("g", b"y")

    assert after(log, mark) is None
    assert log._bytes == 1


@pytest.mark.parametrize(("max_events", "max_bytes"), [(0, 0), (1, 0), (0, 100), (1, 1)])
def test_the_smallest_log_keeps_the_newest_event(max_events: int, max_bytes: int) -> None:
    log = log_of(max_events, max_bytes)
    mark = log.mark("g")
    first = log.append("g", b"ab")
    assert after(log, mark) == [b"ab"]

    log.append("g", b"cd")

    assert after(log, mark) is None
    assert after(log, first.id) == [b"cd"]


def test_an_id_whose_successors_may_be_gone_is_not_known() -> None:
    log = log_of(max_events=2)
    ids = [log.append("g", b"%d" % number).id for number in range(4)]

    assert after(log, ids[0]) is None
    assert after(log, ids[1]) == [b"2", b"3"]


def test_events_that_others_lost_are_no_loss() -> None:
    """A busy stream does not cost the reply that waits on a quiet one."""
    log = log_of(max_events=3)
    seen = log.append("p0", b"progress")
    log.append("p0", b"reply")
    for _ in range(2):
        log.append("g", b"noise")
    assert after(log, seen.id) == [b"reply"]

    log.append("g", b"noise")

    assert after(log, seen.id) is None


def test_a_quiet_stream_that_lost_nothing_goes_on_where_it_was() -> None:
    log = log_of(max_events=3)
    seen = log.mark("p0")
    for _ in range(10):
        log.append("g", b"noise")
    log.append("p0", b"reply")

    assert after(log, seen) == [b"reply"]


def test_streams_are_forgotten_as_events_are() -> None:
    """A session may have a stream for each request of a long life."""
    log = log_of(max_events=3)
    marks = [log.mark(f"p{number}") for number in range(1000)]

    assert [after(log, mark) for mark in marks[-4:]] == [None, [], [], []]
    assert len(log._known) == 3


def test_the_stream_that_was_silent_longest_is_forgotten_first() -> None:
    log = log_of(max_events=2)
    general = log.mark("g")
    log.mark("p0")
    log.append("g", b"1")
    log.mark("p1")

    assert after(log, general) == [b"1"]


def test_a_stream_that_was_forgotten_begins_anew() -> None:
    """What it lost meanwhile cannot be told, so an old id of it is not known."""
    log = log_of(max_events=2)
    old = log.append("g", b"1")
    log.append("g", b"2")
    for number in range(5):
        log.append(f"p{number}", b"x")
    new = log.append("g", b"3")
    log.append("g", b"4")

    assert after(log, old.id) is None
    assert after(log, new.id) == [b"4"]


# What is left.


def test_what_is_left_of_a_stream_can_be_asked_for_again() -> None:
    """However much has gone; the id that comes with it stands before the first that is left."""
    log = log_of(max_events=3)
    mark = log.mark("g")
    assert log.rest(mark) == (mark, [])
    for number in range(5):
        log.append("g", b"%d" % number)

    id, events = log.rest(mark)

    assert [event.data for event in events] == [b"2", b"3", b"4"]
    assert after(log, id) == [b"2", b"3", b"4"]
    assert after(log, mark) is None


def test_of_a_stream_that_was_forgotten_nothing_is_left() -> None:
    log = log_of(max_events=2)
    mark = log.mark("g")
    log.append("g", b"x")
    for number in range(5):
        log.append(f"p{number}", b"x")

    id, events = log.rest(mark)

    assert events == []
    log.append("g", b"y")
    assert after(log, id) == [b"y"]


# Several logs together.


def logs_within(max_bytes: int, count: int) -> tuple[SharedBudget, list[MemoryEventLog]]:
    """So many logs that share a budget of so many bytes of data and costs."""
    budget = SharedBudget(max_bytes)
    return budget, [MemoryEventLog(1000, PLENTY, budget) for _ in range(count)]


def test_the_log_that_was_silent_longest_gives_way() -> None:
    budget, (one, two, three) = logs_within(3 * 10_500, 3)
    marks = [log.mark("g") for log in (one, two, three)]
    for log in (one, two, three, one):
        log.append("g", b"x" * 10_000)

    kept = [len(after(log, mark) or []) for log, mark in zip((one, two, three), marks, strict=True)]
    assert kept == [2, 0, 1]
    assert after(two, marks[1]) is None
    assert budget.size <= 3 * 10_500


def test_many_small_events_are_not_free() -> None:
    """Each of them takes more than its few bytes."""
    _, (log,) = logs_within(10_000, 1)
    for _ in range(500):
        log.append("g", b"x")

    assert len(log) < 50


def test_the_newest_event_of_all_is_kept_whatever_its_size() -> None:
    budget, (one, two) = logs_within(100, 2)
    mark = one.mark("g")
    one.append("g", b"x" * 1000)
    assert after(one, mark) == [b"x" * 1000]

    two.append("g", b"y")

    assert after(one, mark) is None
    assert len(two) == 1
    assert budget.size < 1000


def test_a_log_that_was_closed_gives_everything_back_and_keeps_nothing() -> None:
    budget, (one, two) = logs_within(PLENTY, 2)
    for log in (one, two):
        log.append("g", b"x" * 100)
    alone = budget.size / 2
    one.close()
    late = one.append("g", b"late")

    assert late.data == b"late"
    assert (len(one), len(two)) == (0, 1)
    assert budget.size == alone


@given(
    st.lists(st.tuples(st.integers(0, 2), st.sampled_from(["append", "close"]), st.integers(0, 900))),
    st.integers(0, 3000),
)
@thorough(200)
def test_a_budget_counts_what_is_kept(steps: list[tuple[int, str, int]], max_bytes: int) -> None:
    budget, logs = logs_within(max_bytes, 3)
    for number, what, size in steps:
        if what == "append":
            logs[number].append("g", b"x" * size)
        elif size < 90:
            logs[number].close()
        kept = [len(event.data) for log in logs for _, event in log._events]

        assert len(kept) <= 1 or budget.size <= max_bytes
        assert budget.size == sum(kept) + 256 * len(kept)
        assert set(budget._logs) == {log for log in logs if len(log)}


# Ids that are none of ours.


@pytest.mark.parametrize(
    "event_id",
    [
        "",
        "_",
        "g",
        "g_",
        "_1",
        "1",
        "g_x",
        "g_-1",
        "g_+1",
        "g_1.0",
        "g_1e0",
        "g_ 1",
        "g_1 ",
        "g_1\n",
        "g_01",
        "g_1_",
        "g_0x1",
        "g_²",
        "g_١",
        "g_1_1",
        "G_1",
        " g_1",
        "g\0_1",
        "g_\ud800",
        "\ud800_1",
    ],
)
def test_garbage_is_not_known(event_id: str) -> None:
    log = log_of()
    log.append("g", b"1")
    log.append("g", b"2")
    assert after(log, "g_1") == [b"2"]

    assert after(log, event_id) is None


@pytest.mark.parametrize(
    "event_id", ["g_3", "g_9", "g_999999999999999", "g_" + "9" * 16, "g_" + "9" * 100_000]
)
def test_an_id_that_is_still_to_come_is_not_known(event_id: str) -> None:
    log = log_of()
    log.append("g", b"1")
    log.append("g", b"2")

    assert after(log, event_id) is None


@pytest.mark.parametrize("event_id", ["p0_1", "h_0", "gg_1", "http://elsewhere/1_1"])
def test_an_id_of_a_stream_that_never_was_is_not_known(event_id: str) -> None:
    log = log_of()
    log.append("g", b"1")

    assert after(log, event_id) is None


def test_an_id_from_before_its_stream_is_not_known() -> None:
    log = log_of()
    log.append("g", b"1")
    log.append("g", b"2")
    log.append("p0", b"3")

    assert after(log, "p0_1") is None
    assert after(log, "p0_2") == [b"3"]


def test_nothing_is_known_to_an_empty_log() -> None:
    assert [after(log_of(), id) for id in ("g_0", "g_1", "_0", "")] == [None] * 4


@given(st.text(st.characters(codec=None), max_size=12))
@thorough(300)
def test_no_id_raises(event_id: str) -> None:
    log = log_of()
    log.append("g", b"1")

    assert log.after(event_id) in (None, [])
    assert isinstance(stream_of(event_id), str)


# Anything that may happen.

steps = st.lists(
    st.tuples(st.sampled_from(["append", "append", "mark"]), st.sampled_from("abcd"), st.integers(0, 12)),
    max_size=40,
)


@given(steps, st.integers(1, 8), st.integers(1, 40))
@thorough(400)
def test_whoever_comes_back_gets_all_of_the_later_events_or_is_not_known(
    steps: list[tuple[str, str, int]], max_events: int, max_bytes: int
) -> None:
    log = log_of(max_events, max_bytes)
    told: list[tuple[str, str, int]] = []  # an id, its stream, how many of that stream had been before
    sent: dict[str, list[bytes]] = {}
    for number, (what, stream, size) in enumerate(steps):
        data = b"%d" % number + b"x" * size
        if what == "append":
            id = log.append(stream, data).id
            sent.setdefault(stream, []).append(data)
        else:
            id = log.mark(stream)
        told.append((id, stream, len(sent.get(stream, []))))

    for id, stream, before in told:
        assert after(log, id) in (None, sent.get(stream, [])[before:])
    if told:
        assert after(log, told[-1][0]) == []
    assert len(log._events) <= max_events
    assert len(log._events) <= 1 or log._bytes <= max_bytes
    assert log._bytes == sum(len(event.data) for _, event in log._events)
