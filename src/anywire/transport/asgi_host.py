"""Run an ASGI application on a socket of this process, with uvicorn.

Signals and the end of the process are the caller's business: when it is cancelled the application is
closed first, which ends the streams that are open, and then the socket.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import Awaitable, Callable, Generator
from typing import Any, TypeAlias

from anywire.errors import ConfigError, ConnectFailed
from anywire.wire.limits import DEFAULT_LIMITS, Limits

#: An ASGI 3 application.
Application: TypeAlias = Callable[[Any, Any, Any], Awaitable[None]]

__all__ = ("Application", "AsgiHost", "bind", "split_address")


def split_address(address: str) -> tuple[str, int]:
    """Split `HOST:PORT`; IPv6 hosts stand in brackets.  Raises `ConfigError`."""
    host, colon, port = address.rpartition(":")
    if not colon or not port.isdigit() or int(port) > 65535 or not host:
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


class AsgiHost:
    """Serves one application on one socket until it is cancelled."""

    def __init__(
        self, app: Application, close: Callable[[], Awaitable[None]], limits: Limits = DEFAULT_LIMITS
    ) -> None:
        try:
            import uvicorn
        except ImportError as error:
            raise ConfigError("serving HTTP needs uvicorn: install anywire[http]") from error

        class Quiet(uvicorn.Server):
            @contextlib.contextmanager
            def capture_signals(self) -> Generator[None, None, None]:
                yield

        config = uvicorn.Config(
            app,
            log_config=None,
            access_log=False,
            ws="none",
            lifespan="off",
            timeout_keep_alive=75,
            timeout_graceful_shutdown=max(1, round(limits.shutdown_seconds)),
            server_header=False,
        )
        self._server = Quiet(config)
        self._close = close
        self._limits = limits

    async def serve(self, opened: socket.socket) -> None:
        """Serve on this socket, which is closed at the end."""
        serving = asyncio.get_running_loop().create_task(self._server.serve([opened]))
        try:
            await asyncio.shield(serving)
        finally:
            try:
                await self._close()
            finally:
                self._server.should_exit = True
                await asyncio.wait([serving], timeout=4 * self._limits.shutdown_seconds)
                serving.cancel()
                opened.close()
