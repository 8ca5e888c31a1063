"""The messages that are sent, as bytes: built before any clock runs."""

from __future__ import annotations

import json
from typing import Final, Literal, TypeAlias

__all__ = (
    "CLIENT",
    "INITIALIZE",
    "INITIALIZED",
    "LEGACY",
    "MODERN",
    "TEXT",
    "Era",
    "call",
    "dumps",
    "headers",
)

Era: TypeAlias = Literal["legacy", "modern"]
LEGACY: Final = "2025-11-25"
MODERN: Final = "2026-07-28"
REVISION: Final[dict[Era, str]] = {"legacy": LEGACY, "modern": MODERN}

#: What most calls carry there and back.
TEXT: Final = "x" * 100
CLIENT: Final = {"name": "bench", "version": "1"}

_META: Final = {
    "io.modelcontextprotocol/protocolVersion": MODERN,
    "io.modelcontextprotocol/clientInfo": CLIENT,
    "io.modelcontextprotocol/clientCapabilities": {},
}


def dumps(value: object) -> bytes:
    """Write JSON without white space."""
    return json.dumps(value, separators=(",", ":")).encode()


INITIALIZE: Final = dumps(
    {
        "jsonrpc": "2.0",
        "id": 0,
        "method": "initialize",
        "params": {"protocolVersion": LEGACY, "capabilities": {}, "clientInfo": CLIENT},
    }
)
INITIALIZED: Final = dumps({"jsonrpc": "2.0", "method": "notifications/initialized"})


def call(
    id: int,
    era: Era,
    tool: str = "echo",
    arguments: dict[str, object] | None = None,
    *,
    progress: bool = False,
) -> bytes:
    """Write a call of a tool; by default `echo` with a text of 100 characters."""
    meta: dict[str, object] = dict(_META) if era == "modern" else {}
    if progress:
        meta["progressToken"] = id
    params: dict[str, object] = {
        "name": tool,
        "arguments": {"text": TEXT} if arguments is None else arguments,
    }
    if meta:
        params["_meta"] = meta
    return dumps({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params})


def headers(era: Era, session: str | None = None) -> dict[str, str]:
    """Return the headers of a call of `echo` over HTTP."""
    found = {
        "content-type": "application/json",
        "accept": "application/json, text/event-stream",
        "mcp-protocol-version": REVISION[era],
    }
    if era == "modern":
        found |= {"mcp-method": "tools/call", "mcp-name": "echo"}
    if session is not None:
        found["mcp-session-id"] = session
    return found
