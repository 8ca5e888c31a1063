"""What a plain URI may be taken for: a rule about what is read must hold whoever reads it.

Servers decode percent-encodings, and some look at a part of a URI only: without its fragment or query, its
user or port, or what is behind a `;`.  Others do not tell `x:a`, `x:/a` and `x://a/` apart, or see no
capitals.

Specification: RFC 3986 §3, §6.2; RFC 8089.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import product
from typing import Final

from anywire.bridge.policy.plain import decoded_once, folded, masked, unmasked

__all__ = ("eased", "lookalikes", "parts_of", "same_as", "without_slashes")

#: Encodings of which everybody makes the same: of a space, and of what is not ASCII.
_EASY: Final = re.compile(r"(?:%20|%[89a-fA-F][0-9a-fA-F])+")
_HEXADECIMAL: Final = re.compile(r"%[0-9a-fA-F]{2}")
_PARTS: Final = re.compile(r"([^:/?#]+:)?(//[^/?#]*)?([^?#]*)(\?[^#]*)?(#.*)?", re.DOTALL)
_PORT: Final = re.compile(r":[^:@\]]*$")
_SLASHES: Final = re.compile(r"/+")
_PARAMETERS: Final = re.compile(r";[^/]*")
#: What Windows does not see at the end of a name.
_ENDS: Final = re.compile(r"[ .]+(?=/|$)")
#: What is the same file for Windows: its content, `::$DATA`.
_STREAM: Final = re.compile(r"::?\$[^/]*")
_START: Final = re.compile(r":/+")


def eased(uri: str) -> str:
    """Return a URI in which what is not ASCII, and a space, is not percent-encoded."""
    plain = _EASY.sub(lambda found: decoded_once(found[0]) or found[0], uri)
    return _HEXADECIMAL.sub(lambda found: found[0].upper(), plain)


def same_as(uri: str) -> frozenset[str]:
    """Return a plain URI as it came, and decoded: whoever reads it reads one of these, or a part."""
    return frozenset((eased(uri), decoded_once(uri) or uri))


def parts_of(uri: str) -> frozenset[str]:
    """Return a URI without what readers leave out: each part alone, and several together."""
    scheme, authority, path, query, fragment = (part or "" for part in _split(masked(uri)))
    user, at, place = authority.removeprefix("//").rpartition("@")
    places = {authority}
    if authority:
        places |= {f"//{user}{at}{_PORT.sub('', place)}", f"//{place}", f"//{_PORT.sub('', place)}"}
    paths = {each for text in (path, _PARAMETERS.sub("", path)) for each in (text, _SLASHES.sub("/", text))}
    found = {
        f"{scheme}{where}{what}{rest}"
        for where, what, rest in product(places, paths, (query + fragment, query, ""))
    }
    if scheme == "file:" and len(authority) > 2:
        found |= {f"file://{start}{what}" for start in ("", f"/{place}") for what in paths}
    return frozenset(map(unmasked, found))


def lookalikes(uris: Iterable[str]) -> frozenset[str]:
    """Return all that a careless reader may take some URIs for, themselves among them."""
    found: set[str] = set()
    for each in {text for uri in uris for text in (uri, folded(uri))}:
        found.add(_in_letters(each))
        for part in parts_of(each):
            loose = without_slashes(part)
            names = {loose, _ENDS.sub("", loose)}
            if part.startswith("file:"):
                names.add(_ENDS.sub("", _STREAM.sub("", loose)))
            found |= {part, *names, *(f"{name}/" for name in names)}
    return frozenset(found)


def without_slashes(uri: str) -> str:
    """Return a URI without the slashes behind its scheme and at its end, with single ones between."""
    return _SLASHES.sub("/", _START.sub(":", uri, count=1)).removesuffix("/")


def _split(uri: str) -> tuple[str | None, ...]:
    parts = _PARTS.fullmatch(uri)
    assert parts is not None, "every text has these parts"
    return parts.groups()


def _in_letters(uri: str) -> str:
    """Return a URI with the letters that `xn--` stands for in its host."""
    scheme, authority, *rest = (part or "" for part in _split(uri))
    if "xn--" not in authority:
        return uri
    return f"{scheme}{'.'.join(map(_label_in_letters, authority.split('.')))}{''.join(rest)}"


def _label_in_letters(label: str) -> str:
    start, encoded, name = label.partition("xn--")
    if not encoded:
        return label
    try:
        return start + name.encode("ascii").decode("punycode")
    except UnicodeError:
        return label
