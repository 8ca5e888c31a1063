"""Run an ASGI application on a socket of this process, with uvicorn.

Signals and the end of the process are the caller's business: when it is cancelled the application is
closed first, which ends the streams that are open, and then the socket.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import socket
from collections.abc import Awaitable, Callable, Generator, Iterable
from typing import Any, Final, TypeAlias

from anywire.errors import ConfigError, ConnectFailed
from anywire.wire.limits import DEFAULT_LIMITS, Limits

#: An ASGI 3 application.
Application: TypeAlias = Callable[[Any, Any, Any], Awaitable[None]]

__all__ = ("Application", "AsgiHost", "bind", "split_address")

_log = logging.getLogger("anywire.http")
#: How much uvicorn may say in a minute: each request that is garbage makes it say something.
_SAID_IN_A_MINUTE: Final = 10


def split_address(address: str) -> tuple[str, int]:
    """Split `HOST:PORT`; IPv6 hosts stand in brackets.  Raises `ConfigError`."""
    host, colon, port = address.rpartition(":")
    is_number = port.isascii() and port.isdigit() and len(port) <= 5
    if not colon or not is_number or int(port) > 65535 or not host:
        raise ConfigError(f"{address!r} is not HOST:PORT, such as 127.0.0.1:8000")
    return host.strip("[]"), int(port)


def bind(host: str, port: int) -> socket.socket:
    """Open a listening socket; port 0 takes a free one.  Raises `ConnectFailed`."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # The protocol is named, or asyncio would not know it for TCP and let small answers wait for each other.
    opened = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        opened.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        opened.bind((host, port))
        opened.listen(1024)
    except OSError as error:
        opened.close()
        raise ConnectFailed(f"cannot listen on {host}:{port}: {error.strerror or error}") from error
    opened.setblocking(False)
    return opened


class _Connections:
    """The kind of uvicorn's connections, and what is done about those that ask nothing."""

    def __init__(self, limits: Limits) -> None:
        #: What uvicorn is told to use.
        self.kind: Any = "auto"
        self._end_unfinished: Callable[[Iterable[object], float], None] | None = None
        # Without httptools uvicorn uses h11, which bounds the size of heads itself.
        with contextlib.suppress(ImportError):
            from anywire.transport.http_connections import connection_class, end_unfinished

            self.kind, self._end_unfinished = connection_class(limits), end_unfinished

    def look(self, connections: Iterable[object]) -> None:
        """End those that have begun a request and not gone on with it."""
        if self._end_unfinished is not None:
            self._end_unfinished(connections, asyncio.get_running_loop().time())


class AsgiHost:
    """Serves one application on one socket until it is cancelled."""

    def __init__(
        self, app: Application, close: Callable[[], Awaitable[None]], limits: Limits = DEFAULT_LIMITS
    ) -> None:
        try:
            import uvicorn
        except ImportError as error:
            raise ConfigError("serving HTTP needs uvicorn: install anywire[http]") from error
        connections = _Connections(limits)
        look_ticks = max(1, min(10, round(limits.head_seconds * 2.5)))  # a tick is a tenth of a second

        class Quiet(uvicorn.Server):
            @contextlib.contextmanager
            def capture_signals(self) -> Generator[None, None, None]:
                yield

            async def on_tick(self, counter: int) -> bool:
                if counter % look_ticks == 0:
                    connections.look(self.server_state.connections)
                return await super().on_tick(counter)

        config = uvicorn.Config(
            app,
            http=connections.kind,
            h11_max_incomplete_event_size=limits.head_bytes,
            log_config=None,
            access_log=False,
            proxy_headers=False,  # who the client is does not matter here
            ws="none",
            lifespan="off",
            timeout_keep_alive=75,
            timeout_graceful_shutdown=max(2, round(4 * limits.shutdown_seconds)),  # we end earlier, quietly
            server_header=False,
        )
        self._server = Quiet(config)
        self._close = close
        self._limits = limits

    async def serve(self, opened: socket.socket) -> None:
        """Serve on this socket, which is closed at the end."""
        uvicorns = logging.getLogger("uvicorn.error")
        passing_on, propagated = _PassingOn(), uvicorns.propagate
        uvicorns.addHandler(passing_on)
        uvicorns.propagate = False
        serving = asyncio.get_running_loop().create_task(self._server.serve([opened]))
        try:
            await asyncio.shield(serving)
        finally:
            serving.add_done_callback(lambda _: uvicorns.removeHandler(passing_on))
            uvicorns.propagate = propagated
            try:
                await self._close()
            finally:
                self._server.should_exit = True
                await self._end(serving)
                serving.cancel()
                opened.close()

    async def _end(self, serving: asyncio.Task[None]) -> None:
        """Wait for the end, and hasten it: what still runs is told to end, who still reads is left."""
        seconds, state = self._limits.shutdown_seconds, self._server.server_state
        await asyncio.wait([serving], timeout=seconds)
        for task in list(state.tasks):
            task.cancel()
        await asyncio.wait([serving], timeout=seconds / 2)
        for connection in list(state.connections):
            connection.transport.abort()
        await asyncio.wait([serving], timeout=3 * seconds)


class _PassingOn(logging.Handler):
    """Passes on what uvicorn says to our own log, so much of it as anybody can read."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self._since = 0.0
        self._said = 0

    def emit(self, record: logging.LogRecord) -> None:
        """Pass on one thing, or say that there are more."""
        if record.created - self._since >= 60.0:
            left = self._said - _SAID_IN_A_MINUTE
            if left > 0:
                _log.warning("uvicorn: %d more things were left out", left)
            self._since, self._said = record.created, 0
        self._said += 1
        if self._said <= _SAID_IN_A_MINUTE:
            _log.log(record.levelno, "uvicorn: %s", record.getMessage(), exc_info=record.exc_info)
        elif self._said == _SAID_IN_A_MINUTE + 1:
            _log.warning("uvicorn: more of this minute is left out")
