"""What a handshake server says, in the shapes of the stateless era, and the other way round.

Pure functions on raw JSON: what need not change keeps its bytes.

Specification: MCP `basic/lifecycle`, 2024-11-05 to 2025-11-25; `basic/index`, `server/discover`,
`basic/patterns/mrtr`, `basic/patterns/subscriptions`, 2026-07-28.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import msgspec
from msgspec import Raw

from anywire.protocol.modern import STATELESS_REVISIONS, ResultFrame, code_of
from anywire.protocol.revisions import MCP_LATEST_PROTOCOL_VERSION, MCP_PROTOCOL_VERSIONS
from anywire.protocol.types.caching import CACHED_METHODS
from anywire.protocol.types.envelope import (
    CLIENT_CAPABILITIES_KEY,
    CLIENT_INFO_KEY,
    LOG_LEVEL_KEY,
    PROGRESS_TOKEN_KEY,
    PROTOCOL_VERSION_KEY,
    SUBSCRIPTION_ID_KEY,
)
from anywire.protocol.types.error_data import McpErrorCode
from anywire.protocol.types.initialize import ServerCapabilities
from anywire.protocol.types.reading import read
from anywire.wire.codec import encode_value
from anywire.wire.message import ErrorResponse
from anywire.wire.splice import drop_members, get_member, set_member

__all__ = (
    "Greeted",
    "handshake_params",
    "handshake_result",
    "initialize_params",
    "spliced",
    "stateless_error",
    "stateless_question",
    "stateless_result",
    "tagged",
)

_ENVELOPE: Final = frozenset({PROTOCOL_VERSION_KEY, CLIENT_CAPABILITIES_KEY, CLIENT_INFO_KEY, LOG_LEVEL_KEY})
#: What a request says only when it is made again.
_ROUND: Final = frozenset({"inputResponses", "requestState"})
#: Who a client is that does not say so: the handshake wants a name.
_NOBODY: Final = b'{"name":"unknown","version":"0"}'
#: What an answer to `initialize` says that `server/discover` says elsewhere, or not.
_GREETING: Final = frozenset({"protocolVersion", "capabilities", "serverInfo", "resultType"})


class Greeted(msgspec.Struct, frozen=True):
    """What a server said to the handshake: raw JSON, and its capabilities as they are read."""

    raw: bytes
    capabilities: ServerCapabilities
    frame: ResultFrame

    def discover_result(self) -> bytes:
        """Return the raw result of `server/discover`: all that the server said, where this era has it."""
        told = get_member(self.raw, "capabilities") or b"{}"
        if told[:1] != b"{":
            told = b"{}"
        said = {"capabilities": drop_members(told, "tasks")}
        said["supportedVersions"] = encode_value(STATELESS_REVISIONS)
        result = drop_members(self.raw, *_GREETING)
        for name, value in said.items():
            result = set_member(result, name, value)
        return stateless_result("server/discover", result, self.frame)


def initialize_params(params: bytes) -> bytes:
    """Return the raw params of `initialize` for a client that says in these params who it is."""
    meta = get_member(params, "_meta") or b"{}"
    info = get_member(meta, CLIENT_INFO_KEY) or _NOBODY
    capabilities = get_member(meta, CLIENT_CAPABILITIES_KEY) or b"{}"
    return b'{"protocolVersion":"%b","capabilities":%b,"clientInfo":%b}' % (
        MCP_LATEST_PROTOCOL_VERSION.encode(),
        drop_members(capabilities, "tasks"),
        info if info[:1] == b"{" else _NOBODY,
    )


def handshake_result(raw: bytes) -> Greeted | str:
    """Read the result of `initialize`; what is wrong with it is a sentence."""
    try:
        revision = msgspec.json.decode(get_member(raw, "protocolVersion") or b"null")
    except (msgspec.MsgspecError, UnicodeDecodeError):
        revision = None
    if not isinstance(revision, str):
        return "its answer to initialize names no revision"
    if revision not in MCP_PROTOCOL_VERSIONS:
        return f"it answered initialize with the unknown revision {revision!r}"
    info = get_member(raw, "serverInfo") or b""
    frame = ResultFrame(Raw(info if info[:1] == b"{" else b'{"name":"","version":""}'))
    try:
        capabilities = read(get_member(raw, "capabilities") or b"{}", ServerCapabilities)
    except msgspec.MsgspecError:
        capabilities = ServerCapabilities()
    return Greeted(raw, capabilities, frame)


def handshake_params(params: bytes) -> bytes:
    """Return a request's params without what only a stateless one says of itself."""
    if b'"inputResponses"' in params or b'"requestState"' in params:
        params = drop_members(params, *_ROUND)
    return _without_meta(params, _ENVELOPE)


def _without_meta(params: bytes, keys: frozenset[str]) -> bytes:
    """Remove members of `_meta`, and an empty `_meta` itself."""
    meta = get_member(params, "_meta")
    if meta is None or meta[:1] != b"{":
        return params
    left = drop_members(meta, *keys)
    if not left[1:-1].strip(b" \t\r\n"):
        return drop_members(params, "_meta")
    return params if left == meta else set_member(params, "_meta", left)


def stateless_result(method: str, result: bytes, frame: ResultFrame) -> bytes:
    """Return the raw result of a request as this era wants it; one that is no object stays what it is."""
    if result[:1] != b"{":
        return result
    stays_fresh = method in CACHED_METHODS and get_member(result, "ttlMs") is None
    return frame.complete(result, 0 if stays_fresh else None)


def stateless_error(error: bytes, method: str, params: bytes) -> bytes:
    """Return a raw error under the code that it has in this era; a missing resource is named in its data."""
    code = ErrorResponse(None, error).detail().code
    if error[:1] != b"{" or code_of(code) == code:
        return error
    error = set_member(error, "code", b"%d" % code_of(code))
    uri = get_member(params, "uri") if method == "resources/read" else None
    if code != McpErrorCode.ResourceNotFound or uri is None:
        return error
    data = get_member(error, "data") or b"{}"
    if data == b"null":
        data = b"{}"
    if data[:1] != b"{" or get_member(data, "uri") is not None:
        return error
    return set_member(error, "data", set_member(data, "uri", uri))


def stateless_question(method: str, params: bytes | None) -> bytes | None:
    """Return the params of a server's request as they stand in a result that requires input.

    A client of this era reports no progress on it, and does not tell when a visit is over.
    """
    if params is None or params[:1] != b"{":
        return None
    params = _without_meta(params, frozenset({PROGRESS_TOKEN_KEY}))
    return drop_members(params, "elicitationId") if method == "elicitation/create" else params


def tagged(params: bytes | None, id: bytes) -> bytes:
    """Return the raw params of a notification as one of the `subscriptions/listen` of that raw id."""
    params = params if params is not None and params[:1] == b"{" else b"{}"
    meta = get_member(params, "_meta") or b"{}"
    meta = set_member(meta if meta[:1] == b"{" else b"{}", SUBSCRIPTION_ID_KEY, id)
    return set_member(params, "_meta", meta)


def spliced(frame: bytes, members: Mapping[str, bytes]) -> bytes:
    """Return the frame of a message with some members changed; empty for one that was built here."""
    if frame:
        for name, value in members.items():
            frame = set_member(frame, name, value)
    return frame
