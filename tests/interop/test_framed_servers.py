"""A server that speaks in Content-Length frames, on vscode-jsonrpc, for clients that speak in lines."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.interop.peers import SCRIPTS
from tests.interop.pipes import INITIALIZED, converse, initialize, request
from tests.interop.processes import anywire
from tests.interop.sdk import Mode, drive

pytestmark = pytest.mark.interop


def bridge(node_peers: Path) -> list[str]:
    """The bridge from lines to frames, with the server behind it."""
    server = ["node", SCRIPTS / "header_server.mjs", node_peers]
    return anywire("bridge", "stdio", "--target-framing", "headers", "--", *server)


@pytest.mark.parametrize("mode", ["legacy", "auto"])
def test_the_official_sdk_reaches_a_framed_server(
    mode: Mode, sdk_2_python: Path, node_peers: Path, tmp_path: Path
) -> None:
    """Its client, which knows lines only, lists the tools and gets its text back, five megabytes too."""
    steps = ("handshake", "tools", "echo", "big_echo", "unknown_method")

    report = drive(sdk_2_python, mode, steps, bridge(node_peers), tmp_path)

    assert report["handshake"]["serverInfo"]["name"] == "header-server"
    assert [tool["name"] for tool in report["tools"]] == ["echo"]
    assert report["tools"][0]["description"] == "Give the text back. é🙂"
    assert report["echo"]["content"] == [{"type": "text", "text": "é🙂"}]
    assert report["big_echo"]["equal"]
    assert report["unknown_method"]["code"] == -32601
    assert report.returncode == 0


def test_a_plain_newline_client_reaches_a_framed_server(node_peers: Path) -> None:
    """Raw UTF-8 goes through both framings and comes back."""
    with converse(bridge(node_peers), "newline") as talk:
        talk.send(initialize(0))
        assert talk.receive_message()["result"]["serverInfo"]["name"] == "header-server"
        talk.send(INITIALIZED, request("list", "tools/list"))
        listed = talk.receive_message()
        assert (listed["id"], listed["result"]["tools"][0]["name"]) == ("list", "echo")

        text = "é🙂" + "x" * 5 * 1024 * 1024 + "\u2028\u0085 \r\n end"
        arguments = {"name": "echo", "arguments": {"text": text}}
        body = {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": arguments}
        talk.send(json.dumps(body, ensure_ascii=False).encode())
        assert talk.receive_message()["result"]["content"] == [{"type": "text", "text": text}]

        assert talk.finish() == []
