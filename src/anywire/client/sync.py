"""`connect_sync()`: the client without `async`, for scripts and notebooks.

A thread of its own runs the event loop, so this works wherever it is called, also where a loop is
running already.
"""

from __future__ import annotations

import asyncio
import atexit
import threading
import warnings
from collections.abc import Coroutine, Iterable, Mapping
from concurrent.futures import Future
from typing import Any, Generic, TypeVar
from weakref import WeakSet

from anywire.client.client import Client
from anywire.client.completing import Completable
from anywire.client.connect import Target, connect
from anywire.client.listening import Listener
from anywire.client.result import PromptResult, ResourceResult, ToolResult
from anywire.client.sync_listening import SyncListener
from anywire.errors import SessionError
from anywire.protocol.types.completion import CompleteResult
from anywire.protocol.types.initialize import InitializeResult
from anywire.protocol.types.logging import LogLevel
from anywire.protocol.types.prompts import Prompt
from anywire.protocol.types.resources import Resource, ResourceTemplate
from anywire.protocol.types.tools import Tool
from anywire.session.caller import OnProgress

__all__ = ("SyncClient", "connect_sync")

T = TypeVar("T")

# Tasks that do not end by their cancellation are left behind after so long.
_WIND_UP_SECONDS = 1.0


class SyncClient:
    """A `Client` whose methods return when they are done.  Use it as `with connect_sync(…)`.

    Methods may be called from several threads at once, also from plain functions that answer the server
    (they run in threads of their own), but not from other callbacks, which are called by the client's thread.
    """

    def __init__(self, target: Target, options: Mapping[str, Any]) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._closed = False
        self._client = connect(target, **options)

    def __enter__(self) -> SyncClient:
        return self.open()

    def __exit__(self, *_: object) -> None:
        self.close()

    def __del__(self) -> None:
        if self._loop is not None and not self._closed:
            warnings.warn(f"{self._client!r} was dropped without being closed", ResourceWarning, 1, self)
            # Whichever thread collects garbage, the client's own perhaps, must not wait for this.
            if self._thread is not None and self._thread.is_alive():
                asyncio.run_coroutine_threadsafe(_close_and_stop(self._client, self._loop), self._loop)

    def open(self) -> SyncClient:
        """Start the wire and shake hands; see `Client.open`."""
        if self._loop is not None or self._closed:
            raise SessionError("a client is opened once; make another with connect_sync()")
        self._loop = asyncio.new_event_loop()
        # A daemon: a program that forgets to close must still be able to end.
        self._thread = threading.Thread(
            target=_run, args=(self._loop,), name=f"anywire-client {self._client.name}", daemon=True
        )
        self._thread.start()
        _open.add(self)
        try:
            self.wait_for(self._client.open())
        except BaseException:
            self.close()
            raise
        return self

    def close(self) -> None:
        """End the conversation, the wire and the thread.  Idempotent."""
        if self._closed:
            return
        try:
            if self._thread is not None and self._thread.is_alive():  # which it is not in a fork
                self.wait_for(self._client.close())
        finally:
            self._closed = True
            if self._loop is not None and self._thread is not None and self._thread.is_alive():
                self._loop.call_soon_threadsafe(self._loop.stop)
                self._thread.join()

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
        self.wait_for(self._client.ping(timeout=timeout))

    def tools(self, *, timeout: float | None = None) -> list[Tool]:
        """See `Client.tools`."""
        return self.wait_for(self._client.tools(timeout=timeout))

    def call_tool(
        self,
        name: str,
        arguments: Mapping[str, Any] | None = None,
        *,
        timeout: float | None = None,
        on_progress: OnProgress | None = None,
    ) -> ToolResult:
        """See `Client.call_tool`; `on_progress` is called in the client's own thread."""
        return self.wait_for(
            self._client.call_tool(name, arguments, timeout=timeout, on_progress=on_progress)
        )

    def resources(self, *, timeout: float | None = None) -> list[Resource]:
        """See `Client.resources`."""
        return self.wait_for(self._client.resources(timeout=timeout))

    def resource_templates(self, *, timeout: float | None = None) -> list[ResourceTemplate]:
        """See `Client.resource_templates`."""
        return self.wait_for(self._client.resource_templates(timeout=timeout))

    def read_resource(
        self, uri: str, *, timeout: float | None = None, on_progress: OnProgress | None = None
    ) -> ResourceResult:
        """See `Client.read_resource`."""
        return self.wait_for(self._client.read_resource(uri, timeout=timeout, on_progress=on_progress))

    def subscribe(self, uri: str, *, timeout: float | None = None) -> None:
        """See `Client.subscribe`."""
        self.wait_for(self._client.subscribe(uri, timeout=timeout))

    def unsubscribe(self, uri: str, *, timeout: float | None = None) -> None:
        """See `Client.unsubscribe`."""
        self.wait_for(self._client.unsubscribe(uri, timeout=timeout))

    def prompts(self, *, timeout: float | None = None) -> list[Prompt]:
        """See `Client.prompts`."""
        return self.wait_for(self._client.prompts(timeout=timeout))

    def get_prompt(
        self,
        name: str,
        arguments: Mapping[str, Any] | None = None,
        *,
        timeout: float | None = None,
        on_progress: OnProgress | None = None,
    ) -> PromptResult:
        """See `Client.get_prompt`."""
        return self.wait_for(
            self._client.get_prompt(name, arguments, timeout=timeout, on_progress=on_progress)
        )

    def complete(
        self,
        of: Completable,
        argument: str,
        value: str,
        arguments: Mapping[str, str] | None = None,
        *,
        timeout: float | None = None,
    ) -> CompleteResult:
        """See `Client.complete`."""
        return self.wait_for(self._client.complete(of, argument, value, arguments, timeout=timeout))

    def set_log_level(self, level: LogLevel, *, timeout: float | None = None) -> None:
        """See `Client.set_log_level`."""
        self.wait_for(self._client.set_log_level(level, timeout=timeout))

    def roots_changed(self) -> None:
        """See `Client.roots_changed`."""
        self.wait_for(self._client.roots_changed())

    def listen(self, *, resources: Iterable[str] = ()) -> SyncListener:
        """Return a plain iterator of what the server tells; see `Client.listen`."""
        listener = SyncListener(self, self.wait_for(self._make_listener(resources)))
        if not resources:  # those are asked for when somebody listens
            listener.open()
        return listener

    def request(
        self, method: str, params: bytes | Mapping[str, Any] | None = None, *, timeout: float | None = None
    ) -> bytes:
        """See `Client.request`."""
        return self.wait_for(self._client.request(method, params, timeout=timeout))

    def notify(self, method: str, params: bytes | Mapping[str, Any] | None = None) -> None:
        """See `Client.notify`."""
        self.wait_for(self._client.notify(method, params))

    async def _make_listener(self, resources: Iterable[str]) -> Listener:
        return self._client.listen(resources=resources)

    @property
    def closed(self) -> bool:
        """Whether `close()` is done."""
        return self._closed

    def wait_for(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine of the client's in its thread; whatever interrupts the caller cancels it there."""
        refusal = self._why_not()
        if refusal:
            coroutine.close()
            raise SessionError(refusal)
        assert self._loop is not None
        call = _Call(coroutine)
        try:
            self._loop.call_soon_threadsafe(call.start)
            return call.outcome.result()
        except BaseException:
            if not call.outcome.done():
                self._loop.call_soon_threadsafe(call.cancel)
            raise

    def _why_not(self) -> str:
        if self._loop is None:
            return "the client has not been opened"
        if self._closed:
            return "the client has been closed"
        if threading.current_thread() is self._thread:
            return "a callback cannot wait for the client that is calling it"
        return ""


class _Call(Generic[T]):
    """A coroutine that runs in the client's thread for a caller in another.

    It exists before it is handed over, so that an interrupt at any moment finds it.
    """

    def __init__(self, coroutine: Coroutine[Any, Any, T]) -> None:
        #: What the caller waits for.
        self.outcome: Future[T] = Future()
        self._coroutine = coroutine
        self._task: asyncio.Task[T] | None = None

    def start(self) -> None:
        """Begin; called in the client's thread."""
        self._task = asyncio.get_running_loop().create_task(self._coroutine)
        self._task.add_done_callback(self._finish)

    def cancel(self) -> None:
        """Stop, if it is not done; called in the client's thread, after `start` or instead of it."""
        if self._task is None:
            self._coroutine.close()
        else:
            self._task.cancel()

    def _finish(self, task: asyncio.Task[T]) -> None:
        if task.cancelled():
            self.outcome.cancel()
        elif (error := task.exception()) is not None:
            self.outcome.set_exception(error)
        else:
            self.outcome.set_result(task.result())


_open: WeakSet[SyncClient] = WeakSet()


@atexit.register
def _close_what_is_open() -> None:
    """A program that forgot to close ends its servers in order all the same."""
    for client in list(_open):
        client.close()


async def _close_and_stop(client: Client, loop: asyncio.AbstractEventLoop) -> None:
    try:
        await client.close()
    finally:
        loop.stop()


def _run(loop: asyncio.AbstractEventLoop) -> None:
    """Run the loop until it is stopped, then end what still runs on it."""
    asyncio.set_event_loop(loop)
    try:
        loop.run_forever()
        left = asyncio.all_tasks(loop)
        for task in left:
            task.cancel()
        if left:
            loop.run_until_complete(asyncio.wait(left, timeout=_WIND_UP_SECONDS))
        loop.run_until_complete(loop.shutdown_asyncgens())
    finally:
        asyncio.set_event_loop(None)
        loop.close()


def connect_sync(target: Target, **options: Any) -> SyncClient:
    """Return a client without `async`, to be used with `with`.

    Takes what `connect` takes; `on_log`, `on_notification` and `async` functions are called in the client's
    own thread.
    """
    return SyncClient(target, options)
