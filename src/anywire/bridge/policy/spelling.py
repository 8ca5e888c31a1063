"""The ways to spell one URI: a rule about what is read must hold however it is written.

Servers decode percent-encodings, follow `..`, and take `file://localhost/a`, `file:///a` and `file:////a` for
the same file.  So a URI is looked at as it came, and in the plain form of each of its decodings.

Specification: RFC 3986 §5.2.4, §6.2; RFC 8089.
"""

from __future__ import annotations

import re
from typing import Final
from urllib.parse import unquote

__all__ = ("spellings",)

#: No longer URI is looked at, in characters.
_LONGEST: Final = 64 * 1024
#: Nobody needs to encode what is encoded more often than this.
_MOST_DECODINGS: Final = 4
_PARTS: Final = re.compile(r"([^:/?#]+:)?(//[^/?#]*)?([^?#]*)(.*)", re.DOTALL)
#: What parsers of URLs take off at the ends, and what they leave out between them.
_ENDS: Final = "".join(map(chr, range(33)))
_LEFT_OUT: Final = {ord(character): None for character in "\t\r\n"}


def spellings(uri: str) -> frozenset[str] | None:
    """Return a URI as it is and its plain forms; None for one that is too long, or encoded too often."""
    if len(uri) > _LONGEST:
        return None
    found = {uri, *_plain(uri)}
    for _ in range(_MOST_DECODINGS):
        decoded = unquote(uri)
        if decoded == uri:
            return frozenset(found)
        uri = decoded
        found |= {uri, *_plain(uri)}
    return None


def _plain(uri: str) -> tuple[str, str]:
    """Return a URI without detours, and the same where its authority is the first part of the path."""
    parts = _PARTS.fullmatch(uri.strip(_ENDS).translate(_LEFT_OUT).replace("\\", "/"))
    assert parts is not None, "every text has these parts"
    scheme, authority, path, rest = (part or "" for part in parts.groups())
    if scheme.lower() == "file:" and authority.lower() in ("", "//localhost"):
        authority = "//"
    whole = _straight(authority.removeprefix("//") + path)
    return f"{scheme}{authority}{_straight(path)}{rest}", f"{scheme}{authority[:2]}{whole}{rest}"


def _straight(path: str) -> str:
    """Return a path without its detours: `.`, `..` and nothing between two slashes."""
    kept: list[str] = []
    for segment in path.split("/"):
        if segment == ".." and kept:
            kept.pop()
        elif segment not in ("", ".", ".."):
            kept.append(segment)
    start = "/" if path.startswith("/") else ""
    end = "/" if kept and path.endswith(("/", "/.", "/..")) else ""
    return f"{start}{'/'.join(kept)}{end}"
