"""`anywire check`: what is said of a file of servers."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from anywire.cli.main import main
from tests.cli.commands import anywire
from tests.cli.test_startup import HEAVY, loaded

SECRET = "hunter2-very-secret"


def file(folder: Path, servers: object, name: str = "servers.json") -> str:
    """Write a file of servers and return its path."""
    path = folder / name
    path.write_text(json.dumps({"mcpServers": servers}), encoding="utf-8")
    return str(path)


def check(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str]:
    """Run the command in this process; return its exit code and what it printed."""
    code = main(["check", *words])
    return code, capsys.readouterr().out


def test_a_file_with_nothing_wrong(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Each server with what would be run or called; remarks do not count."""
    path = file(
        tmp_path,
        {
            "files": {"command": "sh", "args": ["-c", "true"], "env": {"API_KEY": SECRET}, "cwd": "/"},
            "my board": {"url": f"https://x.example/?k={SECRET}", "headers": {"Authorization": SECRET}},
            "off": {"command": "no-such-program", "disabled": True, "zzz": 1},
        },
    )

    code, out = check(capsys, "--config", path)

    assert code == 0
    assert out == (
        f"{path}\n\n"
        "ok        files: sh -c true\n"
        "          env: API_KEY\n"
        "          cwd: /\n"
        "ok        my board: https://x.example/?***\n"
        "          called my-x20-board\n"
        "          headers: Authorization\n"
        "disabled  off: no-such-program\n"
        "note      line 1, my board: its name cannot be part of other names, so it is called my-x20-board\n"
        "note      line 1, off: there is no member 'zzz'\n"
        "\n"
        "servers: 2 ready, 1 disabled\n"
    )


def test_what_is_wrong_is_said_and_ends_with_1(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A server that is refused, a program and a folder that are not there."""
    monkeypatch.delenv("NOT_SET_TOKEN", raising=False)
    path = file(
        tmp_path,
        {
            "a": {"command": "no-such-program", "cwd": "nowhere"},
            "b": {"command": "sh", "env": {"T": "${NOT_SET_TOKEN}"}},
        },
    )

    code, out = check(capsys, "--config", path)

    assert code == 1
    assert f"problem   a: no-such-program\n          cwd: {tmp_path}/nowhere\n" in out
    assert f"          there is no folder {tmp_path}/nowhere\n" in out
    assert "          no program no-such-program is on the PATH\n" in out
    assert "refused   b\n          T in env: the variable NOT_SET_TOKEN is not set\n" in out
    assert out.endswith("servers: 1 with problems, 1 refused\n")


def test_programs_read_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Names of variables and headers, never their values."""
    path = file(
        tmp_path,
        {"a": {"command": "sh", "args": ["--token", SECRET], "env": {"K": SECRET}}, "b": {"url": "x"}},
    )

    code, out = check(capsys, "--config", path, "--json")

    assert code == 1
    assert SECRET not in out
    document = json.loads(out)
    assert document["healthy"] is False
    assert document["servers"][0] == {
        "name": "a",
        "written_name": "a",
        "wire": "stdio",
        "shown": "sh --token ***",
        "disabled": False,
        "cwd": None,
        "env": ["K"],
        "headers": [],
        "start_seconds": None,
        "call_seconds": None,
        "allow": [],
        "deny": [],
        "era": "auto",
        "problems": [],
    }
    assert document["refused"] == [{"name": "b", "reason": "'x' is no http:// or https:// URL"}]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (None, "there is no file"),
        ("{", "line 1, column 2: the end comes before '{' of line 1 is closed"),
        ("{}", "has no servers: neither mcpServers (most editors)"),
    ],
)
def test_a_file_that_cannot_be_read_ends_with_2(
    text: str | None, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """One sentence on stderr, or a line of JSON."""
    path = tmp_path / "servers.json"
    if text is not None:
        path.write_text(text, encoding="utf-8")

    assert main(["check", "--config", str(path)]) == 2
    assert said in capsys.readouterr().err
    assert main(["check", "--json", "--config", str(path)]) == 2
    assert said in json.loads(capsys.readouterr().err)["error"]["message"]


def test_the_file_of_the_folder_is_found(tmp_path: Path) -> None:
    """And starts nothing: the program would leave a mark."""
    file(tmp_path, {"a": {"command": "touch", "args": [str(tmp_path / "mark")]}}, ".mcp.json")

    done = anywire("check", cwd=tmp_path)

    assert (done.code, done.err) == (0, "")
    assert done.out.startswith(f"{tmp_path}/.mcp.json\n")
    assert not (tmp_path / "mark").exists()


def test_it_loads_no_event_loop(tmp_path: Path) -> None:
    """It reads a file."""
    modules = loaded("check", "--config", file(tmp_path, {"a": {"command": "sh"}}))

    assert HEAVY & modules == set()
    assert "asyncio" not in modules


def test_what_would_steer_a_terminal_is_shown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Wherever the file has it, behind a pipe as well: a line is a line, in the order it has."""
    evil = "\x1b]0;pwned\x07\u202e\x9b\nok        "
    path = file(
        tmp_path,
        {
            f"esc{evil}": {"command": f"x{evil}", "env": {f"E{evil}": "1"}, "cwd": f"/{evil}", f"m{evil}": 1},
            f"bad{evil}": {"command": "x", "env": {f"E{evil}": "${NOT_SET_EVER}"}},
            "nul\0": {"command": "sh", "allow": [f"a{evil}"]},
        },
    )

    code, out = check(capsys, "--config", path)

    assert code == 1
    assert not [sign for sign in out.replace("\n", "") if not sign.isprintable()]
    assert "problem   esc\\x1b]0;pwned\\x07\\u202e\\x9b\\nok        : " in out
    assert "refused   bad\\x1b]0;" in out
    assert "ok        nul\\x00: sh\n" in out
    assert out.count("\nok ") == 1


def test_times_are_said_as_they_are_kept(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What happens when they are over, and what was too long to be one."""
    path = file(tmp_path, {"a": {"command": "sh", "startup_timeout_sec": 60, "tool_timeout_sec": 1e9}})

    _, out = check(capsys, "--config", path)

    assert "          start: within 60 s\n          call: answered with an error after 86400 s\n" in out
    assert "warning   line 1, a: tool_timeout_sec is longer than a day; it is taken for one\n" in out


def test_wrong_words_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    """In one line."""
    assert main(["check", "--", "npx"]) == 2
    assert "check takes a file, not a command behind '--'" in capsys.readouterr().err
    assert main(["check", "--config", ""]) == 2
    assert "--config names no file" in capsys.readouterr().err
