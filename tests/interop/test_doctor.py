"""`anywire doctor` on servers of other people that are well: nothing is found."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from anywire.doctor.check import Weight
from anywire.doctor.patience import Patience
from anywire.doctor.report import Report
from anywire.doctor.target import examine_target
from anywire.transport.command import Command
from tests.interop import peers

pytestmark = pytest.mark.interop

PATIENCE = Patience(slow_seconds=30.0, very_slow_seconds=60.0)
"""How long a start takes depends on what else this machine does."""
FEATURES = peers.SCRIPTS / "features_sdk_server.mjs"

PYTHON = """
import sys
from mcp.server import MCPServer

server = MCPServer("well")

@server.tool()
def add(a: int, b: int) -> int:
    "Add two numbers."
    return a + b

server.run()
"""


async def examined(*commands: Sequence[str]) -> list[Report]:
    """The reports on some servers, which are mostly waited for."""
    reports = (examine_target(Command(tuple(words)), patience=PATIENCE) for words in commands)
    return await asyncio.gather(*reports)


async def test_servers_of_the_official_sdks_are_well(sdk_2_python: Path, node_peers: Path) -> None:
    """In Python and in TypeScript, in both eras; what is a trifle is told apart."""
    everything = node_peers / "node_modules" / "@modelcontextprotocol" / "server-everything"
    node, _ = peers.find_node()
    reports = await examined(
        [str(sdk_2_python), "-c", PYTHON],
        [node, str(everything / "dist" / "index.js")],
        [node, str(FEATURES), "2", str(node_peers), "legacy"],
    )

    assert [report.findings for report in reports] == [(), (), ()]
    assert [report.healthy for report in reports] == [True, True, True]
    assert {each.check.weight for report in reports for each in report.trifles} == {Weight.TRIFLE}


async def test_a_server_of_ours_is_well_in_the_eyes_of_both_eras() -> None:
    """Alone in either era it is no worse; that it has one only is a note."""
    server = str(peers.SCRIPTS / "eras_server.py")
    words = [sys.executable, "-m", "anywire", "serve"]
    legacy, modern = await examined([*words, f"{server}:legacy"], [*words, f"{server}:modern"])

    assert legacy.findings == ()
    assert [finding.check.id for finding in modern.findings] == ["stateless-only"]
    assert modern.healthy
