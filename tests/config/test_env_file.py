"""Files of variables."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from anywire.config.env_file import read_env_file, read_variables
from anywire.errors import ConfigError


def test_lines_are_variables() -> None:
    """Quotes, comments, blanks, and `export` as in a shell."""
    text = """
# a comment
A=1
export B = two words # said
C="x # y\\n\\"z\\"" # end
D='a\\n#b'
E=
F=a#b=c
"""
    assert read_variables(text, "x") == {
        "A": "1",
        "B": "two words",
        "C": 'x # y\n"z"',
        "D": "a\\n#b",
        "E": "",
        "F": "a#b=c",
    }


def test_a_line_that_is_none_is_named_and_not_repeated() -> None:
    """It may be half of a secret."""
    with pytest.raises(ConfigError, match=r"^x, line 2: it is no variable; write NAME=VALUE$"):
        read_variables("A=1\nhunter2\n", "x")


def test_a_file_that_cannot_be_read_is_a_sentence(tmp_path: Path) -> None:
    """A pipe, which could keep us waiting, is no file."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    (tmp_path / "latin").write_bytes(b"A=\xe9")
    (tmp_path / "large").write_bytes(b"#" * (1024 * 1024 + 1))

    for name, said in (
        ("pipe", "is no file"),
        ("latin", "is not UTF-8"),
        ("large", "has more than 1,048,576 bytes"),
        ("nowhere", "there is no envFile"),
    ):
        with pytest.raises(ConfigError, match=said):
            read_env_file(tmp_path / name)
