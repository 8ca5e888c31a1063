"""Pairs of a client and a server with a bridge in between, each end over a wire and in an era.

What no bridge can carry is named in `GAPS`.
"""

from __future__ import annotations

import contextlib
from collections.abc import Generator
from dataclasses import dataclass
from typing import Any

from anywire.protocol.translate.crossing import Direction
from anywire.wire.framing import Framing
from tests.interop.every_feature import Era
from tests.interop.listening import anywire_listening
from tests.interop.peers import SCRIPTS
from tests.interop.processes import anywire


@dataclass(frozen=True)
class End:
    """How one end of a bridge is spoken to: over which wire, in which era."""

    wire: str
    era: Era

    def __str__(self) -> str:
        return f"{self.wire}-{self.era}"


#: Each wire, with the eras that it carries.
ENDS = [
    *(End(wire, "legacy") for wire in ("newline", "headers", "http", "sse")),
    *(End(wire, "modern") for wire in ("newline", "headers", "http")),
]
FACES = {
    "newline": "stdio",
    "headers": "stdio+headers",
    "http": "http://127.0.0.1:0/mcp",
    "sse": "sse+http://127.0.0.1:0/sse",
}

#: The steps that give something else than without a bridge, each with the feature that explains it: one
#: that `CROSSINGS` has a sentence for.  All other steps give the same, and between ends of one era all do.
GAPS: dict[Direction, dict[str, str]] = {
    Direction.UPWARD: {
        "end_of_a_visit": "elicitation at an address",
        "ping_of_the_server": "ping",
    },
    Direction.DOWNWARD: {},
}


def direction(client: End, server: End) -> Direction | None:
    """Which era is before which; None: there is one only."""
    if client.era == server.era:
        return None
    return Direction.UPWARD if client.era == "legacy" else Direction.DOWNWARD


def gaps(client: End, server: End) -> dict[str, str]:
    """The steps that a client cannot take as without a bridge, and why."""
    before = direction(client, server)
    return {} if before is None else GAPS[before]


@contextlib.contextmanager
def server_at(end: End, script: str = "eras_server.py") -> Generator[list[str]]:
    """A server of one era over one wire: the words with which a bridge is told of it."""
    serve = anywire("serve", f"{SCRIPTS / script}:{end.era}")
    if end.wire in ("newline", "headers"):
        yield ["--target-framing", end.wire, "--", *serve]
        return
    with anywire_listening([*serve, f"--{end.wire}", "127.0.0.1:0"]) as url:
        yield [f"sse+{url}" if end.wire == "sse" else url]


@contextlib.contextmanager
def target_of(end: End, target: list[str]) -> Generator[tuple[Any, dict[str, Any]]]:
    """What a client connects to over a wire, to speak through a bridge with what `target` names."""
    command = anywire("bridge", FACES[end.wire], *target)
    if end.wire in ("newline", "headers"):
        yield command, {"framing": Framing(end.wire)}
        return
    with anywire_listening(command) as url:
        yield (f"sse+{url}" if end.wire == "sse" else url), {}
