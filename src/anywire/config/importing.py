"""Servers of editors, merged into a file: what was found where, what is taken, and what is left."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Literal

import msgspec
from msgspec.structs import replace

from anywire.config.content import read_file
from anywire.config.dialect import Dialect
from anywire.config.document import Document, read_document
from anywire.config.draft import Draft, read_draft
from anywire.config.expansion import Surroundings, expand
from anywire.config.own_bridge import runs_this_file
from anywire.config.read import surroundings_of
from anywire.config.tables import WrittenServer, find_tables, written_servers
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
    into: Path,
) -> Gathered:
    """Read the files of editors and say what of them can be added to the file `into`, which has these names.

    No variable gets its value: it stays a variable.  A file that is not there is passed over,
    a server that is the bridge of `into` is left.
    """
    gathering = _Gathering(set(names), dialect, environment, str(project), into)
    files: list[tuple[str, Path, tuple[Found, ...]]] = []
    unread: list[tuple[str, Path, str]] = []
    for editor, path in paths:
        try:
            content = read_file(path)
            if content is not None:
                document = read_document(content, str(path))
                files.append((editor, path, gathering.servers_of(document, str(path))))
        except ConfigError as error:
            unread.append((editor, path, str(error)))
    return Gathered(tuple(files), tuple(unread), gathering.taken)


class _Gathering:
    """Takes the servers of one file after the other, of each name the first."""

    def __init__(
        self, names: set[str], dialect: Dialect, environment: Mapping[str, str], project: str, into: Path
    ) -> None:
        self.taken: dict[str, Mapping[str, object]] = {}
        self._known = names
        self._dialect = dialect
        self._environment = environment
        self._project = project
        self._into = into

    def servers_of(self, document: Document, where: str) -> tuple[Found, ...]:
        servers = written_servers(find_tables(document.data, self._project))
        return tuple(self._found(server, document, where) for server in servers)

    def _found(self, server: WrittenServer, document: Document, where: str) -> Found:
        if server.name in self._known:
            return Found(server.name, "there")
        surroundings = surroundings_of(document, where, self._environment, server.table)
        try:
            draft = read_draft(server.members(), server.table.dialect)
            if self._is_own_bridge(server.name, draft, surroundings):
                reason = f"it runs the bridge of {self._into}, which cannot offer itself"
                return Found(server.name, "left", reason)
            self.taken[server.name] = written_members(portable(draft, surroundings), self._dialect)
        except ConfigError as error:
            return Found(server.name, "left", str(error))
        self._known.add(server.name)
        return Found(server.name, "taken", secrets=literal_secrets(draft))

    def _is_own_bridge(self, name: str, draft: Draft, surroundings: Surroundings) -> bool:
        if not draft.command:
            return False
        # Of one that is disabled what has no value may stay a variable.
        return runs_this_file(expand(name, replace(draft, disabled=True), surroundings), self._into)
