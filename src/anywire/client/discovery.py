"""Which era a server belongs to: asked with the stateless era's first question, and what comes back.

A server that answers as that era has it belongs to it, also one that refuses with an error that only this
era knows; whatever else it says, or if it says nothing in time, or leaves, it is greeted with a handshake.
No fallback hangs on a particular error code.

Specification: MCP `basic/versioning#era-detection`, 2026-07-28.
"""

from __future__ import annotations

from collections.abc import Awaitable, Collection
from typing import Final, Literal, Protocol, TypeAlias

import msgspec

from anywire.errors import (
    DeadlineExceeded,
    HttpStatusError,
    PeerError,
    RemoteProtocolError,
)
from anywire.protocol.legacy import ClientConversation
from anywire.protocol.modern import LATEST_STATELESS_REVISION, STATELESS_REVISIONS, write_envelope
from anywire.protocol.types.discover import DiscoverResult
from anywire.protocol.types.error_data import McpErrorCode, UnsupportedVersionData
from anywire.protocol.types.initialize import Implementation, InitializeResult
from anywire.protocol.types.reading import read
from anywire.wire.codec import encode_value

__all__ = ("Discovered", "EraChoice", "Silent", "discover", "named_revision")

#: Which eras a client may speak.
EraChoice: TypeAlias = Literal["auto", "legacy", "modern"]

_DISCOVER: Final = "server/discover"
# What a server says to who may not come in, or not now.
_NO_EVIDENCE: Final = frozenset({401, 403, 407, 408, 429})
# Errors that no server of the handshake era has, and that another revision does not help against.
_STATELESS_ONLY: Final = frozenset(
    {McpErrorCode.HeaderMismatch, McpErrorCode.MissingRequiredClientCapability}
)


class Ask(Protocol):
    """Sends a request."""

    def __call__(self, method: str, params: bytes, *, timeout: float | None = None) -> Awaitable[bytes]:
        """Return the raw result."""
        ...


class Discovered(msgspec.Struct, frozen=True):
    """A server of the stateless era: the revision to speak, and what it says of itself."""

    revision: str
    server: InitializeResult


class Silent(msgspec.Struct, frozen=True):
    """No server of the stateless era; `late` says that it may still turn out to be one."""

    reason: str
    late: bool = False


async def discover(ask: Ask, client: ClientConversation, seconds: float) -> Discovered | Silent:
    """Ask a server which revisions it speaks; once more where it names others than the one asked with.

    Raises what says nothing about its era: a refusal to let us in, a failure of the server or the
    network; the end of the wire is left to the caller, who may have another.  Raises `PeerError`
    for a server of the stateless era that refuses to be asked.
    """
    revision = LATEST_STATELESS_REVISION
    for asked_before in (False, True):
        try:
            return _read(await _ask(ask, client, revision, seconds))
        except DeadlineExceeded as error:
            return Silent(str(error), late=True)
        except RemoteProtocolError as error:
            return Silent(str(error))
        except HttpStatusError as error:
            if error.status in _NO_EVIDENCE or error.status > 501:
                raise
            return Silent(str(error), late=error.status >= 500)  # it may have broken down by chance
        except PeerError as error:
            named = named_revision(error)
            if error.code in _STATELESS_ONLY or (named is not None and asked_before):
                raise
            if named is None:
                return Silent(str(error))
            revision = named
    raise AssertionError


async def _ask(ask: Ask, client: ClientConversation, revision: str, seconds: float) -> bytes:
    info = encode_value(client.info)
    return await ask(_DISCOVER, write_envelope(None, revision, client.capabilities, info), timeout=seconds)


def _read(raw: bytes) -> Discovered | Silent:
    try:
        result = read(raw, DiscoverResult)
    except msgspec.MsgspecError as error:
        return Silent(f"the answer to {_DISCOVER} cannot be used: {error}")
    revision = _best(result.supported_versions)
    if revision is None:
        return Silent(f"it speaks {', '.join(result.supported_versions) or 'no revision'}")
    info = result.server_info or Implementation()
    return Discovered(revision, InitializeResult(revision, result.capabilities, info, result.instructions))


def _best(supported: Collection[str]) -> str | None:
    return next((each for each in STATELESS_REVISIONS if each in supported), None)


def named_revision(error: PeerError) -> str | None:
    """Return the revision to go on with after a refusal; None where it names none of the stateless era's."""
    if error.code != McpErrorCode.UnsupportedProtocolVersion or error.data is None:
        return None
    try:
        return _best(read(error.data, UnsupportedVersionData).supported)
    except msgspec.MsgspecError:
        return None
