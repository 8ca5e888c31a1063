"""A transport over streams or a transport of the official SDK."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any, Protocol, cast

from anywire.errors import (
    AnywireError,
    ConnectFailed,
    LocalProtocolError,
    RemoteProtocolError,
    TransportBroken,
)
from anywire.interop.sdk_models import Models, explain, reply_with
from anywire.transport.contract import Callbacks, call_back, ignore, refuse_when_closed
from anywire.wire.limits import Limits
from anywire.wire.message import Batch, Fault, FaultKind, Message, Request, Response

__all__ = ("SdkTransport",)

_log = logging.getLogger("anywire.interop")


class _Readable(Protocol):
    async def receive(self) -> object: ...
    async def aclose(self) -> None: ...


class _Writable(Protocol):
    async def send(self, item: object, /) -> None: ...
    async def aclose(self) -> None: ...


class SdkTransport:
    """One end of a conversation that the SDK carries.  See `anywire.transport.contract.Transport`.

    One task enters what was given, reads and writes, and leaves it.  What travels are objects of the
    SDK's models: a batch goes out as its messages, and bytes are not kept.  A request that these models
    have no place for (params that are no object) fails, such a result becomes an error.
    """

    def __init__(
        self, opening: AbstractAsyncContextManager[Sequence[Any]], models: Models, name: str, limits: Limits
    ) -> None:
        self.callbacks = Callbacks()
        #: What this wire is called in errors.
        self.name = name
        self._opening = opening
        self._models = models
        self._limits = limits
        self._most = limits.requests_in_flight
        self._outgoing: deque[object] = deque()
        self._news = asyncio.Event()
        self._room = asyncio.Event()
        self._room.set()
        self._reading = asyncio.Event()
        self._reading.set()
        self._holds: set[str] = set()
        self._closing = asyncio.Event()
        self._ended = False
        self._error: AnywireError | None = None
        self._life: asyncio.Task[None] | None = None
        self._closer: asyncio.Task[None] | None = None
        self._opened: asyncio.Future[None] | None = None
        self._over = False
        #: Called when too much waits to be written, and when there is room again.
        self.on_full: Callable[[], None] = ignore
        self.on_room: Callable[[], None] = ignore

    @property
    def closed(self) -> bool:
        """True from the moment `close()` was called or the wire ended."""
        return self._closing.is_set()

    async def start(self) -> None:
        """Open what was given, and receive.

        Raises `ConnectFailed` where it cannot be opened, `LocalProtocolError` for the second time.
        """
        refuse_when_closed(self.closed, self.name)
        if self._life is not None:
            raise LocalProtocolError(f"{self.name} was started before, and can be used once")
        self._opened = asyncio.get_running_loop().create_future()
        self._life = asyncio.create_task(self._live(self._opened))
        try:
            await self._opened
        except asyncio.CancelledError:
            self._life.cancel()
            raise

    def post(self, message: Message | Batch, related: bytes | None = None) -> None:
        """Send a message without waiting for room."""
        refuse_when_closed(self.closed, self.name, self._error)
        for item in message.items if isinstance(message, Batch) else (message,):
            if not isinstance(item, Fault):
                self._put(item, related)
        self._news.set()
        if len(self._outgoing) > self._most and self._room.is_set():
            self._room.clear()
            self.on_full()

    async def send(self, message: Message | Batch, related: bytes | None = None) -> None:
        """Send a message, and wait while too many wait to be written."""
        self.post(message, related)
        await self._room.wait()

    def hold_reading(self, reason: str) -> None:
        """Stop receiving, for one of several reasons that may hold at once."""
        self._holds.add(reason)
        self._reading.clear()

    def release_reading(self, reason: str) -> None:
        """That reason holds no longer: receive again when it was the last."""
        self._holds.discard(reason)
        if not self._holds:
            self._reading.set()

    async def close(self) -> None:
        """Write what was sent, close the streams, leave what was entered.  Idempotent.

        What has not ended after `connect_seconds` is cancelled, and left behind where it goes on for
        another `shutdown_seconds`.
        """
        self._end()
        if self._over:
            return
        if self._life is None:  # never started
            self._life = asyncio.create_task(self._fire_close())
        done, _ = await asyncio.wait([self._life], timeout=self._limits.connect_seconds)
        if not done:
            self._life.cancel()
            done, _ = await asyncio.wait([self._life], timeout=self._limits.shutdown_seconds)
        if not done and self._error is None:
            self._error = TransportBroken(f"{self.name}: what was entered cannot be left, and goes on")
        await self._fire_close()

    # The life of it.

    async def _live(self, opened: asyncio.Future[None]) -> None:
        try:
            async with self._opening as streams:
                if not opened.done():
                    opened.set_result(None)
                    await self._carry(streams[0], streams[1])
        except Exception as error:  # noqa: BLE001 of a library: whatever it was, it is told above
            why = f"{self.name}: {_innermost(error)!r}"
            self._error = self._error or (TransportBroken(why) if opened.done() else ConnectFailed(why))
        finally:
            await self._fire_close()

    async def _carry(self, read: _Readable, write: _Writable) -> None:
        reader = asyncio.create_task(self._receive(read))
        writer = asyncio.create_task(self._write(write))
        try:
            await self._closing.wait()
            await asyncio.wait([writer], timeout=self._limits.shutdown_seconds)
        finally:
            reader.cancel()
            writer.cancel()
            with (
                self._models.shield()
            ):  # where the SDK's own tasks failed, this one is cancelled again and again
                await asyncio.wait([reader, writer])
                await write.aclose()
                await read.aclose()

    async def _receive(self, read: _Readable) -> None:
        try:
            while not self.closed:
                await self._reading.wait()
                self._take(await read.receive())
        except (self._models.end_of_stream, self._models.closed):
            if not self.closed:
                self._ended = True
                call_back(self.callbacks.on_end)
        except Exception as error:  # noqa: BLE001 the streams are anybody's: whatever it was, it is told
            self._break(f"reading failed: {error!r}")

    async def _write(self, write: _Writable) -> None:
        try:
            while self._outgoing or not self.closed:
                if not self._outgoing:
                    self._news.clear()
                    await self._news.wait()
                    continue
                await write.send(self._outgoing.popleft())
                if 2 * len(self._outgoing) <= self._most and not self._room.is_set():
                    self._room.set()
                    self.on_room()
        except (self._models.broken, self._models.closed):
            self._break("" if self._ended else "what was sent is not read any more")
        except Exception as error:  # noqa: BLE001 as above
            self._break(f"writing failed: {error!r}")

    def _break(self, why: str) -> None:
        """End by itself, for a reason unless it is in order, and within bounds as if it were closed."""
        if not self.closed:
            self._error = TransportBroken(f"{self.name}: {why}") if why else None
            self._end()
            self._closer = asyncio.create_task(self.close())

    def _end(self) -> None:
        self._closing.set()
        self._news.set()
        self._room.set()
        self._reading.set()

    async def _fire_close(self) -> None:
        self._end()
        if self._over:
            return
        self._over = True
        if self._opened is not None and not self._opened.done():
            why = self._error or f"{self.name} was closed while it opened"
            self._opened.set_exception(ConnectFailed(str(why)))
        call_back(self.callbacks.on_close, self._error)

    # Messages.

    def _put(self, message: Message, related: bytes | None) -> None:
        try:
            self._outgoing.append(self._models.wrap(message, related))
        except RemoteProtocolError as error:
            if isinstance(message, Request):
                failed = self.callbacks.on_failed
                asyncio.get_running_loop().call_soon(call_back, failed, message.id, error)
            elif isinstance(message, Response):
                self._put(reply_with(message.id, str(error)), related)
            else:
                _log.warning("%s: a message was left out: %s", self.name, error)

    def _take(self, item: object) -> None:
        if self.closed:
            return
        if isinstance(item, Exception):
            call_back(self.callbacks.on_error, self._error_of(item))
            return
        try:
            message, _ = self._models.unwrap(item)
        except LocalProtocolError as error:
            call_back(self.callbacks.on_error, RemoteProtocolError(str(error)))
            return
        if isinstance(message, Fault):
            call_back(self.callbacks.on_error, message)
        else:
            call_back(self.callbacks.on_message, message)

    def _error_of(self, error: Exception) -> Fault | AnywireError:
        if isinstance(error, AnywireError):
            return error
        if isinstance(error, ValueError):  # something came in that the SDK's models refused; it has no answer
            return Fault(FaultKind.STRAY, explain(error))
        return TransportBroken(f"{self.name}: {error!r}")


def _innermost(error: BaseException) -> BaseException:
    while isinstance(error, BaseExceptionGroup):
        error = cast("BaseExceptionGroup[BaseException]", error).exceptions[0]
    return error
