"""A file of servers as a document: its bytes as text, its text as data, and where each member stands."""

from __future__ import annotations

import codecs
import re
import tomllib
from typing import Final, Literal, cast

import msgspec

from anywire.config.json_text import Node, line_at, read_json, skip_trivia
from anywire.errors import ConfigError

__all__ = ("MOST_BYTES", "Document", "as_object", "decode_text", "encode_like", "read_document")

#: So large may a file be: an agent keeps its history in the file that has its servers.
MOST_BYTES: Final = 16 * 1024 * 1024

_MARKS: Final = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_TOML_PLACE: Final = re.compile(r"(.*) \(at (?:line (\d+), column (\d+)|end of document)\)", re.DOTALL)


class Document(msgspec.Struct, frozen=True):
    """What was read: the text without a byte order mark, its data, and for JSON the places of the values."""

    text: str
    data: dict[str, object]
    root: Node | None = None

    @property
    def kind(self) -> Literal["json", "toml"]:
        """The format."""
        return "toml" if self.root is None else "json"

    def node(self, path: tuple[str, ...]) -> Node | None:
        """Return the value at the end of these names, None where there is none; of TOML none is known."""
        node = self.root
        for name in path:
            member = None if node is None else node.find(name)
            node = None if member is None else member.value
        return node

    def line(self, path: tuple[str, ...]) -> int | None:
        """Return the line where the member at the end of these names begins, None where it is not known."""
        parent = self.node(path[:-1]) if path else None
        member = None if parent is None else parent.find(path[-1])
        return None if member is None else line_at(self.text, member.start)


def read_document(content: bytes | str, where: str) -> Document:
    """Read TOML where `where` ends with `.toml`, else JSON, with comments and trailing commas.

    A file without such an ending is JSON if it begins as an object.  Raises `ConfigError` for what is no
    object of either, with line and column.
    """
    text = decode_text(content, where)
    first = text[skip_trivia(text, 0) :][:1]
    if where.endswith(".toml") or (first not in ("{", "") and not where.endswith((".json", ".jsonc"))):
        return Document(text, _read_toml(text, where))
    root = read_json(text, where)
    data = as_object(root.plain())
    if data is None:
        raise ConfigError(f"{where} holds no JSON object")
    return Document(text, data, root)


def decode_text(content: bytes | str, where: str) -> str:
    """Return the text of a file: UTF-8, or UTF-16 behind its byte order mark.  Raises `ConfigError`."""
    if len(content) > MOST_BYTES:
        raise ConfigError(f"{where} has more than {MOST_BYTES:,} bytes")
    if isinstance(content, str):
        return content.removeprefix("\ufeff")
    mark, encoding = next(((mark, name) for mark, name in _MARKS if content.startswith(mark)), (b"", "utf-8"))
    content = content[len(mark) :]
    try:
        return content.decode(encoding)
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        name = encoding.upper().removesuffix("-LE").removesuffix("-BE")
        raise ConfigError(f"{where}, line {line}: byte {error.start + len(mark)} is no {name}") from None


def encode_like(text: str, before: bytes | None) -> bytes:
    """Return the bytes of a text that takes the place of a file's.

    Raises `ConfigError` where the file is not UTF-8, or the text has half of a surrogate pair.
    """
    mark = codecs.BOM_UTF8 if before is not None and before.startswith(codecs.BOM_UTF8) else b""
    if before is not None and before.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        raise ConfigError("only files of UTF-8 can be changed; this one is UTF-16")
    try:
        return mark + text.encode()
    except UnicodeEncodeError:
        raise ConfigError("what is to be written is no text: it has bytes that are not UTF-8") from None


def as_object(value: object) -> dict[str, object] | None:
    """Return a value that is an object, None for any other."""
    return cast("dict[str, object]", value) if isinstance(value, dict) else None


def _read_toml(text: str, where: str) -> dict[str, object]:
    try:
        return tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError, ValueError) as error:
        # What tomllib says of a key repeats it; a value is never repeated.
        found = _TOML_PLACE.fullmatch(str(error))
        place = ""
        if found is not None:
            place = f", line {found[2]}, column {found[3]}" if found[2] else ", at its end"
        what = found[1] if found is not None else "it nests too deeply or has a number that is none"
        raise ConfigError(f"{where}{place}: it is no TOML: {what[:1].lower()}{what[1:]}") from None
