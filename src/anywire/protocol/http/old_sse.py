"""HTTP+SSE, the transport of 2024-11-05: what its requests mean.

A GET opens the one stream of a session; its first event, `endpoint`, says where to POST.  The address
is relative, so that it holds under whatever prefix a proxy has put the server.

Specification: MCP 2024-11-05 `basic/transports#http-with-sse`.
"""

from __future__ import annotations

from typing import Final
from urllib.parse import parse_qs

import msgspec

from anywire.protocol.http.client import resolve_on_origin
from anywire.protocol.http.guard import Guard
from anywire.protocol.http.media import EVENT_STREAM, JSON, accepts, media_type
from anywire.protocol.http.server import Head, Reject, check_guard, reject, unknown_session, unreadable
from anywire.wire.codec import decode
from anywire.wire.limits import Limits
from anywire.wire.message import Batch, Fault, Message

__all__ = (
    "ENDPOINT_EVENT",
    "MESSAGES",
    "BeginStream",
    "TakeMessage",
    "check_old_head",
    "endpoint_of",
    "read_old_post",
    "resolve_endpoint",
)

ENDPOINT_EVENT: Final = "endpoint"
#: The last part of the path to which messages are POSTed.
MESSAGES: Final = "messages"


class BeginStream(msgspec.Struct, frozen=True):
    """Open a session and its stream."""


class TakeMessage(msgspec.Struct, frozen=True):
    """Read the body; it is a message for that session."""

    session_id: str


def check_old_head(
    head: Head, query: str, guard: Guard, *, is_messages: bool
) -> Reject | BeginStream | TakeMessage:
    """Decide what a request is; `is_messages` says that it came to the address for messages."""
    refused = check_guard(head, guard)
    if refused is not None:
        return refused
    if not is_messages:
        if head.method != "GET":
            return reject(405, f"method {head.method} is not served here", allow="GET")
        accept = head.headers.get("accept")
        if not accepts(accept, EVENT_STREAM):
            return reject(406, f"this stream is {EVENT_STREAM}; the client does not accept it: {accept}")
        return BeginStream()
    if head.method != "POST":
        return reject(405, f"method {head.method} is not served here", allow="POST")
    content = media_type(head.headers.get("content-type"))
    if content != JSON:
        return reject(415, f"the body must be {JSON}, not {content or 'of no type'}")
    session_id = parse_qs(query).get("session_id", [""])[0]
    return TakeMessage(session_id) if session_id else unknown_session()


def read_old_post(body: bytes, limits: Limits) -> Reject | Message | Batch:
    """Read the body of a POST."""
    message = decode(body, limits)
    if isinstance(message, Fault):
        return unreadable(message)
    return message


def endpoint_of(session_id: str) -> str:
    """Return the address, relative to the stream's, to which a session's messages are POSTed."""
    return f"{MESSAGES}?session_id={session_id}"


def resolve_endpoint(url: str, data: bytes) -> str | None:
    """Return the full address of an `endpoint` event; None when there is none or on another origin.

    The headers that a client sends may hold credentials, which are for the stream's origin alone.
    """
    reference = data.decode("utf-8", "replace").strip()
    return resolve_on_origin(url, reference) if reference else None
