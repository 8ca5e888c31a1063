"""Which subcommand, wrong words, exit codes, and how a failure is told."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from anywire.cli.failure import PIPE_CLOSED, ToolFailed, exit_code
from anywire.cli.main import COMMANDS, main
from anywire.errors import (
    ConfigError,
    ConnectFailed,
    DeadlineExceeded,
    PeerError,
    ProcessExited,
    SpawnFailed,
    TransportClosed,
)
from tests.cli.commands import ROOT, WITHIN, anywire, server


def refused(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    """What is said of words that are wrong: one line."""
    assert main(words) == 2
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err.startswith("anywire: ")
    assert told.err.count("\n") == 1
    return told.err


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("lst", "--", "x"), "there is no command 'lst'; did you mean list?"),
        (("xyzzy",), "there is no command 'xyzzy'; commands are: list, call,"),
        (("list", "--jsn", "--", "x"), "there is no option --jsn; did you mean --json?"),
        (("call", "t", "--timeot=5s", "--", "x"), "there is no option --timeot; did you mean --timeout?"),
        (("ping", "-x", "--", "y"), "there is no option -x"),
        (("bridge", "stdio", "--target-frame", "headers", "--", "x"), "did you mean --target-framing?"),
        (("ping", "--time", "5s", "--", "x"), "there is no option --time; did you mean --timeout?"),
        (("list", "--timeout", "5x", "--", "x"), "argument --timeout: '5x' is no duration"),
        (("list", "--timeout"), "argument --timeout: expected one argument"),
        (("list", "--framing", "header", "--", "x"), "did you mean headers?"),
        ((), "say what to do: anywire list|call|"),
        (("--verbose", "list"), "options stand behind the command"),
        (("list",), "say what to call: (MODULE:SERVER | URL | --server NAME | -- COMMAND [ARGUMENT ...])"),
        (("list", "--"), "there is no command behind '--'"),
        (("list", "a:b", "--", "c"), "there are two targets, 'a:b' and the command behind '--'"),
        (("list", "npx", "-y", "some-server"), "there is no option -y"),
        (("list", "npx", "some-server"), "a command to run stands after '--': anywire list -- COMMAND"),
        (("list", "server.py"), "a command stands behind '--': -- server.py"),
        (("ping", "ftp://127.0.0.1/mcp"), "give a list of words, or an http:// or https:// URL"),
        (("ping", "--cwd", "/", "http://127.0.0.1:1/"), "--cwd is for a command behind '--'"),
        (("ping", "--header", "x", "http://127.0.0.1:1/"), "--header 1 is no header; write 'Name: Value'"),
        (("ping", "--header", "X: ${ANYWIRE_NOT_SET}", "http://127.0.0.1:1/"), "needs the variable"),
        (
            ("ping", "--header-file", "/nowhere", "http://127.0.0.1:1/"),
            "--header-file /nowhere cannot be read",
        ),
        (("ping", "--cwd", "/", "a:b"), "--cwd is for a command behind '--'"),
        (("ping", "--env", "A", "a:b"), "--env is for a command behind '--'"),
        (("ping", "--env", "ANYWIRE_NOT_SET", "--", "a"), "the variable ANYWIRE_NOT_SET is not set"),
        (("ping", "--env", "=x", "--", "a"), "'=…' names no variable"),
        (("call",), "the following arguments are required: TOOL"),
        (("call", "tool"), "the target comes last"),
        (("call", "tool", "a=b"), "the target comes last"),
        (("call", "tool", "word", "--", "x"), "'word' is no argument; write key=value"),
        (("call", "tool", "--input", "/nowhere.json", "--", "x"), "--input /nowhere.json cannot be read"),
        (("call", "tool", "--root", "/nowhere", "--", "x"), "--root: there is no /nowhere"),
        (("read",), "the following arguments are required: URI"),
        (("read", "notes://today"), "say what to call"),
        (("read", "notes://today", "a:b", "c"), "'c' is too much"),
        (("get",), "the following arguments are required: PROMPT"),
        (("get", "review", "a=b"), "the target comes last: anywire get PROMPT [NAME=VALUE ...] (MODULE"),
        (("get", "review", "word", "--", "x"), "'word' is no argument; write name=value"),
        (("get", "review", "a=b", "a=c", "--", "x"), "argument 'a' is given twice"),
        (("complete", "review"), "the following arguments are required: ARGUMENT, VALUE"),
        (("complete", "review", "a", "b"), "the target comes last: anywire complete PROMPT_OR_TEMPLATE"),
        (("listen", "--log", "loud", "--", "x"), "argument --log: there is no level 'loud'"),
        (("listen", "--resource"), "argument --resource: expected one argument"),
        (("doctor",), "say which server: anywire doctor [options] (URL | --server NAME | -- COMMAND"),
        (("doctor", "a:b"), "'a:b' is no URL"),
        (("doctor", "--ignore", "nois", "--", "x"), "there is no check 'nois'; did you mean noise?"),
        (("completion", "fsh"), "there is no completion for 'fsh'; did you mean fish?"),
        (("completion", "bash", "--", "x"), "completion takes the name of a shell"),
        (("serve",), "the following arguments are required: MODULE:SERVER"),
        (("serve", "a:b", "--", "x"), "serve takes module:server, not a command"),
        (("bridge", "stdio"), "say what to call: anywire bridge FACE (URL | -- COMMAND"),
        (("bridge", "carrier-pigeon", "--", "x"), "there is no face 'carrier-pigeon'"),
    ],
)
def test_wrong_words_are_refused_in_one_line(
    words: tuple[str, ...], expected: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """The line says what is wrong and, where it can be guessed, what is right."""
    assert expected in refused(capsys, *words)


def test_wrong_words_are_refused_as_json_when_that_was_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    """A program reads one line of JSON."""
    assert main(["list", "--json", "--frmaing", "auto"]) == 2

    told = capsys.readouterr()
    assert told.out == ""
    (line,) = told.err.splitlines()
    error = json.loads(line)["error"]
    assert (error["code"], error["exit"]) == ("usage", 2)
    assert "did you mean --framing?" in error["message"]


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (ConfigError("x"), 2),
        (ConnectFailed("x"), 4),
        (SpawnFailed("x"), 4),
        (PeerError(-32601, "x"), 5),
        (ToolFailed("x"), 5),
        (DeadlineExceeded("x"), 1),
        (ProcessExited("x", 1), 1),
        (TransportClosed("x"), 1),
        (ValueError("x"), 1),
    ],
)
def test_each_failure_has_its_exit_code(error: Exception, code: int) -> None:
    """The codes that the design names; once the conversation is open, its end is unexpected."""
    assert exit_code(error) == code


def test_version_and_help_are_answers(capsys: pytest.CaptureFixture[str]) -> None:
    """Both go to stdout and end well; help names every subcommand."""
    for words in (["--version"], ["--help"], ["-h"]):
        with pytest.raises(SystemExit) as caught:
            main(words)
        assert caught.value.code == 0

    told = capsys.readouterr().out
    assert told.startswith("anywire ")
    assert all(f"\n    {name}" in told for name in COMMANDS)


@pytest.mark.parametrize(
    ("target", "expected"),
    [
        ("nowhere:server", "nowhere cannot be loaded: ModuleNotFoundError: No module named 'nowhere'\n"),
        ("nowhere.py:server", "there is no file nowhere.py"),
        ("odd.py:server", "'server' in odd.py is nothing, not an anywire Server"),
        ("odd.py:number", "'number' in odd.py is a int, not an anywire Server"),
        (
            "broken.py:server",
            "broken.py cannot be loaded: ZeroDivisionError: division by zero (",
        ),
        (":server", "':server' is not MODULE:SERVER"),
    ],
)
@pytest.mark.parametrize("command", ["serve", "ping"])
def test_a_server_that_cannot_be_loaded_is_named(
    command: str, target: str, expected: str, tmp_path: Path
) -> None:
    """Wrong usage, whoever asks for it; no traceback, nothing on stdout."""
    (tmp_path / "odd.py").write_text("print('loading')\nnumber = 1\n", encoding="utf-8")
    (tmp_path / "broken.py").write_text("\n1 / 0\n", encoding="utf-8")

    done = anywire(command, target, cwd=tmp_path)

    assert done.code == 2
    assert done.out == ""
    assert f"anywire: {expected}" in done.err
    assert "Traceback" not in done.err
    assert "broken.py, line 2)" in done.err or "division" not in done.err


def test_a_reader_that_leaves_early_is_no_trouble() -> None:
    """`anywire list … | head -1` says nothing on stderr and ends as programs do whose reader left."""
    read, write = os.pipe()
    os.close(read)
    try:
        process = subprocess.Popen(
            [sys.executable, "-m", "anywire", "list", "--", *server("toolbox")],
            stdin=subprocess.DEVNULL,
            stdout=write,
            stderr=subprocess.PIPE,
            cwd=ROOT,
        )
    finally:
        os.close(write)
    _, told = process.communicate(timeout=WITHIN)

    assert (process.returncode, told) == (PIPE_CLOSED, b"")


def test_closed_streams_are_no_trouble() -> None:
    """Whoever starts the command may have closed stderr, which costs nothing, or stdout, which is told."""
    line = f'"{sys.executable}" -m anywire ping -- "{sys.executable}" -S -m tests.cli.servers.healthy'

    for closing in (">&-", "2>&-"):
        done = subprocess.run(
            ["sh", "-c", f"{line} {closing}"], capture_output=True, cwd=ROOT, timeout=WITHIN, check=False
        )
        assert done.returncode == (1 if closing == ">&-" else 0)
        assert done.stderr.startswith(b"anywire: stdout is closed" if closing == ">&-" else b"")
        assert done.stderr.count(b"\n") == done.returncode


def test_a_call_whose_result_has_nowhere_to_go_is_not_made(tmp_path: Path) -> None:
    """A tool may have been executed for nothing."""
    marker = tmp_path / "started"
    line = f'"{sys.executable}" -m anywire call x -- sh -c "touch {marker}"'
    done = subprocess.run(
        ["sh", "-c", f"{line} >&-"], capture_output=True, cwd=ROOT, timeout=WITHIN, check=False
    )

    assert done.returncode == 1
    assert not marker.exists()


def test_a_stdout_that_takes_nothing_is_one_sentence() -> None:
    """Such as a disk that is full."""
    line = f'"{sys.executable}" -m anywire ping -- "{sys.executable}" -S -m tests.cli.servers.healthy'
    done = subprocess.run(
        ["sh", "-c", f"{line} >/dev/full"], capture_output=True, cwd=ROOT, timeout=WITHIN, check=False
    )

    assert done.returncode == 1
    assert done.stderr == b"anywire: stdout takes no answer: No space left on device\n"
