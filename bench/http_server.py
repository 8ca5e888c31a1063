"""A server on HTTP that was started to be measured: until it listens, a session of it, and load on it."""

from __future__ import annotations

import http.client
import json
import socket
import sys
import time
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from typing import Final, Literal, TypeAlias

from bench.case import PROGRAMS, ROOT, Program, Surroundings, node, ours, theirs
from bench.child import Child, run, started
from bench.cost import family
from bench.http_load import Found, Load
from bench.message import INITIALIZE, INITIALIZED, TEXT, Era, call, headers
from bench.servers import BOTH, case_name

__all__ = ("HTTP_SERVERS", "HttpProgram", "HttpServer", "Reply", "http_case_name", "listening")

LISTENS_WITHIN = 30.0
"""Seconds until a server takes connections, or is given up."""

Reply: TypeAlias = Literal["json", "stream"]
#: From the kind of reply and the era to the program of a server.
HttpProgram: TypeAlias = Callable[[Reply, Era], Program]
_OURS: Final[dict[Reply, str]] = {"json": "task", "stream": "stream"}


def _served(reply: Reply, era: Era) -> Program:
    server = f"{PROGRAMS / 'anywire_server.py'}:{_OURS[reply]}"
    return Program(("-m", "anywire", "serve", server, "--http", "127.0.0.1:{port}"))


HTTP_SERVERS: Final[Mapping[str, tuple[HttpProgram, tuple[Era, ...]]]] = {
    "anywire, uvloop": (
        lambda reply, _: ours("anywire_server.py", _OURS[reply], "http", "{port}", "{loop}", fast=True),
        BOTH,
    ),
    "bare ASGI echo, uvloop": (
        lambda reply, _: ours("floor_asgi.py", "{port}", "{loop}", reply, fast=True),
        BOTH,
    ),
    "official Python SDK, uvloop": (
        lambda reply, _: theirs("official", "official_server.py", "http", "{port}", reply, fast=True),
        BOTH,
    ),
    "anywire, as it installs": (_served, BOTH),
    "official Python SDK, as it installs": (
        lambda reply, _: theirs("official", "official_server.py", "http", "{port}", reply),
        BOTH,
    ),
    "fastmcp, as it installs": (
        lambda reply, _: theirs("fastmcp", "fastmcp_server.py", "http", "{port}", reply),
        BOTH,
    ),
    "TypeScript SDK 2.x": (
        lambda reply, era: node("typescript_2_server.mjs", "http", "{port}", reply, era),
        BOTH,
    ),
    "TypeScript SDK 1.x": (
        lambda reply, _: node("typescript_1_server.mjs", "http", "{port}", reply),
        BOTH[:1],
    ),
}


def http_case_name(name: str, reply: Reply, era: Era) -> str:
    """Return the name of a case: JSON and the handshake era go without saying."""
    return case_name(name if reply == "json" else f"{name}, stream", era)


def _free_port() -> int:
    """Return a port that nobody listened on a moment ago."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


@dataclass(frozen=True)
class HttpServer:
    """A server that listens."""

    child: Child
    port: int

    def post(self, body: bytes, given: dict[str, str]) -> tuple[int, str | None, bytes]:
        """Send a message: the status, the id of the session, and the body of the answer."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)
        try:
            connection.request("POST", "/mcp", body, given)
            response = connection.getresponse()
            return response.status, response.getheader("mcp-session-id"), response.read()
        except OSError as error:
            raise self.child.failed(f"no answer came: {error}") from error
        finally:
            connection.close()

    def session(self) -> str | None:
        """Shake hands and return the id of the session.  Raises `ChildFailed`."""
        opening = headers("legacy")
        del opening["mcp-protocol-version"]
        status, session, body = self.post(INITIALIZE, opening)
        if status != 200 or b'"result"' not in body:
            raise self.child.failed(f"initialize was answered with {status} {body[:300]!r}")
        self.post(INITIALIZED, headers("legacy", session))
        return session

    def open(self, era: Era, *, progress: bool = False) -> dict[str, str]:
        """Shake hands where the era has that, see that a call is answered; the headers of calls."""
        found = headers(era, self.session() if era == "legacy" else None)
        status, _, body = self.post(call(1, era, progress=progress), found)
        if status != 200 or TEXT.encode() not in body:
            raise self.child.failed(f"a call was answered with {status} {body[:300]!r}")
        return found

    def load(
        self, given: dict[str, str], era: Era, connections: int, seconds: float, *, progress: bool = False
    ) -> Found:
        """Call on so many connections for so long, from a process that does nothing else."""
        load = Load(self.port, connections, seconds, given, era, progress, family(self.child.pid))
        argv = [sys.executable, "-m", "bench.http_load"]
        written = run(argv, {"PYTHONPATH": str(ROOT)}, 10.0, json.dumps(asdict(load)).encode())
        return Found(**json.loads(written))


@contextmanager
def listening(program: Program, around: Surroundings) -> Generator[HttpServer]:
    """Start a server, wait until it takes connections, and end it however the block is left."""
    port = _free_port()
    with started(program.command(around, port=port), program.env(around)) as child:
        end = time.monotonic() + LISTENS_WITHIN
        while True:
            try:
                socket.create_connection(("127.0.0.1", port), 1).close()
                break
            except OSError:
                if not child.running:
                    raise child.failed("it ended before it listened") from None
                if time.monotonic() > end:
                    raise child.failed(f"it does not listen after {LISTENS_WITHIN:g} s") from None
                time.sleep(0.01)
        yield HttpServer(child, port)
