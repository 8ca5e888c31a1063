"""Tasks that begin at once, where Python has them."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Coroutine
from typing import Any

__all__ = ("new_task",)

if sys.version_info >= (3, 12):

    def new_task(loop: asyncio.AbstractEventLoop, coroutine: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Start a task that runs at once, up to where it first waits."""
        return asyncio.Task(coroutine, loop=loop, eager_start=True)
else:

    def new_task(loop: asyncio.AbstractEventLoop, coroutine: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Start a task; before Python 3.12 it takes a turn of the loop."""
        return asyncio.Task(coroutine, loop=loop)
