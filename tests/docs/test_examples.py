"""The examples run, end in order and leave nothing behind."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from anywire import connect_sync
from tests.docs.pages import ROOT, blocks, matches
from tests.interop.processes import watch

EXAMPLES = ROOT / "examples"
WITHIN = 30.0

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="stdio is for POSIX systems")


def run(*argv: str | Path, stdin: bytes = b"", cwd: Path = ROOT) -> subprocess.CompletedProcess[bytes]:
    """Run a Python script to its end."""
    return subprocess.run(
        [sys.executable, *argv], input=stdin, cwd=cwd, capture_output=True, timeout=WITHIN, check=False
    )


def test_every_example_is_tested_here() -> None:
    """A new example comes with its test."""
    text = Path(__file__).read_text(encoding="utf-8")
    missing = [path.name for path in EXAMPLES.glob("*.py") if f'"{path.name}"' not in text]

    assert missing == []


@pytest.mark.parametrize("options", [[], ["-I"]], ids=["as it is", "isolated"])
def test_the_bridge_demonstration_runs(options: list[str], tmp_path: Path) -> None:
    """From any folder, with nothing but anywire installed; its last line says ok, stderr stays empty."""
    with watch():
        done = run(*options, EXAMPLES / "bridge_demo.py", cwd=tmp_path)

    said = done.stdout.decode()
    assert (done.returncode, done.stderr) == (0, b""), said
    assert said.splitlines()[-1].startswith("ok: 4 requests, 4 answers")
    assert '{"text":"é🙂"}' in said
    assert "\\u00c9\\ud83d\\ude42!" in said


def test_the_bridge_demonstration_fails_with_a_sentence(tmp_path: Path) -> None:
    """Without its server there is no ok, but a sentence on stderr and an exit code."""
    copied = shutil.copy(EXAMPLES / "bridge_demo.py", tmp_path)

    done = run(copied, cwd=tmp_path)

    assert done.returncode == 1
    assert b"ok:" not in done.stdout
    assert b"failed: " in done.stderr
    assert b"server.py" in done.stderr


def test_the_client_reaches_its_server_both_ways() -> None:
    """The child process and the server in memory give the same answers."""
    done = run(EXAMPLES / "client.py")

    said = done.stdout.decode()
    _, child, memory = said.split("-- ")
    assert (done.returncode, done.stderr) == (0, b"")
    assert child.splitlines()[1:] == memory.splitlines()[1:]
    assert matches("...shout: É🙂!...divide: ...(is_error=True)...  1 of 3: 2 ...countdown: zero\n", memory)


def test_the_server_answers_and_leaves() -> None:
    """It ends with the input, after the last reply."""
    call = {"name": "checksum", "arguments": {"path": __file__, "algorithm": "blake2b"}}
    request = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}

    done = run(EXAMPLES / "server.py", stdin=json.dumps(request).encode())

    reply = json.loads(done.stdout)
    assert (done.returncode, done.stderr) == (0, b"")
    assert reply["id"] == 1
    assert len(reply["result"]["content"][0]["text"]) == 128


def test_what_the_tutorial_puts_into_a_host_is_what_a_host_can_start(tmp_path: Path) -> None:
    """Its paths are those of the reader's folder; the server is the one that the page writes, as a whole."""
    page = blocks((ROOT / "docs" / "tutorial.md").read_text(encoding="utf-8"))
    parts = [
        block.text for block in page if "notes.py" in (block.options.get("file"), block.options.get("append"))
    ]
    (tmp_path / "notes.py").write_text("\n\n".join(parts), encoding="utf-8")
    (configuration,) = [json.loads(block.text) for block in page if block.kind == "json"]

    configured = configuration["mcpServers"]["notes"]
    paths = [Path(path) for path in (configured["command"], *configured["args"])]
    assert all(path.is_absolute() for path in paths)
    assert [path.name for path in paths] == ["python", "notes.py"]
    with connect_sync([sys.executable, str(tmp_path / "notes.py")], cwd="/") as client:
        assert client.call_tool("keep", {"title": "milk", "text": "buy some"}).text.startswith("kept")
        assert client.read_resource("notes://note/milk").text == "buy some"
        assert "milk: buy some" in client.get_prompt("plan", {"day": "today"}).text
