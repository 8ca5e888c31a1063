"""What the servers of a fleet have, as their lists last said: so that the next client starts none of them.

What a list said is good until its server says that it has changed, and for `Limits.list_seconds`.  After that
it is the last that is known, which is better than nothing while the server does not answer.

Time is an argument; who asks a server is elsewhere.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from anywire.bridge.fleet.standing import Standing
from anywire.wire.limits import Limits

__all__ = ("Catalogue",)


class _Entry:
    """One list of one server."""

    __slots__ = ("asking", "at", "generation", "items")

    def __init__(self) -> None:
        self.items: Sequence[bytes] | None = None
        #: When it was asked for; None: it has changed since.
        self.at: float | None = None
        #: How often the server has said that it has changed.
        self.generation = 0
        #: How many are asking for it.
        self.asking = 0


class Catalogue:
    """The lists of servers, each by the server and the method that asks for it."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._seconds = limits.list_seconds
        self._standings: dict[Hashable, Standing] = {}
        self._entries: dict[tuple[Hashable, str], _Entry] = {}
        self._instructions: dict[Hashable, str] = {}

    def fresh(self, server: Hashable, method: str, now: float) -> Sequence[bytes] | None:
        """Return what is in a list, None where that has to be asked."""
        entry = self._entries.get((server, method))
        if entry is None or entry.at is None or now - entry.at > self._seconds:
            return None
        return entry.items

    def last(self, server: Hashable, method: str) -> Sequence[bytes] | None:
        """Return what was in a list when it was asked last, None where it never was."""
        entry = self._entries.get((server, method))
        return None if entry is None else entry.items

    def begin(self, server: Hashable, method: str) -> int:
        """A list is asked for; return what is to be given to `settle`."""
        entry = self._entries.setdefault((server, method), _Entry())
        entry.asking += 1
        return entry.generation

    def settle(
        self, server: Hashable, method: str, begun: int, items: Sequence[bytes] | None, now: float
    ) -> None:
        """A list is there; None: it could not be had.  One that changed meanwhile is asked for again."""
        entry = self._entries.get((server, method))
        if entry is None:
            return  # the server is not in the fleet any more
        entry.asking -= 1
        if items is not None:
            entry.items = items
            entry.at = now if entry.generation == begun else None

    def forget(self, server: Hashable, method: str) -> bool:
        """A list has changed; say whether somebody may have seen it since it was said last that it has."""
        entry = self._entries.get((server, method))
        if entry is None:
            return False
        seen = entry.at is not None or entry.asking > 0
        entry.generation += 1
        entry.at = None
        return seen

    def drop(self, server: Hashable) -> None:
        """A server is not in the fleet any more."""
        self._entries = {key: entry for key, entry in self._entries.items() if key[0] != server}
        self._instructions.pop(server, None)
        self._standings.pop(server, None)

    def standing(self, server: Hashable) -> Standing:
        """Return how a server has answered lately."""
        return self._standings.setdefault(server, Standing(self._limits))

    # What a server says of itself.

    def introduce(self, server: Hashable, instructions: str | None) -> None:
        """A server has said how it is used."""
        self._instructions[server] = instructions or ""

    def instructions(self, server: Hashable) -> str:
        """Return how a server is used, empty where that is not known."""
        return self._instructions.get(server, "")
