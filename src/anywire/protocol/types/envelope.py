"""The keys of `_meta` that the protocol itself defines.

Specification: MCP `basic/index#_meta`, 2026-07-28; `progressToken` in all revisions, tasks 2025-11-25.
"""

from __future__ import annotations

from typing import Final

import msgspec
from msgspec import UNSET, Raw, UnsetType

from anywire.protocol.types.initialize import ClientCapabilities, Implementation
from anywire.protocol.types.logging import LogLevel
from anywire.protocol.types.metadata import ProgressToken, RequestId
from anywire.protocol.types.reading import Received

__all__ = (
    "BAGGAGE_KEY",
    "CLIENT_CAPABILITIES_KEY",
    "CLIENT_INFO_KEY",
    "COMPLETE",
    "INPUT_REQUIRED",
    "LOG_LEVEL_KEY",
    "PROGRESS_TOKEN_KEY",
    "PROTOCOL_VERSION_KEY",
    "RELATED_TASK_KEY",
    "SERVER_INFO_KEY",
    "SUBSCRIPTION_ID_KEY",
    "TRACEPARENT_KEY",
    "TRACESTATE_KEY",
    "NotificationMeta",
    "RequestMeta",
    "ResultMeta",
    "result_type",
)

PROTOCOL_VERSION_KEY: Final = "io.modelcontextprotocol/protocolVersion"
CLIENT_CAPABILITIES_KEY: Final = "io.modelcontextprotocol/clientCapabilities"
CLIENT_INFO_KEY: Final = "io.modelcontextprotocol/clientInfo"
LOG_LEVEL_KEY: Final = "io.modelcontextprotocol/logLevel"
SERVER_INFO_KEY: Final = "io.modelcontextprotocol/serverInfo"
SUBSCRIPTION_ID_KEY: Final = "io.modelcontextprotocol/subscriptionId"
RELATED_TASK_KEY: Final = "io.modelcontextprotocol/related-task"
PROGRESS_TOKEN_KEY: Final = "progressToken"  # noqa: S105 a name, no secret
TRACEPARENT_KEY: Final = "traceparent"
TRACESTATE_KEY: Final = "tracestate"
BAGGAGE_KEY: Final = "baggage"

#: The `resultType` of a result that is one.
COMPLETE: Final = "complete"
#: The `resultType` of a result that asks for something first.
INPUT_REQUIRED: Final = "input_required"


class RequestMeta(Received, frozen=True):
    """The `_meta` of a request; since 2026-07-28 the first two are required; the reader checks that."""

    protocol_version: str | UnsetType = msgspec.field(default=UNSET, name=PROTOCOL_VERSION_KEY)
    client_capabilities: ClientCapabilities | UnsetType = msgspec.field(
        default=UNSET, name=CLIENT_CAPABILITIES_KEY
    )
    client_info: Implementation | UnsetType = msgspec.field(default=UNSET, name=CLIENT_INFO_KEY)
    log_level: LogLevel | UnsetType = msgspec.field(default=UNSET, name=LOG_LEVEL_KEY)
    progress_token: ProgressToken | UnsetType = msgspec.field(default=UNSET, name=PROGRESS_TOKEN_KEY)
    traceparent: str | UnsetType = UNSET
    tracestate: str | UnsetType = UNSET
    baggage: str | UnsetType = UNSET


class ResultMeta(Received, frozen=True):
    """The `_meta` of a result: who answered, and which subscription has ended."""

    server_info: Implementation | UnsetType = msgspec.field(default=UNSET, name=SERVER_INFO_KEY)
    subscription_id: RequestId | UnsetType = msgspec.field(default=UNSET, name=SUBSCRIPTION_ID_KEY)


class NotificationMeta(Received, frozen=True):
    """The `_meta` of a notification: the id of the `subscriptions/listen` that it belongs to."""

    subscription_id: RequestId | UnsetType = msgspec.field(default=UNSET, name=SUBSCRIPTION_ID_KEY)


class _Typed(Received, frozen=True):
    result_type: str | UnsetType = UNSET


def result_type(raw: bytes | Raw) -> str | None:
    """Return the `resultType` of a raw result: `complete` where there is none, None where it is no string."""
    try:
        told = msgspec.json.decode(raw, type=_Typed).result_type
    except msgspec.MsgspecError:
        return None
    return COMPLETE if isinstance(told, UnsetType) else told
