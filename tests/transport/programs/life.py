"""Runs a coroutine as the whole of the process; the argument says which.  Speaks on stderr."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncGenerator
from typing import NoReturn

from anywire.transport.run_process import run_process
from anywire.wire.limits import DEFAULT_LIMITS

LIMITS = DEFAULT_LIMITS.replace(shutdown_seconds=0.1)
kept: list[object] = []


def say(word: str) -> None:
    os.write(2, f"{word}\n".encode())


async def returns() -> None:
    say("ready")


async def waits() -> None:
    say("ready")
    try:
        await asyncio.Event().wait()
    except asyncio.CancelledError:
        say("cancelled")
        raise


async def ignores() -> NoReturn:
    say("ready")
    while True:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            say("ignored")


async def leaves_stubborn_task() -> None:
    kept.append(asyncio.get_running_loop().create_task(ignores()))
    await asyncio.sleep(0)


async def leaves_careful_task() -> None:
    async def careful() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0.01)
            say("cleaned up")

    kept.append(asyncio.get_running_loop().create_task(careful()))
    await asyncio.sleep(0)


async def leaves_generator() -> None:
    async def generator() -> AsyncGenerator[int]:
        try:
            yield 1
            yield 2
        finally:
            say("generator closed")

    kept.append(each := generator())
    await anext(each)


async def fails() -> None:
    raise ValueError("it went wrong")


async def exits() -> None:
    raise SystemExit(7)


async def cancels_itself() -> None:
    raise asyncio.CancelledError


run_process(globals()[sys.argv[1]], LIMITS)
say("returned")
