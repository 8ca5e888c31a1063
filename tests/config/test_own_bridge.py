"""A server that is the bridge of its own file."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from anywire.config.dialect import MCP_SERVERS
from anywire.config.entry import ServerEntry, Severity
from anywire.config.importing import gather
from anywire.config.own_bridge import runs_this_file
from anywire.config.read import read_config

FILE = Path("/project/servers.json")


def runs(*command: str, cwd: str | None = "/project") -> bool:
    """Say whether this command runs the bridge of the file."""
    return runs_this_file(ServerEntry(name="it", written_name="it", command=command, cwd=cwd), FILE)


@pytest.mark.parametrize(
    "command",
    [
        ("anywire", "bridge", "stdio", "--config", "servers.json"),
        ("/opt/bin/anywire", "bridge", "stdio", "--config=/project/../project/servers.json"),
        ("python3", "-m", "anywire", "bridge", "http://127.0.0.1:1/mcp", "--config", "servers.json"),
        ("uvx", "anywire@latest", "bridge", "stdio", "--shared", "--config", "./servers.json"),
        ("uv", "run", "--with", "anywire[http]==1.0", "anywire", "bridge", "stdio", "--config", str(FILE)),
        ("sh", "-c", "cd /; exec anywire bridge stdio --config '/project/servers.json'"),
        ("sh", "-c", "anywire bridge stdio --config servers.json # 'twas"),
        ("anywire", "bridge", "stdio", "--", "anywire", "bridge", "stdio", "--config", "servers.json"),
    ],
)
def test_it_is_known_by_whatever_it_is_started(command: tuple[str, ...]) -> None:
    """By its path, as a module, from a package, in a line of a shell, behind another bridge."""
    assert runs(*command)


@pytest.mark.parametrize(
    "command",
    [
        ("anywire", "bridge", "stdio", "--config", "other.json"),
        ("anywire", "bridge", "stdio", "--config"),
        ("anywire", "bridge", "stdio", "--config", "~nobody-has-this-home/x"),
        ("anywire", "bridge", "stdio", "--", "server", "--conf", "servers.json"),
        ("server", "bridge", "--config", "servers.json"),
        ("anywire", "call", "--config", "servers.json"),
        ("anywires", "bridge", "--config", "servers.json"),
        (),
    ],
)
def test_others_are_not_taken_for_it(command: tuple[str, ...]) -> None:
    """The bridge of another file, and other programs."""
    assert not runs(*command)


def test_a_link_to_the_file_is_the_file(tmp_path: Path) -> None:
    """Whichever of the two is the link."""
    path, link = tmp_path / "a.json", tmp_path / "b.json"
    path.touch()
    link.symlink_to(path)
    for one, other in ((path, link), (link, path)):
        command = ("anywire", "bridge", "stdio", "--config", str(one))
        assert runs_this_file(ServerEntry(name="it", written_name="it", command=command), other)


def test_it_is_remarked_upon_and_not_imported(tmp_path: Path) -> None:
    """An editor's file has the bridge of the very file into which its servers are taken, very often."""
    path = tmp_path / "s.json"
    text = (
        '{"mcpServers": {"all": {"command": "anywire", "args": ["bridge", "stdio", "--config", "s.json"],\n'
        f'"cwd": "{tmp_path}"}}, "one": {{"command": "x"}}}}}}'
    )
    (tmp_path / "editor.json").write_text(text, encoding="utf-8")

    (remark,) = read_config(text, str(path), os.environ).remarks
    found = gather([("x", tmp_path / "editor.json")], (), MCP_SERVERS, os.environ, tmp_path, path)

    assert (remark.severity, remark.server, remark.line) == (Severity.WARNING, "all", 1)
    assert remark.sentence == "it runs the bridge of this very file, which cannot offer itself"
    assert [(each.name, each.fate) for each in found.files[0][2]] == [("all", "left"), ("one", "taken")]
    assert found.files[0][2][0].reason == f"it runs the bridge of {path}, which cannot offer itself"
    assert list(found.servers) == ["one"]
