"""The official SDKs, Python and TypeScript, as clients of anywire's servers on HTTP."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.interop.listening import anywire_listening
from tests.interop.peers import SCRIPTS
from tests.interop.processes import anywire, run

pytestmark = pytest.mark.interop

SERVER = f"{SCRIPTS / 'fixture_server.py'}:server"
STEPS = "handshake,tools,echo,thread,inline,failing,progress,log,unknown_method,give_up,many"


@pytest.fixture(scope="module", params=["--http", "--sse", "bridge"])
def url(request: pytest.FixtureRequest) -> Iterator[str]:
    """Where the fixture server is reached: by itself in both transports, and behind a bridge."""
    if request.param == "bridge":
        command: list[str] = [*anywire("bridge", "http://127.0.0.1:0/mcp", "--"), *anywire("serve", SERVER)]
    else:
        command = [*anywire("serve", SERVER, request.param, "127.0.0.1:0")]
    with anywire_listening(command) as address:
        yield f"sse+{address}" if request.param == "--sse" else address


@pytest.mark.parametrize(("interpreter", "mode"), [("sdk_2_python", "legacy"), ("sdk_1_python", "legacy")])
def test_the_official_python_client_is_served(
    interpreter: str, mode: str, url: str, request: pytest.FixtureRequest
) -> None:
    python: Path = request.getfixturevalue(interpreter)
    done = run([python, SCRIPTS / "sdk_client.py", mode, STEPS, "--", url], within=90)
    assert done.returncode == 0, done
    steps: dict[str, Any] = json.loads(done.stdout)["steps"]
    failed = {name: step["failed"] for name, step in steps.items() if "failed" in step}
    assert failed == {}, done.stderr[-2000:]
    gave = {name: step["gave"] for name, step in steps.items()}
    assert gave["handshake"]["serverInfo"]["name"] == "interop-fixture"
    assert gave["echo"]["content"][0]["text"] == "é🙂"
    assert gave["failing"]["isError"] is True
    assert [done for done, _, _ in gave["progress"]["seen"]] == [1, 2, 3]
    assert "é🙂" in json.dumps(gave["log"]["logged"], ensure_ascii=False)
    assert gave["unknown_method"]["code"] == -32601
    assert gave["give_up"]["next"] == "still here"
    assert int(gave["give_up"]["cancelled"]) >= 1
    assert gave["many"]["answers"] == [f"{index} é🙂" for index in range(64)]


def test_the_official_typescript_client_is_served(url: str, node_peers: Path) -> None:
    done = run(["node", SCRIPTS / "typescript_client.mjs", node_peers, url], within=90)
    assert done.returncode == 0, done
    report: dict[str, Any] = json.loads(done.stdout)
    assert report["server"]["name"] == "interop-fixture"
    assert report["echo"] == "é🙂"
    # What comes with the reply in one chunk is too late for this SDK: it drops the handler first.
    assert report["progress"] in ([1, 2, 3], *([[]] if url.startswith("sse+") else []))
    assert report["failed"] is True
    assert report["big"] is True
    assert report["many"] is True
    assert "told" in json.dumps(report["logged"])
