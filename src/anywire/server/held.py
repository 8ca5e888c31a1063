"""Handlers that wait for their client to make its request again: bounded in number and in time.

They belong to the server and not to a conversation, since the next round may come over another one.
"""

from __future__ import annotations

import asyncio
import secrets
from typing import TYPE_CHECKING

from anywire.errors import LimitExceeded
from anywire.wire.limits import Limits

if TYPE_CHECKING:
    from anywire.server.stateless import StatelessExchange

__all__ = ("HeldCalls",)


class HeldCalls:
    """The one door to the table of held handlers."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._calls: dict[str, tuple[StatelessExchange, asyncio.TimerHandle]] = {}
        self._size = 0

    def __len__(self) -> int:
        return len(self._calls)

    def hold(self, exchange: StatelessExchange) -> str:
        """Keep a call and return the handle that it is found by.

        Raises `LimitExceeded` when too many wait.
        """
        size = len(exchange.params or b"")
        if self._size + size > self._limits.held_bytes:
            most = self._limits.held_bytes
            raise LimitExceeded(f"the calls that wait for their clients' input have more than {most} bytes")
        if len(self._calls) >= self._limits.held_calls:
            raise LimitExceeded(f"more than {self._limits.held_calls} calls wait for their clients' input")
        handle = secrets.token_urlsafe(12)
        seconds = self._limits.held_seconds
        timer = asyncio.get_running_loop().call_later(seconds, self._expire, handle)
        self._calls[handle] = exchange, timer
        self._size += size
        return handle

    def find(self, handle: str) -> StatelessExchange | None:
        """Return the call of a handle, None for one that does not wait here, or no more."""
        found = self._calls.get(handle)
        return None if found is None else found[0]

    def release(self, handle: str) -> None:
        """The call goes on."""
        exchange, timer = self._calls.pop(handle)
        timer.cancel()
        self._size -= len(exchange.params or b"")

    async def end(self, reason: str) -> None:
        """Stop all handlers that wait, and wait until they have stopped, within bounds."""
        exchanges = [exchange for exchange, _ in self._calls.values()]
        for handle in list(self._calls):
            self.release(handle)
        for exchange in exchanges:
            exchange.cancel(reason)
        tasks = [exchange.task for exchange in exchanges if exchange.task is not None]
        if tasks:
            await asyncio.wait(tasks, timeout=self._limits.shutdown_seconds)

    def _expire(self, handle: str) -> None:
        exchange, _ = self._calls[handle]
        self.release(handle)
        exchange.cancel("the client did not come back with its answers")
