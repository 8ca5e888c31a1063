"""Being told of changes in the stateless era: one request that stays open, made anew when it ends.

Specification: MCP `basic/patterns/subscriptions`, 2026-07-28.
"""

from __future__ import annotations

import asyncio
import logging
import math
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import msgspec
from msgspec import UNSET, UnsetType

from anywire.errors import AnywireError, DeadlineExceeded
from anywire.protocol.types.listen import ListenAcknowledgedParams, ListenParams, SubscriptionFilter
from anywire.protocol.types.logging import LogLevel
from anywire.wire.codec import decode_value, encode_value
from anywire.wire.limits import Limits
from anywire.wire.message import Notification

if TYPE_CHECKING:
    from anywire.client.listening import Listener
    from anywire.client.stateless import StatelessCaller

__all__ = ("ACKNOWLEDGED", "StatelessSubscriptions")

ACKNOWLEDGED = "notifications/subscriptions/acknowledged"

_log = logging.getLogger("anywire.client")


class StatelessSubscriptions:
    """Keeps one `subscriptions/listen` open for all who want to hear; has the face of `Subscriptions`."""

    def __init__(self, name: str, caller: StatelessCaller, limits: Limits) -> None:
        self._name = name
        self._caller = caller
        self._limits = limits
        self._loop = asyncio.get_running_loop()
        self._wanted: set[str] = set()
        self._listening: Counter[str] = Counter()
        self._listeners = 0
        self._always = False
        self._request: asyncio.Task[None] | None = None
        self._acknowledged: asyncio.Future[SubscriptionFilter] | None = None
        self._lock = asyncio.Lock()
        self._leaving: set[asyncio.Task[None]] = set()
        self._stopped = False

    @property
    def uris(self) -> list[str]:
        """The resources that are subscribed to."""
        return sorted(self._wanted | set(self._listening))

    def begin(self) -> None:
        """Do nothing: it has begun."""

    async def set_level(self, level: LogLevel, timeout: float | None) -> None:
        """Ask for log messages with each request from now on."""
        self._caller.log_level = level

    async def subscribe(self, uri: str, timeout: float | None) -> None:
        """Subscribe for the program, until it unsubscribes."""
        self._wanted.add(uri)
        try:
            await self._listen_anew(timeout)
        except BaseException:
            self._wanted.discard(uri)
            raise

    async def unsubscribe(self, uri: str, timeout: float | None) -> None:
        """End that; the server goes on telling while a listener wants to hear."""
        self._wanted.discard(uri)
        await self._listen_anew(timeout)

    async def listen_always(self) -> None:
        """Hear of changed lists from now on, whether or not there is a listener."""
        self._always = True
        try:
            await self._listen_anew(None)
        except AnywireError as error:
            _log.info("%s tells of no changes: %s", self._name, error)

    async def open(self, listener: Listener) -> None:
        """Listen for a listener."""
        self._listeners += 1
        self._listening.update(listener.resources)
        if self._caller.log_level is None:
            self._caller.log_level = "info"
        try:
            await self._listen_anew(None)
        except BaseException:
            self._leave(listener.resources)
            raise

    async def close(self, listener: Listener) -> None:
        """A listener has heard enough.  Raises nothing of the server's."""
        self._leave(listener.resources)
        await self._settle()

    def drop(self, resources: Sequence[str]) -> None:
        """A listener was dropped, in whichever thread."""
        try:
            self._loop.call_soon_threadsafe(self._leave_soon, resources)
        except RuntimeError:
            pass  # the loop is closed, and the conversation with it

    def restore(self) -> None:
        """Do nothing: there is no conversation that a server could lose."""

    def stop(self) -> None:
        """Listen no more."""
        self._stopped = True
        if self._request is not None:
            self._request.cancel()

    def hear(self, message: Notification) -> None:
        """Take the acknowledgement of what is listened to."""
        waiting = self._acknowledged
        if waiting is not None and not waiting.done():
            try:
                told = decode_value(message.params or b"{}", ListenAcknowledgedParams).notifications
            except msgspec.MsgspecError:
                told = SubscriptionFilter()
            waiting.set_result(told)

    def _leave(self, uris: Iterable[str]) -> None:
        self._listeners -= 1
        self._listening.subtract(uris)
        self._listening = +self._listening

    def _leave_soon(self, uris: Sequence[str]) -> None:
        self._leave(uris)
        task = self._loop.create_task(self._settle())
        self._leaving.add(task)
        task.add_done_callback(self._leaving.discard)

    async def _settle(self) -> None:
        try:
            await self._listen_anew(self._limits.connect_seconds)
        except AnywireError as error:
            _log.info("%s: %s", self._name, error)

    async def _listen_anew(self, timeout: float | None) -> None:
        """Listen to what is wanted now; the request before ends when the new one is acknowledged."""
        async with self._lock:
            before = self._request
            if not self._listeners and not self._wanted and not self._always:
                self._request = None
            elif not self._stopped:
                await self._begin(timeout)
            if before is not None and before is not self._request:
                before.cancel()
                await asyncio.wait([before])

    async def _begin(self, timeout: float | None) -> None:
        seconds = self._limits.connect_seconds if timeout is None else timeout
        acknowledged: asyncio.Future[SubscriptionFilter] = self._loop.create_future()
        self._acknowledged = acknowledged
        request = self._loop.create_task(self._listen())
        try:
            await asyncio.wait((request, acknowledged), timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
            if not acknowledged.done():
                if request.done():
                    request.result()
                raise DeadlineExceeded(
                    f"{self._name} did not acknowledge subscriptions/listen in {seconds:g} s"
                )
        except BaseException:
            request.cancel()
            raise
        self._request = request
        self._tell_missing(acknowledged.result())

    def _tell_missing(self, told: SubscriptionFilter) -> None:
        subscriptions = told.resource_subscriptions
        honoured = set[str]() if isinstance(subscriptions, UnsetType) else set(subscriptions)
        missing = [uri for uri in self.uris if uri not in honoured]
        if missing:
            _log.warning("%s will not tell of changes of %s", self._name, ", ".join(missing))

    async def _listen(self) -> None:
        """Keep a request open; when it ends and is wanted still, make another, ever later."""
        wait = self._limits.reconnect_seconds
        while True:
            wanted = SubscriptionFilter(True, True, True, self.uris or UNSET)
            params = encode_value(ListenParams(wanted))
            began = self._loop.time()
            try:
                await self._caller.request("subscriptions/listen", params, timeout=math.inf)
            except AnywireError as error:
                if self._acknowledged is None or not self._acknowledged.done():
                    raise
                _log.info("%s tells nothing for the time being: %s", self._name, error)
            if self._loop.time() - began > self._limits.reconnect_most_seconds:
                wait = self._limits.reconnect_seconds
            await asyncio.sleep(wait)
            wait = min(2 * wait, self._limits.reconnect_most_seconds)
