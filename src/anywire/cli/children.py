"""The servers that a bridge has started: after a signal they have less time to leave than usual."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import Coroutine
from typing import TYPE_CHECKING, Any, Final
from weakref import WeakSet

if TYPE_CHECKING:
    from anywire.transport.process import ChildProcess
    from anywire.transport.stdio_client import StdioClientTransport

__all__ = ("Children",)

# From the end of their input.  Whoever ended us waits, and may not wait long.
_TERM_AFTER_SECONDS: Final = 0.6
_KILL_AFTER_SECONDS: Final = 0.6


class Children:
    """Knows the transports to children that live, and hurries their leaving."""

    def __init__(self) -> None:
        self._transports: WeakSet[StdioClientTransport] = WeakSet()

    def add(self, transport: StdioClientTransport) -> StdioClientTransport:
        """Know one more; it is forgotten when nobody else holds it."""
        self._transports.add(transport)
        return transport

    async def hurried(self, closing: Coroutine[Any, Any, None]) -> None:
        """Await what closes the transports, and end the children that take too long over it."""
        hurrying = asyncio.get_running_loop().create_task(self._hurry())
        try:
            await closing
        finally:
            hurrying.cancel()

    async def run(self, work: Coroutine[Any, Any, None]) -> None:
        """Await some work; when that is cancelled, its end is hurried."""
        task = asyncio.get_running_loop().create_task(work)
        try:
            await asyncio.shield(task)
        except asyncio.CancelledError:
            task.cancel()
            await self.hurried(_until_done(task))
            raise

    async def _hurry(self) -> None:
        await asyncio.sleep(_TERM_AFTER_SECONDS)
        for child in self._alive():
            with contextlib.suppress(OSError):  # it has left meanwhile
                os.killpg(child.pid, signal.SIGTERM)
        await asyncio.sleep(_KILL_AFTER_SECONDS)
        for child in self._alive():
            child.kill()

    def _alive(self) -> list[ChildProcess]:
        children = [transport.child for transport in self._transports]
        return [child for child in children if child is not None and child.returncode is None]


async def _until_done(task: asyncio.Task[None]) -> None:
    await asyncio.wait([task])
    if not task.cancelled():
        task.exception()  # the signal says more
