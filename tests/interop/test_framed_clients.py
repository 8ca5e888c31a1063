"""A client that speaks in Content-Length frames, on vscode-jsonrpc, with every kind of server."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.interop.framed import check_conversation, drive_framed
from tests.interop.peers import SCRIPTS
from tests.interop.processes import anywire

pytestmark = pytest.mark.interop


def test_a_framed_client_is_served_directly(node_peers: Path) -> None:
    """`anywire serve` sees which framing its client speaks and answers in it."""
    report = drive_framed(node_peers, anywire("serve", f"{SCRIPTS / 'fixture_server.py'}:server"))

    check_conversation(report)
    assert report["initialize"]["serverInfo"]["name"] == "interop-fixture"


def test_a_framed_client_reaches_a_newline_server_through_the_bridge(node_peers: Path) -> None:
    """The everything server of the TypeScript SDK never learns that its client speaks in frames."""
    everything = node_peers / "node_modules/@modelcontextprotocol/server-everything/dist/index.js"

    report = drive_framed(
        node_peers,
        anywire("bridge", "stdio+headers", "--", "node", everything, "stdio"),
        argument="message",
        prefix="Echo: ",
    )

    check_conversation(report, prefix="Echo: ")
    assert report["initialize"]["serverInfo"]["name"] == "mcp-servers/everything"
    assert "notifications/tools/list_changed" in report.notifications


def test_a_framed_client_reaches_a_framed_server_through_the_bridge(node_peers: Path) -> None:
    """Both sides run on vscode-jsonrpc, and the server writes raw UTF-8."""
    server = ["node", SCRIPTS / "header_server.mjs", node_peers]

    report = drive_framed(
        node_peers,
        anywire("bridge", "stdio+headers", "--target-framing", "headers", "--", *server),
    )

    check_conversation(report)
    assert report["initialize"]["serverInfo"]["name"] == "header-server"
