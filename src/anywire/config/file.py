"""The file on disk: where it is looked for, how it is read, and how it is written at once or not at all."""

from __future__ import annotations

import contextlib
import os
import stat
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from anywire.config.document import MOST_BYTES
from anywire.errors import ConfigError

__all__ = ("PROJECT_FILE", "default_file", "read_file", "write_file")

#: The file of servers that a project has.
PROJECT_FILE: Final = ".mcp.json"

_NEW_MODE: Final = 0o600  # what is in it may be secret
_NEW_FOLDER_MODE: Final = 0o700


def default_file(environment: Mapping[str, str], folder: Path) -> Path:
    """Return the file where none is named: the project's, if it is in the folder, else the user's own."""
    project = folder / PROJECT_FILE
    if project.is_file():
        return project
    base = environment.get("XDG_CONFIG_HOME") or str(Path.home() / ".config")
    return Path(base) / "anywire" / "servers.json"


def read_file(path: Path) -> bytes | None:
    """Return what is in the file, None where there is none.  Raises `ConfigError`."""
    try:
        with path.open("rb") as file:
            return file.read(MOST_BYTES + 1)  # one more says that it is too large
    except FileNotFoundError:
        return None
    except OSError as error:
        raise ConfigError(f"{path} cannot be read: {error.strerror or error}") from None
    except ValueError as error:  # a name that no file has
        raise ConfigError(f"the file cannot be read: {error}") from None


def write_file(path: Path, content: bytes, expected: bytes | None) -> None:
    """Put this content in the place of what was read, at once or not at all.

    The file keeps its mode; a new one is for its owner alone, and so are folders that are made for it.  A
    link stays one.  Raises `ConfigError` where the file cannot be written, or no longer holds `expected`.
    """
    target = Path(os.path.realpath(path))
    if read_file(target) != expected:
        raise ConfigError(f"{path} has changed meanwhile; nothing was written")
    try:
        target.parent.mkdir(mode=_NEW_FOLDER_MODE, parents=True, exist_ok=True)
        mode = stat.S_IMODE(target.stat().st_mode) if expected is not None else _NEW_MODE
        _replace(target, content, mode)
    except OSError as error:
        raise ConfigError(f"{path} cannot be written: {error.strerror or error}") from None


def _replace(target: Path, content: bytes, mode: int) -> None:
    descriptor, name = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fchmod(file.fileno(), mode)
            os.fsync(file.fileno())
        Path(name).replace(target)
    except BaseException:
        with contextlib.suppress(OSError):
            Path(name).unlink()
        raise
