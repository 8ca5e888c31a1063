"""What a server can do, asked without a handshake.

Specification: MCP `server/discover`, 2026-07-28.
"""

from __future__ import annotations

import msgspec
from msgspec import UNSET, Raw, UnsetType

from anywire.protocol.types.caching import CacheableResult
from anywire.protocol.types.envelope import SERVER_INFO_KEY
from anywire.protocol.types.initialize import Implementation
from anywire.protocol.types.reading import read
from anywire.wire.value import encode_value

__all__ = ("DiscoverResult",)


class DiscoverResult(CacheableResult, frozen=True):
    """The result of `server/discover`; `capabilities` is raw JSON, so that nothing of it is lost."""

    supported_versions: list[str]
    capabilities: Raw = Raw(b"{}")
    instructions: str | UnsetType = UNSET

    @property
    def server_info(self) -> Implementation | None:
        """Who answers: from `_meta`, or from beside it, where drafts had it; None where it is not said."""
        if not isinstance(self.meta, UnsetType) and SERVER_INFO_KEY in self.meta:
            raw = encode_value(self.meta[SERVER_INFO_KEY])
        else:
            told = read(self.raw, _Draft).server_info
            if isinstance(told, UnsetType):
                return None
            raw = bytes(told)
        try:
            return read(raw, Implementation)
        except msgspec.MsgspecError:
            return None


class _Draft(msgspec.Struct, rename="camel"):
    server_info: Raw | UnsetType = UNSET
