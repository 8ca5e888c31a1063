"""How a server has answered lately, for all clients that know its lists from each other.

A server that does not come up is not tried by each client anew: until its next start is due, whoever wants
something of it hears at once why not, and when.  One that is known to be late is not waited for as long as
one of which nothing is known, and is not started for its lists while another client's start of it hangs.

Time is an argument, but for the wait until another's start has had its outcome.
"""

from __future__ import annotations

import asyncio
from collections.abc import Hashable

from anywire.bridge.recovery.respawn import Respawn
from anywire.errors import AnywireError
from anywire.wire.limits import Limits

__all__ = ("Standing",)


class Standing:
    """What is known of one server.  A start is a conversation that has not been answered yet."""

    def __init__(self, limits: Limits) -> None:
        #: Why its last start failed, in words that clients may hear; None: it is not known to fail.
        self.error: AnywireError | None = None
        #: When it may be started again.
        self.due = 0.0
        self._limits = limits
        self._respawn = Respawn(limits)
        self._failed_at = 0.0
        self._answers = False
        self._missed: set[str] = set()
        self._starting: dict[Hashable, float] = {}
        self._outcome = asyncio.Event()

    @property
    def is_given_up(self) -> bool:
        """Whether it is started only when somebody asks for it."""
        return self._respawn.delay(0.0) is None

    def is_late(self, method: str) -> bool:
        """Say whether it did not come up when it was needed last, or was late with that list."""
        return self.error is not None or method in self._missed or (bool(self._missed) and not self._answers)

    def missed(self, method: str) -> None:
        """A list was not there in time."""
        self._missed.add(method)

    def listed(self, method: str) -> None:
        """A list is there."""
        self._missed.discard(method)

    # Its starts.

    def begun(self, start: Hashable, now: float) -> None:
        """A client has it started."""
        self._starting[start] = now

    def opened(self, start: Hashable, now: float) -> None:
        """It has come up."""
        self.error, self._answers = None, True
        self._respawn = Respawn(self._limits)
        self.ended(start)

    def failed(self, start: Hashable, error: AnywireError, now: float, chance: float) -> None:
        """It has not come up; starts that were begun together count as one.

        `chance` is between 0 and 1 and spreads the next ones.
        """
        began = self._starting.get(start, now)
        self.error, self._answers = error, False
        if began >= self._failed_at:
            self._failed_at = now
            self._respawn.lost(now, served=False)
            delay = self._respawn.delay(chance)
            # Whoever asks next may be luckier, so that it is not given up for good.
            self.due = now + (self._limits.restart_most_seconds if delay is None else delay)
        self.ended(start)

    def ended(self, start: Hashable) -> None:
        """A start is over, or nobody waits for it any more."""
        if self._starting.pop(start, None) is not None:
            self._outcome.set()
            self._outcome = asyncio.Event()

    async def turn(self) -> None:
        """Wait while another's start hangs of a server that is known not to come up in time."""
        while self._starting and not self._answers and (self.error is not None or self._missed):
            await self._outcome.wait()
