"""Figures of several rounds: their middle, their range, and what they are next to those of somebody else."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

__all__ = ("METRICS", "Figures", "Metric", "Rounds", "Spread", "advantages", "best", "spread")

#: What one round of a case found, by metric.
Figures: TypeAlias = Mapping[str, float]
#: A figure for each round, None where the round failed.
Rounds: TypeAlias = Sequence[float | None]


@dataclass(frozen=True)
class Metric:
    """What a figure is: its title, its unit, and whether more of it is better."""

    title: str
    unit: str
    more_is_better: bool = False


METRICS: Final[dict[str, Metric]] = {
    "rate": Metric("calls a second", "/s", more_is_better=True),
    "cpu_us": Metric("processor time a call", "µs"),
    "serial_us": Metric("time of a call alone", "µs"),
    "serial_p99_us": Metric("time of a call alone, 99th percentile", "µs"),
    "busy": Metric("cores used", ""),
    "driver_busy": Metric("cores used by the driver", ""),
    "start_ms": Metric("start to the first answer", "ms"),
    "memory_mb": Metric("memory at its highest", "MB"),
    "session_kb": Metric("memory of an idle session", "kB"),
    "stream_kb": Metric("memory of an idle stream", "kB"),
    "result_100b_us": Metric("call with a result of 100 B", "µs"),
    "result_10kb_us": Metric("call with a result of 10 kB", "µs"),
    "result_1mb_us": Metric("call with a result of 1 MB", "µs"),
    "result_10mb_us": Metric("call with a result of 10 MB", "µs"),
    "echo_10kb_us": Metric("call with 10 kB there and back", "µs"),
    "echo_1mb_us": Metric("call with 1 MB there and back", "µs"),
    "echo_10mb_us": Metric("call with 10 MB there and back", "µs"),
}


@dataclass(frozen=True)
class Spread:
    """The middle of some figures, the least and the most of them."""

    median: float
    least: float
    most: float


def spread(values: Rounds) -> Spread | None:
    """Return the median and the range of the rounds that succeeded; None if none did."""
    known = [value for value in values if value is not None]
    return Spread(statistics.median(known), min(known), max(known)) if known else None


def advantages(ours: Rounds, theirs: Rounds, metric: Metric) -> list[float]:
    """Return round by round how many times better our figure is; rounds that either side lacks are left out.

    Whatever else the machine does falls on the two of one round alike, and so not on their ratio.
    """
    pairs = [
        (mine, other)
        for mine, other in zip(ours, theirs, strict=False)
        if mine is not None and other is not None
    ]
    if metric.more_is_better:
        return [mine / other for mine, other in pairs if other]
    return [other / mine for mine, other in pairs if mine]


def best(several: Sequence[Rounds], metric: Metric) -> list[float | None]:
    """Return for each round the best figure of several cases."""
    rounds = max(map(len, several), default=0)
    found: list[float | None] = []
    for number in range(rounds):
        known = [value for each in several if number < len(each) and (value := each[number]) is not None]
        found.append((max(known) if metric.more_is_better else min(known)) if known else None)
    return found
