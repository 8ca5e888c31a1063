"""How servers fare with texts from 100 bytes to 10 megabytes, one call after the other."""

from __future__ import annotations

import http.client
import statistics
import time
from collections.abc import Callable
from typing import Final

from bench.case import Case, Group, Surroundings
from bench.cost import resident_bytes
from bench.figures import Figures
from bench.http_server import HTTP_SERVERS, listening
from bench.message import call, headers
from bench.servers import SERVERS, conversation

__all__ = ("GROUP", "SIZES")

SIZES: Final = {"100b": 100, "10kb": 10_000, "1mb": 1_000_000, "10mb": 10_000_000}
STDIO: Final = (
    "anywire, task",
    "bare loop, task",
    "bare loop, blocking",
    "official Python SDK",
    "fastmcp",
    "TypeScript SDK 2.x",
    "TypeScript SDK 1.x",
)
HTTP: Final = (
    "anywire, uvloop",
    "bare ASGI echo, uvloop",
    "official Python SDK, as it installs",
    "TypeScript SDK 2.x",
    "TypeScript SDK 1.x",
)


def _time(ask: Callable[[bytes], bytes], message: bytes, size: int, seconds: float) -> float:
    """Return the microseconds of a call, the median of some.  Raises `ValueError` for a wrong reply."""
    if b"x" * size not in ask(message):
        raise ValueError(f"a reply lacks its text of {size} bytes")
    took: list[float] = []
    end = time.perf_counter() + seconds
    while (began := time.perf_counter()) < end or len(took) < 3:
        ask(message)
        took.append(time.perf_counter() - began)
    return 1e6 * statistics.median(took)


def _results(ask: Callable[[bytes], bytes], seconds: float) -> dict[str, float]:
    """Return the times of calls with small params and results of each size."""
    return {
        f"result_{label}_us": _time(ask, call(7, "legacy", "text", {"length": size}), size, seconds)
        for label, size in SIZES.items()
    }


def _on_stdio(name: str) -> Case:
    program = SERVERS[name]

    def measure(around: Surroundings) -> Figures:
        with conversation(program, "legacy", around) as (pipe, pid):

            def ask(message: bytes) -> bytes:
                return pipe.ask(message + b"\n")

            found = _results(ask, around.seconds)
            for label, size in list(SIZES.items())[1:]:
                sent = call(7, "legacy", "echo", {"text": "x" * size})
                found[f"echo_{label}_us"] = _time(ask, sent, size, around.seconds)
            return {**found, "memory_mb": resident_bytes([pid], peak=True) / 1e6}

    return Case(name, measure, program.needs)


def _on_http(name: str) -> Case:
    program = HTTP_SERVERS[name][0]("json", "legacy")

    def measure(around: Surroundings) -> Figures:
        with listening(program, around) as server:
            given = headers("legacy", server.session())
            connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=30)

            def ask(message: bytes) -> bytes:
                connection.request("POST", "/mcp", message, given)
                return connection.getresponse().read()

            try:
                found = _results(ask, around.seconds)
            finally:
                connection.close()
            return {**found, "memory_mb": resident_bytes([server.child.pid], peak=True) / 1e6}

    return Case(f"HTTP: {name}", measure, program.needs)


GROUP: Final = Group("sizes", "Sizes", [*map(_on_stdio, STDIO), *map(_on_http, HTTP)], rounds=3, seconds=0.2)
