"""The driver of a server on HTTP, a program of its own: what it sends is built before, what comes is counted.

It reads a `Load` as JSON from stdin and writes a `Found`.  Sockets and epoll, no library: what it does for a
request takes less than what any server does for it, and how busy it was is part of what it finds.
"""

from __future__ import annotations

import json
import select
import socket
import statistics
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

from bench.cost import cpu_seconds
from bench.message import TEXT, Era, call

__all__ = ("Found", "Load", "build")

TURNS = 16
"""Requests of different ids that each connection sends in turns."""


@dataclass(frozen=True)
class Load:
    """What is to be sent: on how many connections, to which port, for how long; whose time is measured."""

    port: int
    connections: int
    seconds: float
    headers: dict[str, str]
    era: Era
    progress: bool
    pids: list[int]


@dataclass(frozen=True)
class Found:
    """What came of it.  `busy` and `driver_busy` are shares of a core."""

    rate: float
    serial_us: float
    cpu_us: float
    busy: float
    driver_busy: float


class Wrong(Exception):
    """A reply that is none."""


class Connection:
    """One connection with one request at a time."""

    __slots__ = ("began", "buffer", "requests", "size", "socket", "turn")

    def __init__(self, port: int, requests: Sequence[bytes]) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port), 10)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.requests, self.turn, self.buffer = requests, 0, b""
        self.size, self.began = 0, 0.0

    def send(self) -> None:
        """Send the next request."""
        self.began = time.perf_counter()
        self.socket.sendall(self.requests[self.turn % TURNS])
        self.turn += 1

    def receive(self) -> bool:
        """Take what has come; return whether that completes a reply."""
        chunk = self.socket.recv(1 << 17)
        if len(chunk) == self.size and not self.buffer and chunk.startswith(b"HTTP/1.1 200"):
            return True
        if not chunk:
            raise Wrong(f"the server closed the connection after {self.buffer[-300:]!r}")
        self.buffer += chunk
        return self._complete()

    def _complete(self) -> bool:
        head, found, body = self.buffer.partition(b"\r\n\r\n")
        if not found:
            return False
        lines = head.lower().split(b"\r\n")
        if b" 200 " not in lines[0]:
            raise Wrong(f"a wrong answer came: {self.buffer[:500]!r}")
        lengths = [int(line[15:]) for line in lines if line.startswith(b"content-length:")]
        if lengths:
            if len(body) < lengths[0]:
                return False
            self.size = len(self.buffer)  # all replies are alike, so the next is known by its length
        elif not body.endswith(b"0\r\n\r\n"):
            return False
        if TEXT.encode() not in body:
            raise Wrong(f"a wrong answer came: {self.buffer[:500]!r}")
        self.buffer = b""
        return True


def build(load: Load, number: int) -> list[bytes]:
    """Build the requests of one connection; ids are of one length, so that replies are as well."""
    lines = "".join(f"{name}: {value}\r\n" for name, value in load.headers.items())
    head = f"POST /mcp HTTP/1.1\r\nhost: 127.0.0.1:{load.port}\r\n{lines}".encode()
    found: list[bytes] = []
    for turn in range(TURNS):
        body = call(100_000 + number * TURNS + turn, load.era, progress=load.progress)
        found.append(b"%bcontent-length: %d\r\n\r\n%b" % (head, len(body), body))
    return found


def drive(load: Load) -> Found:
    """Send for a while to warm up, then for as long as was asked for."""
    connections: dict[int, Connection] = {}
    poll = select.epoll()
    try:
        for number in range(load.connections):
            connection = Connection(load.port, build(load, number))
            connections[connection.socket.fileno()] = connection
            poll.register(connection.socket.fileno(), select.EPOLLIN)
            connection.send()
        turn(poll, connections, min(0.3, load.seconds))
        cpu, own, began = cpu_seconds(load.pids), time.process_time(), time.perf_counter()
        took = turn(poll, connections, load.seconds)
        wall = time.perf_counter() - began
        cpu, own = cpu_seconds(load.pids) - cpu, time.process_time() - own
    finally:
        poll.close()
        for connection in connections.values():
            connection.socket.close()
    count = len(took)
    middle = statistics.median(took) * 1e6
    return Found(count / wall, middle, cpu / count * 1e6, cpu / wall, own / wall)


def turn(poll: select.epoll, connections: Mapping[int, Connection], seconds: float) -> list[float]:
    """Answer replies with requests for so long; return the seconds that each request took."""
    took: list[float] = []
    clock = time.perf_counter
    end = clock() + seconds
    while clock() < end or not took:
        ready = poll.poll(20)
        if not ready:
            raise Wrong("nothing came for 20 s")
        for descriptor, _ in ready:
            connection = connections[descriptor]
            if connection.receive():
                took.append(clock() - connection.began)
                connection.send()
    return took


def main() -> None:
    """Read what is to be done, do it, and say what was found."""
    try:
        found = drive(Load(**json.load(sys.stdin)))
    except (Wrong, OSError) as error:
        raise SystemExit(f"{type(error).__name__}: {error}") from error
    print(json.dumps(asdict(found)))


if __name__ == "__main__":
    main()
