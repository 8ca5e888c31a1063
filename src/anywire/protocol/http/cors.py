"""Which web pages may read what a server answers: cross-origin resource sharing, as decisions.

A browser sends a page's request to another origin only after asking that server (the preflight), and
shows the page the answer only when the server says so.  Pages of the origins that the guard names may;
to all others nothing is said, which for a browser means no.

Specification: WHATWG Fetch, "CORS protocol".
"""

from __future__ import annotations

import re
from typing import Final

import msgspec

from anywire.protocol.http.guard import Guard
from anywire.protocol.http.server import Head

__all__ = ("Share", "share_with")

_REQUEST_HEADERS: Final = (
    "accept",
    "authorization",
    "content-type",
    "last-event-id",
    "mcp-method",
    "mcp-name",
    "mcp-protocol-version",
    "mcp-session-id",
)
# Headers that mirror parameters have names of their own, which only their client knows.
_PARAMETER_HEADER: Final = re.compile(r"mcp-param-[a-z0-9!#$%&'*+.^_`|~-]{1,200}")
_MOST_PARAMETER_HEADERS: Final = 100
#: How long a browser need not ask again; Chromium asks after two hours whatever is said.
_MAX_AGE: Final = "7200"


class Share(msgspec.Struct, frozen=True):
    """Put these headers on the answer; a preflight is answered with nothing else."""

    headers: tuple[tuple[str, str], ...]
    preflight: bool


def share_with(head: Head, guard: Guard, methods: str) -> Share | None:
    """Say how an answer is shared with the page that asks, None when it is not.

    `methods` are those that are served where it asks.
    """
    origin = head.headers.get("origin")
    if origin is None or not guard.names_origin(origin):
        return None
    if guard.refuse_host(head.headers.get("host")) is not None:
        return None
    shared = (
        ("access-control-allow-origin", origin),
        ("vary", "Origin"),
        ("access-control-expose-headers", "Mcp-Session-Id"),
    )
    if head.method != "OPTIONS" or "access-control-request-method" not in head.headers:
        return Share(shared, preflight=False)
    asked = head.headers.get("access-control-request-headers", "").lower().split(",")
    mirrored = [name.strip() for name in asked if _PARAMETER_HEADER.fullmatch(name.strip())]
    headers = ", ".join((*_REQUEST_HEADERS, *mirrored[:_MOST_PARAMETER_HEADERS]))
    allowed = (
        *shared[:2],
        ("access-control-allow-methods", methods),
        ("access-control-allow-headers", headers),
        ("access-control-max-age", _MAX_AGE),
    )
    return Share(allowed, preflight=True)
