"""What a server says that is right, as plain data: the programs of this folder spoil it."""

from __future__ import annotations

from typing import Any

Json = dict[str, Any]

REVISIONS = ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")
PARSE_ERROR: Json = {"jsonrpc": "2.0", "id": None, "error": {"code": -32700, "message": "Parse error"}}
ADD: Json = {"name": "add", "description": "Add two numbers.", "inputSchema": {"type": "object"}}


def answer(message: Json, tools: list[Json]) -> Json | None:
    """The reply to a message of the handshake era; None: it wants none."""
    if "id" not in message or "method" not in message:
        return None
    reply: Json = {"jsonrpc": "2.0", "id": message["id"]}
    result: Json
    match message["method"]:
        case "initialize":
            asked = message["params"]["protocolVersion"]
            result = {
                "protocolVersion": asked if asked in REVISIONS else REVISIONS[0],
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "broken", "version": "1.0"},
            }
        case "ping":
            result = {}
        case "tools/list":
            result = {"tools": tools}
        case method:
            return {**reply, "error": {"code": -32601, "message": f"Method not found: {method}"}}
    return {**reply, "result": result}
