"""The file of variables that a server may name: a line for each, `NAME=VALUE`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from anywire.errors import ConfigError

__all__ = ("read_env_file", "read_variables")

_MOST_BYTES: Final = 1024 * 1024
_LINE: Final = re.compile(r"\s*(?:export\s+)?([A-Za-z_][\w.-]*)\s*=\s*(.*?)\s*", re.DOTALL)
_DOUBLE: Final = re.compile(r'"((?:[^"\\]|\\.)*)"\s*(?:#.*)?', re.DOTALL)
_SINGLE: Final = re.compile(r"'([^']*)'\s*(?:#.*)?", re.DOTALL)
_COMMENT: Final = re.compile(r"\s+#.*|^#.*", re.DOTALL)
_ESCAPE: Final = re.compile(r"\\(.)", re.DOTALL)
_ESCAPES: Final[Mapping[str, str]] = {"n": "\n", "r": "\r", "t": "\t"}


def read_env_file(path: Path) -> dict[str, str]:
    """Read a file of variables.  Raises `ConfigError`, which repeats nothing of it."""
    try:
        if not path.is_file():  # a pipe or a device could keep us waiting
            raise ConfigError(
                f"envFile {path} is no file" if path.exists() else f"there is no envFile {path}"
            )
        with path.open("rb") as file:
            content = file.read(_MOST_BYTES + 1)
    except OSError as error:
        raise ConfigError(f"envFile {path} cannot be read: {error.strerror or error}") from None
    if len(content) > _MOST_BYTES:
        raise ConfigError(f"envFile {path} has more than {_MOST_BYTES:,} bytes")
    try:
        return read_variables(content.decode("utf-8-sig"), f"envFile {path}")
    except UnicodeDecodeError:
        raise ConfigError(f"envFile {path} is not UTF-8") from None


def read_variables(text: str, where: str) -> dict[str, str]:
    r"""Read lines of variables; blank lines and those that begin with `#` are none.

    A value may stand in quotes; in double ones `\n`, `\r`, `\t`, `\"` and `\\` are escapes.  Raises
    `ConfigError` for a line that is no variable, without repeating it.
    """
    variables: dict[str, str] = {}
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        found = _LINE.fullmatch(line)
        if found is None:
            raise ConfigError(f"{where}, line {number}: it is no variable; write NAME=VALUE")
        variables[found[1]] = _value(found[2])
    return variables


def _value(text: str) -> str:
    if (double := _DOUBLE.fullmatch(text)) is not None:
        return _ESCAPE.sub(lambda found: _ESCAPES.get(found[1], found[1]), double[1])
    if (single := _SINGLE.fullmatch(text)) is not None:
        return single[1]
    return _COMMENT.sub("", text)
