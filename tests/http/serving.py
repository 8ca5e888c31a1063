"""Applications on a real socket of this process, for as long as a test needs them."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator
from contextlib import asynccontextmanager, contextmanager
from typing import Any, Protocol, cast

import uvicorn
from uvicorn.server import ServerState

from anywire.server.methods.table import METHODS
from anywire.transport.asgi_host import bind
from anywire.transport.contract import Accept
from anywire.transport.http_server import HttpListener
from anywire.wire.limits import Limits

#: Everything here ends long before; a busy machine may be slow.
PATIENCE = 20.0

#: Nothing that a test waits for takes as long as a real deployment would.
QUICK = Limits(shutdown_seconds=0.4, reconnect_seconds=0.05, reconnect_most_seconds=0.4)


class App(Protocol):
    """An application that can be closed."""

    async def __call__(self, scope: Any, receive: Any, send: Any, /) -> None:
        """Answer one request."""
        ...

    async def close(self) -> None:
        """End what lives in it."""
        ...


@asynccontextmanager
async def on_socket(app: App, *, host: str = "127.0.0.1", port: int = 0) -> AsyncGenerator[str]:
    """Serve on a free port (or that one) of this machine; yields the address without a path.

    The connections are uvicorn's; its main loop, which takes its time to end, is left out.
    """
    opened = bind(host, port)
    number = opened.getsockname()[1]
    config = uvicorn.Config(app, lifespan="off", log_config=None, access_log=False, ws="none")
    config.load()
    protocol = cast("Callable[..., asyncio.Protocol]", config.http_protocol_class)
    state = ServerState()
    with failures_of_applications() as failures:
        listening = await asyncio.get_running_loop().create_server(
            lambda: protocol(config=config, server_state=state, app_state={}), sock=opened
        )
        try:
            yield f"http://[{host}]:{number}" if ":" in host else f"http://{host}:{number}"
        finally:
            listening.close()
            await app.close()
            for each in list(state.connections):
                each.shutdown()
            if state.tasks:
                await asyncio.wait(list(state.tasks), timeout=1.0)
            left = [str(task) for task in state.tasks if not task.done()]
            for each in list(state.connections):
                each.transport.abort()
    assert left == [], "requests are still being answered"
    assert failures == []


@contextmanager
def failures_of_applications() -> Generator[list[str]]:
    """Gather what uvicorn says went wrong in an application."""
    failures: list[str] = []
    watch = _Watch(failures)
    logging.getLogger("uvicorn.error").addHandler(watch)
    try:
        yield failures
    finally:
        logging.getLogger("uvicorn.error").removeHandler(watch)


class _Watch(logging.Handler):
    def __init__(self, failures: list[str]) -> None:
        super().__init__(logging.ERROR)
        self._failures = failures

    def emit(self, record: logging.LogRecord) -> None:
        """Note what went wrong."""
        self._failures.append(self.format(record))


def listener_of(
    accept: Accept, *, path: str | None = "/mcp", limits: Limits = QUICK, serves_all: bool = False
) -> HttpListener:
    """Return the application of a server, with limits of its own."""

    def serves(method: str) -> bool:
        return serves_all or method in METHODS

    return HttpListener(accept, serves, path=path, limits=limits)


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
