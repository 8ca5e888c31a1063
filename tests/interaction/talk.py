"""A server, a wire and a scripted client: the stage of the interaction suite."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any

import pytest

from anywire import Server
from anywire.protocol.revisions import MCP_PROTOCOL_VERSIONS
from anywire.testing import ScriptedPeer, byte_pair, streams_pair
from anywire.transport.contract import Transport
from anywire.transport.memory import memory_pair
from anywire.wire.framing import Framing
from anywire.wire.limits import DEFAULT_LIMITS, Limits
from tests.testing.wires import pipe_ends

Opened = tuple[Transport, Transport, Callable[[bytes], object] | None]


def _memory(limits: Limits) -> Opened:
    return *memory_pair(limits), None


def _streams(limits: Limits) -> Opened:
    return *streams_pair(limits), None


def _newline(limits: Limits) -> Opened:
    client, server = pipe_ends(Framing.NEWLINE, None, limits)
    return client, server, client.write


def _headers(limits: Limits) -> Opened:
    client, server = pipe_ends(Framing.HEADERS, None, limits)
    return client, server, client.write


def _bytes(limits: Limits) -> Opened:
    client, server = byte_pair(Framing.NEWLINE, None, limits)
    return client, server, client.write


#: Each wire that the behaviours must be the same over.  The pipes are real; their server detects.
WIRES: dict[str, Callable[[Limits], Opened]] = {
    "memory": _memory,
    "streams": _streams,
    "newline": _newline,
    "headers": _headers,
}
#: The wires on which anything can be written.
RAW: dict[str, Callable[[Limits], Opened]] = {"bytes": _bytes, "newline": _newline, "headers": _headers}

over_each_wire = pytest.mark.parametrize("wire", WIRES)
over_each_raw_wire = pytest.mark.parametrize("wire", RAW)
in_each_revision = pytest.mark.parametrize("revision", MCP_PROTOCOL_VERSIONS)

PATIENCE = 20.0


@asynccontextmanager
async def talk(
    server: Server,
    wire: str = "memory",
    revision: str | None = None,
    limits: Limits = DEFAULT_LIMITS,
    capabilities: Mapping[str, Any] | None = None,
) -> AsyncGenerator[ScriptedPeer]:
    """A conversation with a server, after the handshake if a revision is given.

    At the end the peer closes, and the server must come to an end as well.
    """
    client, served, write = (WIRES | RAW)[wire](limits)
    peer = ScriptedPeer(client, write=write, patience=PATIENCE)
    serving = asyncio.ensure_future(server.serve(served))
    try:
        await peer.start()
        if revision is not None:
            await peer.initialize(revision, capabilities)
        yield peer
    finally:
        await peer.close()
        async with asyncio.timeout(PATIENCE):
            await serving


def framed(wire: str, body: bytes) -> bytes:
    """Bytes that carry this body, whatever it is, on a raw wire."""
    return b"Content-Length: %d\r\n\r\n%b" % (len(body), body) if wire == "headers" else body + b"\n"


def result(id: object, value: object) -> dict[str, Any]:
    """A successful reply, as plain JSON data."""
    return {"jsonrpc": "2.0", "id": id, "result": value}


def text(id: object, words: str) -> dict[str, Any]:
    """The reply to a call that gave one block of text."""
    return result(id, {"content": [{"type": "text", "text": words}]})


def failure(id: object, words: str) -> dict[str, Any]:
    """The reply to a call that failed."""
    return result(id, {"content": [{"type": "text", "text": words}], "isError": True})


def error(id: object, code: int, message: str, data: object = None) -> dict[str, Any]:
    """An error reply."""
    detail = {"code": code, "message": message} | ({} if data is None else {"data": data})
    return {"jsonrpc": "2.0", "id": id, "error": detail}


def notification(method: str, params: object = None) -> dict[str, Any]:
    """A notification."""
    return {"jsonrpc": "2.0", "method": method} | ({} if params is None else {"params": params})


class Gate:
    """Something that a handler waits for, with a sign that it does."""

    def __init__(self) -> None:
        self.reached = asyncio.Event()
        self._open = asyncio.Event()

    async def wait(self) -> None:
        """Wait at the gate, as a handler."""
        self.reached.set()
        await self._open.wait()

    def open(self) -> None:
        """Let all through."""
        self._open.set()
