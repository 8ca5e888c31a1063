"""Runs of the vscode-jsonrpc client, and what it had to tell."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.interop.peers import SCRIPTS
from tests.interop.processes import run, watch

FRAMED_WITHIN = 90.0


@dataclass(frozen=True)
class FramedReport:
    """One session's outcome, step by step."""

    steps: dict[str, dict[str, Any]]
    wire_errors: list[str]
    notifications: list[str]
    ascii: bool
    exit: dict[str, Any]
    stderr: str

    def __getitem__(self, step: str) -> Any:
        """What a step gave; one that failed fails the test with its own words."""
        outcome = self.steps[step]
        assert "gave" in outcome, f"{step}: {outcome['failed']}; stderr:\n{self.stderr}"
        return outcome["gave"]


def drive_framed(
    node_peers: Path,
    command: Sequence[str | Path],
    *,
    argument: str = "text",
    prefix: str = "",
) -> FramedReport:
    """Let the client start the command as its server; `echo` takes `argument` and answers behind `prefix`."""
    client = ["node", SCRIPTS / "framed_client.mjs", node_peers, "echo", argument, prefix, "--", *command]
    with watch():
        done = run(client, within=FRAMED_WITHIN)
    assert done.returncode == 0, f"the client failed: {done}"
    told: dict[str, Any] = json.loads(done.stdout)
    return FramedReport(
        told["steps"],
        told["wireErrors"],
        told["notifications"],
        told["ascii"],
        told["exit"],
        told["stderr"],
    )


def check_conversation(report: FramedReport, *, prefix: str = "") -> None:
    """What holds for every server behind this client."""
    assert report["initialize"]["protocolVersion"] == "2025-06-18"
    echo = next(tool for tool in report["tools"] if tool["name"] == "echo")
    assert echo["inputSchema"]["type"] == "object"
    assert report["echo"] == f"{prefix}é🙂"
    assert report["bigEcho"]["equal"], "the five megabytes changed on their way"
    assert report["bigEcho"]["bytes"] >= 5 * 1024 * 1024
    assert report["many"] == {"equal": True, "count": 32}
    assert report.steps["unknownMethod"].get("code") == -32601, report.steps["unknownMethod"]
    assert report.wire_errors == []
    assert report.ascii, "a byte outside of ASCII reached a client that speaks in Content-Length frames"
    assert (report.exit.get("code"), report.exit.get("signal")) == (0, None), f"{report.exit} {report.stderr}"
