"""Servers on HTTP: replies as JSON, and as event streams with a report of progress in them; both eras."""

from __future__ import annotations

from typing import Final

from bench.case import Case, Group, Surroundings
from bench.figures import Figures
from bench.http_server import HTTP_SERVERS, HttpProgram, Reply, http_case_name, listening
from bench.message import Era

__all__ = ("GROUP",)

CONNECTIONS: Final = 64


def _case(name: str, served: HttpProgram, reply: Reply, era: Era) -> Case:
    progress = reply == "stream"
    program = served(reply, era)

    def measure(around: Surroundings) -> Figures:
        with listening(program, around) as server:
            given = server.open(era, progress=progress)
            alone = server.load(given, era, 1, around.seconds / 3, progress=progress)
            many = server.load(given, era, CONNECTIONS, around.seconds, progress=progress)
        return {
            "rate": many.rate,
            "cpu_us": many.cpu_us,
            "serial_us": alone.serial_us,
            "busy": many.busy,
            "driver_busy": many.driver_busy,
        }

    return Case(http_case_name(name, reply, era), measure, program.needs)


GROUP: Final = Group(
    "http-server",
    "Servers on HTTP",
    [
        _case(name, served, reply, era)
        for reply in ("json", "stream")
        for name, (served, eras) in HTTP_SERVERS.items()
        for era in eras
    ],
    rounds=3,
    seconds=0.6,
)
