"""From the text of a file of servers to its servers.

A server that cannot be used is refused alone, with a sentence.  Only a file that cannot be read at all is an
error.  What no server can use is remarked upon once, with its line where that is known (in JSON).
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final, cast

from anywire.config.document import Document, as_object, read_document
from anywire.config.draft import read_draft
from anywire.config.entry import Config, Remark, ServerEntry, Severity
from anywire.config.expansion import Surroundings, expand
from anywire.config.own_bridge import runs_this_file
from anywire.config.remarks import remarks_on
from anywire.config.tables import Table, find_tables, written_servers
from anywire.errors import ConfigError

__all__ = ("project_folder", "read_config", "surroundings_of")

_FOLDERS_OF_EDITORS: Final = (".vscode", ".cursor", ".codex", ".opencode", ".windsurf")
_OF_ITSELF: Final = "it runs the bridge of this very file, which cannot offer itself"


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
    remarks = list(remarks_on(document, tables))
    for server in written_servers(tables):
        surroundings = surroundings_of(document, where, environment, server.table)
        try:
            draft = read_draft(server.members(), server.table.dialect)
            entry = expand(server.name, draft, surroundings)
            entries[server.name] = entry
            if not entry.disabled and runs_this_file(entry, Path(where)):
                line = document.line((*server.table.path, server.name))
                remarks.append(Remark(Severity.WARNING, server.name, _OF_ITSELF, line))
        except ConfigError as error:
            refused[server.name] = str(error)
    return Config(tuple(entries.values()), refused, tuple(remarks))


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
