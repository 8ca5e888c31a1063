"""The table of what is to be reached."""

from __future__ import annotations

from typing import Final

from bench.target import Target

__all__ = ("TARGETS",)

OFFICIAL: Final = "official Python SDK"
TS_1: Final = "TypeScript SDK 1.x"
TS_2: Final = "TypeScript SDK 2.x"
STATELESS: Final = "2026-07-28"
IMPORTS: Final = "python -c import asyncio, msgspec"
TO_HTTP: Final = tuple(f"stdio to HTTP, {name}" for name in ("mcp-proxy", "supergateway", "mcp-remote"))
FROM_HTTP: Final = tuple(f"HTTP to stdio, {name}" for name in ("mcp-proxy", "supergateway"))


def _stdio_server(
    handler: str, against: str, theirs: str, goal: float, before_312: float | None = None
) -> Target:
    what = f"stdio server, {'async' if handler == 'task' else handler} handler"
    ours = f"anywire, {handler}"
    return Target(what, against, "stdio-server", "rate", ours, (theirs,), goal, "times", "cpu_us", before_312)


def _in_both_eras(
    what: str, against: str, group: str, metric: str, ours: str, theirs: str, goal: float
) -> list[Target]:
    """Judge one clock, and tell the other, for the handshake era and for the stateless one."""
    beside = "rate" if metric == "cpu_us" else "cpu_us"
    return [
        Target(what + era, against, group, metric, ours + era, (theirs + era,), goal, "times", beside)
        for era in ("", f", {STATELESS}")
    ]


def _bridge(way: str, how: str, metric: str, theirs: tuple[str, ...], against: str, goal: float) -> Target:
    beside = "cpu_us" if metric == "rate" else None
    kind = "at most" if against == "bare pump" else "times"
    return Target(
        f"bridge {way}, {how}", against, "bridge", metric, f"{way}, anywire", theirs, goal, kind, beside
    )


ECHO: Final = "bare ASGI echo"
LOOP: Final = "bare loop, task"
AS_INSTALLED: Final = ("anywire, as it installs", "official Python SDK, as it installs")
PUMP: Final = ("stdio to stdio, bare pump",)
TARGETS: Final = (
    _stdio_server("task", OFFICIAL, OFFICIAL, 100, before_312=60),
    _stdio_server("inline", OFFICIAL, OFFICIAL, 150),
    _stdio_server("task", TS_2, TS_2, 20),
    _stdio_server("task", LOOP, LOOP, 0.6),
    _stdio_server("inline", "bare loop, inline", "bare loop, inline", 0.6),
    Target("stdio server, a call alone", TS_1, "stdio-server", "serial_us", "anywire, task", (TS_1,), 2.5),
    Target("stdio client", OFFICIAL, "stdio-client", "rate", "anywire", (OFFICIAL,), 20, "times", "cpu_us"),
    *_in_both_eras(
        "HTTP server, uvloop", ECHO, "http-server", "cpu_us", "anywire, uvloop", f"{ECHO}, uvloop", 0.65
    ),
    *_in_both_eras("HTTP server, as each installs", OFFICIAL, "http-server", "cpu_us", *AS_INSTALLED, 10),
    *_in_both_eras("HTTP client", "bare aiohttp", "http-client", "rate", "anywire", "bare aiohttp", 0.7),
    *_in_both_eras("HTTP client", OFFICIAL, "http-client", "rate", "anywire", OFFICIAL, 6),
    *_in_both_eras(
        "in process", f"{OFFICIAL} in memory", "in-process", "rate", "anywire, memory", OFFICIAL, 10
    ),
    _bridge("stdio to stdio", "a call alone", "serial_us", PUMP, "bare pump", 1.5),
    _bridge("stdio to stdio", "64 at a time", "rate", PUMP, "bare pump", 1.5),
    _bridge("stdio to HTTP", "64 at a time", "rate", TO_HTTP, "the best of three", 4),
    _bridge("HTTP to stdio", "64 at a time", "rate", FROM_HTTP, "the best of two", 4),
    Target("start to the first answer", IMPORTS, "start", "start_ms", "anywire", (IMPORTS,), 1.6, "at most"),
    Target("stdio server, result of 10 MB", LOOP, "sizes", "result_10mb_us", "anywire, task", (LOOP,), 0.7),
    Target("idle HTTP session, kB", "", "memory", "session_kb", "anywire, uvloop", (), 4, "absolute"),
    Target("idle stream, kB", "", "memory", "stream_kb", "anywire, uvloop", (), 14, "absolute"),
)
