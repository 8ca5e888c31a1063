"""Connections to HTTP servers: opened when they are needed, kept for a while, ended together."""

from __future__ import annotations

import asyncio
import re
import ssl
from collections.abc import Callable
from typing import Any, Final, NamedTuple

from anywire.errors import ConnectFailed
from anywire.transport.http_connection import HttpConnection
from anywire.transport.http_socket import (
    KEEP_SECONDS,
    check_certificates,
    describe,
    keep_alive,
)
from anywire.wire.limits import Limits

__all__ = ("Origin", "Pool")

#: How long the rest of an answer may take that nobody needs: its connection is worth that much.
_REST_SECONDS: Final = 0.25
#: How long connections may take to end.
_END_SECONDS: Final = 1.0
#: What has one address, or is this machine.
_IS_NEAR: Final = re.compile(r"[0-9.]+|.*:.*|localhost")
#: A server that ends a connection so soon after an answer, and did not say so with it ...
_SOON_SECONDS: Final = 1.0
#: ... is given a new one for each request, for so long: a POST that crosses with the end is lost.
_FICKLE_SECONDS: Final = 600.0
#: When the next address of a host is tried as well.
_NEXT_ADDRESS_SECONDS: Final = 0.25


class Origin(NamedTuple):
    """Where connections lead."""

    tls: bool
    host: str
    port: int


class Pool:
    """The connections of one exchange.  How many there are at once is the business of who asks for them."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._loop = asyncio.get_running_loop()
        self._idle: dict[Origin, list[HttpConnection]] = {}
        self._all: dict[HttpConnection, Origin] = {}
        self._fickle: dict[Origin, float] = {}  # whose connections are not kept, and until when
        self._sweep: asyncio.TimerHandle | None = None
        self._context: ssl.SSLContext | None = None
        self._emptied: asyncio.Future[None] | None = None
        self._is_closed = False

    async def get(self, origin: Origin, where: Callable[[], str]) -> HttpConnection:
        """Return a connection that can have a request: the last that was kept, or a new one.

        Raises `ConnectFailed`, or `ConfigError` for certificates that cannot be read.
        """
        idle, now = self._idle.get(origin), self._loop.time()
        while idle:
            kept = idle.pop()
            if kept.is_usable and now < kept.kept_until:
                if not kept.has_news:
                    return kept
                # What the loop has not read yet would be taken for the answer, or it is the end.
                self._was_left(kept, origin)
            kept.end()
        return await self.connect(origin, where)

    async def connect(self, origin: Origin, where: Callable[[], str]) -> HttpConnection:
        """Return a new connection.  Raises as `get` does."""
        seconds, more = self._limits.connect_seconds, self._settings(origin, where)
        try:
            async with asyncio.timeout(seconds):
                transport, made = await self._loop.create_connection(
                    self._make, origin.host, origin.port, **more
                )
        except TimeoutError as error:
            raise ConnectFailed(f"{where()}: no connection within {seconds:g} s") from error
        except (OSError, ssl.CertificateError) as error:
            there = f"{origin.host}:{origin.port}"
            raise ConnectFailed(f"{where()}: Cannot connect to host {there} [{describe(error)}]") from error
        if self._is_closed or not made.is_usable:  # who speaks first speaks no HTTP
            made.end()
            raise ConnectFailed(f"{where()}: the connection ended before anything was sent")
        keep_alive(transport.get_extra_info("socket"))
        made.on_idle, made.on_lost = self._keep, self._lost
        self._all[made] = origin
        return made

    def _make(self) -> HttpConnection:
        return HttpConnection(self._limits)

    def _settings(self, origin: Origin, where: Callable[[], str]) -> dict[str, Any]:
        settings: dict[str, Any] = {}
        # On this machine an address answers at once; and other loops know only one after the other.
        if not _IS_NEAR.fullmatch(origin.host) and isinstance(self._loop, asyncio.BaseEventLoop):
            settings["happy_eyeballs_delay"] = _NEXT_ADDRESS_SECONDS
        if origin.tls:
            check_certificates(where())
            if self._context is None:
                self._context = ssl.create_default_context()
                self._context.set_alpn_protocols(["http/1.1"])
            settings["ssl"], settings["server_hostname"] = self._context, origin.host
        return settings

    def give_back(self, connection: HttpConnection, *, rest: bool) -> None:
        """Nobody reads that response any more.  `rest`: what little may be missing of it is waited for."""
        if connection.release(rest=rest) and not connection.is_usable:
            self._loop.call_later(_REST_SECONDS, connection.end_rest)

    def _keep(self, connection: HttpConnection) -> None:
        now, origin = self._loop.time(), self._all[connection]
        if self._fickle and now < self._fickle.get(origin, 0.0):
            connection.end()
            return
        connection.idle_since, connection.kept_until = now, now + connection.keep_seconds
        self._idle.setdefault(origin, []).append(connection)
        if self._sweep is None:
            self._sweep = self._loop.call_later(KEEP_SECONDS, self._end_idle)

    def _end_idle(self) -> None:
        """End what was kept long enough; look again while there is more."""
        self._sweep = None
        soonest, now = 0.0, self._loop.time()
        for origin, idle in list(self._idle.items()):
            while idle and now >= idle[0].kept_until:
                idle.pop(0).end()
            if idle:
                soonest = min(soonest or idle[0].kept_until, idle[0].kept_until)
            else:
                del self._idle[origin]
        if soonest:
            self._sweep = self._loop.call_at(soonest, self._end_idle)

    def _lost(self, connection: HttpConnection) -> None:
        origin = self._all.pop(connection, None)
        idle = self._idle.get(origin) if origin is not None else None
        if idle is not None and connection in idle:
            idle.remove(connection)
        if origin is not None and connection.left:
            self._was_left(connection, origin)
        if not self._all and self._emptied is not None and not self._emptied.done():
            self._emptied.set_result(None)

    def _was_left(self, connection: HttpConnection, origin: Origin) -> None:
        """A server has ended what could have had another request."""
        now = self._loop.time()
        if now - connection.idle_since < _SOON_SECONDS:
            self._fickle[origin] = now + _FICKLE_SECONDS

    async def close(self) -> None:
        """End all connections."""
        self._is_closed = True
        if self._sweep is not None:
            self._sweep.cancel()
        for connection in list(self._all):
            connection.end()
        if self._all:
            self._emptied = self._loop.create_future()
            await asyncio.wait([self._emptied], timeout=_END_SECONDS)
