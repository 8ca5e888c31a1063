"""When a lost stream is opened again.  Time is a number here."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anywire.protocol.http.reconnect import Reconnect
from anywire.wire.limits import DEFAULT_LIMITS, Limits

LIMITS = Limits(reconnect_seconds=1.0, reconnect_most_seconds=60.0)
HOUR = 3600.0


def delays(count: int, chance: float = 1.0, retry: int | None = None) -> list[float]:
    """The waits between so many tries that bring nothing."""
    policy = Reconnect(LIMITS)
    return [policy.delay(chance, retry) for _ in range(count)]


def tries_within(seconds: float, stream: Callable[[Reconnect], float], limits: Limits = LIMITS) -> int:
    """How often a stream is opened in that time; `stream` says how long each one lasts."""
    policy, now, tries = Reconnect(limits), 0.0, 0
    while now < seconds:
        tries += 1
        now += stream(policy)
        now += policy.delay(chance=0.0)
    return tries


def test_each_try_in_vain_doubles_the_wait_up_to_the_most() -> None:
    assert delays(9) == [1, 2, 4, 8, 16, 32, 60, 60, 60]


def test_chance_takes_away_half_at_most() -> None:
    assert delays(8, chance=0.0) == [0.5, 1, 2, 4, 8, 16, 30, 30]
    assert delays(3, chance=0.5) == [0.75, 1.5, 3]


def test_a_message_that_was_delivered_begins_anew() -> None:
    policy = Reconnect(LIMITS)
    waits = [policy.delay(1.0) for _ in range(5)]
    policy.delivered()

    assert waits[-1] == 16
    assert [policy.delay(1.0) for _ in range(3)] == [1, 2, 4]


def test_one_message_does_for_one_stream() -> None:
    """What it brought an hour ago says nothing of a stream that brings nothing now."""
    policy = Reconnect(LIMITS)
    policy.delivered()
    policy.delivered()

    assert [policy.delay(1.0) for _ in range(3)] == [1, 2, 4]


def test_a_server_may_ask_for_more_time() -> None:
    assert delays(5, retry=3000) == [3, 3, 4, 8, 16]
    assert delays(3, chance=0.0, retry=3000) == [3, 3, 3]


@pytest.mark.parametrize("retry", [None, 0, 1])
def test_a_server_may_not_ask_for_a_storm(retry: int | None) -> None:
    assert delays(4, retry=retry) == [1, 2, 4, 8]


@pytest.mark.parametrize("retry", [60_000, 120_000, 86_400_000])
def test_what_a_server_asks_for_is_waited_however_long(retry: int) -> None:
    """The revision of 2025-11-25 leaves no choice."""
    assert delays(9, retry=retry) == [retry / 1000] * 9


def test_a_wish_of_the_server_does_not_outlast_it() -> None:
    policy = Reconnect(LIMITS)
    policy.delay(1.0, retry=90_000)

    assert policy.delay(1.0) == 2


def test_any_number_of_tries_ends_at_the_most() -> None:
    assert delays(5000)[-1] == 60


@given(st.floats(0, 1), st.integers(0, 10**9), st.integers(0, 200), st.floats(0.01, 10), st.floats(10, 1000))
def test_a_wait_is_neither_undercut_nor_endless(
    chance: float, retry: int, in_vain: int, first: float, most: float
) -> None:
    policy = Reconnect(Limits(reconnect_seconds=first, reconnect_most_seconds=most))
    for _ in range(in_vain):
        policy.delay(chance)

    wait = policy.delay(chance, retry)

    assert wait >= retry / 1000
    assert first / 2 <= wait <= max(most, retry / 1000)


# Storms.


def test_streams_that_end_politely_without_a_message_are_no_storm() -> None:
    """The server says 200, perhaps primes the stream, and closes it: about one try in half a minute."""
    assert tries_within(HOUR, lambda _: 0.0) < 130


def test_streams_that_end_after_a_minute_without_a_message_are_no_storm() -> None:
    assert tries_within(HOUR, lambda _: 60.0) < 60


def test_a_server_that_is_away_for_a_night_is_asked_now_and_then() -> None:
    assert tries_within(10 * HOUR, lambda _: 0.001) < 1300


def test_the_limits_in_force_make_no_storm() -> None:
    assert tries_within(HOUR, lambda _: 0.0, DEFAULT_LIMITS) < 130


def test_streams_that_bring_something_each_time_are_opened_at_once() -> None:
    """Servers that end the connection after each message are polled, and no faster than this."""

    def stream(policy: Reconnect) -> float:
        policy.delivered()
        return 0.0

    assert tries_within(60.0, stream) == 120
