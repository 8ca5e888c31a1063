"""The file on disk: where it is, how it is replaced, and what keeps it from being so."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from anywire.config.content import read_file
from anywire.config.editable import EditableFile
from anywire.config.file import default_file, write_file
from anywire.errors import ConfigError


def test_the_file_of_a_project_comes_before_the_users_own(tmp_path: Path) -> None:
    """It is looked for in the folder alone."""
    environment = {"XDG_CONFIG_HOME": str(tmp_path / "config")}

    assert default_file(environment, tmp_path) == tmp_path / "config" / "anywire" / "servers.json"
    (tmp_path / ".mcp.json").write_text("{}", encoding="utf-8")
    assert default_file(environment, tmp_path) == tmp_path / ".mcp.json"
    assert default_file({}, Path("/nowhere")) == Path.home() / ".config" / "anywire" / "servers.json"


def test_a_new_file_is_for_its_owner_alone(tmp_path: Path) -> None:
    """So are the folders that are made for it."""
    path = tmp_path / "a" / "b" / "servers.json"

    with EditableFile.locked(path) as file:
        file.add({"x": {"command": "y"}})

    assert EditableFile.open(path).names == ("x",)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert [each.name for each in path.parent.iterdir()] == ["servers.json"]


def test_a_file_keeps_its_mode_and_a_link_stays_one(tmp_path: Path) -> None:
    """As those who keep their settings in a repository have it."""
    path, link = tmp_path / "kept.json", tmp_path / "servers.json"
    path.write_bytes(b"{}")
    path.chmod(0o640)
    link.symlink_to(path)

    write_file(link, b"{ }", b"{}")

    assert link.is_symlink()
    assert path.read_bytes() == b"{ }"
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


def test_a_file_that_has_changed_meanwhile_is_not_written_over(tmp_path: Path) -> None:
    """Neither is one that came to be."""
    path = tmp_path / "servers.json"
    file = EditableFile.open(path)
    path.write_text('{"mcpServers": {"a": {"command": "b"}}}', encoding="utf-8")

    with pytest.raises(ConfigError, match="has changed meanwhile; nothing was written"):
        file.add({"c": {"command": "d"}})
    assert "c" not in EditableFile.open(path).names


def test_what_cannot_be_read_or_written_is_a_sentence(tmp_path: Path) -> None:
    """And nothing is left behind."""
    folder = tmp_path / "folder"
    folder.mkdir()

    with pytest.raises(ConfigError, match="folder cannot be read: Is a directory"):
        read_file(folder)
    with pytest.raises(ConfigError, match="cannot be read"):
        read_file(Path("a\0b"))
    (tmp_path / "file").touch()
    with pytest.raises(ConfigError, match=r"cannot be (read|written): Not a directory"):
        write_file(tmp_path / "file" / "servers.json", b"{}", None)
    assert read_file(tmp_path / "nothing") is None


def test_an_empty_file_can_be_added_to(tmp_path: Path) -> None:
    """As `touch` makes one."""
    path = tmp_path / "servers.json"
    path.write_bytes(b" \n")

    EditableFile.open(path).add({"a": {"command": "b"}})

    assert EditableFile.open(path).names == ("a",)


@pytest.mark.parametrize(
    ("name", "table"),
    [("servers.json", "mcpServers"), (".vscode/mcp.json", "servers"), ("opencode.json", "mcp")],
)
def test_a_new_file_has_the_format_of_its_place(name: str, table: str, tmp_path: Path) -> None:
    """The table that the editor of that file looks for."""
    path = tmp_path / name
    with EditableFile.locked(path) as file:
        file.add({"a": {"command": "b"}})

    assert f'  "{table}": {{\n    "a"' in path.read_text(encoding="utf-8")


def test_a_byte_order_mark_stays_and_other_encodings_are_refused(tmp_path: Path) -> None:
    """Windows editors write one."""
    path = tmp_path / "servers.json"
    path.write_bytes(b"\xef\xbb\xbf{}")
    EditableFile.open(path).add({"a": {"command": "b"}})
    assert path.read_bytes().startswith(b"\xef\xbb\xbf{")

    path.write_bytes("{}".encode("utf-16"))
    with pytest.raises(ConfigError, match="only files of UTF-8 can be changed"):
        EditableFile.open(path).add({"a": {"command": "b"}})
    with pytest.raises(ConfigError, match="has bytes that are not UTF-8"):
        EditableFile.open(tmp_path / "new").add({"a": {"command": "b\udc80"}})


def test_toml_is_not_changed(tmp_path: Path) -> None:
    """It says so before anything else."""
    path = tmp_path / "config.toml"
    path.write_text("[mcp_servers.a]\ncommand = 'b'\n", encoding="utf-8")

    with pytest.raises(ConfigError, match="is TOML, and only files of JSON can be changed"):
        EditableFile.open(path)


def test_the_other_names_of_a_file_keep_their_content_with_it(tmp_path: Path) -> None:
    """A hard link stays one; what is shorter leaves nothing behind."""
    path, other = tmp_path / "servers.json", tmp_path / "other.json"
    path.write_bytes(b'{"a": 1}')
    other.hardlink_to(path)

    write_file(path, b"{}", b'{"a": 1}')

    assert other.read_bytes() == b"{}"
    assert path.samefile(other)
    assert sorted(each.name for each in tmp_path.iterdir()) == ["other.json", "servers.json"]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root has files of others to change")
def test_a_file_keeps_its_owner(tmp_path: Path) -> None:
    """It is still there for whoever uses it."""
    path = tmp_path / "servers.json"
    path.write_bytes(b"{}")
    path.chmod(0o600)
    os.chown(path, 65534, 65534)

    write_file(path, b"{ }", b"{}")

    now = path.stat()
    assert (now.st_uid, now.st_gid, stat.S_IMODE(now.st_mode)) == (65534, 65534, 0o600)


def test_a_file_that_is_read_only_is_left_alone(tmp_path: Path) -> None:
    """Even by somebody who may write everything."""
    path = tmp_path / "servers.json"
    path.write_bytes(b"{}")
    path.chmod(0o400)

    with pytest.raises(ConfigError, match=r"servers\.json is read-only; nothing was written"):
        write_file(path, b"{ }", b"{}")
    assert path.read_bytes() == b"{}"
