"""An event loop whose clock jumps: timeouts are tested without waiting for them.

Whatever can run, runs; only when nothing can does the clock move, and then straight to the next
timer.  A minute of time-outs takes no time, and the order of events is the same on every machine.

What other threads and other processes do takes no time on this clock, so a timer may overtake them:
use it where everything happens on the loop, pipes and sockets between two of its own tasks included.
"""

from __future__ import annotations

import asyncio
import functools
import selectors
from collections.abc import Callable, Coroutine
from typing import Any, ParamSpec, TypeVar

__all__ = ("VirtualTimeLoop", "in_virtual_time", "run_in_virtual_time")

P = ParamSpec("P")
T = TypeVar("T")


class _JumpingSelector(selectors.DefaultSelector):
    """Never waits for a timer; reports the time it should have waited instead."""

    def __init__(self) -> None:
        super().__init__()
        self.skipped = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        if timeout is None:
            return super().select(None)  # no timer to jump to: only a descriptor or a thread can go on
        ready = super().select(0)
        if not ready and timeout > 0:
            self.skipped += timeout
        return ready


class VirtualTimeLoop(asyncio.SelectorEventLoop):
    """An event loop that starts at 0.0 and spends no time on timers."""

    def __init__(self) -> None:
        self._jumping = _JumpingSelector()
        super().__init__(self._jumping)

    def time(self) -> float:
        """Return the virtual time in seconds."""
        return self._jumping.skipped

    async def shutdown_default_executor(self, timeout: float | None = None) -> None:
        """Wait for the threads of the default executor, however long: a timer would overtake them."""
        await super().shutdown_default_executor()

    def advance(self, seconds: float) -> None:
        """Let time pass at once, as if whatever runs took so long."""
        self._jumping.skipped += seconds


def run_in_virtual_time(main: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine to its end on a loop of its own, in virtual time."""
    with asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
        return runner.run(main)


def in_virtual_time(function: Callable[P, Coroutine[Any, Any, T]]) -> Callable[P, T]:
    """Make a coroutine function a plain one that runs in virtual time; used as a decorator of tests."""

    @functools.wraps(function)
    def run(*args: P.args, **kwargs: P.kwargs) -> T:
        return run_in_virtual_time(function(*args, **kwargs))

    return run
