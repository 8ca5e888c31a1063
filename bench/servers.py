"""The servers on stdio that several groups measure."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from typing import Final

from bench.case import Program, Surroundings, node, ours, theirs
from bench.child import started
from bench.message import MODERN, Era
from bench.pipe import Pipe

__all__ = ("BOTH", "SERVERS", "case_name", "conversation")

BOTH: Final[tuple[Era, ...]] = ("legacy", "modern")

SERVERS: Final[Mapping[str, Program]] = {
    "anywire, task": ours("anywire_server.py", "task", "stdio"),
    "anywire, inline": ours("anywire_server.py", "inline", "stdio"),
    "anywire, thread": ours("anywire_server.py", "thread", "stdio"),
    "bare loop, task": ours("floor_stdio.py", "task"),
    "bare loop, inline": ours("floor_stdio.py", "inline"),
    "bare loop, blocking": ours("floor_stdio.py", "blocking"),
    "official Python SDK": theirs("official", "official_server.py", "stdio"),
    "fastmcp": theirs("fastmcp", "fastmcp_server.py", "stdio"),
    "TypeScript SDK 2.x": node("typescript_2_server.mjs", "stdio"),
    "TypeScript SDK 1.x": node("typescript_1_server.mjs", "stdio"),
}


def case_name(name: str, era: Era) -> str:
    """Return the name of a case: the handshake era goes without saying."""
    return name if era == "legacy" else f"{name}, {MODERN}"


@contextmanager
def conversation(program: Program, era: Era, around: Surroundings) -> Generator[tuple[Pipe, int]]:
    """Start a server and open a conversation with it; yields that and the process."""
    with started(program.command(around), program.env(around), pipes=True) as child:
        pipe = Pipe(child, era)
        pipe.open()
        yield pipe, child.pid
