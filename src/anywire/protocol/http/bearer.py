"""The bearer token that every request to a server must bring, where it has one.

Specification: RFC 6750, sections 2.1 and 3.
"""

from __future__ import annotations

import hashlib
import hmac
import re
from typing import Final

import msgspec

from anywire.errors import ConfigError

__all__ = ("Bearer",)

_TOKEN: Final = re.compile(r"[\x21-\x7e]+")
_SCHEME: Final = re.compile(r"bearer +", re.IGNORECASE)


class Bearer(msgspec.Struct, frozen=True):
    """A token, of which nothing but a digest is kept.  `Bearer.of(token)` makes one."""

    digest: bytes

    @classmethod
    def of(cls, token: str) -> Bearer:
        """Return what lets in whoever brings this token.

        Raises `ConfigError`, without showing it, for one that cannot stand in a header.
        """
        if not _TOKEN.fullmatch(token):
            raise ConfigError("a token is text of visible ASCII characters, without spaces, and not empty")
        return cls(_digest(token))

    def challenge(self, authorization: str | None) -> str | None:
        """Say with which `WWW-Authenticate` an `Authorization` header is refused, None when it is right.

        The time that takes tells nothing of the token.
        """
        scheme = _SCHEME.match(authorization or "")
        if authorization is None or scheme is None:
            return "Bearer"
        brought = _digest(authorization[scheme.end() :])
        return None if hmac.compare_digest(brought, self.digest) else 'Bearer error="invalid_token"'


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode("utf-8", "surrogateescape")).digest()
