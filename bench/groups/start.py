"""From the start of a process to its first answer; programs that answer nothing are timed to their end."""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping
from typing import Final

from bench.case import PROGRAMS, Case, Group, Program, Surroundings
from bench.child import run, started
from bench.cost import family, resident_bytes
from bench.figures import Figures
from bench.pipe import Pipe
from bench.servers import SERVERS

__all__ = ("GROUP",)

ENDS: Final[Mapping[str, Program]] = {
    "python -c pass": Program(("-c", "pass")),
    "python -c import asyncio, msgspec": Program(("-c", "import asyncio, msgspec")),
}
ANSWERS: Final[Mapping[str, Program]] = {
    "anywire": SERVERS["anywire, task"],
    "anywire serve": Program(("-m", "anywire", "serve", f"{PROGRAMS / 'anywire_server.py'}:task")),
    "anywire bridge": Program(
        ("-m", "anywire", "bridge", "stdio", "--", sys.executable, *SERVERS["anywire, task"].words)
    ),
    "official Python SDK": SERVERS["official Python SDK"],
    "fastmcp": SERVERS["fastmcp"],
    "TypeScript SDK 2.x": SERVERS["TypeScript SDK 2.x"],
    "TypeScript SDK 1.x": SERVERS["TypeScript SDK 1.x"],
}


def _ending(name: str, program: Program) -> Case:
    def measure(around: Surroundings) -> Figures:
        argv, env = program.command(around), program.env(around)
        began = time.perf_counter()
        run(argv, env, 30.0)
        return {"start_ms": 1e3 * (time.perf_counter() - began)}

    return Case(name, measure)


def _answering(name: str, program: Program) -> Case:
    def measure(around: Surroundings) -> Figures:
        argv, env = program.command(around), program.env(around)
        began = time.perf_counter()
        with started(argv, env, pipes=True) as child:
            Pipe(child, "legacy").greet()
            took = time.perf_counter() - began
            memory = resident_bytes(family(child.pid), peak=True)
        return {"start_ms": 1e3 * took, "memory_mb": memory / 1e6}

    return Case(name, measure, program.needs)


GROUP: Final = Group(
    "start",
    "Start to the first answer",
    [
        *(_ending(name, program) for name, program in ENDS.items()),
        *(_answering(name, program) for name, program in ANSWERS.items()),
    ],
    rounds=9,
    seconds=0.0,
)
