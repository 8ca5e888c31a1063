"""The page that shows what was found: its measured part is written from files, the rest of it by hand."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from bench.case import ROOT
from bench.figures import METRICS, Spread, spread
from bench.plot import Bar, bars, lines
from bench.results import GroupResult, Results
from bench.table import failures, figures_table, markdown, targets_table
from bench.target import outcome
from bench.targets import TARGETS

__all__ = ("PLOTS", "plots", "write_page")

PAGE: Final = ROOT / "docs" / "benchmarks.md"
FOLDER: Final = ROOT / "docs" / "benchmarks"
BEGIN: Final = "<!-- measured -->"
END: Final = "<!-- end of the measured part -->"

#: Which figures of a group are drawn.
PLOTS: Final = (
    ("stdio-server", "rate"),
    ("stdio-server", "serial_us"),
    ("stdio-client", "rate"),
    ("http-server", "cpu_us"),
    ("http-client", "rate"),
    ("in-process", "rate"),
    ("bridge", "serial_us"),
    ("bridge", "rate"),
    ("start", "start_ms"),
    ("memory", "session_kb"),
    ("memory", "stream_kb"),
)
RESULTS_OF_SIZES: Final = {
    "result_100b_us": 1e2,
    "result_10kb_us": 1e4,
    "result_1mb_us": 1e6,
    "result_10mb_us": 1e7,
}


def write_page(several: Sequence[Results]) -> None:
    """Write the measured part of the page and its plots; several results are those of several Pythons."""
    FOLDER.mkdir(exist_ok=True)
    for old in FOLDER.glob("*.svg"):
        old.unlink()
    parts: list[str] = []
    for results in several:
        for name, drawing in plots(results):
            (FOLDER / name).write_text(drawing, encoding="utf-8")
        parts.append(section(results))
    written = f"{BEGIN}\n{chr(10).join(parts)}\n{END}"
    page = PAGE.read_text(encoding="utf-8")
    new = re.sub(f"{BEGIN}.*?{END}", lambda _: written, page, flags=re.DOTALL)
    PAGE.write_text(new, encoding="utf-8")


def plots(results: Results) -> Iterator[tuple[str, str]]:
    """Draw what was found: the names of files and what is in them."""
    for group, metric in PLOTS:
        if (found := results.groups.get(group)) is not None:
            yield file_name(results, group, metric), _bars(found, metric)
    if (sizes := results.groups.get("sizes")) is not None:
        for wire in ("stdio", "HTTP"):
            yield file_name(results, "sizes", wire), _sizes(sizes, wire)


def _sizes(group: GroupResult, wire: str) -> str:
    drawn = {
        name: [_median(case.figures.get(metric, [])) for metric in RESULTS_OF_SIZES]
        for name, case in group.cases.items()
        if name.startswith("HTTP:") == (wire == "HTTP")
    }
    return lines(
        f"Time of a call on {wire}, by the bytes of its result", "µs", list(RESULTS_OF_SIZES.values()), drawn
    )


def _bars(group: GroupResult, metric: str) -> str:
    known = METRICS[metric]
    found: list[Bar] = []
    for name, case in group.cases.items():
        if (values := spread(case.figures.get(metric, []))) is not None:
            found.append(Bar(name, values))
    title = f"{group.title}: {known.title}"
    return bars(title, known.unit, found, more_is_better=known.more_is_better)


def _median(values: Sequence[float | None]) -> float | None:
    found: Spread | None = spread(values)
    return None if found is None else found.median


def short(results: Results) -> str:
    """Return the version of the Python without its last part."""
    return ".".join(results.python.split(".")[:2])


def file_name(results: Results, group: str, metric: str) -> str:
    """Return the name of a plot's file."""
    return f"{group}-{metric.lower().replace('_', '-')}-{short(results)}.svg"


def section(results: Results) -> str:
    """Write what was found on one Python."""
    parts = [f"\n## CPython {short(results)}", about(results), markdown(targets_table(results))]
    titles = {name: metric.title for name, metric in METRICS.items()}
    outcomes = [outcome(target, results) for target in TARGETS if target.group in results.groups]
    missed = [each.target for each in outcomes if each.median is not None and not each.reached]
    if missed:
        parts.append(f"Not reached here: {'; '.join(f'{each.what} ({each.against})' for each in missed)}.")
    if failed := failures(results):
        parts.append("Failed:\n\n" + "\n".join(f"* {each.splitlines()[0]}" for each in failed))
    for name, group in results.groups.items():
        parts.append(f"### {group.title}, CPython {short(results)}")
        drawn = [metric for each, metric in PLOTS if each == name] or ["stdio", "HTTP"]
        parts += [
            f"![{group.title}: {titles.get(each, each)}](benchmarks/{file_name(results, name, each)})"
            for each in drawn
        ]
        parts.append(markdown(figures_table(group)))
    return "\n\n".join(parts) + "\n"


def about(results: Results) -> str:
    """Say on what it was measured."""
    machine, loads = results.machine, results.loads
    versions = {name: version for found in results.versions.values() for name, version in found.items()}
    versions.pop("unavailable", None)
    listed = ", ".join(f"{name} {version}" for name, version in sorted(versions.items()))
    told = (
        f"Measured {machine['date']} UTC in {results.seconds / 60:.0f} minutes on {machine['processor']}, "
        f"{machine['cores']} cores, {machine['system']}, Python {results.python}, with {listed}."
    )
    if not loads:
        return told
    return (
        f"{told}  The load was {min(loads):g} to {max(loads):g}, of which a measurement makes one or two; "
        "the rest were others, who take from the calls a second, and hardly from the processor time."
    )
