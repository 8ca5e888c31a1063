"""Where secrets stand in a text that people or programs wrote: behind a name that tells, and how far.

Rather too much is taken than too little: behind `name:` the rest of the line, behind `name=` all up to white
space, in quotes all up to the quote that closes, and all of the rest where it never comes: a message may be
cut.  Every text is read once from its beginning to its end.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

import msgspec

from anywire.record.names import is_exactly_a_secret, tells

__all__ = ("Found", "dangling", "private_keys", "secrets_by_name", "secrets_by_scheme", "secrets_in_urls")


class Found(msgspec.Struct, frozen=True):
    """Where a secret stands in a text: from `start` to `end`.

    `depth` is how often its quotes are escaped, -1: it has none.  `quote` is what has to stand around what is
    put in its place.  `is_value`: it is an object or an array.  `is_number`: it is a number of JSON.
    `is_exact`: its name is that of a secret and of nothing else.
    """

    start: int
    end: int
    depth: int = -1
    quote: str = ""
    is_value: bool = False
    is_number: bool = False
    is_exact: bool = False


_NAME: Final = re.compile(
    r"passw|passphrase|secret|token|(?:api|access|private)[-_ .]?key|authorization|cookie|credential"
    r"|request[-_ .]?state|session[-_ .]?id|(?<![a-z0-9])(?:pwd|pass|auth|jwt|bearer)(?![a-z0-9])"
    r"|(?<=[?&])key(?==)",
    re.IGNORECASE | re.ASCII,
)
_LETTERS: Final = re.compile(r"[\w.-]{0,60}")
_BEFORE: Final = re.compile(r"[\w.-]{0,40}\Z")
_MOST_BEFORE: Final = 40
# What may close a name, words that may follow it, and what divides it from its value.
_CLOSED: Final = re.compile(r"(?:(\\*+)([\"'`])|[*_]++)?+[)\]]?+(?:(\\*+)([\"'`]))?+")
_WORDS: Final = re.compile(r"(?:[ ][A-Za-z]{1,20}){0,3}+[ \t]*+")
_DIVIDED: Final = re.compile(r"[ \t]*+(=>|->|:=|=|:(?!//))[*_`]*+(?=\s)|[ \t]*+(=>|->|:=|=|:(?!//))")
_SPACE: Final = re.compile(r"\s*+")
_BLANK: Final = re.compile(r"[ \t]*+")
_QUOTE: Final = re.compile(r"(\\*+)([\"'`])")
_PART: Final = re.compile(r"[{}\[\]]|(\\*+)\"")
_LINE: Final = re.compile(r"[^\r\n]*+")
# In YAML the lines behind this are the value; one of them is taken, and whatever is indented below it.
_BLOCK: Final = re.compile(
    r"[|>][+-]?[ \t]*+\r?\n([ \t]*+)[^\n]*+(?:\n(?:\1[ \t]*+[^\s][^\n]*+|[ \t]*+(?=\n)))*+"
)
_BARE: Final = re.compile(r"(?:[^\s\"'`]|[\"'`](?![\s,;>)\]}:.]|\Z))++")
_QUERY: Final = re.compile(r"[^\s&\"'<>#`\\]++")
_ELEMENT: Final = re.compile(r"[^<]++")
_SCALAR: Final = re.compile(r"[^\s,}\]\"'\\]++")
_NUMBER: Final = re.compile(r"-?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
_PLAIN: Final = frozenset({"true", "false", "null", "none", "undefined"})
_MOST_BEHIND: Final = 200
_OF_HEADERS: Final = ("authorization", "cookie")

_SCHEME: Final = re.compile(
    r"\b(?:bearer|basic)[ ]{1,4}((?=[a-z._~+/-]*+[0-9=])[a-z0-9._~+/-]{6,}+=*+)", re.IGNORECASE | re.ASCII
)
_PLACE: Final = re.compile(r"://([^\s\"'`<>\\]++)")
_END_OF_HOST: Final = re.compile(r"[/?#]")
_KEY_BEGINS: Final = re.compile(r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY-----")
_KEY_ENDS: Final = re.compile(r"-----END [A-Z0-9 ]{0,40}PRIVATE KEY-----")


def secrets_by_name(text: str) -> Iterator[Found]:
    """Yield what stands behind names that tell, in order."""
    at = 0
    while (name := _NAME.search(text, at)) is not None:
        end = _letters_after(text, name.end())
        begin = name.start() - len(_letters_before(text, max(at, name.start() - _MOST_BEFORE), name.start()))
        word = text[begin:end]
        at = end
        if not (tells(word.lstrip("-")) or name[0].lower() == "key"):
            continue
        found = _behind(text, begin, end, word)
        if found is not None and found.end > found.start:
            yield found
            at = max(found.end, end)


def secrets_by_scheme(text: str) -> Iterator[Found]:
    """Yield what looks like credentials behind `Bearer` and `Basic`."""
    for found in _SCHEME.finditer(text):
        yield Found(*found.span(1))


def secrets_in_urls(text: str) -> Iterator[Found]:
    """Yield user and password of each URL, even where what should be escaped in them is not."""
    for found in _PLACE.finditer(text):
        rest = found[1]
        host = _END_OF_HOST.split(rest, maxsplit=1)[0]
        if "@" in host:
            yield Found(found.start(1), found.start(1) + host.rindex("@"))
        elif ":" in host and "@" in rest and not host.rpartition(":")[2].isdigit():
            yield Found(found.start(1), found.start(1) + rest.rindex("@"))


def private_keys(text: str) -> Iterator[Found]:
    """Yield what stands in each private key of PEM, which may be cut."""
    at = 0
    while (begins := _KEY_BEGINS.search(text, at)) is not None:
        ends = _KEY_ENDS.search(text, begins.end())
        at = len(text) if ends is None else ends.end()
        yield Found(begins.end(), len(text) if ends is None else ends.start())


def dangling(text: str) -> bool:
    """Say whether a line ends behind a name that tells, and what that names stands in the next."""
    names = list(_NAME.finditer(text, max(0, len(text) - _MOST_BEHIND)))
    if not names:
        return False
    at = _CLOSED.match(text, _letters_after(text, names[-1].end()))
    assert at is not None
    rest = text[at.end() :].strip()
    return rest in {"", ":", "=", ":=", "=>", ": [", ": {", ":[", ":{", ': "'}


def _letters_after(text: str, at: int) -> int:
    letters = _LETTERS.match(text, at)
    assert letters is not None
    # A sentence may end there.
    return at + len(letters[0].rstrip("."))


def _letters_before(text: str, at: int, end: int) -> str:
    letters = text[at:end]
    for index in range(len(letters) - 1, -1, -1):
        if not (letters[index].isalnum() or letters[index] in "_.-"):
            return letters[index + 1 :]
    return letters


def _behind(text: str, begin: int, end: int, word: str) -> Found | None:
    """Return what stands behind a name that tells."""
    if text[begin - 1 : begin] == "<" and text[end : end + 1] == ">":
        return _span(_ELEMENT, text, end + 1)
    closed = _CLOSED.match(text, end)
    assert closed is not None
    quoted = closed[2] is not None
    divided = _DIVIDED.match(text, closed.end())
    if divided is None and not quoted and not word.startswith("-"):
        words = _WORDS.match(text, closed.end())
        divided = None if words is None else _DIVIDED.match(text, words.end())
    if divided is None:
        return _behind_option(text, end) if word.startswith("-") else None
    sign = divided[1] or divided[2]
    space = (_SPACE if sign in (":", "=>") else _BLANK).match(text, divided.end())
    at = divided.end() if space is None else space.end()
    if sign == "=" and text[begin - 1 : begin] in ("?", "&"):
        return _span(_QUERY, text, at)
    if quoted:
        return _in_json(text, at, word, closed)
    return _in_prose(text, at, word, sign)


def _behind_option(text: str, end: int) -> Found | None:
    blank = _BLANK.match(text, end)
    if blank is None or blank.end() == end or text.startswith("--", blank.end()):
        return None
    return _in_quotes(text, blank.end()) or _span(_BARE, text, blank.end())


def _in_json(text: str, at: int, word: str, closed: re.Match[str]) -> Found | None:
    """Return a value behind a name in quotes."""
    if (found := _in_quotes(text, at)) is not None:
        return found
    depth, quote = len(closed[1]), f"{closed[1]}{closed[2]}"
    if text[at : at + 1] in ("{", "["):
        end, is_exact = _end_of_value(text, at), is_exactly_a_secret(word)
        return Found(at, end, depth, quote, is_value=True, is_exact=is_exact)
    scalar = _SCALAR.match(text, at)
    if scalar is None or scalar[0].lower() in _PLAIN:
        return None
    if _NUMBER.fullmatch(scalar[0]):
        return Found(*scalar.span(), is_number=True) if is_exactly_a_secret(word) else None
    return Found(*scalar.span(), depth, quote)


def _in_prose(text: str, at: int, word: str, sign: str) -> Found | None:
    """Return a value behind a name that stands in no quotes."""
    is_header = any(name in word.lower() for name in _OF_HEADERS)
    if not is_header and (found := _in_quotes(text, at)) is not None:
        return found
    bare = _BARE.match(text, at)
    if bare is None:
        return _span(_LINE, text, at) if is_header or text[at : at + 1] in ('"', "'", "`") else None
    first = bare[0].rstrip(".,;)}]\\")
    if first.lower() in _PLAIN or (_NUMBER.fullmatch(first) and not is_exactly_a_secret(word)):
        return None
    if text[at] in "{[":
        end = _end_of_value(text, at)
        line = _LINE.match(text, end)
        return Found(at, end if line is None else line.end())
    if sign == ":" or is_header:
        return _block(text, at) or _span(_LINE, text, at)
    end = bare.end()
    while end > at + 1 and text[end - 1] == "\\":  # of a quote that is escaped, and closes
        end -= 1
    return Found(at, end)


def _block(text: str, at: int) -> Found | None:
    block = _BLOCK.match(text, at)
    return None if block is None or not block[1] else Found(block.start(1), block.end())


def _in_quotes(text: str, at: int) -> Found | None:
    """Return what stands in quotes, escaped or not; without the closing one, what may belong to it."""
    opening = _QUOTE.match(text, at)
    if opening is None:
        return None
    depth, mark = len(opening[1]), opening[2]
    for quote in _QUOTE.finditer(text, opening.end()):
        count = len(quote[1])
        if quote[2] == mark and (count < depth or count % (2 * (depth + 1)) == depth):
            return Found(opening.end(), quote.end() - 1 - min(count, depth), depth)
    if mark == '"':
        return Found(opening.end(), len(text), depth)
    return _span(_LINE, text, opening.end())


def _end_of_value(text: str, at: int) -> int:
    """Return where an object or an array ends, or the text."""
    levels, inside, depth = 0, False, -1
    for part in _PART.finditer(text, at):
        if part[1] is not None:
            count = len(part[1])
            if depth < 0:
                depth = count
            if count < depth:
                return part.start()  # what it stands in ends
            inside ^= count % (2 * (depth + 1)) == depth
        elif not inside:
            levels += 1 if part[0] in "{[" else -1
            if levels == 0:
                return part.end()
    return len(text)


def _span(pattern: re.Pattern[str], text: str, at: int) -> Found | None:
    found = pattern.match(text, at)
    if found is None or not found[0].strip():
        return None
    return Found(at, at + len(found[0].rstrip()))
