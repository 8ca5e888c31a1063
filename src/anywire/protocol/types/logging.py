"""Log messages that a server sends to its client.

Specification: MCP `server/utilities/logging`, all revisions; `logging/setLevel` until 2025-11-25.
"""

from __future__ import annotations

from typing import Any, Final, Literal, TypeAlias, get_args

from msgspec import UNSET, UnsetType

from anywire.protocol.types.metadata import NotificationParams, RequestParams

__all__ = ("LOG_LEVELS", "LogLevel", "LogMessageParams", "SetLevelParams", "is_logged")

#: The severities of RFC 5424, least severe first.
LogLevel: TypeAlias = Literal["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"]

LOG_LEVELS: Final[tuple[LogLevel, ...]] = get_args(LogLevel)


class SetLevelParams(RequestParams, frozen=True):
    """The params of `logging/setLevel`."""

    level: LogLevel


class LogMessageParams(NotificationParams, frozen=True):
    """The params of `notifications/message`; `data` is any JSON."""

    level: LogLevel
    data: Any
    logger: str | UnsetType = UNSET


def is_logged(level: LogLevel, minimum: LogLevel) -> bool:
    """Say whether a message of that level is sent to a client that asked for `minimum`."""
    return LOG_LEVELS.index(level) >= LOG_LEVELS.index(minimum)
