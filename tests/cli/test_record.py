"""`--record`: on every wire of the command, without its secrets, of no consequence for the wire."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from anywire.cli.main import main
from tests.cli.commands import ROOT, WITHIN, anywire, server
from tests.cli.serving import listening

SECRET = "hunter2-s3cret"
BOX = """
import os
from anywire import Context, Server

server = Server("box")

@server.tool
async def whoami(context: Context, password: str) -> str:
    '''Tell everything.'''
    await context.progress(1, 2)
    told = os.environ.get("BOX_KEY", "")
    return f"{password} {told} Authorization: Bearer {password}"

@server.tool
def echo(text: str) -> str:
    '''Say it.'''
    return text
"""


@pytest.fixture
def box(tmp_path: Path) -> str:
    """A server that repeats secrets."""
    (tmp_path / "box.py").write_text(BOX, encoding="utf-8")
    return f"{tmp_path / 'box.py'}:server"


def talk(path: Path) -> list[Any]:
    """The messages of a recording."""
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    return [line["message"] for line in lines if "message" in line]


def methods(path: Path) -> list[str]:
    """What was asked, and told."""
    return [message["method"] for message in talk(path) if "method" in message]


def test_a_call_is_recorded_without_the_secrets_of_its_command(box: str, tmp_path: Path) -> None:
    """The variable that was given stands in no answer; nor does what has a telling name."""
    wire = tmp_path / "wire.ndjson"
    given = ("--env", f"BOX_KEY=v4lue-{SECRET}", "--record", wire)

    done = anywire(
        "call", *given, "whoami", f"password={SECRET}", "--", sys.executable, "-m", "anywire", "serve", box
    )

    assert (done.code, done.err) == (0, "anywire: progress 1/2\n")
    assert SECRET in done.out
    assert "tools/call" in methods(wire)
    assert SECRET not in wire.read_text(encoding="utf-8")


def test_what_the_command_line_and_the_environment_give_is_left_out(
    box: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The options of a server, the variables that it inherits; and what it is called."""
    wire = tmp_path / "wire.ndjson"
    monkeypatch.setenv("BOX_KEY", "hidden-in-env")
    code = f"import sys; from anywire.cli.main import main; main(['serve', {box!r}])"
    child = (sys.executable, "-c", code, "--api-key", "on-the-line")

    done = anywire("call", "--inherit-env", "--record", wire, "whoami", "password=on-the-line", "--", *child)

    assert (done.code, "hidden-in-env" in done.out, "on-the-line" in done.out) == (0, True, True)
    text = wire.read_text(encoding="utf-8")
    assert "hidden-in-env" not in text
    assert "on-the-line" not in text


@pytest.mark.parametrize("era", ["legacy", "modern"])
def test_a_header_that_is_forwarded_is_left_out(box: str, tmp_path: Path, era: str) -> None:
    """Wherever its value stands."""
    wire = tmp_path / "wire.ndjson"
    call = ("call", "--era", era, "--header", f"X-Who: {SECRET}", "echo", f"text={SECRET}")

    with listening("serve", box, "--http", "127.0.0.1:0") as serving:
        forward = ("--forward-header", "X-Who", "--record", str(wire))
        with listening("bridge", "http://127.0.0.1:0/mcp", serving.url, *forward) as bridge:
            done = anywire(*call, bridge.url)

    assert (done.code, done.out) == (0, f"{SECRET}\n")
    assert "tools/call" in methods(wire)
    assert SECRET not in wire.read_text(encoding="utf-8")


def test_everything_is_kept_where_that_is_wanted(box: str, tmp_path: Path) -> None:
    """And the file says so; a server of Python code has a wire, too."""
    wire = tmp_path / "wire.ndjson"

    done = anywire("call", "whoami", f"password={SECRET}", box, "--record", wire, "--record-secrets")

    assert done.code == 0
    first = json.loads(wire.read_text(encoding="utf-8").splitlines()[0])
    assert first["secrets"] == "kept"
    assert [each["params"]["arguments"] for each in talk(wire) if each.get("method") == "tools/call"] == [
        {"password": SECRET}
    ]


@pytest.mark.parametrize("era", ["legacy", "modern"])
def test_both_ends_of_http_are_recorded(box: str, tmp_path: Path, era: str) -> None:
    """In sessions, and as requests that stand for themselves; the same at both ends, and it can be played."""
    ours, theirs = tmp_path / "ours.ndjson", tmp_path / "theirs.ndjson"
    header = ("--header", f"Authorization: Bearer {SECRET}")

    with listening("serve", box, "--http", "127.0.0.1:0", "--record", str(theirs)) as serving:
        done = anywire(
            "call", "--era", era, *header, "whoami", f"password={SECRET}", serving.url, "--record", ours
        )

    assert done.code == 0
    # The ids stay those of the client; the words for secrets are those of each recording.
    assert methods(ours) == methods(theirs)
    assert [each.get("id") for each in talk(ours)] == [each.get("id") for each in talk(theirs)]
    assert SECRET not in ours.read_text(encoding="utf-8") + theirs.read_text(encoding="utf-8")
    assert anywire("diff", ours, theirs).code == 0
    with listening("replay", str(theirs), "--http", "127.0.0.1:0") as playing:
        again = anywire("call", "--era", era, "whoami", f"password={SECRET}", playing.url)
    assert (again.code, again.err) == (0, done.err)
    assert again.out.startswith("***")


def test_a_recording_that_is_killed_shows_what_was_said(tmp_path: Path) -> None:
    """Each line is written when it is known."""
    wire = tmp_path / "wire.ndjson"
    command = [
        sys.executable,
        "-m",
        "anywire",
        "bridge",
        "stdio",
        "--record",
        str(wire),
        "--",
        *server("toolbox"),
    ]
    request = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, cwd=ROOT
    ) as bridge:
        assert bridge.stdin is not None
        assert bridge.stdout is not None
        bridge.stdin.write(json.dumps(request).encode() + b"\n")
        bridge.stdin.flush()
        assert json.loads(bridge.stdout.readline())["id"] == 1
        bridge.send_signal(signal.SIGKILL)
        bridge.communicate(timeout=WITHIN)

    shown = anywire("show", wire)
    assert shown.code == 0
    assert "ping (1): result after" in shown.out


def test_what_is_wrong_with_the_file_is_said_before_anything_is_started(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """In a sentence each."""
    nothing = ["--", "/no/such/program"]

    assert main(["ping", "--record", "/dev/full", *nothing]) == 2
    assert main(["ping", "--record", "/no/folder/x", *nothing]) == 2
    assert main(["ping", "--record", "-", *nothing]) == 2
    assert main(["ping", "--record-secrets", *nothing]) == 2
    assert capsys.readouterr().err.splitlines() == [
        "anywire: --record: /dev/full: No space left on device",
        "anywire: --record: /no/folder/x: No such file or directory",
        "anywire: --record takes a file; stdout is for the wire or for the answer",
        "anywire: --record-secrets says how --record records, and there is none",
    ]
