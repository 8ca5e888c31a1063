"""Error codes that MCP adds to those of JSON-RPC, and what their `data` holds.

Specification: MCP `basic/index#error-codes`, 2026-07-28; `server/resources#error-handling` and
`client/elicitation#url-elicitation-required`, 2025-11-25.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum

from msgspec import Raw

from anywire.protocol.types.elicitation import ElicitUrlParams
from anywire.protocol.types.reading import Item, Received

__all__ = (
    "McpErrorCode",
    "MissingCapabilityData",
    "ResourceNotFoundData",
    "UnsupportedVersionData",
    "UrlElicitationData",
)


class McpErrorCode(IntEnum):
    """The codes of MCP itself."""

    #: A user said no to a sampling; until 2025-11-25.
    UserRejected = -1
    #: No such resource; until 2025-11-25, and accepted from anybody.
    ResourceNotFound = -32002
    #: The headers say something else than the body; 2026-07-28.
    HeaderMismatch = -32020
    #: The server needs something that the client did not say it can do; 2026-07-28.
    MissingRequiredClientCapability = -32021
    #: The server does not speak the revision that the request names; 2026-07-28.
    UnsupportedProtocolVersion = -32022
    #: The user has to visit an address first; 2025-11-25 only.
    UrlElicitationRequired = -32042


class ResourceNotFoundData(Received, frozen=True):
    """The data of `ResourceNotFound`."""

    uri: str


class MissingCapabilityData(Received, frozen=True):
    """The data of `MissingRequiredClientCapability`: client capabilities, raw JSON."""

    required_capabilities: Raw


class UnsupportedVersionData(Received, frozen=True):
    """The data of `UnsupportedProtocolVersion`: the revisions there are, and the one asked for."""

    supported: list[str]
    requested: str = ""


class UrlElicitationData(Received, frozen=True):
    """The data of `UrlElicitationRequired`: the addresses, each raw JSON until it is asked for."""

    elicitations: Sequence[Item[ElicitUrlParams]]
