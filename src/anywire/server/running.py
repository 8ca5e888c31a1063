"""The handlers of one session that run, and those that were told to stop and have not yet."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

from anywire.server.eager import new_task
from anywire.server.exchange import Exchange
from anywire.wire.message import id_key

__all__ = ("Running",)


class Running:
    """The one door to the table of exchanges that are being served."""

    __slots__ = ("_exchanges", "_leaving", "_loop")

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._exchanges: dict[bytes, Exchange] = {}
        # Handlers of withdrawn requests, until they have stopped; made for the first of them.
        self._leaving: set[asyncio.Task[None]] | None = None

    def __len__(self) -> int:
        return len(self._exchanges)

    @property
    def exchanges(self) -> list[Exchange]:
        """The exchanges whose handlers run and whose answers are wanted."""
        return list(self._exchanges.values())

    @property
    def tasks(self) -> list[asyncio.Task[None]]:
        """All handlers that have not ended, wanted or not."""
        wanted = [each.task for each in self._exchanges.values() if each.task is not None]
        return [*wanted, *(self._leaving or ())]

    @property
    def is_idle(self) -> bool:
        """Whether nothing is served and all handlers have ended."""
        return not self._exchanges and not self._leaving

    def start(self, exchange: Exchange, coroutine: Coroutine[Any, Any, None]) -> None:
        """Run a handler in a task of its own; an eager one that does not wait is done on return."""
        task = new_task(self._loop, coroutine)
        if task.done():
            return
        exchange.task = task
        key = exchange.key = id_key(exchange.id)
        exchange.listed = True
        self._exchanges[key] = exchange

    def keep(self, exchange: Exchange) -> None:
        """Know an exchange whose handler runs already, or that needs none to stay open."""
        key = exchange.key = id_key(exchange.id)
        exchange.listed = True
        self._exchanges[key] = exchange

    def forget(self, exchange: Exchange) -> None:
        """The exchange is over."""
        exchange.done = True
        if exchange.listed:
            exchange.listed = False
            if self._exchanges.get(exchange.key) is exchange:
                del self._exchanges[exchange.key]

    def cancel(self, key: bytes, reason: str) -> None:
        """Stop the handler of a request whose answer nobody wants; an unknown one is none."""
        exchange = self._exchanges.pop(key, None)
        if exchange is None:
            return
        exchange.cancel(reason)
        if exchange.task is not None:
            leaving = self._leaving = set() if self._leaving is None else self._leaving
            leaving.add(exchange.task)
            exchange.task.add_done_callback(leaving.discard)

    def cancel_all(self, reason: str) -> None:
        """Stop all."""
        for key in list(self._exchanges):
            self.cancel(key, reason)
