"""What is left out of a recording: the secrets that messages carry.

In the place of a secret stands a word that is the same wherever the same secret stood in one recording, and
tells nothing else of it: what belongs together can still be seen.  Everything else stays byte for byte.

Secrets are found by the names beside them, see `SECRETS`.  What has no name beside it is not found.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Final

import msgspec

from anywire.record.known import KnownSecrets
from anywire.transport.redact import HIDDEN
from anywire.wire.value import decode_value, encode_value

__all__ = ("SECRETS", "STAND_IN", "Secrets")

#: What is taken for a secret, and where it is looked for.  A name is compared without its case and without
#: what divides its words (`api_key`, `apiKey` and `API-Key` are one).
SECRETS: Final[Mapping[str, str]] = {
    "password, passwd, passphrase, secret, token, api key, access key, private key, authorization, cookie, "
    "credential, request state, session id": "the value of a member whose name contains one of these, at any "
    "depth of `params`, `result` and `error`",
    "pwd, pass, auth, bearer, jwt": "the value of a member of exactly this name",
    "Authorization: …, Cookie: …, and other headers and words of these names": "the rest of the line, or the "
    "value, in any text: tool results, log messages, noise",
    "--token …, API_KEY=…": "the value behind an option or a variable of such a name, in any text",
    '{"token": "…"} as text': "the value of such a member of JSON that stands inside a text",
    "Bearer …, Basic …": "what looks like credentials behind these words",
    "https://user:password@host, ?token=…": "user and password, and the value of a parameter of such a name, "
    "in any URL",
    "what is known": "the values of `--env`, `--header` and their like, wherever they stand; and, from then "
    "on, what was found under one of these names, unless it is a mere word",
}

#: How a stand-in looks.
STAND_IN: Final = re.compile(re.escape(HIDDEN).encode() + rb"[0-9a-f]{12}")

_WORDS: Final = (
    "password|passwd|passphrase|secret|token|api[-_ .]?key|access[-_ .]?key|private[-_ .]?key|authorization"
    "|cookie|credential|request[-_ .]?state|session[-_ .]?id"
)
_SPEAKS: Final = re.compile(_WORDS, re.IGNORECASE)
_EXACT: Final = frozenset({"pwd", "pass", "auth", "bearer", "jwt"})
# They speak of tokens that are no secrets.
_HARMLESS: Final = frozenset({"progresstoken"})
_COUNTS: Final = re.compile(r"tokens(?:count|used|limit)?\Z|tokencount\Z|tokenlimit\Z")
_DIVIDERS: Final = str.maketrans("", "", "-_ .")
#: Their members are schemas: what is said of a value under that name, not the value.
_OF_SCHEMAS: Final = frozenset({b'"properties"', b'"patternProperties"', b'"$defs"', b'"definitions"'})

# Each of these is found in no time; a message that has none of them, in small letters, has no secret.
_WORD_SIGNS: Final = (
    *(b"pass", b"secret", b"token", b"key", b"authorization", b"cookie", b"credential", b"state", b"session"),
    *(b"pwd", b"jwt"),
)
_SCHEME_SIGNS: Final = (b"bearer ", b"basic ")
_USER_SIGNS: Final = (b"://",)
_SIGNS: Final = (*_WORD_SIGNS, *_SCHEME_SIGNS, *_USER_SIGNS, b'"auth"', b'"bearer"', b"\\u00")
#: What says which message it is; no secrets.
_ENVELOPE: Final = frozenset({b'"jsonrpc"', b'"id"', b'"method"'})
_OPENING, _CLOSING, _DIVIDING, _OBJECT, _COLON = b"{[", b"}]", b",:", *b"{:"
_TOKEN: Final = re.compile(rb'"(?:[^"\\]++|\\.)*+"|[{}\[\],:]|[^\s"{}\[\],:]++', re.DOTALL)

# In the text of a JSON string a quote is `\"`, and one in JSON that stands inside a text `\\\"`.
_IN_TEXT: Final = _WORDS.replace("token", r"token(?!s\b)").encode()
_QUOTED: Final = rb'\\"((?:[^"\\]|\\\\(?:\\\\|\\"|[^"\\])|\\[nrtbfu/])++)\\"'
_BARE: Final = rb"[^\s\\\"'&,;)}\]<>]+"
_LINE: Final = re.compile(
    rb"(?:authorization|cookie)(?:\\?[\"'])?[ ]{0,4}[:=][ ]{0,4}(?:\\?[\"'])?([^\\\"]+)"
)
_NAMED: Final = re.compile(
    rb"(?:%b|\bpwd\b|\bjwt\b)[\w.-]{0,40}+(?:\\?[\"'])?[ ]{0,4}[:=][ ]{0,4}(?:%b|'([^'\\\"]+)'|(%b))"
    % (_IN_TEXT, _QUOTED, _BARE)
)
_OPTION: Final = re.compile(
    rb"(?<![\w-])--?(?:[a-z0-9]{1,20}-){0,4}(?:%b)[\w-]{0,20}[ ]{1,4}(%b)" % (_IN_TEXT, _BARE)
)
_SCHEME: Final = re.compile(rb"\b(?:bearer|basic)[ ]{1,4}((?=[a-z._~+/-]*+[0-9=])[a-z0-9._~+/-]{6,}+=*)")
_USER: Final = re.compile(rb"[a-z][a-z0-9+.-]{0,20}+://([^\s/\\\"'@?#<>]{1,400}+)@")
# What is looked for in a text in small letters, and without which of these it is not there.
_TEXTS: Final = (
    (_LINE, (b"authorization", b"cookie")),
    (_NAMED, _WORD_SIGNS),
    (_OPTION, _WORD_SIGNS),
    (_SCHEME, _SCHEME_SIGNS),
    (_USER, _USER_SIGNS),
)

# Most strings are short, and for those one look is quicker than many.
_SHORT: Final = 256
_ANY_SIGN: Final = re.compile(b"|".join(re.escape(sign) for _, signs in _TEXTS for sign in signs))


class _Level:
    """An object or an array that is being read."""

    __slots__ = ("hides", "is_object", "key", "named", "of_schemas")

    def __init__(self, *, is_object: bool, hides: bool, of_schemas: bool) -> None:
        self.is_object = is_object
        self.hides = hides
        self.of_schemas = of_schemas
        self.key = b""
        self.named = False

    @property
    def telling(self) -> bool:
        return self.hides or (self.is_object and _tells(self.key))


class Secrets:
    """Leaves secrets out.

    `key` is random, and one for a recording.  `values` are secrets that are known: headers, variables of a
    child.  They are left out wherever they stand, and from then on those that were found by their names.
    """

    def __init__(self, key: bytes, values: Iterable[str] = ()) -> None:
        self._key = key
        self._known = KnownSecrets(values)

    def know(self, values: Iterable[str]) -> None:
        """Leave these out as well, from now on."""
        self._known.give(values)

    def stand_in(self, secret: bytes) -> bytes:
        """Return what stands in the place of a secret."""
        if STAND_IN.fullmatch(secret):
            return secret
        digest = hashlib.blake2b(secret, key=self._key, digest_size=6).hexdigest()
        return f"{HIDDEN}{digest}".encode()

    def hide(self, message: bytes) -> bytes:
        """Return a JSON text without its secrets."""
        known = self._known.pattern_in(message)
        if known is None and not _is_any_in(message.lower(), _SIGNS):
            return message
        out: list[bytes] = []
        copied, learned = 0, False
        for start, end, telling in _values(message):
            token = message[start:end]
            if telling:
                learned = self._known.learn(token[1:-1] if token[:1] == b'"' else token) or learned
            put = self._hidden(token) if telling else self._hide_in(token, known)
            if put != token:
                out += (message[copied:start], put)
                copied = end
        out.append(message[copied:])
        hidden = b"".join(out)
        return self.hide(hidden) if learned and self._known.pattern_in(hidden) is not None else hidden

    def hide_text(self, text: str) -> str:
        """Return any text without the secrets that are known, or that its words betray."""
        token = encode_value(text)
        return decode_value(self._hide_in(token, self._known.pattern_in(token)), str)

    def _hidden(self, token: bytes) -> bytes:
        if token[:1] == b'"':
            return token if token == b'""' else b'"%b"' % self.stand_in(token[1:-1])
        return token if token[:1].isalpha() else b'"%b"' % self.stand_in(token)  # true, false and null stay

    def _hide_in(self, token: bytes, known: re.Pattern[bytes] | None) -> bytes:
        """Return a JSON value without what is known, and a string without what its words betray."""
        is_text = token[:1] == b'"'
        if known is not None:
            hidden = known.sub(lambda found: self.stand_in(found[1]) if found[1] else found[0], token)
            if not is_text and hidden != token:
                return b'"%b"' % hidden
            token = hidden
        if not is_text or (len(token) < _SHORT and _ANY_SIGN.search(token.lower()) is None):
            return token
        for pattern, signs in _TEXTS:
            small = token.lower()
            if not _is_any_in(small, signs):
                continue
            out: list[bytes] = []
            copied = 0
            for found in pattern.finditer(small):
                start, end = found.span(found.lastindex or 0)
                out += (token[copied:start], self.stand_in(token[start:end]))
                copied = end
            token = b"".join((*out, token[copied:]))
        return token


def _is_any_in(text: bytes, signs: Iterable[bytes]) -> bool:
    for sign in signs:  # noqa: SIM110 a generator would cost more than the search
        if sign in text:
            return True
    return False


def _values(message: bytes) -> Iterator[tuple[int, int, bool]]:
    """Yield where each string and each number that is a value stands, and whether its name tells."""
    levels: list[_Level] = []
    for found in _TOKEN.finditer(message):
        token, top = found.group(), levels[-1] if levels else None
        first = token[0]
        if first in _OPENING:
            telling = top is not None and top.telling and not top.of_schemas
            of_schemas = top is not None and top.is_object and top.key in _OF_SCHEMAS
            levels.append(_Level(is_object=first == _OBJECT, hides=telling, of_schemas=of_schemas))
        elif first in _CLOSING:
            if levels:
                levels.pop()
        elif first in _DIVIDING:
            if top is not None:
                top.named = first == _COLON
        elif top is not None and top.is_object and not top.named:
            top.key = token
        elif len(levels) > 1 or top is None or top.key not in _ENVELOPE:
            telling = top is not None and top.telling
            is_count = telling and token[:1] != b'"' and top is not None and _counts(top.key)
            yield found.start(), found.end(), telling and not is_count


def _tells(key: bytes) -> bool:
    return _tells_often(key) if len(key) < _SHORT else _tells_once(key)


def _tells_once(key: bytes) -> bool:
    name = _normal(key)
    return name not in _HARMLESS and (name in _EXACT or _SPEAKS.search(name) is not None)


_tells_often = lru_cache(maxsize=1_000)(_tells_once)


def _counts(key: bytes) -> bool:
    return _COUNTS.search(_normal(key)) is not None


def _normal(key: bytes) -> str:
    if b"\\" in key:
        try:
            text = decode_value(key, str)
        except msgspec.MsgspecError:
            text = ""
    else:
        text = key[1:-1].decode("utf-8", "replace")
    return text.translate(_DIVIDERS).lower()
