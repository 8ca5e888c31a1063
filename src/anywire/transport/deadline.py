"""A bound on how long something may take, which says what it was that took too long."""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from anywire.errors import DeadlineExceeded

__all__ = ("bounded", "first_of")


@asynccontextmanager
async def bounded(seconds: float, what: str) -> AsyncGenerator[asyncio.Timeout, None]:
    """Raise `DeadlineExceeded` with that sentence when the block takes more than so many seconds."""
    timer = asyncio.timeout(None if seconds == math.inf else seconds)
    try:
        async with timer:
            yield timer
    except TimeoutError as error:
        if not timer.expired() or isinstance(error, DeadlineExceeded):
            raise
        raise DeadlineExceeded(f"{what} within {seconds:g} s") from error


async def first_of(*events: asyncio.Event, seconds: float | None = None) -> None:
    """Wait until one of several things has happened, or so long."""
    waits = [asyncio.create_task(event.wait()) for event in events]
    try:
        await asyncio.wait(waits, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for wait in waits:
            wait.cancel()
