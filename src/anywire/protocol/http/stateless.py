"""What a server makes of a POST of the stateless era: each stands for itself.

Order: the envelope is complete, the headers say what the body says, the revision is spoken here, the
method exists.  The body has been read and is one message by then.

Specification: MCP `basic/transports/streamable-http`, `basic/versioning`, 2026-07-28.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

import msgspec

from anywire.protocol.http.guard import Guard
from anywire.protocol.http.mirrored import METHOD_HEADER, NAME_HEADER, Mirror, mirror_difference
from anywire.protocol.http.server import VERSION_HEADER, Head, Reject, check_guard, reject
from anywire.protocol.modern import (
    STATELESS_REVISIONS,
    Envelope,
    EnvelopeFault,
    claims_stateless,
    read_envelope,
    unsupported_version,
)
from anywire.protocol.types.error_data import McpErrorCode
from anywire.wire.codec import decode_value
from anywire.wire.message import (
    Batch,
    ErrorResponse,
    Fault,
    JsonRpcErrorCode,
    Message,
    Notification,
    Request,
    Response,
    create_error_response,
)

__all__ = (
    "CALL_HEADERS",
    "StatelessFace",
    "check_call",
    "check_method",
    "is_stateless",
    "refuse_handshake",
    "status_of",
)

# Errors whose HTTP status is specified; all others come with 200.
_STATUSES: Final[Mapping[int, int]] = {
    int(JsonRpcErrorCode.MethodNotFound): 404,
    int(McpErrorCode.HeaderMismatch): 400,
    int(McpErrorCode.MissingRequiredClientCapability): 400,
    int(McpErrorCode.UnsupportedProtocolVersion): 400,
}


#: The headers that decide whether a call without mirrored arguments goes on.
CALL_HEADERS: Final = (VERSION_HEADER, METHOD_HEADER, NAME_HEADER)


class StatelessFace(msgspec.Struct, frozen=True):
    """What HTTP must know of the server behind it.

    `serves` says whether it has a method, `mirrors` which arguments of a tool are repeated in headers;
    `alone` that it serves no handshakes.
    """

    serves: Callable[[str], bool]
    mirrors: Callable[[str], Sequence[Mirror]]
    alone: bool = False


class _Name(msgspec.Struct):
    name: str = ""


def is_stateless(version: str | None, message: Message | Batch | Fault) -> bool:
    """Say whether a POST belongs to this era: its body names a revision, or its header one of this era."""
    if isinstance(message, Request) and claims_stateless(message.params):
        return True
    return version in STATELESS_REVISIONS and not isinstance(message, Batch | Fault)


def check_method(head: Head, guard: Guard, face: StatelessFace) -> Reject | None:
    """Refuse what is no POST, from clients of this era and where there is no other; None: it is not."""
    if not face.alone and head.headers.get(VERSION_HEADER) not in STATELESS_REVISIONS:
        return None
    refused = check_guard(head, guard)
    return refused or reject(405, f"method {head.method} is not served here", allow="POST")


def check_call(
    headers: Mapping[str, str],
    message: Message,
    face: StatelessFace,
    envelope: Envelope | EnvelopeFault | None = None,
) -> Reject | None:
    """Refuse a message that cannot be served; None: it can.

    `headers` has lower-case names; `envelope` is what the message says of itself, where that is known.
    """
    if isinstance(message, Notification):
        return None
    if not isinstance(message, Request):
        return reject(400, "Invalid Request: clients send no responses in this revision")
    envelope = envelope or read_envelope(message.params)
    fault = envelope if isinstance(envelope, EnvelopeFault) else None
    if fault is not None and fault.code != McpErrorCode.UnsupportedProtocolVersion:
        return _reject(message, fault, 400)
    differs = _difference(headers, message, envelope, face)
    if differs:
        return _reject(
            message, EnvelopeFault(McpErrorCode.HeaderMismatch, f"Header mismatch: {differs}"), 400
        )
    if fault is not None:
        return _reject(message, fault, 400)
    if not face.serves(message.method):
        missing = EnvelopeFault(JsonRpcErrorCode.MethodNotFound, f"Method not found: {message.method}")
        return _reject(message, missing, 404)
    return None


def refuse_handshake(message: Message | Batch | Fault) -> Reject:
    """Tell a client of the handshake era which revisions are served here."""
    fault = unsupported_version("a handshake")
    return _reject(message if isinstance(message, Request) else None, fault, 400)


def status_of(reply: Response | ErrorResponse) -> int:
    """Return the HTTP status that goes with a reply."""
    return 200 if isinstance(reply, Response) else _STATUSES.get(reply.detail().code, 200)


def _difference(
    headers: Mapping[str, str], request: Request, envelope: Envelope | EnvelopeFault, face: StatelessFace
) -> str:
    told = headers.get(VERSION_HEADER)
    said = _said_version(envelope)
    if told is None or told.strip() != said:
        return f"MCP-Protocol-Version is {told!r} and the body says {said!r}"
    mirrors: Sequence[Mirror] = ()
    if request.method == "tools/call":
        try:
            mirrors = face.mirrors(decode_value(request.params or b"{}", _Name).name)
        except msgspec.MsgspecError:
            pass
    return mirror_difference(headers, request.method, request.params, mirrors)


def _said_version(envelope: Envelope | EnvelopeFault) -> str:
    if isinstance(envelope, EnvelopeFault):
        data = envelope.data
        return str(data.get("requested")) if isinstance(data, dict) else ""  # pyright: ignore[reportUnknownMemberType, reportUnknownArgumentType] our own
    return envelope.revision


def _reject(request: Request | None, fault: EnvelopeFault, status: int) -> Reject:
    data = msgspec.UNSET if fault.data is None else fault.data
    error = create_error_response(None, fault.code, fault.message, data)
    return Reject(status, error if request is None else msgspec.structs.replace(error, id=request.id))
