"""FILE: a recording that a command reads, from its beginning, however large it is."""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Iterator
from io import BufferedReader
from pathlib import Path
from typing import TYPE_CHECKING, Final

from anywire.errors import ConfigError

if TYPE_CHECKING:
    from anywire.record.entry import Entry, Unreadable
    from anywire.record.score import Score

__all__ = ("RECORDING_HELP", "add_choice", "chosen", "read_recording", "read_scores", "refuse_command")

#: What FILE is.
RECORDING_HELP = "a recording, such as wire.ndjson; - is stdin"

_CHUNK: Final = 1024 * 1024
# A file is no recording if so many lines of it are none.
_LINES: Final = 100
_LOOK_SECONDS: Final = 0.25


def add_choice(parser: argparse.ArgumentParser) -> None:
    """Add what says which of the conversations in a recording are meant."""
    parser.add_argument(
        "--session",
        type=int,
        metavar="N",
        help="only the conversation of that number, such as --session 2",
    )
    parser.add_argument(
        "--server",
        metavar="TEXT",
        help="only conversations with servers whose name has that in it, such as --server weather",
    )


def chosen(options: argparse.Namespace, entry: Entry) -> bool:
    """Say whether an entry belongs to what the options choose."""
    if not entry.session:
        return True  # of the file itself
    number, server = options.session, options.server
    return (number is None or entry.session == number) and (server is None or server in entry.server)


def read_recording(name: str, *, follow: bool = False) -> Iterator[list[Entry | Unreadable]]:
    """Yield the lines of a recording, some at a time; one that goes on begins with the file before it.

    `follow` waits for more at the end.  Raises `ConfigError` for what cannot be read, or is no recording.
    """
    from anywire.record.entry import Entry
    from anywire.record.recorder import previous

    path, is_one = Path(name), False
    before = previous(path) if path.name else path
    held: list[Entry | Unreadable] = []
    for found in _read_following(name) if follow and path.is_file() else _read(name):
        if is_one:
            yield found
            continue
        held += found
        first = next((each for each in held if isinstance(each, Entry)), None)
        if first is None and len(held) > _LINES:
            break
        if first is not None:
            is_one = True
            if first.continues and before.is_file():
                yield from _read(str(before))
            yield held
    if not is_one:
        raise ConfigError(f"{name} is no recording: none of its lines is what --record writes")


def _read(name: str) -> Iterator[list[Entry | Unreadable]]:
    from anywire.record.reading import EntryReader

    reader = EntryReader()
    try:
        with _opened(name) as file:
            while chunk := file.read1(_CHUNK):
                yield reader.feed(chunk)
    except OSError as error:
        raise ConfigError(f"{name}: {error.strerror or error}") from error
    yield reader.end()


def _opened(name: str) -> BufferedReader:
    if name == "-":
        return os.fdopen(os.dup(sys.stdin.fileno()), "rb")
    return Path(name).open("rb")


def _read_following(name: str) -> Iterator[list[Entry | Unreadable]]:
    """Yield what is in a file and what is added to it, and go on with each file that takes its place."""
    from anywire.record.reading import EntryReader

    path = Path(name)
    while path.is_file():
        reader = EntryReader()
        try:
            with path.open("rb") as file:
                while (chunk := file.read1(_CHUNK)) or _is_there(path, file):
                    yield reader.feed(chunk)
                    if not chunk:
                        time.sleep(_LOOK_SECONDS)
        except OSError as error:
            raise ConfigError(f"{name}: {error.strerror or error}") from error
        yield reader.end()


def _is_there(path: Path, file: BufferedReader) -> bool:
    return path.exists() and os.path.samestat(path.stat(), os.fstat(file.fileno()))


def refuse_command(options: argparse.Namespace, name: str) -> None:
    """Refuse a command behind `--` where a recording is read.  Raises `ConfigError`."""
    if options.command is not None:
        raise ConfigError(f"{name} reads a recording; it takes no command behind '--'")


def read_scores(name: str, options: argparse.Namespace) -> list[Score]:
    """Return the conversations of a recording that the options choose, to be played or compared.

    Raises `ConfigError` as `read_recording`, and where there is none.
    """
    from anywire.record.entry import Entry
    from anywire.record.score import compose

    entries = (
        each
        for found in read_recording(name)
        for each in found
        if isinstance(each, Entry) and chosen(options, each)
    )
    scores = compose(entries)
    if not scores:
        raise ConfigError(f"{name} has no such conversation in it")
    return scores
