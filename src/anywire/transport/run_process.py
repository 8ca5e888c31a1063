"""Run a coroutine as the whole of a process, and come to an end whatever happens.

`asyncio.run` waits without bound for tasks that ignore their cancellation; a server must leave.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import Callable, Coroutine
from typing import Any

from anywire.wire.limits import Limits

__all__ = ("run_process",)


def run_process(main: Callable[[], Coroutine[Any, Any, None]], limits: Limits) -> None:
    """Run `main()` to its end on a new event loop.

    SIGINT and SIGTERM cancel it and become `SystemExit(128 + signal)` after an orderly end; a second
    one ends the process at once.  Tasks that are left are cancelled, and left behind when they do not
    stop in time.
    """
    loop = asyncio.new_event_loop()
    received: list[int] = []
    try:
        asyncio.set_event_loop(loop)
        task = loop.create_task(main())
        _handle_signals(loop, task, received)
        try:
            loop.run_until_complete(task)
        except asyncio.CancelledError:
            if not received:
                raise
        if received:
            raise SystemExit(128 + received[0])
    finally:
        _wind_up(loop, limits.shutdown_seconds)


def _handle_signals(loop: asyncio.AbstractEventLoop, task: asyncio.Task[None], received: list[int]) -> None:
    def end(number: int) -> None:
        if received:
            signal.signal(number, signal.SIG_DFL)
            os.kill(os.getpid(), number)
        received.append(number)
        task.cancel()

    for number in (signal.SIGINT, signal.SIGTERM):
        # Not the main thread, or a platform without: the process's own handling stays.
        with contextlib.suppress(ValueError, RuntimeError, NotImplementedError):
            loop.add_signal_handler(number, end, number)


def _wind_up(loop: asyncio.AbstractEventLoop, seconds: float) -> None:
    """Cancel what is left and close the loop, within bounds."""
    left = asyncio.all_tasks(loop)
    for task in left:
        task.cancel()
    if left:
        loop.run_until_complete(asyncio.wait(left, timeout=seconds))
    closing = loop.create_task(loop.shutdown_asyncgens())
    loop.run_until_complete(asyncio.wait([closing], timeout=seconds))
    asyncio.set_event_loop(None)
    loop.close()
