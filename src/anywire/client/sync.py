"""`connect_sync()`: the client without `async`, for scripts and notebooks.

A thread of its own runs the event loop, so this works wherever it is called, also where a loop is
running already.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine, Mapping
from typing import Any, TypeVar

from anywire.client.client import OnProgress
from anywire.client.connect import Target, connect
from anywire.client.result import ToolResult
from anywire.protocol.types.initialize import InitializeResult
from anywire.protocol.types.tools import Tool

__all__ = ("SyncClient", "connect_sync")

T = TypeVar("T")


class SyncClient:
    """A `Client` whose methods return when they are done.  Use it as `with connect_sync(…)`.

    Methods may be called from several threads at once.
    """

    def __init__(self, target: Target, options: Mapping[str, Any]) -> None:
        self._loop = asyncio.new_event_loop()
        # A daemon: a program that forgets to close must still be able to end.
        self._thread = threading.Thread(target=self._run, name="anywire-client", daemon=True)
        self._client = connect(target, **options)
        self._closed = False

    def __enter__(self) -> SyncClient:
        return self.open()

    def __exit__(self, *_: object) -> None:
        self.close()

    def open(self) -> SyncClient:
        """Start the wire and shake hands; see `Client.open`."""
        self._thread.start()
        try:
            self._wait(self._client.open())
        except BaseException:
            self.close()
            raise
        return self

    def close(self) -> None:
        """End the conversation, the wire and the thread.  Idempotent."""
        if self._closed:
            return
        self._closed = True
        if self._thread.is_alive():
            try:
                self._wait(self._client.close())
            finally:
                self._loop.call_soon_threadsafe(self._loop.stop)
                self._thread.join()
        self._loop.close()

    @property
    def server(self) -> InitializeResult:
        """What the server said of itself."""
        return self._client.server

    @property
    def revision(self) -> str | None:
        """The revision agreed on."""
        return self._client.revision

    def ping(self, *, timeout: float | None = None) -> None:
        """See `Client.ping`."""
        self._wait(self._client.ping(timeout=timeout))

    def tools(self) -> list[Tool]:
        """See `Client.tools`."""
        return self._wait(self._client.tools())

    def call_tool(
        self,
        name: str,
        arguments: Mapping[str, Any] | None = None,
        *,
        timeout: float | None = None,
        on_progress: OnProgress | None = None,
    ) -> ToolResult:
        """See `Client.call_tool`; `on_progress` is called in the client's own thread."""
        return self._wait(self._client.call_tool(name, arguments, timeout=timeout, on_progress=on_progress))

    def request(
        self, method: str, params: bytes | Mapping[str, Any] | None = None, *, timeout: float | None = None
    ) -> bytes:
        """See `Client.request`."""
        return self._wait(self._client.request(method, params, timeout=timeout))

    def notify(self, method: str, params: bytes | Mapping[str, Any] | None = None) -> None:
        """See `Client.notify`."""
        self._wait(self._client.notify(method, params))

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        self._loop.run_forever()

    def _wait(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Run in the client's thread; an interrupt of the caller cancels it there."""
        future = asyncio.run_coroutine_threadsafe(coroutine, self._loop)
        try:
            return future.result()
        except KeyboardInterrupt:
            future.cancel()
            raise


def connect_sync(target: Target, **options: Any) -> SyncClient:
    """Return a client without `async`, to be used with `with`.

    Takes what `connect` takes; `on_log` and the like are called in the client's own thread.
    """
    return SyncClient(target, options)
