"""The wires that the kit and the interaction suite run over."""

from __future__ import annotations

import os
import socket
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from functools import partial

from anywire.testing.byte_wire import byte_pair
from anywire.testing.streams import streams_pair
from anywire.testing.transport_kit import Factory, Pair
from anywire.transport.memory import memory_pair
from anywire.transport.stdio_server import StdioServerTransport
from anywire.wire.framing import Framing
from anywire.wire.limits import DEFAULT_LIMITS, Limits


class StdioEnd(StdioServerTransport):
    """The serving end of stdio, put to use as a client as well: it can end its sending alone."""

    def end_sending(self) -> None:
        """Close the way out."""
        self.flush()
        assert self._fd_writer is not None
        self._fd_writer.close()

    def write(self, data: bytes) -> None:
        """Put bytes on the wire as they are."""
        assert self._fd_writer is not None
        self._fd_writer.write(data)


def pipe_ends(
    client: Framing | None = Framing.NEWLINE, server: Framing | None = None, limits: Limits = DEFAULT_LIMITS
) -> tuple[StdioEnd, StdioEnd]:
    """Two ends of two pipes; no framing: detected."""
    server_reads, client_writes = os.pipe()
    client_reads, server_writes = os.pipe()
    return (
        StdioEnd(client_reads, client_writes, framing=client, limits=limits),
        StdioEnd(server_reads, server_writes, framing=server, limits=limits),
    )


def socket_ends(
    client: Framing | None = Framing.NEWLINE, server: Framing | None = None, limits: Limits = DEFAULT_LIMITS
) -> tuple[StdioEnd, StdioEnd]:
    """Two ends of one socket pair, as some launchers give their children for stdio."""
    one, other = socket.socketpair()
    with one, other:
        return (
            StdioEnd(os.dup(one.fileno()), os.dup(one.fileno()), framing=client, limits=limits),
            StdioEnd(os.dup(other.fileno()), os.dup(other.fileno()), framing=server, limits=limits),
        )


@asynccontextmanager
async def memory() -> AsyncGenerator[Pair]:
    yield memory_pair()


@asynccontextmanager
async def streams(*, general: bool = True) -> AsyncGenerator[Pair]:
    client, server = streams_pair(general=general)
    yield client, server, client.stream_of


@asynccontextmanager
async def in_bytes(client: Framing | None, server: Framing | None) -> AsyncGenerator[Pair]:
    yield byte_pair(client, server)


@asynccontextmanager
async def pipes(client: Framing | None, server: Framing | None) -> AsyncGenerator[Pair]:
    ends = pipe_ends(client, server)
    try:
        yield ends
    finally:
        for end in ends:
            close_unstarted(end)


@asynccontextmanager
async def sockets(client: Framing | None, server: Framing | None) -> AsyncGenerator[Pair]:
    ends = socket_ends(client, server)
    try:
        yield ends
    finally:
        for end in ends:
            close_unstarted(end)


def close_unstarted(end: StdioEnd) -> None:
    """A transport owns its descriptors from its start on; close those of one that never started."""
    if end._reader is None:
        for fd in set(end._fds):
            os.close(fd)


FACTORIES: dict[str, Factory] = {
    "memory": memory,
    "streams": streams,
    "bytes, newline": partial(in_bytes, Framing.NEWLINE, None),
    "bytes, headers": partial(in_bytes, Framing.HEADERS, Framing.HEADERS),
    "pipes, newline": partial(pipes, Framing.NEWLINE, Framing.NEWLINE),
    "pipes, headers": partial(pipes, Framing.HEADERS, Framing.HEADERS),
    "pipes, detected": partial(pipes, None, None),
    "sockets, newline": partial(sockets, Framing.NEWLINE, Framing.NEWLINE),
    "sockets, headers": partial(sockets, Framing.HEADERS, Framing.HEADERS),
}
