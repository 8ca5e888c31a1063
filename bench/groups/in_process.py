"""Calls that never leave the process: back to back, and the ways into a coding agent's process."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from bench.case import Case, Group, Program, Surroundings, ours, theirs
from bench.figures import Figures
from bench.message import Era
from bench.servers import BOTH, case_name

__all__ = ("GROUP",)

WAYS: Final[Mapping[str, tuple[Program, tuple[Era, ...]]]] = {
    "anywire, memory": (ours("anywire_in_process.py", "memory"), BOTH),
    "anywire, plain objects": (ours("anywire_in_process.py", "objects"), BOTH[:1]),
    "anywire, control channel": (ours("anywire_in_process.py", "router"), BOTH[:1]),
    "anywire, control channel, bare host": (ours("anywire_in_process.py", "lines"), BOTH[:1]),
    "official Python SDK": (theirs("official", "official_in_process.py", "memory"), BOTH),
}


def _case(name: str, program: Program, era: Era) -> Case:
    def measure(around: Surroundings) -> Figures:
        return program.figures(around, era, str(around.seconds))

    return Case(case_name(name, era), measure, program.needs)


GROUP: Final = Group(
    "in-process",
    "In one process",
    [_case(name, program, era) for name, (program, eras) in WAYS.items() for era in eras],
    rounds=4,
    seconds=0.6,
)
