"""Which log messages the connections of one server want: it sends the least severe of them all.

Specification: MCP `server/utilities/logging`, 2024-11-05 to 2025-11-25.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import msgspec

from anywire.bridge.sharing.client import Client
from anywire.protocol.types.logging import LOG_LEVELS, LogLevel, is_logged
from anywire.wire.value import decode_value

__all__ = ("LogLevels", "read_level")

#: What a client that named no level gets once others have named theirs.
_USUAL: Final[LogLevel] = "info"


class _Params(msgspec.Struct):
    level: LogLevel


_params = msgspec.json.Decoder(_Params)


class LogLevels:
    """The level that the server has been told, and the one that it should have."""

    def __init__(self) -> None:
        #: What it was told last, None: nothing, so that it decides.
        self.told: LogLevel | None = None

    def wanted(self, clients: Iterable[Client]) -> LogLevel:
        """Return the least severe level that one of these wants."""
        indexes = [LOG_LEVELS.index(client.level or _USUAL) for client in clients]
        return LOG_LEVELS[min(indexes)] if indexes else _USUAL

    def allows(self, client: Client, params: bytes | None) -> bool:
        """Say whether a connection wants a log message."""
        level = read_level(params)
        if level is None or (client.level is None and self.told is None):
            return True
        return is_logged(level, client.level or _USUAL)


def read_level(params: bytes | None) -> LogLevel | None:
    """Return the level that params name, None where they name none that there is."""
    try:
        return decode_value(params or b"{}", _Params, _params).level
    except msgspec.MsgspecError:
        return None
