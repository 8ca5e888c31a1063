"""What a client makes of an HTTP response, and what it sends, in the handshake era.

Specification: MCP `basic/transports#streamable-http`, 2025-03-26 to 2025-11-25.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from enum import Enum
from typing import Final
from urllib.parse import SplitResult, urljoin, urlsplit

from anywire.protocol.features import Feature, has
from anywire.protocol.http.media import EVENT_STREAM, JSON, media_type

__all__ = (
    "Purpose",
    "Reading",
    "is_same_origin",
    "merge_headers",
    "read_head",
    "redirect_target",
    "request_headers",
    "resolve_on_origin",
)

_MAX_REDIRECTS: Final = 5
_HTML: Final = "text/html"
_NOT_IN_A_HEADER: Final = re.compile(r"[\0-\x08\x0a-\x1f\x7f\ud800-\udfff]")
_DEFAULT_PORTS: Final = {"http": 80, "https": 443}


class Purpose(Enum):
    """Why a request was sent."""

    #: A POST that wants a reply.
    REQUEST = "request"
    #: A POST that wants none: a notification or a reply.
    NOTE = "note"
    #: The optional GET of the general stream, or of a stream that was lost.
    STREAM = "stream"
    #: The DELETE at the end.
    END = "end"


class Reading(Enum):
    """What to do with a response."""

    #: Its body is one JSON text.
    JSON = "json"
    #: Its body is an event stream.
    STREAM = "stream"
    #: It was taken; the body does not matter.
    ACCEPTED = "accepted"
    #: The session is gone: shake hands again.
    SESSION_GONE = "session gone"
    #: Ask again where it says, if that is allowed.
    REDIRECT = "redirect"
    #: A stream that the server does not offer; it is optional, so this is no error.
    NOT_OFFERED = "not offered"
    #: The status, or the type of the body, makes it useless.
    FAILED = "failed"


def request_headers(
    purpose: Purpose, *, session_id: str | None, revision: str | None, last_event_id: str = ""
) -> dict[str, str]:
    """Return the headers that the protocol wants on a request; `revision` is the negotiated one.

    The values that a server gave are not taken on trust: what cannot stand in a header is left out.
    """
    headers: dict[str, str] = {}
    if purpose in (Purpose.REQUEST, Purpose.NOTE):
        headers["Content-Type"] = JSON
        headers["Accept"] = f"{JSON}, {EVENT_STREAM}"
    elif purpose is Purpose.STREAM:
        headers["Accept"] = EVENT_STREAM
    if session_id is not None:
        headers["Mcp-Session-Id"] = session_id
    if revision is not None and has(Feature.HTTP_VERSION_HEADER, revision):
        headers["MCP-Protocol-Version"] = revision
    if last_event_id:
        headers["Last-Event-ID"] = last_event_id
    return {name: value for name, value in headers.items() if not _NOT_IN_A_HEADER.search(value)}


def read_head(purpose: Purpose, status: int, headers: Mapping[str, str], *, had_session: bool) -> Reading:
    """Decide what a response is by its status and (lower-case) headers."""
    if status in (307, 308):
        return Reading.REDIRECT
    if purpose is Purpose.END:
        return Reading.ACCEPTED
    content = media_type(headers.get("content-type"))
    # A page that says 404 to the optional GET is a web framework's, which has no route for it.
    if status == 404 and had_session and (purpose is not Purpose.STREAM or content != _HTML):
        return Reading.SESSION_GONE
    if purpose is Purpose.STREAM:
        return _read_stream_head(status, content)
    if not 200 <= status < 300:
        return Reading.FAILED
    if purpose is Purpose.NOTE and content != EVENT_STREAM:
        return Reading.ACCEPTED
    if content == EVENT_STREAM:
        return Reading.STREAM
    return Reading.JSON if content == JSON else Reading.FAILED


def _read_stream_head(status: int, content: str) -> Reading:
    """Tell a stream from a server that has none, and that from one that may have it later."""
    if 200 <= status < 300:
        return Reading.STREAM if content == EVENT_STREAM and status != 204 else Reading.NOT_OFFERED
    refused = 300 <= status < 500 and status not in (401, 403, 408, 429)
    return Reading.NOT_OFFERED if refused or status == 501 else Reading.FAILED


def redirect_target(url: str, location: str | None, *, followed: int) -> str | None:
    """Return where a 307 or 308 leads, None where it must not be followed.

    Only the same origin is followed: whatever credentials the headers hold are for it alone.
    """
    if not location or followed >= _MAX_REDIRECTS:
        return None
    return resolve_on_origin(url, location)


def resolve_on_origin(url: str, reference: str) -> str | None:
    """Return the address that a server names, relative or absolute, at `url`.

    None when it leads to another origin, cannot be read, or brings a user and a password of its own;
    those of `url` go with it.
    """
    try:
        target = urljoin(url, reference.strip())
    except ValueError:
        return None
    given, parts = _split(url), _split(target)
    if given is None or parts is None or not is_same_origin(url, target):
        return None
    user, _, _ = given.netloc.rpartition("@")
    if "@" in parts.netloc:
        return target if parts.netloc.rpartition("@")[0] == user else None
    return parts._replace(netloc=f"{user}@{parts.netloc}").geturl() if user else target


def is_same_origin(one: str, other: str) -> bool:
    """Say whether two URLs share scheme, host and port; what cannot be read shares nothing."""
    origin = _origin(one)
    return origin is not None and origin == _origin(other)


def _origin(url: str) -> tuple[str, str, int] | None:
    parts = _split(url)
    if parts is None or not parts.hostname:
        return None
    port = _DEFAULT_PORTS.get(parts.scheme) if parts.port is None else parts.port
    return None if port is None else (parts.scheme, parts.hostname, port)


def _split(url: str) -> SplitResult | None:
    """Split a URL; None where it is none, its port included."""
    try:
        parts = urlsplit(url)
        _ = parts.port  # which is read, and may be no number, only now
    except ValueError:
        return None
    return parts


def merge_headers(*mappings: Mapping[str, str]) -> dict[str, str]:
    """Join headers, whose names know no case; the last of a name counts."""
    found: dict[str, tuple[str, str]] = {}
    for mapping in mappings:
        for name, value in mapping.items():
            found[name.lower()] = name, value
    return dict(found.values())
