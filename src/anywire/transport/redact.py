"""What may be shown of a command line and of a URL: everything but its secrets.

Errors, logs and reports show what was called.  The value of an option or a variable whose name speaks
of a secret, credentials in a header, the user and the query of a URL are left out of all of them, and so is
what has the shape of a well-known token, wherever it stands.
"""

from __future__ import annotations

import base64
import re
import shlex
from collections.abc import Iterable, Sequence
from typing import Final
from urllib.parse import parse_qsl, unquote, urlsplit

__all__ = (
    "HIDDEN",
    "parts_of",
    "secrets_in_url",
    "secrets_in_words",
    "show_command_line",
    "show_url",
    "show_word",
    "show_words",
    "speaks_of_a_secret",
    "told_without",
    "without_secrets",
    "without_tokens",
    "without_values",
)

#: What stands in the place of a secret.
HIDDEN: Final = "***"

#: How long a value must be to be looked for in a text.
_LEAST: Final = 6
#: A text is cut before so much of a value.
_MOST_CUT: Final = 400
_JOINED: Final = re.compile(r"[,;]\s*")
_TELLTALE: Final = r"key|token|secret|passw|passphrase|pwd|auth|credential|cookie|bearer"
# A few short names speak of one only where they stand by themselves: `pat` is in every path.
_SPEAKS_OF_A_SECRET: Final = re.compile(rf"{_TELLTALE}|(?:\A|[-_.])(?:pat|pass|jwt|otp)\s*\Z", re.IGNORECASE)
# Of options of one letter this one has a key; `curl` has it before a URL.
_KEY_OPTION: Final = "-k"
# What takes more than its shape is in `_is_token`.  Each takes all it can, and nothing is looked at twice.
_TOKEN: Final = re.compile(
    r"""(?<![A-Za-z0-9])(?:
        gh[opsur]_[A-Za-z0-9]{20,}+ | github_pat_[A-Za-z0-9_]{20,}+ | glpat-[\w-]{16,}+   # GitHub, GitLab
      | (?P<key>sk[-_][\w-]{16,}+)                       # OpenAI, Anthropic, Stripe and many others
      | xox[a-z]-[A-Za-z0-9-]{10,}+ | xapp-[A-Za-z0-9-]{10,}+                            # Slack
      | (?:AKIA|ASIA)[A-Z0-9]{16}+ | AIza[\w-]{30,}+                                     # AWS, Google
      | npm_[A-Za-z0-9]{30,}+ | pypi-[\w-]{30,}+ | hf_[A-Za-z0-9]{30,}+                  # registries
      | eyJ[\w-]{14,}+(?:\.[\w-]*+)*+                                                   # JWT
    )""",
    re.ASCII | re.VERBOSE,
)
_OPTION: Final = re.compile(r"--?[A-Za-z][\w.-]*")
_NAME: Final = re.compile(r"(?:--?)?[A-Za-z_][\w.-]*")
_HEADER: Final = re.compile(r"\s*[A-Za-z][A-Za-z0-9_-]*\s*(?=:[^/]|:$)")
_SCHEME: Final = re.compile(r"(?:Bearer|Basic|Digest|Token)\s+\S", re.IGNORECASE)
_JSON_MEMBER: Final = re.compile(
    rf'("[^"]*(?:{_TELLTALE})[^"]*"\s*:\s*)("(?:[^"\\]|\\.)*"?|[^\s,\}}\]]+)', re.IGNORECASE
)
_URL: Final = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://(\S*)")
_USER_AT_HOST: Final = re.compile(r"[^\s:/@]+:[^\s@]+(?=@)")


def show_command_line(words: Sequence[str]) -> str:
    """Return a command line as a shell would take it, its secrets left out."""
    return " ".join(word if HIDDEN in word else shlex.quote(word) for word in show_words(words))


def show_words(words: Sequence[str]) -> list[str]:
    """Return the words of a command line, their secrets left out."""
    shown: list[str] = []
    hide_next = False
    for before, word in zip(["", *words], words, strict=False):
        # A secret may begin with a dash; one that begins with two and a letter is rare enough.
        if hide_next and not (word.startswith("--") and _OPTION.fullmatch(word.partition("=")[0])):
            shown.append(HIDDEN)
            hide_next = False
            continue
        if before == _KEY_OPTION and not word.startswith("-") and "://" not in word:
            shown.append(HIDDEN)
            continue
        hide_next = _OPTION.fullmatch(word) is not None and speaks_of_a_secret(word)
        shown.append(show_word(word))
    return shown


def secrets_in_words(words: Sequence[str]) -> set[str]:
    """Return the values in a command line that `show_words` leaves out."""
    secrets: set[str] = set()
    for word, told in zip(words, show_words(words), strict=True):
        if word == told:
            continue
        if told == HIDDEN:
            secrets.add(word)
        for found in _URL.finditer(word):
            secrets |= secrets_in_url(found[0])
        name, equals, value = word.partition("=")
        if equals and told == f"{name}={HIDDEN}":
            secrets.add(value)
        elif told.endswith(f" {HIDDEN}"):  # a header, or a scheme with credentials
            secrets.add(word[len(told) - len(HIDDEN) :].strip())
    return secrets - {""}


def secrets_in_url(url: str) -> set[str]:
    """Return what `without_secrets` leaves out of a URL, also as it is sent: decoded, and in Basic."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return set()
    secrets = {value for _, value in parse_qsl(parts.query)} | {parts.query}
    user, at, _ = parts.netloc.rpartition("@")
    if at:
        given = unquote(user)
        password = given.partition(":")[2]
        secrets |= {user, given, password, user.partition(":")[2]}
        secrets.add(base64.b64encode(given.encode()).decode())
    return secrets - {""}


def show_word(word: str) -> str:
    """Return one word of a command line, whatever it is, its secrets left out."""
    name, equals, value = word.partition("=")
    if equals and _NAME.fullmatch(name):
        return f"{name}={HIDDEN if speaks_of_a_secret(name) and value else show_word(value)}"
    if _SCHEME.match(word):
        return f"{word.split(maxsplit=1)[0]} {HIDDEN}"
    header = _HEADER.match(word)
    if header is not None and speaks_of_a_secret(header[0]):
        return f"{header[0].strip()}: {HIDDEN}"
    if header is not None and _SCHEME.match(word[header.end() + 1 :].strip()):
        return f"{header[0].strip()}: {HIDDEN}"
    word = without_tokens(_JSON_MEMBER.sub(rf'\1"{HIDDEN}"', word))
    if "://" in word:
        return _URL.sub(lambda found: f"{found[1]}://{_show_rest(found[2])}", word)
    return _USER_AT_HOST.sub(HIDDEN, word)


def show_url(url: str) -> str:
    """Return what a user gave for a URL, however it is spelled, its user and its query left out."""
    scheme, found, rest = url.partition("://")
    return without_tokens(f"{scheme}://{_show_rest(rest)}") if found else show_word(url)


def _show_rest(rest: str) -> str:
    """Show what stands behind the scheme of a URL, which may be no good one."""
    place = re.split(r"[/?#]", rest, maxsplit=1)[0]
    where = rest[len(place) :]
    if "@" in place:
        place = f"{HIDDEN}@{place.rpartition('@')[2]}"
    elif "@" in where and ":" in place.rpartition("]")[2] and not place.rpartition(":")[2].isdigit():
        return HIDDEN  # a password with a character that should have been escaped
    path, mark, _ = where.partition("?")
    path, number, _ = path.partition("#")
    return place + path + (f"{mark or number}{HIDDEN}" if mark or number else "")


def without_secrets(url: str) -> str:
    """Return the name of a server in errors: its URL without user, query and fragment."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return "a URL that cannot be read"
    host = parts.netloc.rpartition("@")[2]
    return without_tokens(f"{parts.scheme}://{host}{parts.path}") + ("?…" if parts.query else "")


def without_tokens(text: str) -> str:
    """Return any text without what has the shape of a well-known token, in time linear in its length."""
    return _TOKEN.sub(lambda found: HIDDEN if _is_token(found) else found[0], text)


def _is_token(found: re.Match[str]) -> bool:
    # Names begin with sk- as well, such as sk-learn-feature-store.
    return found["key"] is None or any(sign.isdigit() for sign in found["key"])


def without_values(text: bytes, values: Iterable[str]) -> bytes:
    """Return a text of somebody else's in which none of these header values is repeated.

    Neither is what a value consists of: what stands behind a scheme (`Bearer …`), each of several that are
    joined, the value of a cookie.  What is very short is no secret, and would be found anywhere.
    """
    parts = {part for value in values for part in parts_of(value)}
    for part in sorted(parts, key=len, reverse=True):  # what a shorter one leaves of a longer one would show
        text = text.replace(part.encode("utf-8", "surrogateescape"), HIDDEN.encode())
    return text


def told_without(text: str, values: Iterable[str]) -> str:
    """Return a text that is told, and may be cut, in which none of these values stands.

    Neither does the beginning of one where the text was cut, nor one in the spelling of a literal.
    """
    given = {spelled for value in values for spelled in (value, ascii(value)[1:-1], repr(value)[1:-1])}
    told = without_values(text.encode("utf-8", "surrogateescape"), given).decode("utf-8", "surrogateescape")
    for part in {part for value in given for part in parts_of(value)}:
        for length in range(min(len(part) - 1, _MOST_CUT), _LEAST - 1, -1):
            told = re.sub(rf"{re.escape(part[:length])}(?=['\"]|\s?…|\Z)", HIDDEN, told)
    return told


def parts_of(value: str) -> set[str]:
    """Return a value that may be a secret, and what in it may be one, as `without_values` has it."""
    parts = {value}
    for piece in _JOINED.split(value):
        parts |= {piece, piece.rpartition(" ")[2], piece.partition("=")[2]}
    return {part for part in parts if len(part) >= _LEAST}


def speaks_of_a_secret(name: str) -> bool:
    """Say whether an option, a variable or a header of that name has a value that must not be shown."""
    return _SPEAKS_OF_A_SECRET.search(name) is not None
