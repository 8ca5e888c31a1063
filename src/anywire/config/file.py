"""The file on disk: where it is looked for, and how it is written at once or not at all."""

from __future__ import annotations

import contextlib
import os
import stat
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from anywire.config.content import read_file
from anywire.errors import ConfigError

__all__ = ("PROJECT_FILE", "default_file", "write_file")

#: The file of servers that a project has.
PROJECT_FILE: Final = ".mcp.json"

_NEW_MODE: Final = 0o600  # what is in it may be secret
_WRITABLE: Final = stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH


def default_file(environment: Mapping[str, str], folder: Path) -> Path:
    """Return the file where none is named: the project's, if it is in the folder, else the user's own."""
    project = folder / PROJECT_FILE
    if project.is_file():
        return project
    base = environment.get("XDG_CONFIG_HOME") or str(Path.home() / ".config")
    return Path(base) / "anywire" / "servers.json"


def write_file(path: Path, content: bytes, expected: bytes | None) -> None:
    """Put this content in the place of what was read, at once or not at all.

    The file keeps its mode and its owner; a new one is for its owner alone.  A link stays one.  A file that
    has several names (hard links), or an owner that a new one cannot be given, is written over in its place.
    Who calls holds the lock (`locked_folder`).

    Raises `ConfigError` where the file cannot be written or is read-only, or no longer holds `expected`.
    """
    target = Path(os.path.realpath(path))
    if read_file(target) != expected:
        raise ConfigError(f"{path} has changed meanwhile; nothing was written")
    try:
        if expected is None:
            _replace(target, content, None)
            return
        before = target.stat()
        # Its mode keeps everybody from it, even who may write everything.
        if not (before.st_mode & _WRITABLE and os.access(target, os.W_OK)):
            raise ConfigError(f"{path} is read-only; nothing was written")
        if before.st_nlink > 1 or not _replace(target, content, before):
            _write_over(target, content, expected)
    except OSError as error:
        raise ConfigError(f"{path} cannot be written: {error.strerror or error}") from None


def _replace(target: Path, content: bytes, before: os.stat_result | None) -> bool:
    """Put a new file in the place of one that was like this; say whether it could be given its owner."""
    descriptor, name = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
    try:
        with os.fdopen(descriptor, "wb") as file:
            if before is not None and not _given_to(file.fileno(), before):
                Path(name).unlink()
                return False
            file.write(content)
            file.flush()
            os.fchmod(file.fileno(), _NEW_MODE if before is None else stat.S_IMODE(before.st_mode))
            os.fsync(file.fileno())
        Path(name).replace(target)
    except BaseException:
        with contextlib.suppress(OSError):
            Path(name).unlink()
        raise
    return True


def _given_to(descriptor: int, before: os.stat_result) -> bool:
    """Give a new file the owner and the group of the one before; say whether it has them."""
    made = os.fstat(descriptor)
    if (made.st_uid, made.st_gid) == (before.st_uid, before.st_gid):
        return True
    try:
        os.fchown(descriptor, before.st_uid, before.st_gid)
    except OSError:  # only some may give files away
        return False
    return True


def _write_over(target: Path, content: bytes, before: bytes) -> None:
    """Write into the file that is there; where that fails, as on a full disk, what was in it comes back."""
    with target.open("r+b", buffering=0) as file:
        try:
            _fill(file.fileno(), content)
        except BaseException:
            with contextlib.suppress(OSError):
                _fill(file.fileno(), before)
            raise


def _fill(descriptor: int, content: bytes) -> None:
    written = 0
    while written < len(content):
        written += os.pwrite(descriptor, content[written:], written)
    os.ftruncate(descriptor, len(content))
    os.fsync(descriptor)
