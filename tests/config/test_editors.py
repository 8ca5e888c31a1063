"""The files of each editor, as people have them."""

from __future__ import annotations

from pathlib import Path

from anywire.config.entry import Config, Severity
from anywire.config.read import read_config
from tests.config.reading import FILES, HOME, entry, read


def sentences(config: Config) -> list[str]:
    """What is remarked upon."""
    return [f"{remark.server}: {remark.sentence}" for remark in config.remarks]


def test_claude_desktop() -> None:
    """Commands with arguments; a variable that is a number is its text."""
    config = read("claude_desktop.json")

    assert config.refused == {}
    assert config.remarks == ()
    assert entry(config, "filesystem").command[:2] == ("npx", "-y")
    assert entry(config, "sqlite").env == {"LOG_LEVEL": "debug", "RETRIES": "3", "VERBOSE": "true"}


def test_a_project_of_claude_code() -> None:
    """Variables with and without defaults; what only looks like one stays; times are in milliseconds."""
    config = read("claude_code.mcp.json", BASE_ID="b7", AIRTABLE_API_KEY="k", API_KEY="s3cret")

    airtable, api, events = config.entries
    assert airtable.command == ("/opt/tools/airtable", "--base", "b7", "--shell", "echo ${names[@]} $HOME")
    assert airtable.env == {"AIRTABLE_API_KEY": "k"}
    assert airtable.call_seconds == 600
    assert (api.wire, api.url) == ("http", "https://api.example/mcp")
    assert api.headers == (("Authorization", "Bearer s3cret"),)
    assert events.wire == "sse"
    assert sentences(config) == [
        "events: headersHelper is not used: no program is run for headers; give them in headers"
    ]


def test_a_variable_that_is_not_set_refuses_its_server_alone() -> None:
    """The reason names the member and the variable."""
    config = read("claude_code.mcp.json", BASE_ID="b7", AIRTABLE_API_KEY="k")

    assert config.refused == {"api": "Authorization in headers: the variable API_KEY is not set"}
    assert [each.name for each in config.entries] == ["airtable", "events"]


def test_the_home_of_claude_code_has_servers_by_project() -> None:
    """Those of the project that is named come over the user's own, those of others do not count."""
    own = read("claude_code.home.json")
    board = read("claude_code.home.json", project="/home/ada/board")

    assert [each.command for each in own.entries] == [("everywhere",), ("user-notes",)]
    assert [each.command for each in board.entries] == [("everywhere",), ("project-notes", "--local")]
    assert board.remarks == ()


def test_a_project_of_cursor(tmp_path: Path) -> None:
    """The project is the folder around `.cursor`; variables of a file are beside those of the environment."""
    folder = tmp_path / ".cursor"
    folder.mkdir()
    (tmp_path / ".env").write_text("# keys\nexport FROM_FILE='a b'\nAPI_KEY=of-the-file\n", encoding="utf-8")
    text = (FILES / "cursor.json").read_text(encoding="utf-8")

    config = read_config(text, str(folder / "mcp.json"), {"HOME": HOME, "API_KEY": "k", "LINEAR_TOKEN": "t"})

    local = entry(config, "local")
    assert local.command == ("python", f"{tmp_path}/tools/server.py", f"{HOME}/.cache", tmp_path.name)
    assert local.env == {"FROM_FILE": "a b", "API_KEY": "k"}
    assert entry(config, "linear").headers == (("Authorization", "Bearer t"),)
    assert sentences(config) == ["linear: auth is not used: nobody signs in here; give a token in headers"]


def test_windsurf() -> None:
    """Another name for the URL; tools by their exact names; what is disabled needs no variables."""
    config = read("windsurf.json", FIGMA_TOKEN="f")

    figma, git, search = config.entries
    assert figma.url == "https://figma.example/mcp"
    assert figma.deny == ("tool:delete_file", "tool:odd[[]1][*]")
    assert git.disabled
    assert search.allow == ("tool:find", "tool:open")
    assert config.refused == {"both": "serverUrl and url say two things; give one"}
    assert config.remarks == ()


def test_vs_code() -> None:
    """An input without a default refuses its server; the others are there."""
    config = read("vscode.json")

    assert [each.name for each in config.entries] == ["github"]
    assert "input 'perplexity-key', which has no default" in config.refused["perplexity"]
    assert "there is no envFile" in config.refused["store"]
    assert config.refused["picked"] == "args: only the editor knows command variables"
    assert config.remarks == ()


def test_an_input_of_vs_code_with_a_default_has_that_value(tmp_path: Path) -> None:
    """And a variable that is null is not set."""
    folder = tmp_path / ".vscode"
    folder.mkdir()
    (tmp_path / "store.env").write_text("DEBUG=1\nKEEP=2\n", encoding="utf-8")
    text = (FILES / "vscode.json").read_text(encoding="utf-8")

    store = entry(read_config(text, str(folder / "mcp.json"), {"HOME": HOME}), "store")

    assert store.command == (f"{tmp_path}/bin/store", "--region=eu", "--home", HOME)
    assert store.env == {"KEEP": "2"}


def test_settings_of_vs_code() -> None:
    """Servers between other settings."""
    assert entry(read("vscode_settings.json"), "time").command == ("uvx", "mcp-server-time")


def test_codex() -> None:
    """TOML; nothing in a text is a variable; tokens and headers come from variables that are named."""
    config = read("codex.toml", LOCAL_TOKEN="l", FIGMA_OAUTH_TOKEN="t", FIGMA_TEAM="7")

    docs, figma, slow, locked = config.entries
    assert docs.command == ("npx", "-y", "docs-server", "${literally}")
    assert (docs.cwd, docs.env) == (f"{HOME}/docs", {"LOCAL_TOKEN": "l", "DOCS_MODE": "fast"})
    assert (docs.start_seconds, docs.call_seconds) == (20, 45.5)
    assert (docs.allow, docs.deny) == (("tool:search", "tool:summarize"), ("tool:summarize",))
    assert dict(figma.headers) == {
        "Authorization": "Bearer t",
        "X-Figma-Region": "us-east-1",
        "X-Team": "7",
    }
    assert (slow.disabled, slow.start_seconds) == (True, 30)
    assert (locked.allow, locked.deny) == ((), ("tool:*",))
    assert config.remarks == ()


def test_a_token_of_codex_whose_variable_is_not_set() -> None:
    """It is not left out: the server would answer that nobody is known."""
    refused = read("codex.toml", FIGMA_TEAM="7").refused

    assert refused == {"figma": "Authorization in headers: the variable FIGMA_OAUTH_TOKEN is not set"}


def test_opencode() -> None:
    """A command that is a list, variables in its own braces, milliseconds."""
    config = read("opencode.jsonc", KEY="k")

    everything, sentry = config.entries
    assert everything.command == ("npx", "-y", "server-everything")
    assert everything.env == {"KEY": "k", "PLAIN": "${NOT_A_VARIABLE}"}
    assert everything.start_seconds == 7
    assert sentry.disabled
    assert config.refused == {"filed": "K in headers: only the editor knows file variables"}


def test_opencode_with_its_servers_one_level_down() -> None:
    """Two times, in milliseconds; a folder beside the file."""
    (everything,) = read("opencode_servers.jsonc").entries

    assert everything.disabled
    assert everything.cwd == str(FILES)
    assert (everything.start_seconds, everything.call_seconds) == (1.5, 90)


def test_what_an_editor_has_and_nobody_here_uses_is_no_warning() -> None:
    """Only a member that nobody knows is, where it looks like one that is known."""
    for path in sorted(FILES.iterdir()):
        config = read(path.name)
        assert all(remark.severity is Severity.NOTE for remark in config.remarks)
