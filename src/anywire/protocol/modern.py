"""The stateless era, 2026-07-28: what each request says of itself, and what results say then.

There is no handshake: a request names its revision and what its client can do, a result names what
it is and who gave it.  Which era a request belongs to is decided by its envelope, each time anew.

Specification: MCP `basic/index#_meta`, `basic/index#result-type`, `server/discover`, 2026-07-28.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Final

import msgspec
from msgspec import Raw, UnsetType

from anywire.protocol.features import FEATURES, REVISIONS, Feature
from anywire.protocol.types.caching import CacheScope
from anywire.protocol.types.discover import DiscoverResult
from anywire.protocol.types.envelope import (
    CLIENT_CAPABILITIES_KEY,
    CLIENT_INFO_KEY,
    COMPLETE,
    LOG_LEVEL_KEY,
    PROTOCOL_VERSION_KEY,
    SERVER_INFO_KEY,
    SUBSCRIPTION_ID_KEY,
    RequestMeta,
)
from anywire.protocol.types.error_data import McpErrorCode
from anywire.protocol.types.initialize import ClientCapabilities, Implementation
from anywire.protocol.types.logging import LogLevel
from anywire.protocol.types.reading import read
from anywire.wire.codec import decode_value, encode_value
from anywire.wire.message import JsonRpcErrorCode
from anywire.wire.splice import get_member, set_member

__all__ = (
    "LATEST_STATELESS_REVISION",
    "STATELESS_REVISIONS",
    "Envelope",
    "EnvelopeFault",
    "ResultFrame",
    "claimed_revision",
    "claims_stateless",
    "code_of",
    "discover_result",
    "envelope_of",
    "read_envelope",
    "tag_subscription",
    "unsupported_version",
    "write_envelope",
)

#: The revisions of this era, newest first.
STATELESS_REVISIONS: Final = tuple(
    revision for revision in reversed(REVISIONS) if revision in FEATURES[Feature.REQUEST_ENVELOPE]
)
LATEST_STATELESS_REVISION: Final = STATELESS_REVISIONS[0]

_VERSION_KEY: Final = PROTOCOL_VERSION_KEY.encode()
# As PHP writes it.
#: What a key that names a revision ends with, however its slash is written.
_SIGN: Final = b"/protocolVersion"
_SLASH: Final = _SIGN[0]
#: A client says the same of itself each time: so much of that is remembered, if it is no longer than this.
_REMEMBERED: Final = 256
_REMEMBERED_BYTES: Final = 1024
# Codes of the handshake era that this one must not emit, and what stands in their place.
_CODES: Final = {
    int(McpErrorCode.ResourceNotFound): int(JsonRpcErrorCode.InvalidParams),
    int(McpErrorCode.UrlElicitationRequired): int(JsonRpcErrorCode.InternalError),
}


class Envelope(msgspec.Struct, frozen=True):
    """What a request says of itself.  The names are those of `legacy.ServerConversation`."""

    revision: str
    client_capabilities: ClientCapabilities
    client_info: Implementation = Implementation()
    #: None: no log messages at all.
    log_level: LogLevel | None = None


class EnvelopeFault(msgspec.Struct, frozen=True):
    """Why a request cannot be served: the error that answers it."""

    code: int
    message: str
    data: object = None


class _Meta(msgspec.Struct):
    meta: Raw | UnsetType = msgspec.field(default=msgspec.UNSET, name="_meta")


_meta_decoder = msgspec.json.Decoder(_Meta)


def claims_stateless(params: bytes | None) -> bool:
    """Say whether a request belongs to this era: its `_meta` names a revision, whichever."""
    if params is None or _SLASH not in params or params.find(_SIGN) < 0:  # each quicker than a string `in`
        return False
    return _claims(get_member(params, "_meta") or b"")


def claimed_revision(params: bytes | None) -> str | None:
    """Return the revision that a request names; None where it names none."""
    if not claims_stateless(params):
        return None
    envelope = read_envelope(params)
    return envelope.revision if isinstance(envelope, Envelope) else None


def envelope_of(params: bytes | None) -> Envelope | EnvelopeFault | None:
    """Read what a request of this era says of itself; None: it is of the other (`claims_stateless`)."""
    if params is None or _SIGN not in params:
        return None
    meta = _meta_of(params)
    if meta is None:  # it can still be found by those who look more closely
        return read_envelope(params) if claims_stateless(params) else None
    said, claims = _said(meta)
    return said if claims else None


def read_envelope(params: bytes | None) -> Envelope | EnvelopeFault:
    """Read what a request says of itself; the fault is the error to answer with."""
    meta = _meta_of(params or b"{}")
    return _missing(PROTOCOL_VERSION_KEY) if meta is None else _said(meta)[0]


def _meta_of(params: bytes) -> bytes | None:
    try:
        meta = decode_value(params, _Meta, _meta_decoder).meta
    except msgspec.MsgspecError:
        return None
    return None if isinstance(meta, UnsetType) else bytes(meta)


def _said(meta: bytes) -> tuple[Envelope | EnvelopeFault, bool]:
    """Return what a raw `_meta` says, and whether it names a revision."""
    return _read_said(meta) if len(meta) > _REMEMBERED_BYTES else _remembered_said(meta)


def _read_said(raw: bytes) -> tuple[Envelope | EnvelopeFault, bool]:
    return _read_meta(raw), _claims(raw)


_remembered_said = lru_cache(_REMEMBERED)(_read_said)


def _claims(meta: bytes) -> bool:
    return get_member(meta, PROTOCOL_VERSION_KEY) is not None


def _read_meta(raw: bytes) -> Envelope | EnvelopeFault:
    try:
        meta = read(raw, RequestMeta)
    except msgspec.MsgspecError:
        return _missing(PROTOCOL_VERSION_KEY)
    if isinstance(meta.protocol_version, UnsetType):
        return _missing(PROTOCOL_VERSION_KEY)
    if isinstance(meta.client_capabilities, UnsetType):
        return _missing(CLIENT_CAPABILITIES_KEY)
    if meta.protocol_version not in STATELESS_REVISIONS:
        return unsupported_version(meta.protocol_version)
    info = Implementation() if isinstance(meta.client_info, UnsetType) else meta.client_info
    level = None if isinstance(meta.log_level, UnsetType) else meta.log_level
    return Envelope(meta.protocol_version, meta.client_capabilities, info, level)


def _missing(key: str) -> EnvelopeFault:
    return EnvelopeFault(JsonRpcErrorCode.InvalidParams, f"Invalid params: _meta needs {key!r}")


def unsupported_version(requested: str) -> EnvelopeFault:
    """Return the error for a revision that is not spoken here, with those that are."""
    data = {"supported": list(STATELESS_REVISIONS), "requested": requested}
    message = f"Unsupported protocol version: {requested}"
    return EnvelopeFault(McpErrorCode.UnsupportedProtocolVersion, message, data)


def write_envelope(
    params: bytes | None,
    revision: str,
    capabilities: bytes,
    info: bytes,
    log_level: LogLevel | None = None,
) -> bytes:
    """Return a request's params with what it must say of itself; `capabilities` and `info` are raw JSON.

    What they say of it already is replaced.
    """
    params = b"{}" if params is None else params
    said = {
        PROTOCOL_VERSION_KEY: encode_value(revision),
        CLIENT_CAPABILITIES_KEY: capabilities,
        CLIENT_INFO_KEY: info,
    }
    if log_level is not None:
        said[LOG_LEVEL_KEY] = encode_value(log_level)
    present = get_member(params, "_meta")
    if present is None or present[:1] != b"{":
        present = b"{}"
    for key in [key for key in said if present != b"{}" and get_member(present, key) is not None]:
        present = set_member(present, key, said.pop(key))
    members = b",".join(b'"%b":%b' % (key.encode(), value) for key, value in said.items())
    return set_member(params, "_meta", _joined(members, present) if members else present)


def _joined(members: bytes, value: bytes) -> bytes:
    """Put members in front of those of an object."""
    rest = value[1:].lstrip(b" \t\r\n")
    return b"{%b%b%b" % (members, b"" if rest[:1] == b"}" else b",", rest)


class ResultFrame:
    """What a server's results say of themselves: `resultType`, and who gave them.

    A server that is somebody else's is told of as raw JSON.
    """

    def __init__(self, info: Implementation | Raw) -> None:
        server = b'"%b":%b' % (SERVER_INFO_KEY.encode(), encode_value(info))
        self._server = server
        self._start = b'"resultType":"%b","_meta":{%b}' % (COMPLETE.encode(), server)

    def complete(
        self, result: bytes, ttl_ms: int | None = None, cache_scope: CacheScope = "private"
    ) -> bytes:
        """Return a raw result as this era wants it; with a `ttl_ms` it may be kept for so long.

        A result that says what it is stays what it is.
        """
        start = self._start
        if b'"resultType"' in result and get_member(result, "resultType") is not None:
            return self._signed(result)
        if b'"_meta"' in result and get_member(result, "_meta") is not None:
            result, start = self._signed(result), b'"resultType":"%b"' % COMPLETE.encode()
        if ttl_ms is not None:
            start = b'%b,"ttlMs":%d,"cacheScope":"%b"' % (start, ttl_ms, cache_scope.encode())
        return _joined(start, result)

    def _signed(self, result: bytes) -> bytes:
        meta = get_member(result, "_meta") or b"{}"
        if meta[:1] != b"{" or get_member(meta, SERVER_INFO_KEY) is not None:
            return result
        return set_member(result, "_meta", _joined(self._server, meta))


def discover_result(capabilities: bytes, instructions: str | None) -> bytes:
    """Return the raw result of `server/discover`, before it is framed."""
    result = DiscoverResult(
        supported_versions=list(STATELESS_REVISIONS),
        capabilities=Raw(capabilities),
        instructions=instructions or msgspec.UNSET,
    )
    return encode_value(result)


def code_of(code: int) -> int:
    """Return the code that an error has in this era."""
    return _CODES.get(code, code)


def tag_subscription(params: Mapping[str, object], id: bytes) -> bytes:
    """Return the raw params of a notification that belongs to a `subscriptions/listen` of that raw id."""
    return encode_value({"_meta": {SUBSCRIPTION_ID_KEY: Raw(id)}} | dict(params))
