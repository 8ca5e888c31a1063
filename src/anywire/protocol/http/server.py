"""What a server makes of an HTTP request, in the handshake era.

`check_head` decides what can be decided before the body is read, `read_post` what a body means.
A client sends the same head with each of its POSTs: what it comes to depends on `POST_HEADERS` alone, so
that it can be remembered.
Whoever performs the verdicts (an ASGI app) takes no decision of its own.

Order: token, transport security, method, media types, protocol version, session.  The body of a POST is read
before the latter two: an `initialize` needs neither, and a request for a method that the server does
not have is told so whatever they are, so that a newer client which probes can tell what it has met.

Specification: MCP `basic/transports#streamable-http`, 2025-03-26 to 2025-11-25.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, TypeAlias

import msgspec

from anywire.protocol.features import Feature, has
from anywire.protocol.http.guard import Guard
from anywire.protocol.http.media import EVENT_STREAM, JSON, accepts, media_type
from anywire.protocol.revisions import BATCH_REVISION, MCP_PROTOCOL_VERSIONS
from anywire.wire.message import (
    Batch,
    ErrorResponse,
    Fault,
    JsonRpcErrorCode,
    Message,
    Request,
    create_error_response,
)

__all__ = (
    "POST_HEADERS",
    "VERSION_HEADER",
    "AnswerNow",
    "Deliver",
    "EndSession",
    "Head",
    "OpenSession",
    "OpenStream",
    "PostVerdict",
    "ReadBody",
    "Reject",
    "check_bearer",
    "check_guard",
    "check_head",
    "held",
    "id_in_flight",
    "naming",
    "not_serving",
    "not_set_up",
    "read_post",
    "reject",
    "too_large",
    "too_many_sessions",
    "too_much_at_once",
    "too_slow",
    "unknown_event",
    "unknown_session",
    "unreadable",
)

SESSION_HEADER: Final = "mcp-session-id"
VERSION_HEADER: Final = "mcp-protocol-version"
LAST_EVENT_HEADER: Final = "last-event-id"
#: The headers that decide whether and how a POST goes on, before its body and its session count.
POST_HEADERS: Final = ("host", "origin", "content-type", "accept", VERSION_HEADER)
#: What a client that names no version is taken to speak.
_UNNAMED_VERSION: Final = "2025-03-26"


class Head(msgspec.Struct, frozen=True):
    """The head of a request: the method, and the headers under lower-case names."""

    method: str
    headers: Mapping[str, str]

    @property
    def session_id(self) -> str | None:
        """The session that the request names."""
        return self.headers.get(SESSION_HEADER)


class Reject(msgspec.Struct, frozen=True):
    """Answer with this status and error.

    `allow` names the methods there are, for 405; `challenge` says what must be brought, for 401.
    """

    status: int
    error: ErrorResponse
    allow: str | None = None
    challenge: str | None = None


class ReadBody(msgspec.Struct, frozen=True):
    """A POST that may go on: read its body.

    Says which shapes of reply its sender can read, whether a stream begins with a priming event, whether
    the body may be a batch, and how messages of a session are refused, None: they are not.
    """

    json: bool
    stream: bool
    prime: bool
    batch: bool
    refusal: Reject | None


class OpenStream(msgspec.Struct, frozen=True):
    """A GET: open the stream of a session, after the event of that id."""

    session_id: str
    last_event_id: str | None
    prime: bool


class EndSession(msgspec.Struct, frozen=True):
    """A DELETE: end a session."""

    session_id: str


class OpenSession(msgspec.Struct, frozen=True):
    """An `initialize`: begin a session with it."""

    request: Request


class Deliver(msgspec.Struct, frozen=True, gc=False):
    """A message for the session that is named.  `replies` says whether an answer is due on this POST."""

    message: Message | Batch
    replies: bool


class AnswerNow(msgspec.Struct, frozen=True):
    """A request that is answered without a session."""

    error: ErrorResponse


PostVerdict: TypeAlias = Reject | OpenSession | Deliver | AnswerNow


def check_head(head: Head, guard: Guard) -> Reject | ReadBody | OpenStream | EndSession:
    """Decide what can be decided without the body."""
    refused = check_guard(head, guard)
    if refused is not None:
        return refused
    match head.method:
        case "POST":
            return _check_post(head)
        case "GET":
            return _check_get(head)
        case "DELETE":
            return _check_delete(head)
        case _:
            return reject(405, f"method {head.method} is not served here", allow="GET, POST, DELETE")


def check_guard(head: Head, guard: Guard) -> Reject | None:
    """Refuse a host or an origin that has no business here."""
    host = head.headers.get("host")
    refusal = guard.refuse_host(host)
    if refusal is not None:
        return reject(421, refusal)
    refusal = guard.refuse_origin(head.headers.get("origin"), host)
    return None if refusal is None else reject(403, refusal)


def check_bearer(authorization: str | None, guard: Guard) -> Reject | None:
    """Refuse whoever does not bring the token, where there is one.  Before anything else is looked at."""
    challenge = None if guard.bearer is None else guard.bearer.challenge(authorization)
    if challenge is None:
        return None
    reason = "a bearer token is needed" if authorization is None else "the token is not the right one"
    return msgspec.structs.replace(reject(401, reason), challenge=challenge)


def _check_post(head: Head) -> Reject | ReadBody:
    content = media_type(head.headers.get("content-type"))
    if content != JSON:
        return reject(415, f"the body must be {JSON}, not {content or 'of no type'}")
    accept = head.headers.get("accept")
    json, stream = accepts(accept, JSON), accepts(accept, EVENT_STREAM)
    if not json and not stream:
        return reject(406, f"replies are {JSON} or {EVENT_STREAM}; the client accepts neither: {accept}")
    batch = has(Feature.BATCHES, head.headers.get(VERSION_HEADER, _UNNAMED_VERSION))
    return ReadBody(json, stream, _is_primed(head), batch, _wrong_version(head))


def _check_get(head: Head) -> Reject | OpenStream:
    accept = head.headers.get("accept")
    if not accepts(accept, EVENT_STREAM):
        return reject(406, f"this stream is {EVENT_STREAM}; the client does not accept it: {accept}")
    wrong = _wrong_version(head)
    if wrong is not None:
        return wrong
    if not head.session_id:
        return _no_session()
    return OpenStream(head.session_id, head.headers.get(LAST_EVENT_HEADER), _is_primed(head))


def _check_delete(head: Head) -> Reject | EndSession:
    wrong = _wrong_version(head)
    if wrong is not None:
        return wrong
    return EndSession(head.session_id) if head.session_id else _no_session()


def _is_primed(head: Head) -> bool:
    """Clients of older revisions take an event without data for a message, newer ones know no ids."""
    return has(Feature.HTTP_PRIMING, head.headers.get(VERSION_HEADER))


def read_post(
    head: ReadBody, session_id: str, message: Message | Batch | Fault, serves: Callable[[str], bool]
) -> PostVerdict:
    """Decide what a POST means; an empty id names no session, `serves` says whether there is a method."""
    if isinstance(message, Request):
        if message.method == "initialize":
            return OpenSession(message)
        if not serves(message.method):
            error = _error(JsonRpcErrorCode.MethodNotFound, f"Method not found: {message.method}")
            return AnswerNow(msgspec.structs.replace(error, id=message.id))
        replies = True
    elif isinstance(message, Fault):
        return unreadable(message)
    else:
        replies = isinstance(message, Batch) and any(map(_wants_reply, message.items))
    if head.refusal is not None:
        return naming(head.refusal, message)
    if isinstance(message, Batch) and not head.batch:
        return reject(400, f"Invalid Request: batches are part of revision {BATCH_REVISION} only")
    return Deliver(message, replies) if session_id else naming(_no_session(), message)


def naming(refusal: Reject, message: Message | Batch) -> Reject:
    """Name the request that is refused, if it is one; a batch has no single id."""
    if not isinstance(message, Request):
        return refusal
    error = msgspec.structs.replace(refusal.error, id=message.id)
    return msgspec.structs.replace(refusal, error=error)


def held() -> Reject:
    """Whoever the message is for has taken nothing for a while, and the client may not wait for ever."""
    return reject(503, "the server takes no more messages at the moment; try again later")


def _wants_reply(item: Message | Fault) -> bool:
    return isinstance(item, Request) or (isinstance(item, Fault) and item.answer() is not None)


def _wrong_version(head: Head) -> Reject | None:
    version = head.headers.get(VERSION_HEADER)
    if version is None or version in MCP_PROTOCOL_VERSIONS:
        return None
    spoken = ", ".join(MCP_PROTOCOL_VERSIONS)
    return reject(400, f"Unsupported protocol version {version!r}; this server speaks {spoken}")


def unreadable(fault: Fault) -> Reject:
    """The body is no message; whose request it was is said where that could be read."""
    return Reject(400, fault.answer() or _error(fault.code, fault.reason))


def too_large(limit: int) -> Reject:
    """The body is larger than the limit."""
    remedy = "start the server with --body-limit BYTES, or Server(limits=Limits(body_bytes=...))"
    return reject(413, f"the body exceeds {limit} bytes; to let it in, {remedy}")


def too_much_at_once() -> Reject:
    """The bodies that are being read are too large together."""
    return reject(503, "too much is being received at once; try again later")


def too_slow(seconds: float) -> Reject:
    """Nothing more of the body comes."""
    return reject(408, f"nothing more of the body came for {seconds:g} s")


def not_set_up() -> Reject:
    """What the server needs could not be set up; the next request tries again."""
    return reject(503, "what this server needs could not be set up; try again later")


def unknown_session() -> Reject:
    """The session that was named has ended, or never was: the client starts over.

    The error never names a request: a client could take it for the request's answer.
    """
    return reject(404, "the session has ended; send initialize without Mcp-Session-Id")


def unknown_event(last_event_id: str) -> Reject:
    """There is nothing to resume after that event: it is another session's, or too long ago."""
    return reject(400, f"Last-Event-ID {last_event_id!r} is not known in this session, or no longer")


def id_in_flight(id: bytes) -> AnswerNow:
    """The request cannot be told from another one of the session that is unanswered."""
    shown = id[:100].decode(errors="replace")
    reason = f"Invalid Request: a request with the id {shown} is in flight already"
    return AnswerNow(msgspec.structs.replace(_error(JsonRpcErrorCode.InvalidRequest, reason), id=id))


def too_many_sessions() -> Reject:
    """There is no room for another session, and none that idles."""
    return reject(503, "too many sessions are in use; try again later")


def not_serving() -> Reject:
    """The end has come: nothing is begun any more, however few there are."""
    return reject(503, "this server has been closed and takes nothing more")


def _no_session() -> Reject:
    return reject(400, "a session is needed: send initialize first, then its Mcp-Session-Id")


def reject(status: int, reason: str, allow: str | None = None) -> Reject:
    """Refuse a request with a sentence that says why."""
    return Reject(status, _error(JsonRpcErrorCode.InvalidRequest, reason), allow)


def _error(code: int, reason: str) -> ErrorResponse:
    return create_error_response(None, code, reason)
