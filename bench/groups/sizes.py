"""How servers on stdio fare with texts from 100 bytes to 10 megabytes, one call after the other."""

from __future__ import annotations

import statistics
import time
from typing import Final

from bench.case import Case, Group, Surroundings
from bench.cost import resident_bytes
from bench.figures import Figures
from bench.message import call
from bench.pipe import Pipe
from bench.servers import SERVERS, conversation

__all__ = ("GROUP",)

SIZES: Final = {"100b": 100, "10kb": 10_000, "1mb": 1_000_000, "10mb": 10_000_000}
MEASURED: Final = (
    "anywire, task",
    "bare loop, task",
    "bare loop, blocking",
    "official Python SDK",
    "fastmcp",
    "TypeScript SDK 2.x",
    "TypeScript SDK 1.x",
)


def _time(pipe: Pipe, line: bytes, size: int, seconds: float) -> float:
    """Return the microseconds of a call, the median of at least three."""
    text = "x" * size
    pipe.check(pipe.ask(line), text)
    took: list[float] = []
    end = time.perf_counter() + seconds
    while (began := time.perf_counter()) < end or len(took) < 3:
        pipe.ask(line)
        took.append(time.perf_counter() - began)
    return 1e6 * statistics.median(took)


def _case(name: str) -> Case:
    server = SERVERS[name]

    def measure(around: Surroundings) -> Figures:
        found: dict[str, float] = {}
        with conversation(server, "legacy", around) as (pipe, pid):
            for label, size in SIZES.items():
                asked = call(7, "legacy", "text", {"length": size}) + b"\n"
                found[f"result_{label}_us"] = _time(pipe, asked, size, around.seconds)
            for label, size in list(SIZES.items())[1:]:
                sent = call(7, "legacy", "echo", {"text": "x" * size}) + b"\n"
                found[f"echo_{label}_us"] = _time(pipe, sent, size, around.seconds)
            found["memory_mb"] = resident_bytes([pid], peak=True) / 1e6
        return found

    return Case(name, measure, server.needs)


GROUP: Final = Group("sizes", "Sizes, on stdio", [_case(name) for name in MEASURED], rounds=3, seconds=0.2)
