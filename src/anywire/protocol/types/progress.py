"""How far a request has got.

Specification: MCP `basic/utilities/progress`, until 2025-11-25; `basic/patterns/progress`, 2026-07-28.
"""

from __future__ import annotations

from msgspec import UNSET, UnsetType

from anywire.protocol.types.metadata import NotificationParams, ProgressToken

__all__ = ("ProgressParams",)


class ProgressParams(NotificationParams, frozen=True):
    """The params of `notifications/progress`; `message` since 2025-03-26."""

    progress_token: ProgressToken
    progress: int | float
    total: int | float | UnsetType = UNSET
    message: str | UnsetType = UNSET
