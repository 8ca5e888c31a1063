"""A recorded conversation of other people's programs, played to one of them: does it notice?"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.interop.peers import SCRIPTS
from tests.interop.processes import anywire, run

pytestmark = pytest.mark.interop

EVERYTHING = Path("node_modules/@modelcontextprotocol/server-everything/dist/index.js")


def use(node_peers: Path, *server: str | Path) -> dict[str, Any]:
    """What the official TypeScript client sees of a server."""
    done = run(["node", SCRIPTS / "everything_client.mjs", node_peers, *server], within=60)
    assert done.returncode == 0, done
    seen: dict[str, Any] = json.loads(done.stdout)
    return seen


def test_a_client_does_not_notice_that_its_server_is_played(node_peers: Path, tmp_path: Path) -> None:
    """Strictly or not: results, errors, progress, and the server's own questions, which are answered again."""
    wire, again = tmp_path / "wire.ndjson", tmp_path / "again.ndjson"
    bridge = anywire("bridge", "stdio", "--record")

    seen = use(node_peers, *bridge, wire, "--", "node", node_peers / EVERYTHING, "stdio")
    played = use(node_peers, *bridge, again, "--", *anywire("replay", str(wire)))
    loosely = use(node_peers, *anywire("replay", "--lenient", str(wire)))

    assert seen["server"][0]["name"] == "mcp-servers/everything"
    assert {"roots/list", "sampling/createMessage", "elicitation/create"} <= {
        each for each, _ in seen["asked"]
    }
    assert played == seen
    assert loosely == seen
    difference = run(anywire("diff", str(wire), str(again)), within=30)
    assert (difference.returncode, difference.stdout, difference.stderr) == (0, b"", "")
