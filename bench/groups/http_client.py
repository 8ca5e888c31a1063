"""Clients on HTTP, before a bare server: calls one by one, and 64 at a time; JSON and streams, both eras."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, TypeAlias

from bench.case import Case, Group, Program, Surroundings, node, ours, theirs
from bench.figures import Figures
from bench.http_server import Reply, http_case_name, listening
from bench.message import Era

__all__ = ("GROUP",)

#: Ways to be answered: as what, and in which era.
Ways: TypeAlias = tuple[tuple[Reply, Era], ...]
ALL: Final[Ways] = (("json", "legacy"), ("json", "modern"), ("stream", "legacy"), ("stream", "modern"))

CLIENTS: Final[Mapping[str, tuple[Program, Ways]]] = {
    "anywire": (ours("anywire_client.py"), ALL),
    "bare aiohttp": (ours("floor_http_client.py"), ALL),
    "official Python SDK": (theirs("official", "official_client.py"), ALL),
    "fastmcp": (theirs("fastmcp", "fastmcp_client.py"), ALL[:1]),
    "TypeScript SDK 2.x": (node("typescript_client.mjs", "2"), ALL[:1]),
    "TypeScript SDK 1.x": (node("typescript_client.mjs", "1"), ALL[:1]),
}


def _case(name: str, client: Program, reply: Reply, era: Era) -> Case:
    floor = ours("floor_http.py", "{port}", reply, fast=True)

    def measure(around: Surroundings) -> Figures:
        with listening(floor, around) as server:
            return client.figures(around, f"http://127.0.0.1:{server.port}/mcp", era, str(around.seconds))

    return Case(http_case_name(name, reply, era), measure, client.needs)


GROUP: Final = Group(
    "http-client",
    "Clients on HTTP",
    [_case(name, client, reply, era) for name, (client, ways) in CLIENTS.items() for reply, era in ways],
    rounds=3,
    seconds=0.6,
)
