"""Log messages that a server sends to its client.

Specification: MCP `server/utilities/logging`, 2024-11-05 to 2025-11-25.
"""

from __future__ import annotations

from typing import Final, Literal, TypeAlias, get_args

import msgspec

__all__ = ("LOG_LEVELS", "LogLevel", "SetLevelParams", "is_logged")

#: The severities of RFC 5424, least severe first.
LogLevel: TypeAlias = Literal["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"]

LOG_LEVELS: Final[tuple[LogLevel, ...]] = get_args(LogLevel)


class SetLevelParams(msgspec.Struct, frozen=True):
    """The params of `logging/setLevel`."""

    level: LogLevel


def is_logged(level: LogLevel, minimum: LogLevel) -> bool:
    """Say whether a message of that level is sent to a client that asked for `minimum`."""
    return LOG_LEVELS.index(level) >= LOG_LEVELS.index(minimum)
