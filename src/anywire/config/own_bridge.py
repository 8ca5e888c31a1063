"""A server of a file that is the bridge of that very file: it would start itself again and again."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from anywire.config.entry import ServerEntry

__all__ = ("runs_this_file",)

_PROGRAM: Final = re.compile(r"(?:.*[/\\])?anywire(?:\.exe)?(?:\[[\w,-]*\])?(?:@.*|==.*)?", re.IGNORECASE)
_OPTION: Final = "--config"


def runs_this_file(entry: ServerEntry, path: Path) -> bool:
    """Say whether a server is `anywire bridge … --config` with that file, by whatever it is started.

    Links are followed, and a word that is a line of a shell is looked into.  Nothing is started.
    """
    folder = Path(entry.cwd or ".")
    own = os.path.realpath(path)
    return any(os.path.realpath(folder / _at_home(named)) == own for named in _named(entry.command))


def _at_home(named: str) -> Path:
    try:
        return Path(named).expanduser()
    except RuntimeError:  # a home that nobody has
        return Path(named)


def _named(command: Sequence[str]) -> Iterator[str]:
    """Yield the files of servers that the bridges in a command line offer."""
    words = [*command, *(word for line in command if " " in line for word in _words(line))]
    starts = (at for at, word in enumerate(words) if _PROGRAM.fullmatch(word))
    rest = words[next(starts, len(words)) :]
    if "bridge" not in rest:
        return
    for word, following in zip(rest, [*rest[1:], ""], strict=True):
        if word == _OPTION and following:
            yield following
        elif word.startswith(f"{_OPTION}="):
            yield word.removeprefix(f"{_OPTION}=")


def _words(line: str) -> list[str]:
    try:
        return shlex.split(line)
    except ValueError:  # a quote without its end
        return line.split()
