"""Who changes a file keeps it from everybody else meanwhile."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from anywire.config.editable import EditableFile
from anywire.config.lock import locked_folder
from anywire.errors import ConfigError


def test_of_many_changes_at_once_none_is_lost(tmp_path: Path) -> None:
    """Each reads what the one before has written; the folder is made by whoever is first."""
    path = tmp_path / "new" / "servers.json"

    def add(number: int) -> None:
        with EditableFile.locked(path) as file:
            file.add({f"s{number}": {"command": "x"}})

    with ThreadPoolExecutor(16) as threads:
        list(threads.map(add, range(16)))

    assert sorted(json.loads(path.read_text(encoding="utf-8"))["mcpServers"]) == sorted(
        f"s{number}" for number in range(16)
    )


def test_a_change_that_does_not_end_is_not_waited_for_without_bound(tmp_path: Path) -> None:
    """When it ends, the next one gets the lock, whatever became of it."""
    with (
        locked_folder(tmp_path),
        pytest.raises(ConfigError, match="somebody else has been changing a file of"),
        locked_folder(tmp_path, wait_seconds=0),
    ):
        raise AssertionError("two have it")
    with pytest.raises(KeyError), locked_folder(tmp_path, wait_seconds=0):
        raise KeyError
    with locked_folder(tmp_path, wait_seconds=0):
        assert list(tmp_path.iterdir()) == []


def test_a_folder_that_cannot_be_is_a_sentence(tmp_path: Path) -> None:
    """Such as one below a file."""
    (tmp_path / "file").touch()

    with (
        pytest.raises(ConfigError, match="cannot be written: Not a directory"),
        locked_folder(tmp_path / "file" / "below"),
    ):
        raise AssertionError("there is one")


def test_what_is_no_file_is_not_changed(tmp_path: Path) -> None:
    """A folder or a device."""
    for path in (tmp_path, Path("/dev/null")):
        with pytest.raises(ConfigError, match="is no file that can be changed"), EditableFile.locked(path):
            raise AssertionError("it can be changed")
