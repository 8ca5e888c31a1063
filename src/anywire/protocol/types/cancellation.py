"""That a request need not be answered any more.

Specification: MCP `basic/utilities/cancellation`, 2024-11-05 to 2025-11-25; `basic/patterns/cancellation`,
2026-07-28.
"""

from __future__ import annotations

from msgspec import UNSET, UnsetType

from anywire.protocol.types.metadata import NotificationParams, RequestId

__all__ = ("CancelledParams",)


class CancelledParams(NotificationParams, frozen=True):
    """The params of `notifications/cancelled`; 2025-11-25 lets the id be absent, which then says nothing."""

    request_id: RequestId | UnsetType = UNSET
    reason: str | UnsetType = UNSET
