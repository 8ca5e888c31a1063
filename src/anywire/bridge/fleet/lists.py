"""What all servers of a fleet have, for one client: one answer of those that answer in time.

Who is late, or does not come up, is left out of the answer, or in it as it was last known; the client hears
of a change when it comes.  Where none comes the list is empty: a client takes an error for the end of the
whole connection, and would not ask again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from typing import Final, Protocol

from anywire.bridge.fleet.catalogue import Catalogue
from anywire.bridge.fleet.member import Member
from anywire.bridge.fleet.pages import Pages
from anywire.errors import AnywireError, TransportError
from anywire.wire.limits import Limits

__all__ = ("Lists", "Troubles")

#: Who was late before is not waited for as long as others.
_LATE_SECONDS: Final = 1.0


class Troubles(Protocol):
    """Tells whoever runs the bridge what is wrong with which server."""

    def troubled(self, server: str, reason: str) -> None:
        """A server's lists are left out, or as old as they are."""
        ...

    def well(self, server: str) -> None:
        """A server is there, and says what it has."""
        ...


class Lists:
    """The merged lists, as one client has seen them."""

    def __init__(self, catalogue: Catalogue, troubles: Troubles, limits: Limits) -> None:
        self._catalogue = catalogue
        self._troubles = troubles
        self._seconds = limits.member_list_seconds
        self._pages = Pages(limits)
        self._seen: dict[tuple[Member, str], Sequence[bytes]] = {}

    def prepare(self, members: Iterable[Member], method: str) -> None:
        """Ask those whose list is not known, without waiting for it."""
        for member in members:
            if self._fresh(member, method) is None:
                member.fetch(method)

    def page(self, method: str, cursor: bytes) -> bytes | None:
        """Return the raw result that has a further page; None for a cursor that is none of ours."""
        return self._pages.next(method, cursor)

    def known(self, members: Sequence[Member], method: str) -> bytes | None:
        """Return the raw result where nobody has to be asked, else None."""
        if any(self._fresh(member, method) is None for member in members):
            return None
        return self.merge(members, method)

    async def gather(self, members: Sequence[Member], method: str) -> None:
        """Wait until all have answered, or have been asked too long ago."""
        fetches = {member: member.fetch(method) for member in members if self._fresh(member, method) is None}
        for member in fetches:
            self._seen.pop((member, method), None)  # it is about to see what comes
        while fetches:
            now = asyncio.get_running_loop().time()
            for member in [member for member, fetch in fetches.items() if fetch.done()]:
                del fetches[member]
            for member in [member for member in fetches if self._left(member, method, now) <= 0]:
                if not member.is_late(method):  # else that is told already
                    reason = f"{method} was not answered within {self._seconds:g} s"
                    self._troubles.troubled(member.label.server, reason)
                member.missed(method)
                del fetches[member]
            if fetches:
                seconds = min(self._left(member, method, now) for member in fetches)
                await asyncio.wait(fetches.values(), timeout=seconds, return_when=asyncio.FIRST_COMPLETED)

    def _left(self, member: Member, method: str, now: float) -> float:
        """Return how many seconds a server may still take for its answer."""
        seconds = min(self._seconds, _LATE_SECONDS) if member.is_late(method) else self._seconds
        return member.asked_at(method) + seconds - now

    def _fresh(self, member: Member, method: str) -> Sequence[bytes] | None:
        return self._catalogue.fresh(member.key, method, asyncio.get_running_loop().time())

    def merge(self, members: Iterable[Member], method: str) -> bytes:
        """Return the raw result that has what is known."""
        merged: list[bytes] = []
        for member in members:
            items = self._catalogue.last(member.key, method) or ()
            self._seen[member, method] = items
            merged += items
        return self._pages.first(method, merged)

    def listed(self, member: Member, method: str, error: AnywireError | None) -> bool:
        """A list was asked for; say whether the client has seen another one."""
        if error is not None:
            if not isinstance(error, TransportError):  # the end of a server has been told
                self._troubles.troubled(member.label.server, f"{method}: {error}")
            return False
        self._troubles.well(member.label.server)
        seen = self._seen.get((member, method))
        now = self._catalogue.last(member.key, method) or ()
        return seen is not None and list(seen) != list(now)

    def forget(self, member: Member) -> None:
        """A server is not in the fleet any more."""
        self._seen = {key: items for key, items in self._seen.items() if key[0] is not member}
