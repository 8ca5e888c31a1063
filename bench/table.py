"""Tables of what was found, for a terminal and for a page."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from bench.figures import METRICS, spread
from bench.results import GroupResult, Results
from bench.target import Outcome, outcome
from bench.targets import TARGETS

__all__ = ("aligned", "failures", "figures_table", "markdown", "number", "targets_table")

Rows = list[list[str]]
HEAD = ["what", "next to", "goal", "measured", "range", "by the other clock", "reached"]
SIGNS = {"times": "≥ {} ×", "at most": "≤ {} ×", "absolute": "≤ {}"}


def number(value: float) -> str:
    """Write a figure with three digits that count."""
    if abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if abs(value) >= 10 else f"{value:.2f}"


def targets_table(results: Results, *, judged: bool = True) -> Rows:
    """Return a line for each target of these groups; where none is judged, for each that was measured."""
    rows = [HEAD if judged else [*HEAD[:2], *HEAD[3:6]]]
    for target in TARGETS:
        if target.group not in results.groups:
            continue
        found = outcome(target, results)
        row = _target_row(found)
        if judged:
            rows.append(row)
        elif found.median is not None:
            rows.append([*row[:2], *row[3:6]])
    return rows


def _target_row(found: Outcome) -> list[str]:
    target = found.target
    goal = SIGNS[target.kind].format(f"{found.goal:g}")
    named = [f"{target.what} ({METRICS[target.metric].title})", target.against or "–", goal]
    if found.median is None:
        return [*named, found.why.splitlines()[0][:60], "–", "–", "–"]
    times = "" if target.kind == "absolute" else " ×"
    beside = "–"
    if found.beside is not None and target.beside is not None:
        beside = f"{number(found.beside)} × ({METRICS[target.beside].title})"
    return [
        *named,
        number(found.median) + times,
        f"{number(found.least)} – {number(found.most)}",
        beside,
        "yes" if found.reached else "no",
    ]


def figures_table(group: GroupResult) -> Rows:
    """Return a line for each case: the median and the range of each of its figures."""
    metrics = [name for name in METRICS if any(name in case.figures for case in group.cases.values())]
    rows = [["", *(f"{METRICS[name].title}, {METRICS[name].unit}".rstrip(", ") for name in metrics)]]
    for name, case in group.cases.items():
        cells: list[str] = []
        for metric in metrics:
            found = spread(case.figures.get(metric, []))
            if found is None:
                cells.append("failed" if case.failures and not case.figures else "–")
            else:
                cells.append(f"{number(found.median)} ({number(found.least)} – {number(found.most)})")
        rows.append([name, *cells])
    return rows


def failures(results: Results) -> list[str]:
    """Return what failed, and why."""
    return [
        f"{group}: {name}: {case.failures[-1]}"
        for group, found in results.groups.items()
        for name, case in found.cases.items()
        if case.failures
    ]


def aligned(rows: Sequence[Sequence[str]]) -> str:
    """Write a table for a terminal."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join("  ".join(map(str.ljust, row, widths)).rstrip() for row in rows)


def markdown(rows: Sequence[Sequence[str]]) -> str:
    """Write a table for a page."""
    head, *rest = rows
    return "\n".join(map(_line, [head, ["---"] * len(head), *rest]))


def _line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"
