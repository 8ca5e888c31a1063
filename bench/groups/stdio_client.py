"""Clients on stdio, before a bare server: calls one by one, and 64 at a time."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import Final

from bench.case import Case, Group, Program, Surroundings, node, ours, theirs
from bench.figures import Figures
from bench.message import Era
from bench.servers import BOTH, SERVERS, case_name

__all__ = ("GROUP",)

CLIENTS: Final[Mapping[str, tuple[Program, tuple[Era, ...]]]] = {
    "anywire": (ours("anywire_client.py"), BOTH),
    "bare pipe": (ours("floor_stdio_client.py"), BOTH[:1]),
    "official Python SDK": (theirs("official", "official_client.py"), BOTH),
    "fastmcp": (theirs("fastmcp", "fastmcp_client.py"), BOTH[:1]),
    "TypeScript SDK 2.x": (node("typescript_client.mjs", "2"), BOTH[:1]),
    "TypeScript SDK 1.x": (node("typescript_client.mjs", "1"), BOTH[:1]),
}


def _case(name: str, client: Program, era: Era) -> Case:
    def measure(around: Surroundings) -> Figures:
        server = shlex.join(SERVERS["bare loop, blocking"].command(around))
        return client.figures(around, server, era, str(around.seconds))

    return Case(case_name(name, era), measure, client.needs)


GROUP: Final = Group(
    "stdio-client",
    "Clients on stdio",
    [_case(name, client, era) for name, (client, eras) in CLIENTS.items() for era in eras],
    rounds=4,
    seconds=0.6,
)
