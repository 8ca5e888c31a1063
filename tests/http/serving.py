"""Applications on a real socket of this process, for as long as a test needs them."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Protocol

from anywire import Server
from anywire.server.session import SERVED_METHODS
from anywire.transport.asgi_host import AsgiHost, bind
from anywire.transport.contract import Accept
from anywire.transport.http_server import HttpListener
from anywire.wire.limits import DEFAULT_LIMITS, Limits

#: Everything here ends long before; a busy machine may be slow.
PATIENCE = 20.0

#: Nothing that a test waits for takes as long as a real deployment would.
QUICK = Limits(shutdown_seconds=0.4, reconnect_seconds=0.05, reconnect_most_seconds=0.4)


class App(Protocol):
    """An application that can be closed."""

    async def __call__(self, scope: object, receive: object, send: object, /) -> None:
        """Answer one request."""
        ...

    async def close(self) -> None:
        """End what lives in it."""
        ...


@asynccontextmanager
async def on_socket(app: App, *, limits: Limits = QUICK, port: int = 0) -> AsyncGenerator[str]:
    """Serve on a free port (or that one) of loopback; yields the address without a path."""
    opened = bind("127.0.0.1", port)
    host, number = opened.getsockname()[:2]
    # What goes wrong inside an application is written here, and is a failure of the test.
    failures: list[str] = []
    watch = _Watch(failures)
    logging.getLogger("uvicorn.error").addHandler(watch)
    asgi_host = AsgiHost(app, app.close, limits)
    serving = asyncio.create_task(asgi_host.serve(opened))
    try:
        await until(lambda: asgi_host._server.started or serving.done(), "the host serves")
        yield f"http://{host}:{number}"
    finally:
        serving.cancel()
        await asyncio.wait([serving], timeout=PATIENCE)
        logging.getLogger("uvicorn.error").removeHandler(watch)
    assert serving.done(), "the host did not end"
    assert failures == []


class _Watch(logging.Handler):
    def __init__(self, failures: list[str]) -> None:
        super().__init__(logging.ERROR)
        self._failures = failures

    def emit(self, record: logging.LogRecord) -> None:
        """Note what went wrong, but for what a hurried end leaves behind."""
        text = self.format(record)
        if "timeout graceful shutdown exceeded" not in text:
            self._failures.append(text)


def listener_of(
    server: Server | Accept, *, path: str | None = "/mcp", limits: Limits = QUICK
) -> HttpListener:
    """Return the application of a server, with limits of its own."""
    if isinstance(server, Server):
        return HttpListener(server.accept, SERVED_METHODS.__contains__, path=path, limits=limits)
    return HttpListener(server, lambda _: True, path=path, limits=limits)


@asynccontextmanager
async def served(
    server: Server, *, limits: Limits = QUICK, port: int = 0
) -> AsyncGenerator[tuple[str, HttpListener]]:
    """Serve a server at `/mcp`; yields its URL and its listener."""
    listener = listener_of(server, limits=limits)
    async with on_socket(listener, limits=limits, port=port) as origin:
        yield f"{origin}/mcp", listener
    await within(server.close())


async def within(waiting: Awaitable[None], seconds: float = PATIENCE) -> None:
    """Await something that must not take long."""
    async with asyncio.timeout(seconds):
        await waiting


async def until(condition: Callable[[], object], what: str, seconds: float = PATIENCE) -> None:
    """Wait until something holds that nothing announces."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"not within {seconds:g} s: {what}"
        await asyncio.sleep(0.005)


def unlimited() -> Limits:
    """The limits that a user has who sets none."""
    return DEFAULT_LIMITS
