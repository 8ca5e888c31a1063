"""What would keep a server from starting, found without starting it."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from anywire.config.entry import ServerEntry
from anywire.transport.redact import show_word

__all__ = ("problems_of",)


def problems_of(entry: ServerEntry, environment: Mapping[str, str]) -> tuple[str, ...]:
    """Return a sentence for each thing that is missing on this machine, without secrets.

    `environment` is that of the process that would start the server.  Nothing is started, and nobody is
    called: of a URL nothing is known.
    """
    return tuple(_problems(entry, environment)) if entry.command else ()


def _problems(entry: ServerEntry, environment: Mapping[str, str]) -> Iterator[str]:
    if entry.cwd is not None and not _is(Path.is_dir, Path(entry.cwd)):
        yield f"there is no folder {show_word(entry.cwd)}"
    program = entry.command[0]
    shown = show_word(program)
    if "/" in program or os.sep in program:
        path = Path(entry.cwd or ".") / program
        if not _is(Path.is_file, path):
            yield f"there is no program {shown}" + _words_in_one(program)
        elif not os.access(path, os.X_OK):
            yield f"{shown} may not be executed"
        return
    search = entry.env.get("PATH", environment.get("PATH", os.defpath))
    if shutil.which(program, path=search) is None:
        yield f"no program {shown} is on the PATH" + _words_in_one(program)


def _is(kind: Callable[[Path], bool], path: Path) -> bool:
    try:
        return kind(path)
    except OSError:  # such as a folder on the way that nobody may look into
        return False


def _words_in_one(program: str) -> str:
    return "; its arguments stand in args, one text each" if " " in program.strip() else ""
