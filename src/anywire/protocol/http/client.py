"""What a client makes of an HTTP response, and what it sends, in the handshake era.

Specification: MCP `basic/transports#streamable-http`, 2025-03-26 to 2025-11-25.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Final
from urllib.parse import urljoin, urlsplit

from anywire.protocol.http.media import EVENT_STREAM, JSON, media_type

__all__ = ("Purpose", "Reading", "is_same_origin", "read_head", "redirect_target", "request_headers")

_MAX_REDIRECTS: Final = 5
#: Revisions since which every request names the version.
_VERSION_HEADER_SINCE: Final = "2025-06-18"


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
    """Return the headers that the protocol wants on a request; `revision` is the negotiated one."""
    headers: dict[str, str] = {}
    if purpose in (Purpose.REQUEST, Purpose.NOTE):
        headers["Content-Type"] = JSON
        headers["Accept"] = f"{JSON}, {EVENT_STREAM}"
    elif purpose is Purpose.STREAM:
        headers["Accept"] = EVENT_STREAM
    if session_id is not None:
        headers["Mcp-Session-Id"] = session_id
    if revision is not None and revision >= _VERSION_HEADER_SINCE:
        headers["MCP-Protocol-Version"] = revision
    if last_event_id:
        headers["Last-Event-ID"] = last_event_id
    return headers


def read_head(purpose: Purpose, status: int, headers: Mapping[str, str], *, had_session: bool) -> Reading:
    """Decide what a response is by its status and (lower-case) headers."""
    if status == 404 and had_session and purpose is not Purpose.END:
        return Reading.SESSION_GONE
    if status in (307, 308):
        return Reading.REDIRECT
    if purpose is Purpose.END:
        return Reading.ACCEPTED
    content = media_type(headers.get("content-type"))
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
    if status == 200:
        return Reading.STREAM if content == EVENT_STREAM else Reading.NOT_OFFERED
    refused = (400 <= status < 500 and status not in (401, 403, 408, 429)) or status in (204, 501)
    return Reading.NOT_OFFERED if refused else Reading.FAILED


def redirect_target(url: str, location: str | None, *, followed: int) -> str | None:
    """Return where a 307 or 308 leads, None where it must not be followed.

    Only the same origin is followed: whatever credentials the headers hold are for it alone.
    """
    if not location or followed >= _MAX_REDIRECTS:
        return None
    target = urljoin(url, location)
    return target if is_same_origin(url, target) else None


def is_same_origin(one: str, other: str) -> bool:
    """Say whether two URLs share scheme, host and port."""
    return _origin(one) == _origin(other)


def _origin(url: str) -> tuple[str, str | None, int | None]:
    parts = urlsplit(url)
    default = {"http": 80, "https": 443}.get(parts.scheme)
    try:
        port = parts.port
    except ValueError:
        port = -1
    return parts.scheme, parts.hostname, port or default
