"""Servers on stdio: calls that are sent in blocks, and calls one by one."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from typing import Final

from bench.case import Case, Group, Program, Surroundings
from bench.cost import resident_bytes
from bench.figures import Figures
from bench.message import Era
from bench.servers import BOTH, SERVERS, case_name, conversation

__all__ = ("GROUP",)

#: These are measured in both eras.
OF_BOTH_ERAS: Final = (
    "anywire, task",
    "anywire, inline",
    "official Python SDK",
    "fastmcp",
    "TypeScript SDK 2.x",
)


def _case(name: str, server: Program, era: Era) -> Case:
    def measure(around: Surroundings) -> Figures:
        with conversation(server, era, around) as (pipe, pid):
            took = pipe.serial(around.seconds / 2)
            rate, cpu = pipe.blocks(around.seconds)
            return {
                "rate": rate,
                "cpu_us": 1e6 * cpu,
                "serial_us": 1e6 * statistics.median(took),
                "serial_p99_us": 1e6 * _percentile(took, 0.99),
                "memory_mb": resident_bytes([pid], peak=True) / 1e6,
            }

    return Case(case_name(name, era), measure, server.needs)


def _percentile(values: Sequence[float], share: float) -> float:
    return sorted(values)[min(len(values) - 1, int(len(values) * share))]


GROUP: Final = Group(
    "stdio-server",
    "Servers on stdio",
    [
        _case(name, server, era)
        for name, server in SERVERS.items()
        for era in (BOTH if name in OF_BOTH_ERAS else BOTH[:1])
    ],
    rounds=5,
    seconds=0.6,
)
