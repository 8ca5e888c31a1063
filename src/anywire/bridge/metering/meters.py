"""The meters of all servers behind one bridge, and what is known of its own process."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

from anywire.bridge.metering.meter import ServerMeter

__all__ = ("Meters",)


class Meters:
    """The servers of a process by name, in the order in which they came; they may come and go.

    `clock` gives the time, in seconds, for all of them.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.clock = clock
        #: When the process began to serve.
        self.since = clock()
        #: Whether it is about to end.
        self.closing = False
        #: Counts the sessions of clients with this process.
        self.count_sessions: Callable[[], int] = lambda: 0
        self._servers: dict[str, ServerMeter] = {}

    def __len__(self) -> int:
        return len(self._servers)

    def __iter__(self) -> Iterator[ServerMeter]:
        return iter(list(self._servers.values()))

    def of(self, name: str) -> ServerMeter:
        """Return the meter of a server, a new one where it has none."""
        meter = self._servers.get(name)
        if meter is None:
            meter = self._servers[name] = ServerMeter(name, self.clock())
        return meter

    def drop(self, name: str) -> None:
        """That server is gone, and its numbers with it."""
        self._servers.pop(name, None)
