"""Which headers of a client's request may go on with it to another server, and with which values.

Specification: RFC 9110, section 7.6.1, for those that belong to one connection.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

__all__ = ("forwarded_values", "is_forwardable")

#: Of one connection, or of the message that is written anew.
_OF_ONE_HOP: Final = frozenset(
    {
        "accept",
        "accept-charset",
        "accept-encoding",
        "connection",
        "expect",
        "host",
        "keep-alive",
        "last-event-id",
        "proxy-authenticate",
        "proxy-authorization",
        "proxy-connection",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
    }
)
_FAMILIES: Final = ("content-", "mcp-")
#: The tabulator may stand in a value.
_CONTROL: Final = re.compile(rb"[\x00-\x08\x0a-\x1f\x7f]")


def is_forwardable(name: str) -> bool:
    """Say whether a header may be named to be forwarded: it says nothing of the connection or the message."""
    lower = name.lower()
    return lower not in _OF_ONE_HOP and not lower.startswith(_FAMILIES)


def forwarded_values(headers: Iterable[tuple[bytes, bytes]], names: frozenset[str]) -> dict[str, str | None]:
    """Return the values of these headers (lower-case names), as text under the names they were asked by.

    One that occurs twice is joined as its kind is.  None stands for a value that could not be sent on as
    it is: it is not UTF-8, or has control characters.
    """
    found: dict[str, list[bytes]] = {}
    for raw, value in headers:
        name = raw.decode("latin-1").lower()
        if name in names:
            found.setdefault(name, []).append(value.strip())
    return {
        name: _text_of((b"; " if name == "cookie" else b", ").join(parts)) for name, parts in found.items()
    }


def _text_of(value: bytes) -> str | None:
    try:
        return None if _CONTROL.search(value) else value.decode()
    except UnicodeDecodeError:
        return None
