"""The command at a terminal."""

from __future__ import annotations

import os
import pty
import re
import select
import subprocess
import sys

import pytest

from tests.cli.commands import ROOT, WITHIN, server

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="there are no such terminals")


def at_a_terminal(*words: str) -> str:
    """What a terminal of 80 columns shows of a command, control sequences included."""
    ours, its = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "anywire", *words],
        stdin=its,
        stdout=its,
        stderr=its,
        cwd=ROOT,
        env={**os.environ, "TERM": "xterm-256color", "COLUMNS": "80"},
        start_new_session=True,
    )
    os.close(its)
    shown = b""
    try:
        while select.select([ours], [], [], WITHIN)[0]:
            try:
                chunk = os.read(ours, 65536)
            except OSError:  # the other end is closed
                break
            if not chunk:
                break
            shown += chunk
        assert process.wait(timeout=WITHIN) == 0
    finally:
        process.kill()
        os.close(ours)
    return shown.decode().replace("\r\n", "\n")


def test_a_list_is_a_table_with_emphasis() -> None:
    """Drawn by rich, within the width."""
    shown = at_a_terminal("list", "--", *server("toolbox"))
    plain = re.sub(r"\x1b\[[\d;]*m", "", shown)

    assert shown != plain
    assert plain.splitlines()[0].split() == ["tool", "parameters", "description"]
    assert any(line.startswith("picture") and "Give a picture." in line for line in plain.splitlines())
    assert all(len(line.rstrip()) <= 80 for line in plain.splitlines())


def test_json_is_json_at_a_terminal_too() -> None:
    """No emphasis, no cutting."""
    assert "\x1b" not in at_a_terminal("list", "--json", "--", *server("toolbox"))


def test_progress_is_one_line_that_is_gone_in_the_end() -> None:
    """Each report takes the place of the last; the log and the answer stay."""
    shown = at_a_terminal("call", "steps", "--", *server("toolbox"))

    assert shown.count("\x1b[K") >= 4
    lines = [line.rpartition("\x1b[K")[2] for line in shown.rstrip("\n").split("\n")]
    assert lines == ["anywire: server warning (box): a screw is loose", "done"]


def test_a_resource_that_is_no_text_is_described() -> None:
    """Bytes would steer the terminal; so would control characters of a text."""
    words = ["--", *server("gallery")]

    assert (
        at_a_terminal("read", "notes://picture", *words)
        == "[resource notes://picture, image/png, 11 bytes]\n"
    )
    assert at_a_terminal("read", "notes://today", *words) == "milk\\x1b[31m, é🙂\n"
    assert at_a_terminal("read", "notes://both", *words).splitlines() == [
        "[resource notes://a]",
        "one",
        "[resource notes://b, of unknown type, 3 bytes]",
    ]
