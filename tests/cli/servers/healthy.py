"""A server that does everything right, for others to get one thing wrong.

Run as `python -m tests.cli.servers.NAME` from the root of the checkout. It takes one message after the
other and knows nothing of anywire.
"""

from __future__ import annotations

import json
import sys
from typing import Any

REVISIONS = ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")
BOM = b"\xef\xbb\xbf"

Json = dict[str, Any]


class Healthy:
    """Overridden where a server gets something wrong."""

    def __init__(self) -> None:
        self.capabilities: Json = {"tools": {}}
        self.tools: list[Json] = [
            {"name": "add", "description": "Add two numbers.", "inputSchema": {"type": "object"}}
        ]

    def run(self) -> None:
        while line := sys.stdin.buffer.readline():
            self.receive(line)

    def receive(self, line: bytes) -> None:
        text = line.removeprefix(BOM).strip()
        if not text:
            return
        try:
            message = json.loads(text)
        except ValueError:
            self.malformed(text)
            return
        if "method" not in message:
            return
        if "id" in message:
            self.request(message)
        else:
            self.notification(message)

    def request(self, message: Json) -> None:
        self.reply(message["id"], self.answer(message["method"], message.get("params") or {}))

    def answer(self, method: str, params: Json) -> Json:
        """The member that answers: a result or an error."""
        match method:
            case "initialize":
                return {"result": self.initialize(params)}
            case "ping":
                return {"result": {}}
            case "tools/list":
                return {"result": {"tools": self.tools}}
            case _:
                return {"error": {"code": -32601, "message": f"Method not found: {method}"}}

    def initialize(self, params: Json) -> Json:
        asked = params.get("protocolVersion")
        return {
            "protocolVersion": asked if asked in REVISIONS else REVISIONS[0],
            "capabilities": self.capabilities,
            "serverInfo": {"name": type(self).__name__, "version": "1.0"},
        }

    def notification(self, message: Json) -> None:
        pass

    def malformed(self, text: bytes) -> None:
        self.reply(None, {"error": {"code": -32700, "message": "Parse error"}})

    def reply(self, id: object, member: Json) -> None:
        self.write({"jsonrpc": "2.0", "id": id, **member})

    def write(self, message: object) -> None:
        self.write_bytes(json.dumps(message).encode() + b"\n")

    def write_bytes(self, data: bytes) -> None:
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()


if __name__ == "__main__":
    Healthy().run()
