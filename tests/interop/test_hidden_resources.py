"""A resource that is denied before servers of the official SDKs, which repair what a client writes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.interop import peers
from tests.interop.processes import anywire, run

pytestmark = pytest.mark.interop

DOCUMENT = "demo://resource/static/document/architecture.md"
OTHER = "demo://resource/static/document/features.md"
REWRITTEN = [
    "demo://@resource",
    "demo://:@resource",
    "demo://resource:",
    "DEMO://resource",
    "de\tmo://resource",
]
FASTMCP = """
from mcp.server.fastmcp import FastMCP

server = FastMCP("vault")

@server.resource("secret://vault/key")
def key() -> str:
    return "the key"

@server.resource("https://h.example/key")
def page() -> str:
    return "the key"

@server.resource("https://h.example/open%20door")
def door() -> str:
    return "the door"

server.run()
"""
SECRETS = [
    *("secret://vault/key", "secret://vault:/key", "secret://@vault/key", "secret://:@vault/key"),
    *("https:h.example/key", "https:/h.example/key", "https:///h.example/key", "https://h.example:443/key"),
    *("https://@h.example/key", "https://\uff48.example/key", "https://h.exam\u00adple/key"),
    *("https:\\\\h.example\\key", "https://H.example/x/../key", "https://h.example/key "),
]


def read(server: list[str], uris: list[str], *rules: str) -> dict[str, dict[str, Any]]:
    """What is answered to a client that reads some resources behind a bridge."""
    hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "c", "version": "1"}}
    said: list[dict[str, Any]] = [
        {"id": 0, "method": "initialize", "params": hello},
        {"method": "notifications/initialized"},
        *({"id": id, "method": "resources/read", "params": {"uri": uri}} for id, uri in enumerate(uris, 1)),
    ]
    lines = "".join(json.dumps({"jsonrpc": "2.0", **each}) + "\n" for each in said)
    done = run([*anywire("bridge", "stdio", *rules), "--", *server], within=60, stdin=lines.encode())
    assert done.returncode == 0, done
    replies = {reply["id"]: reply for reply in map(json.loads, done.stdout.splitlines()) if "id" in reply}
    return {uri: replies[id] for id, uri in enumerate(uris, 1)}


def shown(replies: dict[str, dict[str, Any]]) -> list[str]:
    """Which of the resources were read."""
    return [uri for uri, reply in replies.items() if "result" in reply]


def test_no_spelling_of_a_denied_document_is_read_in_typescript(node_peers: Path) -> None:
    """The SDK makes each of them the denied one."""
    script = node_peers / "node_modules" / "@modelcontextprotocol" / "server-everything" / "dist" / "index.js"
    server = [peers.find_node()[0], str(script)]
    uris = [DOCUMENT, *(DOCUMENT.replace("demo://resource", start) for start in REWRITTEN), OTHER]
    assert shown(read(server, uris)) == uris
    assert shown(read(server, uris, "--deny", f"resource:{DOCUMENT}")) == [OTHER]
    assert shown(read(server, uris, "--allow", f"resource:{OTHER}")) == [OTHER]


def test_no_spelling_of_a_denied_resource_is_read_in_python(sdk_1_python: Path) -> None:
    """Here pydantic makes them the same."""
    server = [str(sdk_1_python), "-c", FASTMCP]
    other = "https://h.example/open%20door"
    rules = ["--deny", "resource:secret://vault/*", "--deny", "resource:https://h.example/key"]
    assert len(shown(read(server, [*SECRETS, other]))) > len(SECRETS) // 2
    assert shown(read(server, [*SECRETS, other], *rules)) == [other]
