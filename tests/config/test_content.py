"""What stands in a file's place keeps nobody waiting."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from anywire.config.content import read_file
from anywire.config.document import MOST_BYTES
from anywire.config.editable import EditableFile
from anywire.errors import ConfigError


def test_a_pipe_in_the_place_of_a_file_is_refused_at_once(tmp_path: Path) -> None:
    """With and without somebody who writes into it."""
    path = tmp_path / "servers.json"
    os.mkfifo(path)

    with pytest.raises(ConfigError, match=r"servers\.json cannot be read: it is no file, but a pipe"):
        read_file(path)
    with pytest.raises(ConfigError, match="is no file that can be changed"), EditableFile.locked(path):
        raise AssertionError("it can be changed")
    with os.fdopen(os.open(path, os.O_RDWR), "wb"), pytest.raises(ConfigError, match="but a pipe"):
        read_file(path)
    with pytest.raises(ConfigError, match="but a device"):
        read_file(Path("/dev/null"))


def test_a_pipe_that_was_given_to_us_is_read_to_its_end() -> None:
    """As a shell gives the output of a command for a file."""
    read, write = os.pipe()
    with os.fdopen(read, "rb"), os.fdopen(write, "wb") as writing:
        writing.write(b"{}")
        writing.close()
        assert read_file(Path(f"/dev/fd/{read}")) == b"{}"


def test_a_pipe_that_does_not_end_is_waited_for_no_longer_than_its_time() -> None:
    """Whoever writes it may hang."""
    read, write = os.pipe()
    with os.fdopen(read, "rb"), os.fdopen(write, "wb") as writing:
        writing.write(b"{")
        writing.flush()
        with pytest.raises(ConfigError, match="whoever writes it has not come to an end"):
            read_file(Path(f"/dev/fd/{read}"), pipe_seconds=0.01)


def test_of_a_large_file_no_more_is_read_than_tells_that_it_is(tmp_path: Path) -> None:
    """It need not fit into memory."""
    path = tmp_path / "servers.json"
    with path.open("wb") as file:
        file.truncate(4 * MOST_BYTES)

    content = read_file(path)

    assert content is not None
    assert MOST_BYTES < len(content) < 2 * MOST_BYTES
