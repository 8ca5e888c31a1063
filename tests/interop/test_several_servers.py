"""Eight servers of a file as one, before hosts that other people wrote."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.interop.peers import SCRIPTS
from tests.interop.processes import anywire, run, watch
from tests.interop.test_claude_code import ARGUMENTS, SERVER, take_turn_with
from tests.interop.test_real_servers import SERVERS, environment, work

pytestmark = pytest.mark.interop

__all__ = ("work",)

ROOT = Path(__file__).resolve().parents[2]
NAP = "import os, sys, time; time.sleep(float(sys.argv[1])); os.execv(sys.argv[2], sys.argv[2:])"
NAP_SECONDS = "2"
CHATTER = """
import subprocess, sys
server = subprocess.Popen(sys.argv[1:], stdout=subprocess.PIPE)
print("Starting ...", flush=True)
for line in server.stdout:
    sys.stdout.buffer.write(line + b"answered\\n")
    sys.stdout.buffer.flush()
"""


def entry(argv: list[str], **more: object) -> dict[str, Any]:
    """A server of a file."""
    return {"command": argv[0], "args": argv[1:], **more}


@pytest.fixture
def eight(work: Path, tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    """A file: five good servers, one that cannot be started, one that is slow, one that prints."""
    servers: dict[str, Any] = {}
    for name, (place, launch, *_) in SERVERS.items():
        argv = launch(request.getfixturevalue(place), work)
        if name == "mcp-server-time":
            argv = [sys.executable, "-c", CHATTER, *argv]
        elif name == "mcp-server-git":
            argv = [sys.executable, "-c", NAP, NAP_SECONDS, *argv]
        servers[name] = entry(argv, env=environment(work))
    servers["ours"] = entry([sys.executable, str(ROOT / "examples" / "server.py")])
    servers["lost"] = entry(["./no-such-server"])
    path = tmp_path / "servers.json"
    path.write_text(json.dumps({"mcpServers": servers}), "utf-8")
    return path


@pytest.mark.parametrize("sdk", ["sdk_1_python", "sdk_2_python"])
def test_a_host_sees_and_calls_the_tools_of_all_good_servers(
    sdk: str, eight: Path, work: Path, request: pytest.FixtureRequest
) -> None:
    """The broken one is missing and named, the noisy one is named, the slow one is waited for."""
    calls = {f"{name}__{tool}": arguments(work) for name, (_, _, tool, arguments, _) in SERVERS.items()}
    host = [str(request.getfixturevalue(sdk)), str(SCRIPTS / "host_of_many.py")]
    words = [f"{tool}={json.dumps(arguments)}" for tool, arguments in calls.items()]
    with watch():
        done = run([*host, *words, "--", *anywire("bridge", "stdio", "--config", eight)], within=90)

    assert done.returncode == 0, done
    told = json.loads(done.stdout)
    assert {tool.split("__")[0] for tool in told["tools"]} == {*SERVERS, "ours"}
    for name, (_, _, tool, _, expected) in SERVERS.items():
        assert re.search(expected, told[f"{name}__{tool}"], re.MULTILINE), told
    said = done.stderr
    assert re.search(r"lost: ./no-such-server was not started", said), said
    assert re.search(r"mcp-server-time: .*it belongs on stderr", said), said


@pytest.mark.large
def test_claude_code_calls_a_tool_of_one_of_them(
    claude_code: Path, eight: Path, tmp_path: Path, work: Path
) -> None:
    """One entry for all; its model is offered the tools of every good server."""
    file = json.loads(eight.read_text("utf-8"))
    tally = {"TALLY": str(tmp_path / "tally")}
    file["mcpServers"]["tally"] = entry(anywire("serve", SERVER), env=tally, cwd=str(ROOT))
    eight.write_text(json.dumps(file), "utf-8")
    many = entry(anywire("bridge", "stdio", "--config", eight))
    with watch():
        turn = take_turn_with(claude_code, tmp_path, "many", many, "tally__weigh")

    assert turn.ran == [ARGUMENTS]
    offered = [tool["name"] for tool in turn.asked[0]["body"]["tools"]]
    seen = {match[1] for name in offered if (match := re.match(r"mcp__many__(.+?)__", name))}
    assert seen == {*SERVERS, "ours", "tally"}
