"""When to open a lost stream again: soon after it served, ever later while it does not.

Only a message that was delivered shows that a stream works.  One that opens and ends politely without
a message must not be opened again and again at full speed.  Time and chance come in as arguments.

Specification: WHATWG HTML §9.2.3 (`retry`); MCP `basic/transports#streamable-http`, 2025-11-25.
"""

from __future__ import annotations

from anywire.wire.limits import Limits

__all__ = ("Reconnect",)


class Reconnect:
    """How often a stream was tried in vain, and what follows from it."""

    def __init__(self, limits: Limits) -> None:
        self._first = limits.reconnect_seconds
        self._most = limits.reconnect_most_seconds
        self._in_vain = 0

    def delivered(self) -> None:
        """A message came: the stream works."""
        self._in_vain = 0

    def delay(self, chance: float, retry: int | None = None) -> float:
        """The stream ended: return how many seconds to wait before the next try.

        `chance` is between 0 and 1 and spreads many clients; `retry` is the server's own wish in
        milliseconds, which is never undercut, however long it is: the revision says that one must wait.
        """
        delay = min(self._first * 2**self._in_vain, self._most)
        self._in_vain = min(self._in_vain + 1, 30)
        spread = delay * (0.5 + chance / 2)
        return max(spread, (retry or 0) / 1000)
