"""What is to be reached: a figure of ours next to that of somebody else."""

from __future__ import annotations

import statistics
from dataclasses import dataclass
from typing import Literal

from bench.figures import METRICS, advantages, best
from bench.results import Results

__all__ = ("Outcome", "Target", "outcome")


@dataclass(frozen=True)
class Target:
    """A figure of one of our cases, next to the best of some others.

    `kind` says what the goal bounds: `times` is how many times better ours is at least; `at most` how many
    times theirs ours may be; `absolute` what ours may be.  `beside` is a second metric, told but not judged.
    """

    what: str
    against: str
    group: str
    metric: str
    ours: str
    theirs: tuple[str, ...]
    goal: float
    kind: Literal["times", "at most", "absolute"] = "times"
    beside: str | None = None
    goal_before_312: float | None = None
    """The goal on Pythons whose tasks cannot begin at once."""


@dataclass(frozen=True)
class Outcome:
    """What became of a target: the median, the range over the rounds, and whether it is reached.

    `median` is None where it was not measured, and `why` then says why not.
    """

    target: Target
    goal: float
    median: float | None
    least: float = 0.0
    most: float = 0.0
    beside: float | None = None
    why: str = ""

    @property
    def reached(self) -> bool:
        """Whether the goal is reached."""
        if self.median is None:
            return False
        return self.median >= self.goal if self.target.kind == "times" else self.median <= self.goal


def outcome(target: Target, results: Results) -> Outcome:
    """Say what became of a target in these results."""
    goal = target.goal
    if target.goal_before_312 is not None and _version(results.python) < (3, 12):
        goal = target.goal_before_312
    values = _ratios(target, target.metric, results)
    if not values:
        cases = (target.ours, *target.theirs)
        failures = [why for case in cases if (why := results.failure(target.group, case)) is not None]
        return Outcome(target, goal, None, why=failures[0] if failures else "not measured")
    beside = _ratios(target, target.beside, results) if target.beside else []
    return Outcome(
        target,
        goal,
        statistics.median(values),
        min(values),
        max(values),
        statistics.median(beside) if beside else None,
    )


def _ratios(target: Target, metric: str, results: Results) -> list[float]:
    ours = results.rounds(target.group, target.ours, metric)
    if target.kind == "absolute":
        return [value for value in ours if value is not None]
    theirs = best([results.rounds(target.group, case, metric) for case in target.theirs], METRICS[metric])
    found = advantages(ours, theirs, METRICS[metric])
    return [1 / value for value in found if value] if target.kind == "at most" else found


def _version(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split(".")[:2])
