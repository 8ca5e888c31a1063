"""What a handler sees of the request it serves."""

from __future__ import annotations

import asyncio

from anywire.protocol.types.initialize import Implementation
from anywire.protocol.types.logging import LogLevel
from anywire.server.exchange import Exchange

__all__ = ("Context",)


class Context:
    """The request a handler is serving: whose it is, and what can be said about it meanwhile.

    A handler gets one for a parameter annotated `Context`, whatever its name.  In a handler that
    runs in a worker thread, use the methods that end in `_from_thread`.
    """

    def __init__(self, exchange: Exchange) -> None:
        self._exchange = exchange

    @property
    def request_id(self) -> bytes:
        """The request's id as raw JSON."""
        return self._exchange.id

    @property
    def client(self) -> Implementation:
        """Who the client says it is; its name is empty before `initialize`."""
        return self._exchange.client

    @property
    def revision(self) -> str | None:
        """The protocol revision of the conversation, None before `initialize`."""
        return self._exchange.revision

    @property
    def meta(self) -> bytes:
        """The request's `_meta`, raw JSON, `{}` where it has none."""
        return self._exchange.meta

    @property
    def cancelled(self) -> bool:
        """True once the client has withdrawn the request.  A handler in a thread should look at it."""
        return self._exchange.cancelled

    @property
    def cancel_reason(self) -> str:
        """Why the client withdrew the request; empty while it has not."""
        return self._exchange.cancel_reason

    async def progress(self, progress: float, total: float | None = None, message: str | None = None) -> None:
        """Report progress, if the client asked for it.  `progress` must grow from call to call."""
        await self._exchange.progress(progress, total, message)

    async def log(self, level: LogLevel, data: object, logger: str | None = None) -> None:
        """Send a log message to the client, if it is of the level that the client asked for."""
        await self._exchange.log(level, data, logger)

    def progress_from_thread(
        self, progress: float, total: float | None = None, message: str | None = None
    ) -> None:
        """As `progress`, from a handler's worker thread; returns when it has been sent."""
        report = self._exchange.progress(progress, total, message)
        asyncio.run_coroutine_threadsafe(report, self._exchange.loop).result()

    def log_from_thread(self, level: LogLevel, data: object, logger: str | None = None) -> None:
        """As `log`, from a handler's worker thread; returns when it has been sent."""
        entry = self._exchange.log(level, data, logger)
        asyncio.run_coroutine_threadsafe(entry, self._exchange.loop).result()
