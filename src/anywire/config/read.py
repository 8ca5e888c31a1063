"""From the text of a file of servers to its servers.

A server that cannot be used is refused alone, with a sentence.  Only a file that cannot be read at all is an
error.  What no server can use is remarked upon once, with its line where that is known (in JSON).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final, cast

import msgspec

from anywire.config.dialect import Dialect, Table, find_tables
from anywire.config.document import Document, as_object, read_document
from anywire.config.draft import read_draft
from anywire.config.entry import Config, Remark, ServerEntry, Severity
from anywire.config.expansion import Surroundings, expand
from anywire.config.json_text import line_at
from anywire.config.naming import usable_name
from anywire.errors import ConfigError

__all__ = ("WrittenServer", "project_folder", "read_config", "surroundings_of", "written_servers")

_FOLDERS_OF_EDITORS: Final = (".vscode", ".cursor", ".codex", ".opencode", ".windsurf")


def read_config(
    content: bytes | str, where: str, environment: Mapping[str, str], *, project: str | None = None
) -> Config:
    """Read a file of servers: the format is told by what stands in it.

    `where` is the path of the file; errors name it, and relative folders start at it.  `environment` gives
    the variables their values.  `project` is the folder whose servers count beside the user's own, in a
    file that has those of many projects (`~/.claude.json`).

    Raises `ConfigError` where the file cannot be read, or has no table of servers.
    """
    document = read_document(content, where)
    tables = find_tables(document.data, project)
    if not tables:
        raise ConfigError(
            f"{where} has no servers: neither mcpServers (most editors), servers (VS Code), "
            "mcp (OpenCode) nor [mcp_servers.NAME] (Codex)"
        )
    entries: dict[str, ServerEntry] = {}
    refused: dict[str, str] = {}
    for server in written_servers(tables):
        surroundings = surroundings_of(document, where, environment, server.table)
        try:
            draft = read_draft(server.members(), server.table.dialect)
            entry = expand(server.name, draft, surroundings)
            entries[server.name] = entry
        except ConfigError as error:
            refused[server.name] = str(error)
    return Config(tuple(entries.values()), refused, tuple(_remarks(document, tables)))


class WrittenServer(msgspec.Struct, frozen=True):
    """A server in a file, not read yet."""

    name: str
    table: Table

    def members(self) -> dict[str, object]:
        """Return its members.  Raises `ConfigError` where it has none, or no name."""
        members = as_object(self.table.servers[self.name])
        if not self.name:
            raise ConfigError("it has no name")
        if members is None:
            raise ConfigError("it is not an object with a command or a url")
        return members


def written_servers(tables: tuple[Table, ...]) -> tuple[WrittenServer, ...]:
    """Return the servers of all tables; of namesakes the last one counts."""
    found = {name: WrittenServer(name, table) for table in tables for name in table.servers}
    return tuple(found.values())


def project_folder(where: str) -> Path:
    """Return the folder of the project that a file belongs to."""
    folder = Path(where).absolute().parent
    return folder.parent if folder.name in _FOLDERS_OF_EDITORS else folder


def surroundings_of(
    document: Document, where: str, environment: Mapping[str, str], table: Table
) -> Surroundings:
    """Return what gives the variables of a table in a file their values."""
    of_project = table.path[0] == "projects"
    folder = Path(table.path[1]) if of_project else project_folder(where)
    return Surroundings(environment, folder, _inputs(document.data))


def _inputs(data: Mapping[str, object]) -> dict[str, str | None]:
    listed = data.get("inputs", (as_object(data.get("mcp")) or {}).get("inputs"))
    inputs: dict[str, str | None] = {}
    for item in cast("list[object]", listed) if isinstance(listed, list) else []:
        members = as_object(item) or {}
        id, default = members.get("id"), members.get("default")
        if isinstance(id, str):
            inputs[id] = default if isinstance(default, str) else None
    return inputs


def _remarks(document: Document, tables: tuple[Table, ...]) -> Iterator[Remark]:
    for table in tables:
        yield from _repeated(document, table)
    seen: set[tuple[str, str]] = set()
    for server in written_servers(tables):
        members = as_object(server.table.servers[server.name])
        usable = usable_name(server.name)
        path = (*server.table.path, server.name)
        if usable != server.name:
            sentence = f"its name cannot be part of other names, so it is called {usable}"
            yield Remark(Severity.NOTE, server.name, sentence, document.line(path))
        for name in members or ():
            remark = _about(name, server.table.dialect)
            if remark is not None and (name, remark[1]) not in seen:
                seen.add((name, remark[1]))
                yield Remark(remark[0], server.name, remark[1], document.line((*path, name)))


def _about(name: str, dialect: Dialect) -> tuple[Severity, str] | None:
    """Return what is to be said of a member of that name, None for nothing."""
    if name in dialect.members:
        return None
    if name in dialect.ignored:
        sentence = dialect.ignored[name]
        return (Severity.NOTE, f"{name} is not used: {sentence}") if sentence else None
    from difflib import get_close_matches  # needed by those only who have mistyped

    near = get_close_matches(name, dialect.members, n=1)
    meant = f"; did you mean {near[0]}?" if near else ""
    return Severity.WARNING if near else Severity.NOTE, f"there is no member {name!r}{meant}"


def _repeated(document: Document, table: Table) -> Iterator[Remark]:
    """Say which names stand twice: two servers of one name, or two members of one server."""
    node = document.node(table.path)
    if node is None:
        return
    for one, last in node.repeated():
        sentence = (
            f"it stands in the file again in line {line_at(document.text, last.start)}, and that one counts"
        )
        yield Remark(Severity.WARNING, one.name, sentence, line_at(document.text, one.start))
    for server in node.members or ():
        for one, last in server.value.repeated():
            sentence = (
                f"{one.name} stands again in line {line_at(document.text, last.start)}, and that one counts"
            )
            yield Remark(Severity.WARNING, server.name, sentence, line_at(document.text, one.start))
