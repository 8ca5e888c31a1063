"""What is to be said of a file beside its servers: members that nobody knows, names that stand twice."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator, Mapping
from typing import Final

from anywire.config.dialect import Dialect
from anywire.config.document import Document, as_object
from anywire.config.entry import Remark, Severity
from anywire.config.json_text import line_at
from anywire.config.members import Members
from anywire.config.naming import usable_name
from anywire.config.tables import Table, written_servers
from anywire.config.template import Syntax
from anywire.config.times import too_long
from anywire.errors import ConfigError

__all__ = ("remarks_on",)

_BARE_VARIABLE: Final = re.compile(r"(?:\w+ )?\$[A-Z_][A-Z0-9_]*")
_OF_COMMANDS: Final = ("args", "env", "env_file", "passed_env", "cwd", "framing")
_OF_URLS: Final = ("headers", "header_variables", "token_variable")


def remarks_on(document: Document, tables: tuple[Table, ...]) -> Iterator[Remark]:
    """Yield the remarks on the servers of these tables; the same is said of a member once."""
    for table in tables:
        yield from _repeated_tables(document, table)
        yield from _repeated(document, table)
    seen: set[tuple[str, str]] = set()
    for server in written_servers(tables):
        members = as_object(server.table.servers[server.name])
        usable = usable_name(server.name)
        path = (*server.table.path, server.name)
        if usable != server.name:
            sentence = f"its name cannot be part of other names, so it is called {usable}"
            yield Remark(Severity.NOTE, server.name, sentence, document.line(path))
        for name, value in (members or {}).items():
            remark = _about(name, server.table.dialect)
            if remark is not None and (name, remark[1]) not in seen:
                seen.add((name, remark[1]))
                yield Remark(remark[0], server.name, remark[1], document.line((*path, name)))
            if (sentence := _about_use(name, value, members or {}, server.table.dialect)) is not None:
                yield Remark(Severity.WARNING, server.name, sentence, document.line((*path, name)))
        for name in _long_times(members or {}, server.table.dialect):
            sentence = f"{name} is longer than a day; it is taken for one"
            yield Remark(Severity.WARNING, server.name, sentence, document.line((*path, name)))


def _long_times(members: Mapping[str, object], dialect: Dialect) -> tuple[str, ...]:
    with contextlib.suppress(ConfigError):  # what is no time refuses the server
        return tuple(too_long(Members(members, dialect)))
    return ()


def _about_use(name: str, value: object, members: Mapping[str, object], dialect: Dialect) -> str | None:
    """Return what is to be said of a member that does nothing, or not what it seems to; None for nothing."""
    meaning = dialect.members.get(name)
    given = {dialect.members.get(each) for each, content in members.items() if content}
    if value and meaning in _OF_COMMANDS and "command" not in given:
        return f"{name} is not used: the server is called, not started"
    if value and meaning in _OF_URLS and "url" not in given:
        return f"{name} is not used: the server is started, not called"
    if meaning in ("env", "headers") and dialect.syntax in (Syntax.DOLLAR, Syntax.DOLLAR_ENV):
        for each, content in (as_object(value) or {}).items():
            if isinstance(content, str) and _BARE_VARIABLE.fullmatch(content):
                return f"{each} in {name} begins a name with $, which is no variable; write ${{NAME}}"
    return None


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


def _repeated_tables(document: Document, table: Table) -> Iterator[Remark]:
    """Say which objects with servers stand twice: those of the first are not read."""
    for depth, name in enumerate(table.path):
        node = document.node(table.path[:depth])
        for one, last in node.repeated() if node is not None else ():
            if one.name == name:
                line = line_at(document.text, last.start)
                sentence = f"{name} stands again in line {line}, which counts: no server of this one is read"
                yield Remark(Severity.WARNING, None, sentence, line_at(document.text, one.start))


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
