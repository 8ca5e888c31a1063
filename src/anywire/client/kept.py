"""Results that are fresh still, kept so that nobody asks for them again.

Specification: MCP `server/utilities/caching`, 2026-07-28.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Final, TypeAlias

import msgspec

from anywire.protocol.types.resources import ResourceUpdatedParams
from anywire.wire.codec import decode_value
from anywire.wire.message import Notification

__all__ = ("Kept",)

_MOST: Final = 256
#: Larger ones are asked for again: together they stay below 64 MiB.
_MOST_BYTES: Final = 256 * 1024
_Key: TypeAlias = tuple[str, bytes | None]

# Which results a notification makes stale.
_STALE: Final = {
    "notifications/tools/list_changed": ("tools/list",),
    "notifications/prompts/list_changed": ("prompts/list",),
    "notifications/resources/list_changed": ("resources/list", "resources/templates/list"),
}


class Kept:
    """A bounded table of raw results by what was asked.  Times are in seconds of the event loop's clock."""

    def __init__(self) -> None:
        self._results: OrderedDict[_Key, tuple[bytes, float]] = OrderedDict()
        #: How often something has turned stale: what was asked for before that may be stale as well.
        self.turns = 0

    def __len__(self) -> int:
        return len(self._results)

    def find(self, method: str, params: bytes | None, now: float) -> bytes | None:
        """Return a result that is fresh; None: ask."""
        if not self._results:
            return None
        found = self._results.get((method, params))
        if found is None:
            return None
        raw, until = found
        if now < until:
            return raw
        del self._results[method, params]
        return None

    def keep(self, method: str, params: bytes | None, raw: bytes, until: float) -> None:
        """Keep a result for so long, unless it is large."""
        if len(raw) > _MOST_BYTES:
            return
        self._results[method, params] = raw, until
        if len(self._results) > _MOST:
            self._results.popitem(last=False)

    def hear(self, message: Notification) -> None:
        """Forget what a notification says is stale."""
        if message.method == "notifications/resources/updated":
            self.turns += 1
            self._forget_resource(message)
        for method in _STALE.get(message.method, ()):
            self.forget(method)

    def forget(self, method: str) -> None:
        """Forget all results of a method."""
        self.turns += 1
        for key in [key for key in self._results if key[0] == method]:
            del self._results[key]

    def _forget_resource(self, message: Notification) -> None:
        try:
            uri = decode_value(message.params or b"{}", ResourceUpdatedParams).uri
        except msgspec.MsgspecError:
            self.forget("resources/read")
            return
        for key in [key for key in self._results if key[0] == "resources/read"]:
            told = decode_value(key[1] or b"{}", dict[str, object]).get("uri")
            if isinstance(told, str) and uri.startswith(told):  # it may be of a part of it
                del self._results[key]
