"""Calls whose client is to make them again, with the connections on which their server waits.

One table for all clients of a bridge, since the next round may come over another connection; bounded in
number, in bytes and in time.

Specification: MCP `basic/patterns/mrtr#request-state`, 2026-07-28.
"""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from anywire.errors import LimitExceeded
from anywire.protocol.round_state import RoundState, StateRefused, digest_of, open_state, seal_state
from anywire.wire.limits import DEFAULT_LIMITS, Limits
from anywire.wire.message import Request

if TYPE_CHECKING:
    from anywire.bridge.translating.virtual_connection import CallConnection

__all__ = ("HeldConnections",)


class _Held:
    __slots__ = ("connection", "request", "size", "timer")

    def __init__(self, connection: CallConnection, request: str, timer: asyncio.TimerHandle) -> None:
        self.connection = connection
        self.request = request
        self.size = 0
        self.timer = timer


class HeldConnections:
    """The one door to the table.  `wall_clock` gives seconds of the epoch; the key is of this process."""

    def __init__(self, limits: Limits = DEFAULT_LIMITS, wall_clock: Callable[[], float] = time.time) -> None:
        self._limits = limits
        self._wall_clock = wall_clock
        self._key = secrets.token_bytes(32)
        self._held: dict[str, _Held] = {}
        self._handles: dict[CallConnection, str] = {}
        self._size = 0
        self._closing: set[asyncio.Task[None]] = set()
        self._closed = False

    def __repr__(self) -> str:
        return f"<HeldConnections {len(self._held)} held, {self._size} bytes>"

    def __len__(self) -> int:
        return len(self._held)

    def hold(self, connection: CallConnection, request: Request) -> str:
        """Keep a call that asks its client, and return the `requestState` that it is found by.

        Raises `LimitExceeded` when too many wait, or too much, or nobody can come back any more.
        """
        limits = self._limits
        if self._closed:
            raise LimitExceeded("the bridge is closing, and its client cannot come back to it")
        if len(self._held) >= limits.held_calls:
            raise LimitExceeded(f"more than {limits.held_calls} calls wait for their clients' input")
        if self._size + connection.size > limits.held_bytes:
            raise self._too_large()
        handle, digest = secrets.token_urlsafe(12), digest_of(request.method, request.params)
        timer = asyncio.get_running_loop().call_later(limits.held_seconds, self._expire, connection)
        self._held[handle] = _Held(connection, digest, timer)
        self._handles[connection] = handle
        self.measure(connection)
        expires = self._wall_clock() + limits.held_seconds
        return seal_state(RoundState(digest, expires, handle=handle), self._key)

    def measure(self, connection: CallConnection) -> LimitExceeded | None:
        """Count what a call keeps by now; return why it may not keep so much."""
        handle = self._handles.get(connection)
        if handle is None:
            return None
        held = self._held[handle]
        self._size += connection.size - held.size
        held.size = connection.size
        return self._too_large() if self._size > self._limits.held_bytes else None

    def _too_large(self) -> LimitExceeded:
        most = self._limits.held_bytes
        return LimitExceeded(f"the calls that wait for their clients' input have more than {most} bytes")

    def find(self, state: str, request: Request) -> CallConnection:
        """Return the call that a request goes on with.  Raises `StateRefused`, with a sentence."""
        digest = digest_of(request.method, request.params)
        opened = open_state(state, self._key, request=digest, principal="", now=self._wall_clock())
        held = self._held.get(opened.handle)
        if held is None:
            raise StateRefused(
                "the call of this requestState does not wait here: it went on already or has expired; "
                "make the call anew"
            )
        return held.connection

    def release(self, connection: CallConnection) -> None:
        """The call goes on, or is over."""
        handle = self._handles.pop(connection, None)
        if handle is not None:
            held = self._held.pop(handle)
            held.timer.cancel()
            self._size -= held.size

    async def close(self) -> None:
        """Give up all calls that wait, and wait until each connection that was ended is closed."""
        self._closed = True
        connections = list(self._handles)
        for connection in connections:
            connection.cancel("the bridge is closing")
        if self._closing:
            await asyncio.wait(self._closing)

    def own(self, closing: asyncio.Task[None]) -> None:
        """Keep a task that closes a connection, until it has."""
        self._closing.add(closing)
        closing.add_done_callback(self._closing.discard)

    def _expire(self, connection: CallConnection) -> None:
        connection.cancel("the client did not come back with its answers")
