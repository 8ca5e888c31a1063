"""`anywire config`: list, add, remove and import."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
from pathlib import Path

import pytest

from anywire.cli.main import main, whole_parser
from anywire.cli.parser import Parser
from tests.cli.commands import anywire
from tests.cli.test_completion import script, shell_of
from tests.cli.test_help import examples, told

COMMENTED = """\
{
  // mine
  "mcpServers": {
    "one": { "command": "sh" } // first
  }
}
"""


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of its own to work in, with nobody's files around it."""
    folder = tmp_path / "project"
    folder.mkdir()
    monkeypatch.chdir(folder)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    for name in ("XDG_CONFIG_HOME", "CLAUDE_CONFIG_DIR", "CODEX_HOME", "APPDATA", "USERPROFILE"):
        monkeypatch.delenv(name, raising=False)
    return folder


def config(capsys: pytest.CaptureFixture[str], *words: str, code: int = 0) -> tuple[str, str]:
    """Run `anywire config` in this process; return what it printed and said."""
    assert main(["config", *words]) == code
    said = capsys.readouterr()
    return said.out, said.err


def servers(path: Path) -> dict[str, object]:
    """The servers of a file."""
    return json.loads(path.read_text(encoding="utf-8"))["mcpServers"]


def parsers() -> dict[str, Parser]:
    """The parsers of `list`, `add`, `remove` and `import`."""
    (found,) = [each for each in whole_parser()[1] if each.commands]
    return found.commands


def test_a_server_is_added_to_the_users_own_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Which is made; no value of a variable is in it."""
    path = tmp_path / "home" / ".config" / "anywire" / "servers.json"

    out, err = config(capsys, "add", "notes", "--env", "API_KEY", "--env", "MODE=1", "--", "npx", "-y", "x")

    assert (out, err) == (f"added notes to {path}\n", "")
    assert servers(path) == {
        "notes": {"command": "npx", "args": ["-y", "x"], "env": {"API_KEY": "${API_KEY}", "MODE": "1"}}
    }
    assert path.stat().st_mode & 0o777 == 0o600


def test_a_url_is_added_with_its_headers(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A header without a value is left to the environment as well."""
    words = ["--header", "Authorization: Bearer ${TOKEN}", "--header", "X-Api-Key", "--config", "s.json"]

    config(capsys, "add", "board", "https://x.example/mcp", *words)
    config(capsys, "add", "old", "sse+https://x.example/sse", "--config", "s.json")

    assert servers(place / "s.json") == {
        "board": {
            "type": "http",
            "url": "https://x.example/mcp",
            "headers": {"Authorization": "Bearer ${TOKEN}", "X-Api-Key": "${X_API_KEY}"},
        },
        "old": {"type": "sse", "url": "https://x.example/sse"},
    }


def test_everything_that_can_be_said_of_a_server(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A folder is written as a whole."""
    words = ["--framing", "headers", "--era", "legacy", "--start-timeout", "1m", "--cwd", "sub"]
    words += ["--allow", "read_*", "--deny", "x"]

    config(capsys, "add", "a", *words, "--config", "s.json", "--", "sh")

    assert servers(place / "s.json")["a"] == {
        "command": "sh",
        "cwd": str(place / "sub"),
        "startup_timeout_sec": 60.0,
        "framing": "headers",
        "era": "legacy",
        "allow": ["read_*"],
        "deny": ["x"],
    }


def test_a_secret_in_the_words_is_written_and_advised_against(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It is not said again."""
    out, err = config(capsys, "add", "a", "--config", "s.json", "--env", "API_KEY=hunter2", "--", "sh")

    assert "hunter2" not in out + err
    assert err == (
        "anywire: env API_KEY of a seems to be a secret, and is in the file now; "
        "write ${NAME} in its place and set the variable NAME, and no secret is in the file\n"
    )
    assert "hunter2" in (place / "s.json").read_text(encoding="utf-8")


def test_the_file_of_the_project_is_changed_in_place(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Comments stay; what was added and removed leaves the text as it was."""
    path = place / ".mcp.json"
    path.write_text(COMMENTED, encoding="utf-8")

    config(capsys, "add", "two", "--", "sh", "-c", "true")
    assert servers_of(path) == ["one", "two"]
    assert '    "one": { "command": "sh" }, // first\n    "two": {\n' in path.read_text(encoding="utf-8")

    assert config(capsys, "remove", "two") == (f"removed two from {path}\n", "")
    assert path.read_text(encoding="utf-8") == COMMENTED


def servers_of(path: Path) -> list[str]:
    """The names of the servers of a file that may have comments."""
    done = anywire("config", "list", "--json", "--config", path)
    return [server["name"] for server in json.loads(done.out)["servers"]]


def test_servers_are_listed(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With what would be run or called, and why one cannot be used."""
    text = json.dumps(
        {
            "mcpServers": {
                "notes": {"command": "npx", "args": ["--token", "hunter2"]},
                "board": {"url": "https://x.example/mcp", "disabled": True},
                "bad": {},
            }
        }
    )
    (place / ".mcp.json").write_text(text, encoding="utf-8")

    out, _ = config(capsys, "list")

    assert [re.split(r"\s{2,}", line) for line in out.splitlines()] == [
        ["server", "wire", "runs or calls", "state"],
        ["notes", "stdio", "npx --token ***"],
        ["board", "http", "https://x.example/mcp", "disabled"],
        ["bad", "refused: it has neither a command nor a url"],
    ]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "say what to do: anywire config list|add|remove|import …"),
        (["--dry-run"], "say what to do: anywire config list|add|remove|import …"),
        (["lst"], "there is no anywire config lst; did you mean list?"),
        (["list"], "there is no file"),
        (["list", "--", "x"], "config list takes no command behind '--'"),
        (["remove"], "the following arguments are required: NAME"),
        (["remove", "nots"], "has no server 'nots'; did you mean notes?"),
        (["add"], "the following arguments are required: NAME"),
        (["add", "x"], "say which server: anywire config add NAME (URL | -- COMMAND"),
        (["add", "x", "npx"], "'npx' is no URL; a command stands behind '--'"),
        (["add", "x", "https://x.example/", "--", "sh"], "there are two servers, the URL and the command"),
        (["add", "x", "https://x.example/", "--env", "A"], "--env is for a command behind '--'"),
        (["add", "x", "https:///mcp"], "is no http:// or https:// URL"),
        (["add", "x", "https://x.example/", "--header", "A: hunter2\x1b"], "A in headers has a control"),
        (["add", "x", "--header", "A: b", "--", "sh"], "--header is for a URL"),
        (["add", "x", "https://x.example/", "--header", ": hunter2"], "--header names no header"),
        (["add", "x", "--env", "=hunter2", "--", "sh"], "names no variable; write NAME=VALUE or NAME"),
        (
            ["add", "", "--", "sh"],
            "NAME is no name for a server: it is empty, or has a character that nobody",
        ),
        (["add", "a\u202eb", "--", "sh"], "NAME is no name for a server"),
        (["remove", "x", "--config", "nothing.json"], "there is no file nothing.json"),
        (
            ["add", "x", "--config", "a", "--", "anywire", "bridge", "stdio", "--config", "a"],
            "cannot offer itself",
        ),
        (["add", "notes", "--", "sh"], "has a server 'notes' already; 'anywire config remove' takes it out"),
        (["add", "x", "--allow", "tools:a", "--", "sh"], "allow has a pattern of tools:…; write tool:…"),
        (["import", "emacs"], "there is no editor 'emacs'; editors are: claude-code"),
    ],
)
def test_wrong_words_are_refused_in_one_line(
    words: list[str], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nothing is written."""
    path = tmp_path / "home" / ".config" / "anywire" / "servers.json"
    if words[:1] != ["list"]:
        path.parent.mkdir(parents=True)
        path.write_text('{"mcpServers": {"notes": {"command": "a"}}}', encoding="utf-8")
    before = path.read_bytes() if path.exists() else None

    out, err = config(capsys, *words, code=2)

    assert out == ""
    assert err.startswith("anywire: ")
    assert err.count("\n") == 1
    assert said in err
    assert "hunter2" not in err
    assert (path.read_bytes() if path.exists() else None) == before


def write_editors(tmp_path: Path) -> None:
    """Files of three editors, one of them broken."""
    home, project = tmp_path / "home", tmp_path / "project"
    (home / ".cursor").mkdir(parents=True)
    (home / ".codeium" / "windsurf").mkdir(parents=True)
    (project / ".vscode").mkdir()
    (home / ".cursor" / "mcp.json").write_text(
        '{"mcpServers": {"notes": {"command": "a"}, "board": {"command": "b", "env": {"API_KEY": "hunter2"}}}}',
        encoding="utf-8",
    )
    (home / ".codeium" / "windsurf" / "mcp_config.json").write_text("{", encoding="utf-8")
    (project / ".vscode" / "mcp.json").write_text(
        '{"servers": {"tools": {"command": "${workspaceFolder}/t"}, "bad": {}}}', encoding="utf-8"
    )


def test_servers_of_editors_are_imported(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It is said what was found where; names that are there are left alone; secrets are said once."""
    write_editors(tmp_path)
    home, project = tmp_path / "home", tmp_path / "project"
    config(capsys, "add", "notes", "--config", "s.json", "--", "mine")

    dry, _ = config(capsys, "import", "--config", "s.json", "--dry-run")
    assert servers(project / "s.json") == {"notes": {"command": "mine"}}
    out, err = config(capsys, "import", "--config", "s.json")

    assert err == ""
    assert out.splitlines() == [
        f"cursor: {home}/.cursor/mcp.json",
        "  = notes: there is one of this name already, which is left alone",
        "  + board (seems to be a secret: env API_KEY)",
        f"vscode: {project}/.vscode/mcp.json",
        "  + tools",
        "  - bad: it has neither a command nor a url",
        f"windsurf: {home}/.codeium/windsurf/mcp_config.json, line 1, column 2: the end comes before '{{' of "
        "line 1 is closed",
        "Secrets were taken as they are; write ${NAME} in its place and set the variable NAME, and no secret "
        "is in the file.",
        "2 servers added to s.json",
    ]
    assert dry == out.replace("2 servers added to", "2 servers would be added to")
    assert servers(project / "s.json") == {
        "notes": {"command": "mine"},
        "board": {"command": "b", "env": {"API_KEY": "hunter2"}},
        "tools": {"command": f"{project}/t"},
    }


def test_only_the_editors_that_are_named_are_looked_at(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Where there is nothing, that is said."""
    write_editors(tmp_path)

    out, _ = config(capsys, "import", "vscode", "--config", "s.json")
    assert "+ tools" in out
    assert "cursor" not in out
    assert config(capsys, "import", "codex", "--config", "s.json")[0] == (
        "no file of an editor was found\nno servers added to s.json\n"
    )


def test_what_would_steer_a_terminal_is_shown(
    place: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """An editor's file may come from anybody."""
    (place / ".cursor").mkdir()
    evil = "e\x1b[2J\u202e\n"
    text = json.dumps({"mcpServers": {evil: {"command": evil}, f"{evil}2": {}}})
    (place / ".cursor" / "mcp.json").write_text(text, encoding="utf-8")

    taken, _ = config(capsys, "import", "--config", "s.json")
    listed, _ = config(capsys, "list", "--config", "s.json")
    missed = config(capsys, "remove", evil.strip(), "--config", "s.json", code=2)[1]
    removed, _ = config(capsys, "remove", evil, "--config", "s.json")

    assert "  + e\\x1b[2J\\u202e\\n\n  - e\\x1b[2J\\u202e\\n2: it has neither" in taken
    assert removed == "removed e\\x1b[2J\\u202e\\n from s.json\n"
    for out in (taken, listed, missed, removed):
        assert not [sign for sign in out.replace("\n", "") if not sign.isprintable()]


def test_a_file_is_not_imported_into_itself(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The file of the project is also that of an editor."""
    (place / ".mcp.json").write_text(COMMENTED, encoding="utf-8")

    out, _ = config(capsys, "import")

    assert out == f"no file of an editor was found\nno servers added to {place / '.mcp.json'}\n"


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["anywire", "config", ""], {"list", "add", "remove", "import"}),
        (["anywire", "config", "add", "--fr"], {"--framing"}),
        (["anywire", "config", "import", "cl"], {"claude-code", "claude-desktop"}),
    ],
)
def test_bash_completes_the_commands_in_it(
    words: list[str], expected: set[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Their names, their options and the words that these take."""
    path = script("bash", tmp_path, capsys)
    quoted = " ".join(f"'{word}'" for word in words)
    code = (
        f"source '{path}'; COMP_WORDS=({quoted}); COMP_CWORD={len(words) - 1}; _shtab_anywire; "
        'printf "%s\\n" "${COMPREPLY[@]}"'
    )
    done = subprocess.run([shell_of("bash"), "-c", code], capture_output=True, timeout=60, check=False)

    assert expected <= set(done.stdout.decode().split())
    assert not any(word in done.stdout.decode().split() for word in ("ping", "doctor", "--max-sessions"))


@pytest.mark.parametrize("name", ["list", "add", "remove", "import"])
def test_everything_has_a_help_text_with_an_example(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    """As subcommands have; the examples are what the parser takes."""
    parser = parsers()[name]
    shown = " ".join(examples(parser))

    for action in told(parser):
        assert any(option in shown for option in action.option_strings) or re.search(
            r"such as|for example", action.help or ""
        ), action.dest
    for line in examples(parser):
        words = shlex.split(line)
        assert words[:3] == ["anywire", "config", name]
        assert parser.read(words[3 : words.index("--") if "--" in words else None])
    with pytest.raises(SystemExit) as caught:
        main(["config", name, "--help"])
    assert caught.value.code == 0
    assert f"usage: anywire config {name} " in capsys.readouterr().out
