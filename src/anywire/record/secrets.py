"""What is left out of a recording: the secrets that messages carry.

In the place of a secret stands a word that is the same wherever the same secret stood in one recording, and
tells nothing else of it: what belongs together can still be seen.  Everything else stays as it was, byte for
byte, but for the escapes of a text out of which something was left.

Secrets are found by the names beside them, see `SECRETS`.  What has no name beside it is not found.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from typing import AnyStr, Final

import msgspec

from anywire.record.known import KnownSecrets, Present
from anywire.record.names import PROTOCOL_WORDS
from anywire.record.texts import (
    Found,
    dangling,
    private_keys,
    secrets_by_name,
    secrets_by_scheme,
    secrets_in_urls,
)
from anywire.record.tokens import Kind, text_of, values_of
from anywire.transport.redact import HIDDEN
from anywire.wire.value import encode_value

__all__ = ("SECRETS", "STAND_IN", "Secrets")

#: What is taken for a secret, and where it is looked for.  A name is compared without its case and without
#: what divides its words (`api_key`, `apiKey` and `API-Key` are one).
SECRETS: Final[Mapping[str, str]] = {
    "password, passwd, passphrase, secret, token, api key, access key, private key, authorization, cookie, "
    "credential, request state, session id": "each text at any depth of a member whose name contains one of "
    "these; a number, which becomes 0, where the name says nothing else (`db_password`, not "
    "`password_min_length`)",
    "pwd, pass, auth, bearer, jwt": "the same of a member whose name ends with this word",
    "default, const, enum, examples": "the same in a schema of what has such a name",
    "Password: …, Authorization: …, API key provided: …": "the rest of the line in any text: tool results, "
    "log messages, noise",
    "API_KEY=…, password => …, --token …": "all up to white space, or what stands in the quotes",
    '"token": …': "the text, object or array behind such a name in quotes, however often they are escaped; "
    "all of the rest where it is cut",
    "JSON as text": "the same as in the message, in JSON that stands in JSON as well",
    "Bearer …, Basic …": "what looks like credentials behind these words",
    "https://user:password@host, ?token=…, ?key=…": "user and password, and the value of a parameter of such "
    "a name, in any URL",
    "-----BEGIN PRIVATE KEY-----": "what follows, to its end",
    "what is known": "the values of `--env`, `--header`, of headers that are forwarded, of options and "
    "variables of such names on the command line and in what `--inherit-env` hands on, from 6 characters on, "
    "wherever they stand; and, from then on, what was found under one of these names and has 4 characters: "
    "as a whole word if it has fewer than 8 or is a mere word.  Mere words behind a name in a text are not "
    "remembered; nor are more than 200 at once",
}

#: How a stand-in looks.
STAND_IN: Final = re.compile(re.escape(HIDDEN).encode() + rb"[0-9a-f]{12}")
_STAND_IN: Final = re.compile(STAND_IN.pattern.decode())

# Each of these is found in no time; a message that has none of them, in small letters, has no secret.
_WORD_SIGNS: Final = (
    *("pass", "secret", "token", "key", "auth", "cookie", "credential", "state", "session", "pwd", "jwt"),
    "bearer",
)
_SIGNS: Final = tuple(sign.encode() for sign in (*_WORD_SIGNS, "basic ", "://", "\\u00"))
# What is looked for in a text, and without which of these in small letters it is not there.
_TEXTS: Final[tuple[tuple[Callable[[str], Iterator[Found]], tuple[str, ...]], ...]] = (
    (private_keys, ("private key",)),
    (secrets_by_name, _WORD_SIGNS),
    (secrets_by_scheme, ("bearer ", "basic ")),
    (secrets_in_urls, ("://",)),
)
# Most strings are short, and for those one look is quicker than many.
_SHORT: Final = 256
# `"key=a"`.
_LEAST_TELLING: Final = 7
_QUOTE: Final = ord('"')
_ANY_SIGN: Final = re.compile("|".join(re.escape(sign) for _, signs in _TEXTS for sign in signs))
_ANY_RAW_SIGN: Final = re.compile(_ANY_SIGN.pattern.encode() + rb"|\\u00")
#: JSON in JSON in JSON: its escapes double with each level, so that there are not many.
_MOST_NESTED: Final = 30
# What is hidden may stand in the same message once more.
_MOST_LOOKS: Final = 3


class Secrets:
    """Leaves secrets out.

    `key` is random, and one for a recording.  `values` are secrets that are known: headers, variables of a
    child.  They are left out wherever they stand, and from then on those that were found by their names.
    """

    def __init__(self, key: bytes, values: Iterable[str] = ()) -> None:
        self._key = key
        self._known = KnownSecrets(values)
        self._learned = False
        self._dangling: dict[Hashable, bool] = {}
        self._present: Present | None = None

    def know(self, values: Iterable[str]) -> None:
        """Leave these out as well, from now on."""
        self._known.give(values)

    def pass_by(self, values: Iterable[str]) -> None:
        """Leave these out as well until many others have come: those of one request among many."""
        self._known.pass_by(values)

    def stand_in(self, secret: str) -> str:
        """Return what stands in the place of a secret."""
        if _STAND_IN.fullmatch(secret):
            return secret
        data = secret.encode("utf-8", "surrogatepass")
        return f"{HIDDEN}{hashlib.blake2b(data, key=self._key, digest_size=6).hexdigest()}"

    def hide(self, message: bytes) -> bytes:
        """Return a JSON text without its secrets."""
        self._present = self._known.in_text(message)
        if self._present is None and not _is_any_in(message.lower(), _SIGNS):
            return message
        for _ in range(_MOST_LOOKS):
            self._learned = False
            message = self._hide_json(message)
            if not self._learned:
                break
            self._present = self._known.in_text(message)
            if self._present is None:
                break
        return message

    def hide_text(self, text: str) -> str:
        """Return any text without the secrets that are known, or that its words betray."""
        self._present = self._known.in_text(encode_value(text))
        hidden = self._hide_text(text, 0)
        self._present = self._known.in_text(encode_value(hidden))
        return hidden if self._present is None else self._hide_text(hidden, 0)

    def hide_line(self, line: str, source: Hashable) -> str:
        """Return a line of noise without its secrets: what a name names may stand in the next of a source."""
        inside = self._dangling.pop(source, None)
        if inside is None:
            if dangling(line):
                self._dangling[source] = line.rstrip()[-1:] in ("{", "[")
            return self.hide_text(line)
        bare = line.strip().strip("\"',;")
        if bare.startswith(("}", "]")):
            return self.hide_text(line)
        inside = inside or bare in ("{", "[")
        if inside or not bare:
            self._dangling[source] = inside
        self._learn_from_prose(bare, -1)
        return self._line(line, bare)

    # JSON.

    def _hide_json(self, message: bytes, kind: int = Kind.PLAIN, nested: int = 0) -> bytes:
        out: list[bytes] = []
        copied = 0
        for start, end, what in values_of(message, kind, is_message=nested == 0):
            token = message[start:end]
            if what == Kind.NAMING or (what == Kind.PLAIN and self._present is None and _is_bare(token)):
                continue
            put = self._hide_value(token, what, nested)
            if put != token:
                out += (message[copied:start], put)
                copied = end
        out.append(message[copied:])
        return b"".join(out)

    def _hide_value(self, token: bytes, kind: int, nested: int) -> bytes:
        """Return what stands in the place of a string or a number; true, false and null stay."""
        if token[:1] == b'"':
            return self._hide_string(token, kind, nested)
        if token[:1].isalpha():
            return token
        number = token.decode("utf-8", "replace")
        if kind == Kind.SECRET:
            self._learn(number)
        return b"0" if kind == Kind.SECRET or self._known.has(number) else token

    def _hide_string(self, token: bytes, kind: int, nested: int) -> bytes:
        if kind > Kind.PLAIN:
            text = text_of(token)
            if token == b'""' or _STAND_IN.fullmatch(text):
                return token
            self._learn(text)
            return encode_value(self.stand_in(text or token.decode("utf-8", "replace")))
        if self._present is None and (len(token) < _SHORT and _ANY_RAW_SIGN.search(token.lower()) is None):
            return token
        text = text_of(token)
        if text in PROTOCOL_WORDS:
            return token
        hidden = self._hide_text(text, nested)
        return token if hidden == text else encode_value(hidden)

    # Text.

    def _hide_text(self, text: str, nested: int) -> str:
        """Return a text without what is known, and without what its words betray."""
        if nested < _MOST_NESTED and text.lstrip()[:1] in ("{", "[") and _is_json(text):
            raw = text.encode("utf-8", "replace")
            return self._hide_json(raw, nested=nested + 1).decode()
        if self._present is not None:
            text = self._present.replace_in(text, self._by_lines)
        for find, signs in _TEXTS:
            if _is_any_in(text.lower(), signs):
                text = self._cut(text, find(text), nested)
        return text

    def _cut(self, text: str, spans: Iterable[Found], nested: int) -> str:
        out: list[str] = []
        copied = 0
        for found in spans:
            out += (text[copied : found.start], self._instead(text[found.start : found.end], found, nested))
            copied = found.end
        out.append(text[copied:])
        return "".join(out)

    def _instead(self, secret: str, found: Found, nested: int) -> str:
        """Return what stands in the place of what was found in a text: in each of its lines a word."""
        if found.is_number:
            self._learn(secret)
            return "0"
        if found.is_value and found.depth == 0 and _is_json(secret):
            raw = secret.encode("utf-8", "replace")
            kind = Kind.SECRET if found.is_exact else Kind.TELLING
            return self._hide_json(raw, kind, nested + 1).decode()
        self._learn_from_prose(secret, found.depth)
        if found.quote:
            return f"{found.quote}{self.stand_in(secret)}{found.quote}"
        return self._by_lines(secret)

    def _by_lines(self, secret: str) -> str:
        """Return a word for each line of a secret: so no word stands for more than a line."""
        if "\n" not in secret:
            return self.stand_in(secret)
        return "\n".join(self._line(line, line.strip()) for line in secret.split("\n"))

    def _line(self, line: str, bare: str) -> str:
        return line.replace(bare, self.stand_in(bare)) if bare else line

    # What is known from then on.

    def _learn(self, secret: str) -> None:
        self._learned = self._known.learn(secret) or self._learned

    def _learn_from_prose(self, secret: str, depth: int) -> None:
        self._learned = self._known.learn_from_prose(_unescaped(secret, depth)) or self._learned


def _is_bare(token: bytes) -> bool:
    """Say at a glance whether a value has nothing in it that could tell of a secret."""
    size = len(token)
    if size < _LEAST_TELLING or token[0] != _QUOTE:
        return True
    return size < _SHORT and _ANY_RAW_SIGN.search(token.lower()) is None


def _is_any_in(text: AnyStr, signs: Iterable[AnyStr]) -> bool:
    for sign in signs:  # noqa: SIM110 a generator would cost more than the search
        if sign in text:
            return True
    return False


def _is_json(text: str) -> bool:
    try:
        msgspec.json.decode(text)
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        return False
    return True


def _unescaped(text: str, depth: int) -> str:
    """Return what a text means that stands in quotes before which there are so many backslashes."""
    while depth >= 0 and "\\" in text:
        try:
            text = msgspec.json.decode(f'"{text}"', type=str)
        except (msgspec.MsgspecError, UnicodeError):
            break
        depth = depth // 2 if depth else -1
    return text
