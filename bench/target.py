"""What is to be reached: a figure of ours next to that of somebody else."""

from __future__ import annotations

import statistics
from dataclasses import dataclass
from typing import Final, Literal

from bench.figures import METRICS, advantages, best
from bench.results import Results

__all__ = ("TARGETS", "Outcome", "Target", "outcome")


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


OFFICIAL: Final = "official Python SDK"
INSTALLS: Final = "as it installs"
M: Final = "2026-07-28"

TARGETS: Final = (
    Target("stdio server, async handler", OFFICIAL, "stdio-server", "rate", "anywire, task", (OFFICIAL,), 100,
           beside="cpu_us", goal_before_312=60),
    Target("stdio server, inline handler", OFFICIAL, "stdio-server", "rate", "anywire, inline", (OFFICIAL,), 150,
           beside="cpu_us"),
    Target("stdio server, async handler", "TypeScript SDK 2.x", "stdio-server", "rate", "anywire, task",
           ("TypeScript SDK 2.x",), 20, beside="cpu_us"),
    Target("stdio server, async handler", "bare loop, a task a request", "stdio-server", "rate", "anywire, task",
           ("bare loop, task",), 0.6, beside="cpu_us"),
    Target("stdio server, inline handler", "bare loop, inline", "stdio-server", "rate", "anywire, inline",
           ("bare loop, inline",), 0.6, beside="cpu_us"),
    Target("stdio server, a call alone", "TypeScript SDK 1.x", "stdio-server", "serial_us", "anywire, task",
           ("TypeScript SDK 1.x",), 2.5),
    Target("stdio client, 64 at a time", OFFICIAL, "stdio-client", "rate", "anywire", (OFFICIAL,), 20,
           beside="cpu_us"),
    Target("HTTP server, JSON, uvloop", "bare ASGI echo", "http-server", "cpu_us", "anywire, uvloop",
           ("bare ASGI echo, uvloop",), 0.65, beside="rate"),
    Target(f"HTTP server, JSON, {M}, uvloop", "bare ASGI echo", "http-server", "cpu_us", f"anywire, uvloop, {M}",
           (f"bare ASGI echo, uvloop, {M}",), 0.65, beside="rate"),
    Target("HTTP server, JSON, as each installs", OFFICIAL, "http-server", "cpu_us", f"anywire, {INSTALLS}",
           (f"{OFFICIAL}, {INSTALLS}",), 10, beside="rate"),
    Target(f"HTTP server, JSON, {M}, as each installs", OFFICIAL, "http-server", "cpu_us",
           f"anywire, {INSTALLS}, {M}", (f"{OFFICIAL}, {INSTALLS}, {M}",), 10, beside="rate"),
    Target("HTTP client, 64 at a time", "bare aiohttp", "http-client", "rate", "anywire", ("bare aiohttp",), 0.7,
           beside="cpu_us"),
    Target(f"HTTP client, {M}, 64 at a time", "bare aiohttp", "http-client", "rate", f"anywire, {M}",
           (f"bare aiohttp, {M}",), 0.7, beside="cpu_us"),
    Target("HTTP client, 64 at a time", OFFICIAL, "http-client", "rate", "anywire", (OFFICIAL,), 6,
           beside="cpu_us"),
    Target(f"HTTP client, {M}, 64 at a time", OFFICIAL, "http-client", "rate", f"anywire, {M}",
           (f"{OFFICIAL}, {M}",), 6, beside="cpu_us"),
    Target("in process, 64 at a time", f"{OFFICIAL} in memory", "in-process", "rate", "anywire, memory", (OFFICIAL,),
           10, beside="cpu_us"),
    Target(f"in process, {M}, 64 at a time", f"{OFFICIAL} in memory", "in-process", "rate", f"anywire, memory, {M}",
           (f"{OFFICIAL}, {M}",), 10, beside="cpu_us"),
    Target("bridge stdio to stdio, a call alone", "bare pump", "bridge", "serial_us", "stdio to stdio, anywire",
           ("stdio to stdio, bare pump",), 1.5, "at most"),
    Target("bridge stdio to stdio, 64 at a time", "bare pump", "bridge", "rate", "stdio to stdio, anywire",
           ("stdio to stdio, bare pump",), 1.5, "at most", beside="cpu_us"),
    Target("bridge stdio to HTTP, 64 at a time", "the best of three", "bridge", "rate", "stdio to HTTP, anywire",
           ("stdio to HTTP, mcp-proxy", "stdio to HTTP, supergateway", "stdio to HTTP, mcp-remote"), 4,
           beside="cpu_us"),
    Target("bridge HTTP to stdio, 64 at a time", "the best of two", "bridge", "rate", "HTTP to stdio, anywire",
           ("HTTP to stdio, mcp-proxy", "HTTP to stdio, supergateway"), 4, beside="cpu_us"),
    Target("start to the first answer", "python -c import asyncio, msgspec", "start", "start_ms", "anywire",
           ("python -c import asyncio, msgspec",), 1.6, "at most"),
    Target("result of 10 MB, stdio server", "bare loop", "sizes", "result_10mb_us", "anywire, task",
           ("bare loop, task",), 0.7),
    Target("memory of an idle HTTP session, kB", "", "memory", "session_kb", "anywire, uvloop", (), 4, "absolute"),
    Target("memory of an idle stream, kB", "", "memory", "stream_kb", "anywire, uvloop", (), 14, "absolute"),
)  # fmt: skip
