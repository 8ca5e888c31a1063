"""Bridges before bare servers: stdio to HTTP, HTTP to stdio, stdio to stdio; the handshake era."""

from __future__ import annotations

import shlex
import statistics
import sys
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from typing import Final

from bench.case import Case, Group, Program, Surroundings, ours
from bench.child import started
from bench.cost import family, resident_bytes
from bench.figures import Figures
from bench.http_server import listening
from bench.pipe import Pipe
from bench.servers import SERVERS

__all__ = ("GROUP",)

AT_ONCE: Final = 64
SERVER: Final = (sys.executable, *SERVERS["bare loop, blocking"].words)
HTTP_SERVER: Final = ours("floor_http.py", "{port}", "json", fast=True)
ANYWIRE: Final = ("-m", "anywire", "bridge")

#: From stdio; `{url}` is the address of a server on HTTP.
FROM_STDIO: Final[Mapping[str, Program]] = {
    "stdio to HTTP, no bridge": SERVERS["bare loop, blocking"],
    "stdio to HTTP, anywire": Program((*ANYWIRE, "stdio", "{url}")),
    "stdio to HTTP, mcp-proxy": Program(
        ("-m", "mcp_proxy", "--transport", "streamablehttp", "--log-level", "ERROR", "{url}"), "mcp-proxy"
    ),
    "stdio to HTTP, supergateway": Program(
        ("{modules}/supergateway/dist/index.js", "--streamableHttp", "{url}", "--logLevel", "none"), "node"
    ),
    "stdio to HTTP, mcp-remote": Program(
        ("{modules}/mcp-remote/dist/proxy.js", "{url}", "--allow-http", "--transport", "http-only"), "node"
    ),
    "stdio to stdio, no bridge": SERVERS["bare loop, blocking"],
    "stdio to stdio, bare pump": ours("floor_pump.py", *SERVER),
    "stdio to stdio, anywire": Program((*ANYWIRE, "stdio", "--", *SERVER)),
}
FROM_HTTP: Final[Mapping[str, Program]] = {
    "HTTP to stdio, no bridge": HTTP_SERVER,
    "HTTP to stdio, anywire": Program((*ANYWIRE, "http://127.0.0.1:{port}/mcp", "--", *SERVER)),
    "HTTP to stdio, mcp-proxy": Program(
        ("-m", "mcp_proxy", "--port", "{port}", "--log-level", "ERROR", "--", *SERVER), "mcp-proxy"
    ),
    "HTTP to stdio, supergateway": Program(
        (
            *("{modules}/supergateway/dist/index.js", "--stdio", shlex.join(SERVER)),
            *("--outputTransport", "streamableHttp", "--stateful", "--port", "{port}", "--logLevel", "none"),
        ),
        "node",
    ),
}


@contextmanager
def _upstream(program: Program, around: Surroundings) -> Generator[str]:
    """Start the server that a bridge calls, where it calls one; yields its address."""
    if "{url}" not in program.words:
        yield ""
        return
    with listening(HTTP_SERVER, around) as server:
        yield f"http://127.0.0.1:{server.port}/mcp"


def _from_stdio(name: str, program: Program) -> Case:
    def measure(around: Surroundings) -> Figures:
        with _upstream(program, around) as url:
            argv = [word.replace("{url}", url) for word in program.command(around)]
            with started(argv, program.env(around), pipes=True) as child:
                pipe = Pipe(child, "legacy")
                pipe.open()
                took = pipe.serial(around.seconds / 2)
                rate, cpu = pipe.windows(AT_ONCE, around.seconds)
                memory = resident_bytes([child.pid], peak=True)
        return {
            "rate": rate,
            "cpu_us": 1e6 * cpu,
            "serial_us": 1e6 * statistics.median(took),
            "memory_mb": memory / 1e6,
        }

    return Case(name, measure, program.needs)


def _from_http(name: str, program: Program) -> Case:
    def measure(around: Surroundings) -> Figures:
        with listening(program, around) as server:
            given = server.open("legacy")
            alone = server.load(given, "legacy", 1, around.seconds / 2)
            many = server.load(given, "legacy", AT_ONCE, around.seconds)
            memory = resident_bytes(family(server.child.pid)[:1], peak=True)
        return {
            "rate": many.rate,
            "cpu_us": many.cpu_us,
            "serial_us": alone.serial_us,
            "driver_busy": many.driver_busy,
            "memory_mb": memory / 1e6,
        }

    return Case(name, measure, program.needs)


GROUP: Final = Group(
    "bridge",
    "Bridges",
    [
        *(_from_stdio(name, program) for name, program in FROM_STDIO.items()),
        *(_from_http(name, program) for name, program in FROM_HTTP.items()),
    ],
    rounds=3,
    seconds=0.8,
)
