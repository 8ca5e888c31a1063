"""The live sessions of an HTTP server: made, found, ended when nobody uses them.

A session is ended by its client (DELETE), by its server, when it has idled too long, or when there
are too many: then the one that has idled longest makes room.  A client that comes back later is told
404 and starts over.
"""

from __future__ import annotations

import asyncio
import secrets

from anywire.errors import TransportClosed
from anywire.store.event_log import MemoryEventLog
from anywire.transport.http_session import HttpServerTransport
from anywire.wire.limits import Limits

__all__ = ("HttpSessions",)


class HttpSessions:
    """A bounded table of sessions by id; the least recently used is its first."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._sessions: dict[str, tuple[HttpServerTransport, float]] = {}
        self._sweep: asyncio.TimerHandle | None = None

    def __len__(self) -> int:
        return len(self._sessions)

    def create(self) -> HttpServerTransport | None:
        """Make a session; None when there are too many and all of them are in use."""
        loop = asyncio.get_running_loop()
        if len(self._sessions) >= self._limits.sessions and not self._make_room():
            return None
        log = MemoryEventLog(self._limits.replay_events, self._limits.replay_bytes)
        session = HttpServerTransport(secrets.token_urlsafe(24), log, self._limits)
        self._sessions[session.id] = session, loop.time()
        if self._sweep is None:
            self._sweep = loop.call_later(self._limits.session_idle_seconds, self._end_idle)
        return session

    def find(self, id: str) -> HttpServerTransport | None:
        """Return the session of that id and note that it is used; None when there is none (any more)."""
        entry = self._sessions.pop(id, None)
        if entry is None or entry[0].closed:
            return None
        self._sessions[id] = entry[0], asyncio.get_running_loop().time()
        return entry[0]

    def end(self, id: str) -> bool:
        """End a session; say whether there was one."""
        entry = self._sessions.pop(id, None)
        if entry is None:
            return False
        entry[0].end(None)
        return True

    def close(self) -> None:
        """End all sessions."""
        if self._sweep is not None:
            self._sweep.cancel()
            self._sweep = None
        for id in list(self._sessions):
            self.end(id)

    def _make_room(self) -> bool:
        for id, (session, _) in self._sessions.items():
            if not session.busy:
                del self._sessions[id]
                session.end(TransportClosed("the session made room for another"))
                return True
        return False

    def _end_idle(self) -> None:
        """End what has idled too long, and look again when the next one will have."""
        self._sweep = None
        loop = asyncio.get_running_loop()
        oldest = loop.time() - self._limits.session_idle_seconds
        next_look: float | None = None
        for id, (session, used) in list(self._sessions.items()):
            if session.closed:
                del self._sessions[id]
            elif session.busy:
                self._sessions[id] = session, loop.time()
            elif used <= oldest:
                del self._sessions[id]
                session.end(TransportClosed("the session idled too long"))
            else:
                next_look = min(used, next_look or used)
        if self._sessions:
            delay = self._limits.session_idle_seconds
            if next_look is not None:
                delay = max(next_look - oldest, 0.01)
            self._sweep = loop.call_later(delay, self._end_idle)
