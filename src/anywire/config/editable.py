"""A file of servers that is to be changed: which servers it has, in which format new ones are written."""

from __future__ import annotations

import os
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from anywire.config.content import read_file
from anywire.config.dialect import MCP_SERVERS, OPENCODE, VSCODE, Dialect
from anywire.config.document import Document, encode_like, read_document
from anywire.config.editing import with_servers, without_server
from anywire.config.file import write_file
from anywire.config.lock import locked_folder
from anywire.config.tables import find_tables
from anywire.errors import ConfigError

__all__ = ("EditableFile",)

_EMPTY: Final = "{}\n"


class EditableFile:
    """A file of JSON, read once, to be changed once.  `open` is for a look at it, `locked` for a change."""

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

    @classmethod
    @contextmanager
    def locked(cls, path: Path) -> Generator[EditableFile]:
        """Read a file and keep it from everybody else who would change it so, until the block ends.

        Folders on the way to it that are missing are made, for their owner alone.  Raises `ConfigError` where
        it cannot be changed, or somebody else does not come to an end of it.
        """
        target = Path(os.path.realpath(path))
        if target.exists() and not target.is_file():
            raise ConfigError(f"{path} is no file that can be changed")
        with locked_folder(target.parent):
            yield cls.open(path)

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
