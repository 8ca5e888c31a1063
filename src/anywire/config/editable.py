"""A file of servers that is to be changed: which servers it has, in which format new ones are written."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from anywire.config.dialect import MCP_SERVERS, OPENCODE, VSCODE, Dialect
from anywire.config.document import Document, encode_like, read_document
from anywire.config.editing import with_servers, without_server
from anywire.config.file import read_file, write_file
from anywire.config.tables import find_tables
from anywire.errors import ConfigError

__all__ = ("EditableFile",)

_EMPTY: Final = "{}\n"


class EditableFile:
    """A file of JSON, read once.  `open` makes one; each change is written at once."""

    def __init__(self, path: Path, content: bytes | None) -> None:
        self._path = path
        self._content = content
        self._document = _document(path, content)
        self._tables = find_tables(self._document.data)
        if self._document.kind != "json":
            raise ConfigError(f"{path} is TOML, and only files of JSON can be changed")

    @classmethod
    def open(cls, path: Path) -> EditableFile:
        """Read a file, which need not be there.  Raises `ConfigError` for one that cannot be changed."""
        return cls(path, read_file(path))

    @property
    def names(self) -> tuple[str, ...]:
        """The names of its servers."""
        return tuple(dict.fromkeys(name for table in self._tables for name in table.servers))

    @property
    def dialect(self) -> Dialect:
        """The format in which new servers are written."""
        return self._place()[0]

    def add(self, servers: Mapping[str, Mapping[str, object]]) -> None:
        """Write the file with these servers in it, of names that it does not have.  Raises `ConfigError`."""
        self._write(with_servers(self._document, self._place()[1], servers))

    def remove(self, name: str) -> None:
        """Write the file without that server, in whichever table it is.  Raises `ConfigError`."""
        document = self._document
        for table in self._tables:
            if name in table.servers:
                document = _document(self._path, without_server(document, table.path, name))
        self._write(document.text)

    def _place(self) -> tuple[Dialect, tuple[str, ...]]:
        if self._tables:
            return self._tables[0].dialect, self._tables[0].path
        if self._path.absolute().parent.name == ".vscode":
            return VSCODE, ("servers",)
        if self._path.name.startswith("opencode."):
            return OPENCODE, ("mcp",)
        return MCP_SERVERS, ("mcpServers",)

    def _write(self, text: str) -> None:
        try:
            content = encode_like(text, self._content)
        except ConfigError as error:
            raise ConfigError(f"{self._path}: {error}") from None
        write_file(self._path, content, self._content)


def _document(path: Path, content: bytes | str | None) -> Document:
    empty = content is None or not content.strip()
    return read_document(_EMPTY if empty or content is None else content, str(path))
