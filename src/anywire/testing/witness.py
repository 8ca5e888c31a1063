"""Sits on a transport's callbacks and notes what is called, and which promise that breaks."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable

from anywire.errors import AnywireError
from anywire.transport.contract import Transport
from anywire.wire.message import Batch, Fault, Message

__all__ = ("Witness",)


class Witness:
    """What one end of a wire has called so far; of a batch, the items one by one.

    Whatever must not happen in any conversation (a call before the start, from another thread, inside
    another call, after the end) is noted in `broken` as a sentence.
    """

    def __init__(self, name: str, transport: Transport) -> None:
        self.name = name
        self.transport = transport
        self.messages: list[Message] = []
        self.errors: list[Fault | AnywireError] = []
        self.failed: list[bytes] = []
        self.ends = 0
        self.closes = 0
        #: Sentences about promises that were broken.
        self.broken: list[str] = []
        #: Called with each message, for a check that wants to do something inside the callback.
        self.react: Callable[[Message | Batch], object] | None = None
        #: Raised by each callback, for a check of what becomes of it.
        self.fault: Exception | None = None
        self._loop = asyncio.get_running_loop()
        self._thread = threading.get_ident()
        self._news = asyncio.Event()
        self._start_called = False
        self._inside = False
        callbacks = transport.callbacks
        callbacks.on_message = lambda message: self._called("on_message", lambda: self._message(message))
        callbacks.on_error = lambda error: self._called("on_error", lambda: self.errors.append(error))
        callbacks.on_failed = lambda id, _: self._called("on_failed", lambda: self.failed.append(id))
        callbacks.on_end = lambda: self._called("on_end", self._end)
        callbacks.on_close = lambda _: self._called("on_close", self._close)

    async def start(self) -> None:
        """Start the transport."""
        self._start_called = True
        await self.transport.start()

    async def until(self, condition: Callable[[], bool]) -> None:
        """Wait until a condition holds that a callback can bring about; without bound."""
        while not condition():
            self._news.clear()
            await self._news.wait()

    @property
    def over(self) -> bool:
        """Whether this end has heard of the end of the other."""
        return self.ends > 0 or self.closes > 0

    def _called(self, which: str, note: Callable[[], object]) -> None:
        if threading.get_ident() != self._thread:
            self.broken.append(f"{which} of {self.name} was called from another thread")
            self._loop.call_soon_threadsafe(self._news.set)
            return
        if self._inside:
            self.broken.append(f"{which} of {self.name} was called inside another callback")
        if not self._start_called and which != "on_close":
            self.broken.append(f"{which} of {self.name} was called before start()")
        if self.closes:
            self.broken.append(f"{which} of {self.name} was called after on_close")
        self._inside = True
        try:
            note()
        finally:
            self._inside = False
            self._news.set()
        if self.fault is not None:
            raise self.fault

    def _message(self, message: Message | Batch) -> None:
        if self.ends:
            self.broken.append(f"on_message of {self.name} was called after on_end")
        for item in message.items if isinstance(message, Batch) else (message,):
            if isinstance(item, Fault):
                self.errors.append(item)
            else:
                self.messages.append(item)
        if self.react is not None:
            self.react(message)

    def _end(self) -> None:
        self.ends += 1
        if self.ends > 1:
            self.broken.append(f"on_end of {self.name} was called {self.ends} times")

    def _close(self) -> None:
        self.closes += 1
