"""Worker threads that never keep the process alive.

The standard library's pool is joined when the interpreter exits, so one handler stuck in a blocking
call would keep a server from leaving.  These threads are daemons: what is stuck is left behind.
"""

from __future__ import annotations

import contextvars
import logging
import threading
from collections.abc import Callable, Generator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from queue import Empty, SimpleQueue
from typing import Any, ParamSpec, TypeVar

__all__ = ("DaemonThreads",)

_log = logging.getLogger("anywire.threads")

P = ParamSpec("P")
T = TypeVar("T")

_IDLE_SECONDS = 10.0


class DaemonThreads(ThreadPoolExecutor):
    """An executor of daemon threads, started as they are needed, ended when they idle."""

    def __init__(self, threads: int, idle_seconds: float = _IDLE_SECONDS) -> None:
        super().__init__(max_workers=threads)
        self._limit = threads
        self._idle_seconds = idle_seconds
        self._work: SimpleQueue[tuple[Future[Any], Callable[[], Any]] | None] = SimpleQueue()
        self._guard = threading.Lock()
        self._alive = 0
        self._idle = 0
        self._stopped = False
        self._told = False

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Run a function in a thread, with a copy of the caller's context."""
        future: Future[T] = Future()
        context = contextvars.copy_context()
        with self._guard:
            if self._stopped:
                raise RuntimeError("the worker threads have been stopped")
            self._work.put((future, lambda: context.run(fn, *args, **kwargs)))
            self._tell_when_all_are_busy()
            if self._idle < self._work.qsize() and self._alive < self._limit:
                self._start()
        return future

    def _tell_when_all_are_busy(self) -> None:
        """Say once, until one is free again, that calls wait: a slow server should not be a riddle."""
        busy = self._alive >= self._limit and self._idle == 0
        if busy and not self._told:
            _log.warning("all %d worker threads are busy; further calls of plain functions wait", self._limit)
        self._told = busy

    @contextmanager
    def waiting(self) -> Generator[None]:
        """While the calling thread only waits for the event loop, another may take its place."""
        with self._guard:
            self._limit += 1
            if self._idle < self._work.qsize() and not self._stopped:
                self._start()
        try:
            yield
        finally:
            with self._guard:
                self._limit -= 1

    def _start(self) -> None:
        self._alive += 1
        threading.Thread(target=self._run, name=f"anywire-worker-{self._alive}", daemon=True).start()

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Take no more work; never waits for what runs.  Idempotent."""
        with self._guard:
            self._stopped = True
            while cancel_futures and not self._work.empty():
                item = self._work.get_nowait()
                if item is not None:
                    item[0].cancel()
            for _ in range(self._alive):
                self._work.put(None)

    def _run(self) -> None:
        while True:
            with self._guard:
                self._idle += 1
            item, told = None, True
            try:
                item = self._work.get(timeout=self._idle_seconds)
            except Empty:
                told = False
            with self._guard:
                self._idle -= 1
                if item is None and (told or self._work.empty()):
                    self._alive -= 1
                    return
            if item is not None:
                _work(*item)


def _work(future: Future[Any], function: Callable[[], Any]) -> None:
    if not future.set_running_or_notify_cancel():
        return
    try:
        result = function()
    except StopIteration as error:  # no future of asyncio takes one
        future.set_exception(RuntimeError(f"function raised StopIteration: {error}"))
    except BaseException as error:  # noqa: BLE001 whatever it is, it belongs to who waits for the result
        future.set_exception(error)
    else:
        future.set_result(result)
