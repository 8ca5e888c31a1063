"""Servers put into the text of a file, or taken out of it, with all else in it left as it is.

Comments, the order and the layout stay; what is new is laid out like its neighbours.  Each change is read
again before anybody writes it: if it does not say exactly what it should, it is refused.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Final, cast

from anywire.config.document import Document, as_object, read_document
from anywire.config.json_text import Member, Node
from anywire.errors import ConfigError

__all__ = ("with_servers", "without_server")

_REST_OF_LINE: Final = re.compile(r"[ \t]*(?://[^\r\n]*|/\*[^\r\n]*?\*/[ \t]*)?(?=\r?\n)")
_BLANK: Final = re.compile(r"[ \t]*")
_INDENT: Final = "  "


def with_servers(
    document: Document, path: tuple[str, ...], servers: Mapping[str, Mapping[str, object]]
) -> str:
    """Return the text of a JSON document with these servers at the end of the table at `path`.

    Tables on the way that are missing are made.  Raises `ConfigError` for another format, and for a place
    that holds something else.
    """
    text = document.text
    for name, members in servers.items():
        text = _put(_read(text), path, name, members)
    expected = _plain(document.data, path)
    _table(expected, path).update({name: dict(members) for name, members in servers.items()})
    return _checked(text, expected)


def without_server(document: Document, path: tuple[str, ...], name: str) -> str:
    """Return the text of a JSON document without that server of the table at `path`, every time it is there.

    Raises `ConfigError` for another format.
    """
    text = document.text
    while (member := _object(_read(text), path).find(name)) is not None:
        text = _cut(text, _object(_read(text), path), member)
    expected = _plain(document.data, path)
    _table(expected, path).pop(name, None)
    return _checked(text, expected)


def _read(text: str) -> Document:
    document = read_document(text, "the file")
    if document.kind != "json":
        raise ConfigError("only files of JSON can be changed; this one is TOML")
    return document


def _object(document: Document, path: tuple[str, ...]) -> Node:
    node = document.node(path)
    if node is None or node.members is None:
        raise ConfigError(f"{'.'.join(path)} is no object in it")
    return node


def _plain(data: Mapping[str, object], path: tuple[str, ...]) -> dict[str, object]:
    """Return the data in which the table at `path` may be changed."""
    copied = dict(data)
    inner = copied
    for name in path:
        below = dict(as_object(inner.get(name)) or {})
        inner[name] = below
        inner = below
    return copied


def _table(data: dict[str, object], path: tuple[str, ...]) -> dict[str, object]:
    """Return the object at the end of these names, all of which are there."""
    for name in path:
        data = cast("dict[str, object]", data[name])
    return data


def _checked(text: str, expected: dict[str, object]) -> str:
    if json.dumps(_read(text).data) != json.dumps(expected):
        raise ConfigError("its text cannot be changed in place without touching something else")
    return text


def _put(document: Document, path: tuple[str, ...], name: str, members: Mapping[str, object]) -> str:
    """Put one member into the deepest table that is there, with what is missing on the way around it."""
    there = len(path)
    while there and document.node(path[:there]) is None:
        there -= 1
    value: object = members
    names = (*path[there:], name)
    for outer in reversed(names[1:]):
        value = {outer: value}
    return _insert(document.text, _object(document, path[:there]), names[0], value)


def _insert(text: str, node: Node, name: str, value: object) -> str:
    line_end = "\r\n" if "\r\n" in text else "\n"
    members = node.members or ()
    outer = _indent_at(text, node.start)
    if not members:
        inside = text[node.start + 1 : node.end - 1].rstrip()
        indent = outer + _unit(text)
        new = f"{inside}{line_end}{indent}{_rendered(name, value, indent, text, line_end)}{line_end}{outer}"
        return f"{text[: node.start + 1]}{new}{text[node.end - 1 :]}"
    last = members[-1]
    if not _begins_line(text, last.start):
        new = f", {json.dumps(name, ensure_ascii=False)}: {json.dumps(value, ensure_ascii=False)}"
        at = last.value.end
        return f"{text[:at]}{new}{text[at:]}"
    indent = _indent_at(text, last.start)
    new = f"{line_end}{indent}{_rendered(name, value, indent, text, line_end)}"
    if last.comma >= 0:  # a comma behind the last one stays the habit of the file
        at = _line_end(text, last.comma + 1)
        return f"{text[:at]}{new},{text[at:]}"
    at = _line_end(text, last.value.end)
    return f"{text[: last.value.end]},{text[last.value.end : at]}{new}{text[at:]}"


def _rendered(name: str, value: object, indent: str, text: str, line_end: str) -> str:
    written = json.dumps({name: value}, ensure_ascii=False, indent=_unit(text))
    lines = written.split("\n")[1:-1]
    unit = len(_unit(text))
    # A list of a few words reads better on one line.
    joined = _short_lists("\n".join(f"{indent}{line[unit:]}" for line in lines)).lstrip()
    return joined.replace("\n", line_end)


def _short_lists(text: str) -> str:
    def joined(found: re.Match[str]) -> str:
        one = "[" + re.sub(r",\s*\n\s*", ", ", found[1].strip()) + "]"
        return one if len(one) < 80 else found[0]

    return re.sub(r'\[\n((?:\s*"(?:[^"\\]|\\.)*",?\n)+)\s*\]', joined, text)


def _cut(text: str, node: Node, member: Member) -> str:
    """Take one member away, with its comma, or with the comma before it where it is the last."""
    members = list(node.members or ())
    at = members.index(member)
    start, end = member.start, member.value.end
    if member.comma >= 0:
        end = member.comma + 1
    elif at > 0:
        comma = members[at - 1].comma
        text = f"{text[:comma]}{text[comma + 1 :]}"
        start, end = start - 1, end - 1
    if _begins_line(text, start):
        blank = _BLANK.match(text, end)
        after = blank.end() if blank is not None else end
        if text.startswith(("\n", "\r\n"), after):
            start = text.rfind("\n", 0, start) + 1
            end = text.index("\n", after) + 1
    elif at < len(members) - 1:
        end = _BLANK.match(text, end).end()  # pyright: ignore[reportOptionalMemberAccess] it always matches
    return f"{text[:start]}{text[end:]}"


def _begins_line(text: str, position: int) -> bool:
    return text[text.rfind("\n", 0, position) + 1 : position].strip(" \t") == ""


def _indent_at(text: str, position: int) -> str:
    found = _BLANK.match(text, text.rfind("\n", 0, position) + 1)
    return found.group() if found is not None else ""


def _unit(text: str) -> str:
    """Return by what the file indents, as its first indented line has it."""
    found = re.search(r"\n([ \t]+)\S", text)
    return found[1] if found is not None else _INDENT


def _line_end(text: str, position: int) -> int:
    """Return where a line ends, if nothing but a comment follows on it, else the position itself."""
    found = _REST_OF_LINE.match(text, position)
    return found.end() if found is not None else position
