"""A client against a server of ours, and against one that a test plays."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

from anywire import Client, Server, connect
from anywire.protocol.revisions import MCP_LATEST_PROTOCOL_VERSION
from anywire.testing import ScriptedPeer
from anywire.wire.limits import DEFAULT_LIMITS, Limits
from tests.interaction.talk import PATIENCE, WIRES, result

ANSWER: dict[str, Any] = {
    "protocolVersion": MCP_LATEST_PROTOCOL_VERSION,
    "capabilities": {"tools": {}},
    "serverInfo": {"name": "played", "version": "1"},
}


@asynccontextmanager
async def served(server: Server, wire: str = "memory", **options: Any) -> AsyncGenerator[Client]:
    """A client of that server over that wire."""
    client_end, server_end, _ = WIRES[wire](DEFAULT_LIMITS)
    serving = asyncio.ensure_future(server.serve(server_end))
    options.setdefault("era", "legacy")
    async with connect(client_end, **options) as client:
        yield client
    async with asyncio.timeout(PATIENCE):
        await serving


@asynccontextmanager
async def played(
    wire: str = "memory",
    limits: Limits = DEFAULT_LIMITS,
    revision: str = MCP_LATEST_PROTOCOL_VERSION,
    **options: Any,
) -> AsyncGenerator[tuple[Client, ScriptedPeer]]:
    """A client and the peer that plays its server, after the handshake."""
    client_end, server_end, _ = WIRES[wire](limits)
    peer = ScriptedPeer(server_end, patience=PATIENCE)
    options.setdefault("era", "legacy")
    client = connect(client_end, limits=limits, **options)
    async with peer:
        opening = asyncio.ensure_future(client.open())
        request = await peer.receive()
        await peer.send(result(request["id"], ANSWER | {"protocolVersion": revision}))
        await opening
        await peer.expect({"jsonrpc": "2.0", "method": "notifications/initialized"})
        try:
            yield client, peer
        finally:
            await client.close()


def cancelled(id: object, reason: str) -> dict[str, Any]:
    """The notification that a request is not waited for any more."""
    params = {"requestId": id, "reason": reason}
    return {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params}
