"""Medians, ranges and ratios of rounds."""

from __future__ import annotations

from bench.figures import METRICS, Spread, advantages, best, spread

RATE, TIME = METRICS["rate"], METRICS["serial_us"]


def test_a_spread_leaves_out_rounds_that_failed() -> None:
    """The median and the range are those of the rounds that found something."""
    assert spread([3.0, None, 1.0, 8.0]) == Spread(3.0, 1.0, 8.0)
    assert spread([4.0, 2.0]) == Spread(3.0, 2.0, 4.0)


def test_without_a_round_that_succeeded_there_is_no_spread() -> None:
    """Nothing is made up."""
    assert spread([]) is None
    assert spread([None, None]) is None


def test_more_calls_are_an_advantage_and_more_time_is_none() -> None:
    """An advantage is above one where we are better, whatever the metric counts."""
    assert advantages([200.0, 300.0], [100.0, 100.0], RATE) == [2.0, 3.0]
    assert advantages([200.0, 300.0], [100.0, 600.0], TIME) == [0.5, 2.0]


def test_ratios_are_taken_round_by_round() -> None:
    """A round that either side lacks is left out of the ratios, and no round is put next to another one."""
    assert advantages([10.0, None, 30.0], [5.0, 5.0, 10.0], RATE) == [2.0, 3.0]
    assert advantages([10.0, 20.0], [None, 5.0], RATE) == [4.0]
    assert advantages([10.0, 20.0], [5.0], RATE) == [2.0]


def test_a_figure_of_zero_gives_no_ratio() -> None:
    """Neither an error nor an endless advantage."""
    assert advantages([10.0], [0.0], RATE) == []
    assert advantages([0.0], [10.0], TIME) == []


def test_the_best_of_several_is_found_in_each_round() -> None:
    """Most calls, least time; a round that all of them lack stays empty."""
    one, other = [1.0, 5.0, None], [2.0, None, None]

    assert best([one, other], RATE) == [2.0, 5.0, None]
    assert best([one, other], TIME) == [1.0, 5.0, None]
    assert best([], RATE) == []
