"""The revisions of the handshake era, and how two sides agree on one.

Specification: MCP `basic/lifecycle#version-negotiation`, 2024-11-05 to 2025-11-25.
"""

from __future__ import annotations

from typing import Final

from anywire.protocol.features import Feature, has
from anywire.wire.message import NULL_ID

__all__ = (
    "BATCH_REVISION",
    "MCP_LATEST_PROTOCOL_VERSION",
    "MCP_PROTOCOL_VERSIONS",
    "negotiate_protocol_version",
    "null_id",
)

#: The revisions that open with a handshake, newest first.
MCP_PROTOCOL_VERSIONS: Final = ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")

#: The version answered to a client that asks for one we do not speak.
MCP_LATEST_PROTOCOL_VERSION: Final = MCP_PROTOCOL_VERSIONS[0]

#: The one revision in which a message may be an array of messages.
BATCH_REVISION: Final = "2025-03-26"


def negotiate_protocol_version(requested: object = None) -> str:
    """Return the version that answers `initialize`: the requested one if we speak it, else our latest.

    Anything may be passed (absent, null, a number, an unknown string); nothing raises.
    """
    if isinstance(requested, str) and requested in MCP_PROTOCOL_VERSIONS:
        return requested
    return MCP_LATEST_PROTOCOL_VERSION


def null_id(revision: str | None) -> bytes | None:
    """Return the id of an error whose request could not be read: null, or None where it is left out.

    Before a revision is agreed on (None) it is null, as JSON-RPC 2.0 has it.
    """
    return NULL_ID if revision is None or has(Feature.NULL_ERROR_ID, revision) else None
