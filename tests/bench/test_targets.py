"""What is to be reached, and whether it was."""

from __future__ import annotations

from dataclasses import replace

import pytest

from bench.__main__ import GROUPS
from bench.figures import METRICS
from bench.results import CaseResult, GroupResult, Results
from bench.table import aligned, failures, figures_table, markdown, targets_table
from bench.target import Target, outcome
from bench.targets import TARGETS

ASYNC = TARGETS[0]


def results(python: str = "3.11.7", **cases: dict[str, list[float | None]]) -> Results:
    """What a run would have found of servers on stdio."""
    named = {name.replace("_", " ").replace("anywire ", "anywire, "): found for name, found in cases.items()}
    found = {
        name: CaseResult(figures, max(map(len, figures.values()), default=0))
        for name, figures in named.items()
    }
    return Results({}, python, {}, groups={"stdio-server": GroupResult("Servers on stdio", found)})


def of_two(ours: list[float | None], theirs: list[float | None], python: str = "3.11.7") -> Results:
    """What a run would have found of our server and the official one."""
    return results(python, anywire_task={"rate": ours}, official_Python_SDK={"rate": theirs})


@pytest.mark.parametrize("target", TARGETS, ids=lambda target: f"{target.what} / {target.against}")
def test_each_target_names_cases_and_metrics_that_exist(target: Target) -> None:
    """A case that is renamed takes its targets along."""
    cases = {case.name for case in GROUPS[target.group].cases}

    assert {target.ours, *target.theirs} <= cases
    assert {target.metric, target.beside or target.metric} <= METRICS.keys()


def test_names_of_cases_are_each_used_once_in_a_group() -> None:
    """Or one would hide the other."""
    for group in GROUPS.values():
        names = [case.name for case in group.cases]
        assert len(set(names)) == len(names), group.name


def test_an_outcome_is_the_median_of_the_ratios_of_the_rounds() -> None:
    """With its range."""
    found = outcome(ASYNC, of_two([6000.0, 7000.0, 9000.0], [100.0, 100.0, 100.0]))

    assert (found.median, found.least, found.most, found.reached) == (70.0, 60.0, 90.0, True)


def test_a_goal_depends_on_whether_tasks_can_begin_at_once() -> None:
    """What is enough on 3.11 is not on 3.13."""
    assert outcome(ASYNC, of_two([7000.0], [100.0], "3.11.7")).reached
    assert not outcome(ASYNC, of_two([7000.0], [100.0], "3.13.0")).reached
    assert outcome(ASYNC, of_two([10_000.0], [100.0], "3.13.0")).reached


def test_at_most_bounds_our_time_in_times_of_theirs() -> None:
    """The ratio is turned round."""
    target = replace(ASYNC, metric="serial_us", kind="at most", goal=1.5, goal_before_312=None)
    found = results(anywire_task={"serial_us": [30.0]}, official_Python_SDK={"serial_us": [20.0]})

    assert outcome(target, found).median == pytest.approx(1.5)
    assert not outcome(replace(target, goal=1.4), found).reached


def test_an_absolute_goal_needs_nobody_else() -> None:
    """Ours may be so much."""
    target = replace(ASYNC, metric="session_kb", kind="absolute", theirs=(), goal=4.0, goal_before_312=None)

    assert outcome(target, results(anywire_task={"session_kb": [3.0, 5.0, 3.5]})).median == 3.5


def test_a_peer_that_failed_leaves_a_target_open_and_says_why() -> None:
    """It is neither reached nor hidden."""
    found = of_two([7000.0], [])
    found.groups["stdio-server"].cases["official Python SDK"].fail("it ended with code 3")

    assert outcome(ASYNC, found).median is None
    assert outcome(ASYNC, found).why == "it ended with code 3"
    assert failures(found) == ["stdio-server: official Python SDK: it ended with code 3"]
    assert "it ended with code 3" in aligned(targets_table(found))


def test_a_round_that_fails_keeps_the_others_in_step() -> None:
    """The figures of a round stand at its number in each case."""
    case = CaseResult()
    case.add({"rate": 1.0})
    case.fail("lost")
    case.add({"rate": 3.0, "cpu_us": 5.0})

    assert case.figures == {"rate": [1.0, None, 3.0], "cpu_us": [None, None, 5.0]}


def test_tables_show_each_case_and_each_target_of_the_groups_that_were_run() -> None:
    """For a terminal and for a page."""
    found = of_two([7000.0, 9000.0], [100.0, 100.0])
    figures, targets = figures_table(found.groups["stdio-server"]), targets_table(found)

    assert figures[1] == ["anywire, task", "8,000 (7,000 – 9,000)"]
    assert len(targets) == 1 + sum(target.group == "stdio-server" for target in TARGETS)
    assert "≥ 60 ×" in targets[1]
    assert targets[1][-1] == "yes"
    assert markdown(figures).splitlines()[1] == "| --- | --- |"
    assert len(targets_table(found, judged=False)[1]) == 5
