"""The servers of editors: where they are looked for, what of them is taken, and how it is written."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from anywire.config.dialect import CODEX, MCP_SERVERS, OPENCODE, VSCODE, Dialect
from anywire.config.document import read_document
from anywire.config.draft import Draft, read_draft
from anywire.config.importing import Gathered, gather
from anywire.config.places import EDITORS, paths_of, system_of
from anywire.config.read import read_config
from anywire.config.tables import find_tables
from anywire.config.writing import literal_secrets, written_members
from anywire.errors import ConfigError
from tests.config.reading import FILES, HOME

ENVIRONMENT = {"HOME": HOME}


def gathered(*names: str, known: tuple[str, ...] = (), dialect: Dialect = MCP_SERVERS) -> Gathered:
    """What files of the folder have for a file that has these names."""
    paths = [(name, FILES / name) for name in names]
    return gather(paths, known, dialect, ENVIRONMENT, Path("/home/ada/board"), Path("/home/ada/s.json"))


def fates(found: Gathered) -> dict[str, str]:
    """What became of each server."""
    return {server.name: server.fate for _, _, servers in found.files for server in servers}


def test_every_editor_has_its_places_on_each_system() -> None:
    """A project's before the user's own; a variable that is not set is no folder."""
    for system in ("linux", "macos", "windows"):
        paths = list(paths_of((), {**ENVIRONMENT, "APPDATA": "/a"}, Path("/p"), system))
        assert {editor for editor, _ in paths} == set(EDITORS)
        assert len(set(paths)) == len(paths)
        assert ("claude-code", Path("/p/.mcp.json")) == paths[0]
    assert system_of("darwin") == "macos"
    assert system_of("win32") == "windows"
    assert system_of("linux") == "linux"


def test_places_follow_the_variables_that_editors_know() -> None:
    """Beside the usual ones."""
    environment = {**ENVIRONMENT, "XDG_CONFIG_HOME": "/x", "CODEX_HOME": "/c"}

    paths = [str(path) for _, path in paths_of(("codex", "claude-desktop"), environment, Path("/p"), "linux")]

    assert paths == [
        "/x/Claude/claude_desktop_config.json",
        "/p/.codex/config.toml",
        "/c/config.toml",
        f"{HOME}/.codex/config.toml",
    ]


def test_an_editor_that_is_not_known_is_refused() -> None:
    """The known ones are named."""
    with pytest.raises(ConfigError, match="there is no editor 'emacs'; editors are: claude-code"):
        list(paths_of(("emacs",), ENVIRONMENT, Path("/p"), "linux"))


def test_names_that_are_there_already_are_left_alone() -> None:
    """Also those of a file that was looked at before."""
    found = gathered("claude_code.home.json", "claude_desktop.json", known=("sqlite",))

    assert fates(found) == {
        "everywhere": "taken",
        "notes": "taken",
        "filesystem": "taken",
        "sqlite": "there",
    }
    assert list(found.servers) == ["everywhere", "notes", "filesystem"]
    assert found.servers["notes"] == {"command": "project-notes", "args": ["--local"]}


def test_variables_stay_variables() -> None:
    """In the way of the file they are written to; what an editor asks for becomes one."""
    found = gathered("cursor.json", "opencode.jsonc", "vscode.json")

    assert found.servers["linear"]["headers"] == {"Authorization": "Bearer ${LINEAR_TOKEN}"}
    assert found.servers["perplexity"]["env"] == {"PERPLEXITY_API_KEY": "${PERPLEXITY_KEY}"}
    assert found.servers["store"]["args"] == ["--region=${REGION:-eu}", "--home", HOME]
    assert fates(found)["everything"] == "left"  # its ${…} is a text there, and would be a variable
    assert fates(found)["picked"] == "left"


def test_folders_of_a_project_become_absolute() -> None:
    """The file may be anywhere."""
    found = gathered("cursor.json", "opencode_servers.jsonc")

    assert found.servers["local"]["envFile"] == f"{FILES}/.env"
    assert found.servers["everything"]["cwd"] == f"{FILES}/."


def test_a_program_beside_a_project_stays_that_program(tmp_path: Path) -> None:
    """Where it says in which folder it runs, that one is the beginning."""
    text = '{"mcpServers": {"a": {"command": "./s"}, "b": {"command": "./s", "cwd": "sub"}}}'
    (tmp_path / "x.json").write_text(text, encoding="utf-8")

    found = gather(
        [("x", tmp_path / "x.json")], (), MCP_SERVERS, ENVIRONMENT, tmp_path, tmp_path / "into.json"
    )

    assert found.servers == {
        "a": {"command": f"{tmp_path}/./s"},
        "b": {"command": "./s", "cwd": f"{tmp_path}/sub"},
    }


def test_vs_code_has_its_own_way_to_write_a_variable() -> None:
    """And none for a default."""
    found = gathered("windsurf.json", "claude_code.mcp.json", dialect=VSCODE)

    assert found.servers["figma"]["headers"] == {"X-Figma-Token": "${env:FIGMA_TOKEN}"}
    assert fates(found)["airtable"] == "left"


def test_what_codex_has_is_written_as_editors_write_it() -> None:
    """And read again it says the same."""
    found = gathered("codex.toml")
    text = json.dumps({"mcpServers": found.servers})

    assert fates(found) == {"docs": "left", "figma": "taken", "slow": "taken", "locked": "taken"}
    figma, slow, locked = read_config(
        text, "x.json", {**ENVIRONMENT, "FIGMA_OAUTH_TOKEN": "t", "FIGMA_TEAM": "7"}
    ).entries
    assert figma.headers[-1] == ("X-Team", "7")
    assert (slow.disabled, slow.start_seconds) == (True, 30)
    assert locked.deny == ("tool:*",)


def test_files_that_cannot_be_read_are_named_and_those_that_are_not_there_passed_over(
    tmp_path: Path,
) -> None:
    """The others are taken."""
    (tmp_path / "bad.json").write_text("{", encoding="utf-8")
    (tmp_path / "other.json").write_text('{"theme": 1}', encoding="utf-8")
    paths = [("a", tmp_path / name) for name in ("bad.json", "other.json", "none.json")]

    found = gather(paths, (), MCP_SERVERS, ENVIRONMENT, tmp_path, tmp_path / "into.json")

    assert [(path.name, servers) for _, path, servers in found.files] == [("other.json", ())]
    assert [path.name for _, path, _ in found.unread] == ["bad.json"]
    assert found.servers == {}


def drafts(name: str) -> dict[str, Draft]:
    """The servers of a file that can be read."""
    (table, *_) = find_tables(read_document((FILES / name).read_bytes(), name).data)
    found: dict[str, Draft] = {}
    for server, members in table.servers.items():
        try:
            found[server] = read_draft(members, table.dialect)  # pyright: ignore[reportArgumentType] of a good file
        except ConfigError:
            continue
    return found


@pytest.mark.parametrize("dialect", [MCP_SERVERS, VSCODE, OPENCODE], ids=lambda dialect: dialect.title[:6])
@pytest.mark.parametrize("name", [path.name for path in sorted(FILES.iterdir())])
def test_what_is_written_in_a_format_is_read_as_the_same_server(name: str, dialect: Dialect) -> None:
    """Or it is refused, never changed."""
    for draft in drafts(name).values():
        try:
            members = written_members(draft, dialect)
        except ConfigError:
            continue
        again = read_draft(members, dialect)
        # OpenCode has one word for both wires over HTTP, as it finds out which.
        apart = ("passed_env", "transport") if dialect is OPENCODE else ("passed_env",)
        for field in Draft.__struct_fields__:
            if field not in apart:
                assert getattr(again, field) == getattr(draft, field), field


def test_codex_is_not_written() -> None:
    """Its file is TOML."""
    with pytest.raises(ConfigError, match="only files of JSON can be changed"):
        written_members(Draft(command=(("a",),)), CODEX)


@pytest.mark.parametrize(
    ("members", "places"),
    [
        ({"command": "a", "env": {"API_KEY": "x1", "MODE": "fast"}}, ("env API_KEY",)),
        ({"command": "a", "env": {"API_KEY": "${K}", "EMPTY_TOKEN": ""}}, ()),
        ({"command": "a", "env": {"X": "Bearer abcdef"}}, ("env X",)),
        ({"command": "a", "args": ["--token", "x1"]}, ("the command line",)),
        ({"command": "a", "args": ["--token=x1"]}, ("the command line",)),
        ({"command": "a", "args": ["--token", "${T}", "--token=${T}"]}, ()),
        ({"url": "https://x.example/?api_key=1"}, ("the URL",)),
        ({"url": "https://me:pw@x.example/"}, ("the URL",)),
        ({"url": "https://x.example/?version=1"}, ()),
        ({"url": "https://x.example/", "headers": {"Authorization": "Bearer ${T}"}}, ()),
        ({"url": "https://x.example/", "headers": {"Authorization": "Bearer x"}}, ("header Authorization",)),
    ],
)
def test_secrets_that_stand_in_a_file_as_they_are_are_noticed(
    members: dict[str, object], places: tuple[str, ...]
) -> None:
    """By the names and the looks of them; the values are not told."""
    assert literal_secrets(read_draft(members, MCP_SERVERS)) == places
