"""Servers of editors, merged into a file: what was found where, what is taken, and what is left."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Literal

import msgspec

from anywire.config.dialect import Dialect
from anywire.config.document import read_document
from anywire.config.draft import read_draft
from anywire.config.file import read_file
from anywire.config.read import surroundings_of
from anywire.config.tables import find_tables, written_servers
from anywire.config.writing import literal_secrets, portable, written_members
from anywire.errors import ConfigError

__all__ = ("Found", "Gathered", "gather")

Fate = Literal["taken", "there", "left"]


class Found(msgspec.Struct, frozen=True):
    """A server of an editor, and what became of it.

    `taken`; `there`: the file has a server of that name, which is left alone; `left`: it cannot be taken.
    `reason` says why not, `secrets` where it seems to hold a secret as it is.
    """

    name: str
    fate: Fate
    reason: str = ""
    secrets: tuple[str, ...] = ()


class Gathered(msgspec.Struct, frozen=True):
    """What the files of editors have.

    `files` are those that are there, in order, with their servers; `unread` those that cannot be read, and
    why.  `servers` are the members of those that are taken, in the format they are to be written in.
    """

    files: tuple[tuple[str, Path, tuple[Found, ...]], ...]
    unread: tuple[tuple[str, Path, str], ...]
    servers: Mapping[str, Mapping[str, object]]


def gather(
    paths: Iterable[tuple[str, Path]],
    names: Iterable[str],
    dialect: Dialect,
    environment: Mapping[str, str],
    project: Path,
) -> Gathered:
    """Read the files of editors and say what of them can be added to a file that has these names.

    No variable gets its value: it stays a variable.  A file that is not there is passed over.
    """
    known, files, unread = (
        set(names),
        list[tuple[str, Path, tuple[Found, ...]]](),
        list[tuple[str, Path, str]](),
    )
    servers: dict[str, Mapping[str, object]] = {}
    for editor, path in paths:
        try:
            content = read_file(path)
            if content is None:
                continue
            document = read_document(content, str(path))
        except ConfigError as error:
            unread.append((editor, path, str(error)))
            continue
        tables = find_tables(document.data, str(project))
        found: list[Found] = []
        for server in written_servers(tables):
            if server.name in known:
                found.append(Found(server.name, "there"))
                continue
            try:
                draft = read_draft(server.members(), server.table.dialect)
                surroundings = surroundings_of(document, str(path), environment, server.table)
                servers[server.name] = written_members(portable(draft, surroundings), dialect)
            except ConfigError as error:
                found.append(Found(server.name, "left", str(error)))
                continue
            known.add(server.name)
            found.append(Found(server.name, "taken", secrets=literal_secrets(draft)))
        files.append((editor, path, tuple(found)))
    return Gathered(tuple(files), tuple(unread), servers)
