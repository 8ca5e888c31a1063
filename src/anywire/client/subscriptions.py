"""What the client has set in its conversation: subscriptions to resources, and the level of log messages.

It belongs to the conversation, so a server that lost the conversation has to be told again.

Specification: MCP `server/resources#subscriptions`, `server/utilities/logging`, until 2025-11-25.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Awaitable, Iterable, Sequence
from typing import Protocol
from weakref import WeakValueDictionary

from anywire.client.listening import Listener
from anywire.errors import AnywireError, SessionError
from anywire.protocol.types.logging import LogLevel, SetLevelParams
from anywire.protocol.types.resources import SubscribeParams
from anywire.wire.codec import encode_value
from anywire.wire.limits import Limits

__all__ = ("Ask", "Subscriptions")

_log = logging.getLogger("anywire.client")

# How often what was set is set anew when the conversation is lost while that is done.
_TRIES = 3


class Ask(Protocol):
    """Sends a request."""

    def __call__(
        self, method: str, params: bytes | None, *, timeout: float | None = None
    ) -> Awaitable[bytes]:
        """Return the raw result."""
        ...


class Subscriptions:
    """Knows who wants to hear of which resource: the program itself, and each of its listeners.

    It is the `Source` of the listeners: lists and logs are told unasked.
    """

    def __init__(self, name: str, ask: Ask, limits: Limits) -> None:
        self._name = name
        self._ask = ask
        self._goodbye_seconds = limits.connect_seconds
        self._loop: asyncio.AbstractEventLoop | None = None
        self._leaving: set[asyncio.Task[None]] = set()
        self._level: LogLevel | None = None
        self._wanted: set[str] = set()
        self._listening: Counter[str] = Counter()
        # Over HTTP two requests may overtake each other; those about one resource must not.
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self._restoring: asyncio.Task[None] | None = None
        self._lost_again = False

    def begin(self) -> None:
        """The client is being opened: from now on there is somebody to ask."""
        self._loop = asyncio.get_running_loop()

    @property
    def uris(self) -> list[str]:
        """The resources that are subscribed to."""
        return sorted(self._wanted | set(self._listening))

    async def set_level(self, level: LogLevel, timeout: float | None) -> None:
        """Tell the server the least severe level of log messages that it shall send."""
        await self._send("logging/setLevel", encode_value(SetLevelParams(level)), timeout)
        self._level = level

    async def subscribe(self, uri: str, timeout: float | None) -> None:
        """Subscribe for the program, until it unsubscribes."""
        async with self._lock(uri):
            await self._send_uri("subscribe", uri, timeout)
            self._wanted.add(uri)

    async def unsubscribe(self, uri: str, timeout: float | None) -> None:
        """End that; the server goes on telling while a listener wants to hear."""
        async with self._lock(uri):
            self._wanted.discard(uri)
            if uri not in self._listening:
                await self._send_uri("unsubscribe", uri, timeout)

    async def open(self, listener: Listener) -> None:
        """Subscribe for a listener, to all of its resources or to none."""
        joined: list[str] = []
        try:
            for uri in listener.resources:
                await self._join(uri)
                joined.append(uri)
        except BaseException:
            await self._leave(joined)
            raise

    async def close(self, listener: Listener) -> None:
        """A listener has heard enough.  Raises nothing of the server's: nobody is interested any more."""
        await self._leave(listener.resources)

    def drop(self, resources: Sequence[str]) -> None:
        """A listener was dropped, in whichever thread."""
        if self._loop is not None and resources:
            try:
                self._loop.call_soon_threadsafe(self._leave_soon, resources)
            except RuntimeError:
                pass  # the loop is closed, and the conversation with it

    def restore(self) -> None:
        """The server has lost the conversation: set everything anew, in the background."""
        self._lost_again = True
        if (self._level is not None or self.uris) and self._restoring is None:
            self._restoring = asyncio.get_running_loop().create_task(self._restore())
            self._restoring.add_done_callback(self._restored)

    def stop(self) -> None:
        """Set nothing anew any more."""
        if self._restoring is not None:
            self._restoring.cancel()

    async def _join(self, uri: str) -> None:
        async with self._lock(uri):
            if not self._is_wanted(uri):
                await self._send_uri("subscribe", uri, None)
            self._listening[uri] += 1

    async def _leave(self, uris: Iterable[str]) -> None:
        self._listening.subtract(uris)  # at once: who leaves may be cancelled meanwhile
        self._listening = +self._listening
        for uri in uris:
            try:
                async with self._lock(uri):
                    if not self._is_wanted(uri):
                        await self._send_uri("unsubscribe", uri, self._goodbye_seconds)
            except AnywireError as error:
                _log.info("%s: %s could not be unsubscribed from: %s", self._name, uri, error)

    def _leave_soon(self, uris: Sequence[str]) -> None:
        task = asyncio.get_running_loop().create_task(self._leave(uris))
        self._leaving.add(task)
        task.add_done_callback(self._leaving.discard)

    async def _restore(self) -> None:
        for _ in range(_TRIES):
            self._lost_again = False
            if self._level is not None:
                params = encode_value(SetLevelParams(self._level))
                await self._again(self._send("logging/setLevel", params, None), "the log level")
            for uri in self.uris:
                await self._again(self._subscribe_again(uri), f"the subscription to {uri}")
            if not self._lost_again:
                return

    async def _subscribe_again(self, uri: str) -> None:
        async with self._lock(uri):
            if self._is_wanted(uri):  # and not given up meanwhile
                await self._send_uri("subscribe", uri, None)

    async def _again(self, asking: Awaitable[object], what: str) -> None:
        try:
            await asking
        except AnywireError as error:
            _log.warning("%s: %s could not be set in the new session: %s", self._name, what, error)

    def _restored(self, task: asyncio.Task[None]) -> None:
        self._restoring = None

    async def _send_uri(self, verb: str, uri: str, timeout: float | None) -> None:
        await self._send(f"resources/{verb}", encode_value(SubscribeParams(uri)), timeout)

    async def _send(self, method: str, params: bytes, timeout: float | None) -> None:
        if self._loop is None:
            raise SessionError("the client has not been opened")
        await self._ask(method, params, timeout=timeout)

    def _is_wanted(self, uri: str) -> bool:
        return uri in self._wanted or uri in self._listening

    def _lock(self, uri: str) -> asyncio.Lock:
        return self._locks.setdefault(uri, asyncio.Lock())
