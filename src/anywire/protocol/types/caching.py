"""How long a result stays fresh, and for whom.

Specification: MCP `server/utilities/caching`, 2026-07-28.
"""

from __future__ import annotations

from typing import Final, Literal, TypeAlias

from msgspec import UNSET, UnsetType

from anywire.protocol.types.metadata import Result

__all__ = ("CACHED_METHODS", "CacheScope", "CacheableResult")

#: The methods whose results say how long they stay fresh.
CACHED_METHODS: Final = frozenset(
    {
        "server/discover",
        "tools/list",
        "prompts/list",
        "resources/list",
        "resources/templates/list",
        "resources/read",
    }
)

_MOST_MS: Final = 365 * 24 * 3600 * 1000

#: Whether a cache may serve a result to others than the one who asked.
CacheScope: TypeAlias = Literal["public", "private"]


class CacheableResult(Result, frozen=True, kw_only=True):
    """A result that may be kept for `ttl_ms` milliseconds; earlier revisions have neither member."""

    ttl_ms: int | UnsetType = UNSET
    cache_scope: CacheScope | UnsetType = UNSET

    @property
    def fresh_ms(self) -> int:
        """For how many milliseconds it is fresh: 0 where that is not said, or negative; a year at most."""
        return 0 if isinstance(self.ttl_ms, UnsetType) else min(max(0, self.ttl_ms), _MOST_MS)
