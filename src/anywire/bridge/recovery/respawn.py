"""When a lost server may be started again: at once the first time, ever later while it does not last.

A server that has run for a while is forgiven what was before.  One that does not come up, or leaves by
itself before anybody has asked it anything, is given up after some starts in a row.  Time and chance come
in as arguments.
"""

from __future__ import annotations

from anywire.errors import AnywireError, ProcessExited, TransportClosed
from anywire.wire.limits import Limits

__all__ = ("Respawn", "left_in_order")


class Respawn:
    """How often a server was lost lately, and what follows from it."""

    def __init__(self, limits: Limits) -> None:
        self._first = limits.restart_seconds
        self._most = limits.restart_most_seconds
        self._forgiven_after = limits.restart_forgiven_seconds
        self._starts = limits.restarts
        self._since: float | None = None
        self._losses = 0
        #: Starts in a row that brought nothing.
        self.in_vain = 0

    def opened(self, now: float) -> None:
        """The server is there: what the client says reaches it from now on."""
        self._since = now

    def lost(self, now: float, *, served: bool, calm: bool = False) -> None:
        """It is there no more, or did not come up.

        `served`: the client had asked it something; `calm`: it left in order while it had nothing to do.
        """
        ran = self._since is not None and now - self._since >= self._forgiven_after
        if ran or (served and calm):
            self._losses = self.in_vain = 0
        elif served:
            self.in_vain = 0
        else:
            self.in_vain += 1
        self._since = None
        self._losses = min(self._losses + 1, 30)

    def delay(self, chance: float) -> float | None:
        """Return how many seconds to wait before it is started; None: not any more.

        `chance` is between 0 and 1 and spreads many bridges that have lost one server.
        """
        if self.in_vain >= self._starts:
            return None
        if self._losses <= 1:
            return 0.0
        return min(self._first * 2 ** (self._losses - 2), self._most) * (0.5 + chance / 2)


def left_in_order(error: AnywireError | None) -> bool:
    """Say whether a server that ended so has ended as it should."""
    if isinstance(error, ProcessExited):
        return error.returncode == 0
    return error is None or isinstance(error, TransportClosed)
