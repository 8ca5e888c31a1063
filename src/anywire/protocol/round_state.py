"""The state of a call between two of its rounds, as the client carries it: sealed, so that it is ours.

A `requestState` goes out with a result that requires input and comes back with the call made again.
What comes back is hostile until its seal is checked: HMAC-SHA256 under a key of the server's, over the
state, its expiry, who it was given to and which request it belongs to.  The client can read it.

Specification: MCP `basic/patterns/mrtr#request-state`, 2026-07-28.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
from typing import Any

import msgspec

from anywire.wire.codec import decode_value, encode_value

__all__ = ("RoundState", "StateRefused", "digest_of", "open_state", "seal_state")

_TAG_BYTES = 32


class StateRefused(ValueError):
    """A `requestState` that is not served; the text says why, as the client may know."""


class RoundState(msgspec.Struct, frozen=True, omit_defaults=True):
    """What is sealed.  `expires` is in seconds of the epoch."""

    request: str
    expires: float
    principal: str = ""
    #: Names a handler that waits in this process ...
    handle: str = ""
    #: ... or what the handler wants to find again, plain JSON.
    value: Any = None


def digest_of(method: str, params: bytes | None) -> str:
    """Name a request by what it asks: its method and its params, but for what changes between rounds."""
    try:
        members = decode_value(params or b"{}", dict[str, Any])
    except msgspec.MsgspecError:
        members = {}
    for name in ("_meta", "inputResponses", "requestState"):
        members.pop(name, None)
    canonical = msgspec.json.encode([method, members], order="deterministic")
    return base64.urlsafe_b64encode(hashlib.sha256(canonical).digest()[:18]).decode("ascii")


def seal_state(state: RoundState, key: bytes) -> str:
    """Return the `requestState` for a state."""
    body = encode_value(state)
    return base64.urlsafe_b64encode(_tag(body, key) + body).decode("ascii")


def open_state(text: str, key: bytes, *, request: str, principal: str, now: float) -> RoundState:
    """Return the state that was sealed.

    Raises `StateRefused` for one that was not sealed with this key, has expired at `now`, or belongs to
    another request or another principal.
    """
    try:
        sealed = base64.b64decode(text.encode("ascii"), b"-_", validate=True)
    except ValueError:
        sealed = b""
    if base64.urlsafe_b64encode(sealed).decode("ascii") != text:  # no other spelling of the same bytes
        raise StateRefused("the requestState is none of this server's")
    tag, body = sealed[:_TAG_BYTES], sealed[_TAG_BYTES:]
    if not hmac.compare_digest(tag, _tag(body, key)):
        raise StateRefused("the requestState is none of this server's, or has been changed")
    try:
        state = decode_value(body, RoundState)
    except msgspec.MsgspecError:
        raise StateRefused("the requestState is of another version of this server") from None
    if state.expires <= now:
        raise StateRefused("the requestState has expired; make the call anew")
    if state.request != request or state.principal != principal:
        raise StateRefused("the requestState belongs to another request")
    return state


def _tag(body: bytes, key: bytes) -> bytes:
    return hmac.new(key, body, hashlib.sha256).digest()
