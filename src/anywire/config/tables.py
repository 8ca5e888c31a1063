"""Where in a file the servers stand: its tables, and in which format each is."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import msgspec

from anywire.config.dialect import CODEX, MCP_SERVERS, OPENCODE, VSCODE, Dialect
from anywire.config.document import as_object
from anywire.errors import ConfigError

__all__ = ("Table", "WrittenServer", "find_tables", "written_servers")


class Table(msgspec.Struct, frozen=True):
    """Servers that were found in a file: by which names they are reached, in which format."""

    dialect: Dialect
    path: tuple[str, ...]
    servers: Mapping[str, object]


def find_tables(data: Mapping[str, object], project: str | None = None) -> tuple[Table, ...]:
    """Return the tables of servers in a file; a server of a later one takes the place of its namesake.

    `project` is the folder whose servers count in a file that has those of many projects.
    """
    return tuple(_tables(data, project))


def _tables(data: Mapping[str, object], project: str | None) -> Iterator[Table]:
    for dialect, path in (
        (MCP_SERVERS, ("mcpServers",)),
        (VSCODE, ("servers",)),
        (CODEX, ("mcp_servers",)),
    ):
        servers = _at(data, path)
        if servers is not None:
            yield Table(dialect, path, servers)
    mcp = _at(data, ("mcp",))
    if mcp is not None:
        yield _mcp(mcp)
    if project is not None:
        path = ("projects", project, "mcpServers")
        servers = _at(data, path)
        if servers is not None:
            yield Table(MCP_SERVERS, path, servers)


def _mcp(mcp: Mapping[str, object]) -> Table:
    """Tell OpenCode, which has had its servers in two places, from settings of VS Code."""
    nested = as_object(mcp.get("servers"))
    if nested is None or "type" in nested or "command" in nested:
        return Table(OPENCODE, ("mcp",), mcp)
    entries = [as_object(entry) or {} for entry in nested.values()]
    modern = any(each.get("type") in ("local", "remote") or "environment" in each for each in entries)
    return Table(OPENCODE if modern else VSCODE, ("mcp", "servers"), nested)


def _at(data: Mapping[str, object], path: tuple[str, ...]) -> dict[str, object] | None:
    found: object = data
    for name in path:
        found = (as_object(found) or {}).get(name)
    return as_object(found)


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
