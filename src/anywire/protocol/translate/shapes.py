"""What the stateless era says, as a client of the handshake era knows it; and what that client can do.

Pure functions of raw JSON.  What need not change keeps its bytes: a member is set, or dropped, and no value
is decoded and written again.

Specification: MCP `basic/lifecycle`, 2024-11-05 to 2025-11-25; `server/discover`, `basic/index#result-type`,
`basic/index#error-codes`, 2026-07-28.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, TypeVar

import msgspec

from anywire.protocol.features import Feature, has
from anywire.protocol.modern import STATELESS_REVISIONS
from anywire.protocol.types.caching import CACHED_METHODS
from anywire.protocol.types.envelope import COMPLETE, SERVER_INFO_KEY, SUBSCRIPTION_ID_KEY
from anywire.protocol.types.error_data import McpErrorCode
from anywire.protocol.types.initialize import Implementation
from anywire.wire.codec import decode_value, encode_value
from anywire.wire.message import ErrorResponse, JsonRpcErrorCode, Notification, Request, Response
from anywire.wire.splice import drop_members, get_member, set_member

__all__ = (
    "client_capabilities_upward",
    "decoded",
    "error_downward",
    "initialize_result",
    "is_object",
    "notification_downward",
    "result_downward",
    "result_kind",
    "subscription_of",
    "with_member",
    "without_params",
)

T = TypeVar("T")
M = TypeVar("M", bound=Request | Notification | Response | ErrorResponse)

_NOBODY: Final = encode_value(Implementation())
# Errors that only the stateless era has: the code of the other one, and what they mean to its client.
_ERRORS: Final[Mapping[int, tuple[int, str]]] = {
    McpErrorCode.HeaderMismatch: (
        JsonRpcErrorCode.InternalError,
        "the server finds the headers of the request to differ from its body",
    ),
    McpErrorCode.MissingRequiredClientCapability: (
        JsonRpcErrorCode.InvalidRequest,
        "the server needs something that the client did not declare in its capabilities",
    ),
    McpErrorCode.UnsupportedProtocolVersion: (
        JsonRpcErrorCode.InvalidParams,
        "the server does not speak the revision in which it is asked on the client's behalf",
    ),
}


def decoded(raw: bytes | None, type: type[T]) -> T | None:
    """Read a raw value; None for one that is absent or of another type."""
    try:
        return None if raw is None else decode_value(raw, type)
    except msgspec.MsgspecError:
        return None


def is_object(raw: bytes | None) -> bool:
    """Say whether a raw value is a JSON object."""
    return raw is not None and raw.lstrip(b" \t\r\n")[:1] == b"{"


# Messages.


def with_member(message: M, name: str, raw: bytes) -> M:
    """Return a message with another raw `id`, `params`, `result` or `error`."""
    if getattr(message, name) == raw:
        return message
    frame = set_member(message.frame, name, raw) if message.frame else b""
    return msgspec.structs.replace(message, frame=frame, **{name: raw})


def without_params(message: M) -> M:
    """Return a message that has no params."""
    frame = drop_members(message.frame, "params") if message.frame else b""
    return msgspec.structs.replace(message, frame=frame, params=None)


# The handshake.


def client_capabilities_upward(capabilities: bytes, revision: str) -> bytes:
    """Return what a client declared, as far as its revision lets it be asked in another era's way.

    Tasks of 2025-11-25 are left out: the stateless era has others.
    """
    kept = drop_members(capabilities, "tasks")
    if not has(Feature.ELICITATION, revision):
        kept = drop_members(kept, "elicitation")
    elicitation, sampling = get_member(kept, "elicitation"), get_member(kept, "sampling")
    if is_object(elicitation) and elicitation is not None and not has(Feature.URL_ELICITATION, revision):
        only_urls = get_member(elicitation, "url") is not None and get_member(elicitation, "form") is None
        forms = drop_members(elicitation, "url")
        kept = drop_members(kept, "elicitation") if only_urls else set_member(kept, "elicitation", forms)
    if is_object(sampling) and sampling is not None and not has(Feature.SAMPLING_TOOLS, revision):
        kept = set_member(kept, "sampling", drop_members(sampling, "tools"))
    return kept


def initialize_result(discovered: bytes, revision: str, *, extensions: bool) -> bytes | str:
    """Return the raw result of `initialize` for that of `server/discover`, or why there can be none.

    `extensions` says that the client knows of extensions: no handshake revision has a word for them.
    """
    supported = decoded(get_member(discovered, "supportedVersions"), list[str])
    if supported is None:
        return "its answer to server/discover names no revisions"
    if not any(each in STATELESS_REVISIONS for each in supported):
        return f"it speaks {', '.join(supported) or 'no revision'}, and not {', '.join(STATELESS_REVISIONS)}"
    info = get_member(get_member(discovered, "_meta") or b"", SERVER_INFO_KEY)
    if not is_object(info):
        info = get_member(discovered, "serverInfo")  # where drafts had it
    capabilities = get_member(discovered, "capabilities") or b""
    result = drop_members(discovered, "resultType", "supportedVersions", "ttlMs", "cacheScope")
    result = set_member(result, "serverInfo", info if is_object(info) and info is not None else _NOBODY)
    result = set_member(result, "capabilities", _server_capabilities(capabilities, extensions))
    return set_member(result, "protocolVersion", encode_value(revision))


def _server_capabilities(capabilities: bytes, extensions: bool) -> bytes:
    if not is_object(capabilities):
        return b"{}"
    strange = ("tasks",) if extensions else ("tasks", "extensions")
    return drop_members(capabilities, *strange)


# Answers.


def result_kind(result: bytes) -> str | None:
    """Return what a raw result says it is: `complete` where it says nothing, None for what is no text."""
    raw = get_member(result, "resultType")
    return COMPLETE if raw is None else decoded(raw, str)


def result_downward(method: str, result: bytes) -> bytes:
    """Return a complete result as the handshake era has it: without its kind, and how long it stays fresh."""
    names = ("resultType", "ttlMs", "cacheScope") if method in CACHED_METHODS else ("resultType",)
    return drop_members(result, *names)


def error_downward(method: str, error: bytes) -> bytes:
    """Return a raw error under the code that the handshake era has for it; `data` stays as it is."""
    code = decoded(get_member(error, "code"), int)
    if method == "resources/read" and code == JsonRpcErrorCode.InvalidParams:
        uri = decoded(get_member(get_member(error, "data") or b"", "uri"), str)
        return error if uri is None else set_member(error, "code", b"%d" % McpErrorCode.ResourceNotFound)
    if code is None or code not in _ERRORS:
        return error
    other, sentence = _ERRORS[code]
    told = decoded(get_member(error, "message"), str)
    message = f"{sentence}: {told}" if told else sentence
    return set_member(set_member(error, "code", b"%d" % other), "message", encode_value(message))


# Being told.


def subscription_of(notification: Notification) -> bytes | None:
    """Return the raw id of the `subscriptions/listen` that a notification belongs to, None for none."""
    params = notification.params
    if params is None or b"subscriptionId" not in params:
        return None
    return get_member(get_member(params, "_meta") or b"", SUBSCRIPTION_ID_KEY)


def notification_downward(notification: Notification) -> Notification:
    """Return a notification of a `subscriptions/listen` as if nobody had had to ask for it."""
    params = notification.params or b"{}"
    meta = drop_members(get_member(params, "_meta") or b"{}", SUBSCRIPTION_ID_KEY)
    bare = meta.strip(b"{} \t\r\n") == b""
    params = drop_members(params, "_meta") if bare else set_member(params, "_meta", meta)
    if params.strip(b"{} \t\r\n") == b"":
        return without_params(notification)
    return with_member(notification, "params", params)
