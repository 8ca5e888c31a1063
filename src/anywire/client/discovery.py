"""Which era a server belongs to: asked with the stateless era's first question, and what comes back.

A server that answers as that era has it belongs to it; whatever else it says, or if it says nothing in
time, or leaves, it is greeted with a handshake.  No fallback hangs on a particular error code.

Specification: MCP `basic/versioning#era-detection`, 2026-07-28.
"""

from __future__ import annotations

from collections.abc import Awaitable
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

__all__ = ("Discovered", "EraChoice", "Silent", "discover", "names_revisions")

#: Which eras a client may speak.
EraChoice: TypeAlias = Literal["auto", "legacy", "modern"]

_DISCOVER: Final = "server/discover"
# What a server says to who may not come in, or not now.
_NO_EVIDENCE: Final = frozenset({401, 403, 407, 408, 429})


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
    """Ask a server which revisions it speaks.

    Raises what says nothing about its era: a refusal to let us in, a failure of the server or the
    network; `ProcessExited` and the like are left to the caller, who can start it again.
    """
    info = encode_value(client.info)
    params = write_envelope(None, LATEST_STATELESS_REVISION, client.capabilities, info)
    try:
        raw = await ask(_DISCOVER, params, timeout=seconds)
    except DeadlineExceeded as error:
        return Silent(str(error), late=True)
    except PeerError as error:
        return Silent(str(error))
    except RemoteProtocolError as error:
        return Silent(str(error))
    except HttpStatusError as error:
        if error.status in _NO_EVIDENCE or error.status >= 500:
            raise
        return Silent(str(error))
    return _read(raw)


def _read(raw: bytes) -> Discovered | Silent:
    try:
        result = read(raw, DiscoverResult)
    except msgspec.MsgspecError as error:
        return Silent(f"the answer to {_DISCOVER} cannot be used: {error}")
    revision = next((each for each in STATELESS_REVISIONS if each in result.supported_versions), None)
    if revision is None:
        return Silent(f"it speaks {', '.join(result.supported_versions) or 'no revision'}")
    info = result.server_info or Implementation()
    return Discovered(revision, InitializeResult(revision, result.capabilities, info, result.instructions))


def names_revisions(error: PeerError) -> bool:
    """Say whether a server refused a handshake as one that speaks revisions of the stateless era only."""
    if error.code != McpErrorCode.UnsupportedProtocolVersion or error.data is None:
        return False
    try:
        supported = read(error.data, UnsupportedVersionData).supported
    except msgspec.MsgspecError:
        return False
    return any(revision in STATELESS_REVISIONS for revision in supported)
