"""Which names tell of a secret, and which words are the protocol's own.

A name is compared without its case, and whatever divides its words: `api_key`, `apiKey` and `API-Key` are
one.  Of the words that are short and common (`pass`, `auth`) a name must end with one.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

from anywire.protocol.features import REVISIONS
from anywire.protocol.methods import METHODS

__all__ = ("PROTOCOL_WORDS", "is_exactly_a_secret", "tells")

#: What is the protocol's own where it is a whole value: it stays, even if it is known as a secret.
PROTOCOL_WORDS: Final = frozenset(
    {
        *METHODS,
        *REVISIONS,
        *("object", "string", "number", "integer", "boolean", "array", "null", "true", "false"),
        *("text", "image", "audio", "resource", "resource_link", "tool_use", "tool_result"),
        *("complete", "input_required", "user", "assistant", "accept", "decline", "cancel", "form", "url"),
        *("debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"),
        *(
            "endTurn",
            "stopSequence",
            "maxTokens",
            "toolUse",
            "ref/prompt",
            "ref/resource",
            "public",
            "private",
        ),
        *("working", "completed", "failed", "cancelled", "date-time", "date", "email", "uri"),
        *("none", "auto", "required", "thisServer", "allServers", "text/plain", "application/json"),
    }
)

_SPEAKS: Final = re.compile(
    "password|passwd|passphrase|secret|token(?!iz|is)|api_?key|access_?key|private_?key|authorization|cookie"
    "|credential|request_?state|session_?id(?![a-z])"
)
_LAST: Final = frozenset({"pwd", "pass", "auth", "bearer", "jwt"})
# They speak of tokens that are no secrets.
_HARMLESS: Final = frozenset({"progresstoken", "progresstokens"})
_EXACT: Final = frozenset(
    {
        *("password", "passwd", "passphrase", "secret", "token", "apikey", "accesskey", "privatekey"),
        *("secretkey", "authorization", "cookie", "credential", "credentials", "requeststate", "sessionid"),
        *("pwd", "pass", "auth", "bearer", "jwt", "secrets", "passwords"),
    }
)
#: What may stand before such a word, and it is still that.
_OF_WHAT: Final = frozenset(
    {
        *("access", "refresh", "id", "auth", "api", "bearer", "session", "csrf", "client", "shared", "db"),
        *("user", "admin", "root", "new", "old", "current", "my", "mcp", "x", "mysql", "login"),
    }
)
_SEAM: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_DIVIDERS: Final = str.maketrans("- .", "___")
_MOST_CHARACTERS: Final = 200


def tells(name: str) -> bool:
    """Say whether what has this name is a secret."""
    return _tells(name[-_MOST_CHARACTERS:])


@lru_cache(maxsize=2_000)
def _tells(name: str) -> bool:
    words = _words(name)
    if words.replace("_", "") in _HARMLESS:
        return False
    return _SPEAKS.search(words) is not None or words.rstrip("_").rpartition("_")[2] in _LAST


@lru_cache(maxsize=2_000)
def is_exactly_a_secret(name: str) -> bool:
    """Say whether a name is that of a secret and of nothing else: then a number is one as well."""
    if len(name) > _MOST_CHARACTERS:
        return False
    words = [word for word in _words(name).split("_") if word]
    while len(words) > 1 and words[0] in _OF_WHAT and "".join(words) not in _EXACT:
        del words[0]
    return "".join(words) in _EXACT


def _words(name: str) -> str:
    return _SEAM.sub("_", name).translate(_DIVIDERS).lower()
