"""What a session that nobody uses holds of a server's memory, and a stream on which nothing comes."""

from __future__ import annotations

import http.client
import resource
import socket
import time
from typing import Final

from bench.case import Case, Group, Surroundings
from bench.cost import resident_bytes
from bench.figures import Figures
from bench.http_server import HTTP_SERVERS, HttpServer, listening
from bench.message import INITIALIZE, INITIALIZED, headers

__all__ = ("GROUP",)

MEASURED: Final = (
    "anywire, uvloop", "official Python SDK, as it installs", "fastmcp, as it installs", "TypeScript SDK 2.x",
    "TypeScript SDK 1.x",
)  # fmt: skip
SESSIONS: Final = 1000
STREAMS: Final = 500
FEW: Final = 20
"""How many of each there are beforehand, and in a quick run at all: the first are dearer than the next."""


class Visitor:
    """Opens sessions on one connection, and a connection for each stream."""

    def __init__(self, server: HttpServer) -> None:
        self._server = server
        self._connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=20)
        self.sessions: list[str] = []
        self.streams: list[socket.socket] = []

    def open_sessions(self, count: int) -> None:
        """Shake hands so many times."""
        opening = headers("legacy")
        del opening["mcp-protocol-version"]
        for _ in range(count):
            status, session = self._post(INITIALIZE, opening)
            if status != 200 or session is None:
                raise self._server.child.failed(f"initialize was answered with {status}")
            self._post(INITIALIZED, headers("legacy", session))
            self.sessions.append(session)

    def _post(self, body: bytes, given: dict[str, str]) -> tuple[int, str | None]:
        self._connection.request("POST", "/mcp", body, given)
        response = self._connection.getresponse()
        response.read()
        return response.status, response.getheader("mcp-session-id")

    def open_streams(self, count: int) -> None:
        """Listen on so many sessions that nobody listens on."""
        first = len(self.streams)
        for session in self.sessions[first : first + count]:
            stream = socket.create_connection(("127.0.0.1", self._server.port), 20)
            self.streams.append(stream)
            lines = {**headers("legacy", session), "host": f"127.0.0.1:{self._server.port}"}
            head = "".join(f"{name}: {value}\r\n" for name, value in lines.items() if name != "content-type")
            stream.sendall(f"GET /mcp HTTP/1.1\r\n{head}\r\n".encode())
            if b" 200 " not in (answer := stream.recv(4096))[:20]:
                raise self._server.child.failed(f"a stream was answered with {answer[:200]!r}")

    def close(self) -> None:
        """Leave."""
        self._connection.close()
        for stream in self.streams:
            stream.close()


def _case(name: str) -> Case:
    served, _ = HTTP_SERVERS[name]
    program = served("stream", "legacy")

    def measure(around: Surroundings) -> Figures:
        sessions, streams = (FEW, FEW) if around.quick else (SESSIONS, STREAMS)
        _allow_many_connections()
        with listening(program, around) as server:
            visitor = Visitor(server)
            try:
                visitor.open_sessions(2 * FEW)
                visitor.open_streams(FEW)
                before = _settled(server, around)
                visitor.open_sessions(sessions)
                between = _settled(server, around)
                visitor.open_streams(streams)
                after = _settled(server, around)
            finally:
                visitor.close()
        return {
            "session_kb": (between - before) / sessions / 1e3,
            "stream_kb": (after - between) / streams / 1e3,
        }

    return Case(name, measure, program.needs)


def _settled(server: HttpServer, around: Surroundings) -> int:
    """Return the bytes in use when the server has had a moment to tidy up."""
    time.sleep(around.seconds)
    return resident_bytes([server.child.pid])


def _allow_many_connections() -> None:
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most if most != resource.RLIM_INFINITY else 65_536, most))


GROUP: Final = Group(
    "memory", "Memory of idle sessions", [_case(name) for name in MEASURED], rounds=2, seconds=0.5
)
