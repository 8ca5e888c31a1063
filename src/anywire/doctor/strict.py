"""What is taken here and refused elsewhere: clients that compare each message with a schema are strict.

Specification: JSON-RPC 2.0 §5; MCP `basic/index`.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from anywire.doctor.reply import Reply
from anywire.wire.limits import DEFAULT_LIMITS
from anywire.wire.message import Batch, ErrorResponse, Fault, FaultKind, Message, Response
from anywire.wire.splice import get_member
from anywire.wire.value import decode_value

__all__ = ("strict_faults",)


class _Detail(msgspec.Struct):
    code: int
    message: str


def strict_faults(message: Message | Batch | Fault) -> Iterator[Fault]:
    """Find what strict clients refuse of a message that is forgiven here."""
    match message:
        case Batch():
            yield _fault("an array of messages, where one message belongs", message.frame)
            for item in message.items:
                yield from strict_faults(item)
        case Response() | ErrorResponse():
            wrong = _wrong(message)
            if wrong:
                yield _fault(wrong, message.frame)
        case _:
            pass


def _wrong(reply: Reply) -> str:
    if isinstance(reply, Response):
        if not reply.result.lstrip().startswith(b"{"):
            return "member 'result' must be an object"
        return "member 'error' stands beside 'result'" if _has(reply, "error") else ""
    try:
        decode_value(reply.error, _Detail)
    except msgspec.MsgspecError:
        return "member 'error' must be an object with an integer `code` and a string `message`"
    return "member 'result' stands beside 'error'" if _has(reply, "result") else ""


def _has(reply: Reply, name: str) -> bool:
    return bool(reply.frame) and get_member(reply.frame, name) is not None


def _fault(reason: str, frame: bytes) -> Fault:
    excerpt = frame[: DEFAULT_LIMITS.excerpt_bytes]
    reason = f"Invalid Request: {reason}"
    return Fault(FaultKind.INVALID_REQUEST, reason, None, False, excerpt, len(frame))
