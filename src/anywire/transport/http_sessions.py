"""The live sessions of an HTTP server: made, found, ended when nobody uses them.

A session is ended by its client (DELETE), by its server, when its client has not been heard of for too
long, or when there are too many: then the one that has idled longest makes room.  A client that comes
back later is told 404 and starts over.
"""

from __future__ import annotations

import asyncio
import secrets
import time
from collections import OrderedDict
from collections.abc import Callable
from typing import Final

from anywire.errors import TransportClosed
from anywire.store.event_log import MemoryEventLog, SharedBudget
from anywire.transport.http_session import HttpServerTransport
from anywire.wire.limits import Limits

__all__ = ("HttpSessions",)

#: How much later than its time a session may be ended, as a part of it: fewer looks at the table.
_SLACK: Final = 0.1


class HttpSessions:
    """A bounded table of sessions by id; the least recently used is its first."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._replay = SharedBudget(limits.replay_total_bytes)
        self._sessions: OrderedDict[str, HttpServerTransport] = OrderedDict()
        self._sweep: asyncio.TimerHandle | None = None
        self._now: Callable[[], float] = time.monotonic  # the clock of the loop, once there is one
        self._open = True

    def __len__(self) -> int:
        return len(self._sessions)

    @property
    def is_open(self) -> bool:
        """Whether new sessions are taken."""
        return self._open

    def create(self) -> HttpServerTransport | None:
        """Make a session; None when there are too many and all of them are in use, or after the end."""
        if not self._open or (len(self._sessions) >= self._limits.sessions and not self._make_room()):
            return None
        loop = asyncio.get_running_loop()
        session = HttpServerTransport(secrets.token_urlsafe(24), self._make_log, self._limits)
        session.on_gone = self._forget
        self._now = loop.time  # kept: to ask for the running loop is a system call before Python 3.12
        session.used = loop.time()
        self._sessions[session.id] = session
        if self._sweep is None:
            self._sweep = loop.call_later(self._limits.session_idle_seconds, self._end_idle)
        return session

    def _make_log(self) -> MemoryEventLog:
        return MemoryEventLog(self._limits.replay_events, self._limits.replay_bytes, self._replay)

    def find(self, id: str) -> HttpServerTransport | None:
        """Return the session of that id and note that it is used; None when there is none (any more)."""
        session = self._sessions.get(id)
        if session is not None and not session.closed:
            session.used = self._now()
            self._sessions.move_to_end(id)
        return session

    def touch(self, session: HttpServerTransport) -> None:
        """Note that a session is used now."""
        if not session.closed:
            session.used = self._now()
            self._sessions.move_to_end(session.id)

    def end(self, id: str) -> bool:
        """End a session; say whether there was one."""
        session = self._sessions.get(id)
        if session is not None:
            session.end(None)
        return session is not None

    def _forget(self, session: HttpServerTransport) -> None:
        self._sessions.pop(session.id, None)
        if not self._sessions:
            self._sessions.clear()  # gives back the room that very many had

    def open(self) -> None:
        """Take new sessions, again if there was an end before."""
        self._open = True

    def close(self) -> None:
        """End all sessions and take no new ones."""
        self._open = False
        if self._sweep is not None:
            self._sweep.cancel()
            self._sweep = None
        for id in list(self._sessions):
            self.end(id)

    def _make_room(self) -> bool:
        """End the session that has idled longest; one that works for a client that has gone if need be."""
        victim = self._idlest(working=False) or self._idlest(working=True)
        if victim is not None:
            victim.end(TransportClosed("the session made room for another"))
        return victim is not None

    def _idlest(self, *, working: bool) -> HttpServerTransport | None:
        sessions = self._sessions.values()
        return next((one for one in sessions if not one.is_read and (working or not one.is_working)), None)

    def _end_idle(self) -> None:
        """End what has idled too long, and look again when the next one will have."""
        self._sweep = None
        loop, idle = asyncio.get_running_loop(), self._limits.session_idle_seconds
        now = loop.time()
        for session in list(self._sessions.values()):
            if session.used > now - idle:
                break  # those after it were used later
            if session.is_read:
                self.touch(session)
            else:
                session.end(TransportClosed(f"the client was not heard of for {idle:g} s"))
        first = next(iter(self._sessions.values()), None)
        if first is not None:
            delay = max(first.used + idle - now, idle * _SLACK)
            self._sweep = loop.call_later(delay, self._end_idle)
