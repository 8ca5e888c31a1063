"""A server on stdio with tools that behave well and badly; the argument may shorten its patience."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import threading
import time

from anywire import Context, Server
from anywire.wire.limits import DEFAULT_LIMITS

quick = DEFAULT_LIMITS.replace(drain_seconds=0.1, shutdown_seconds=0.2)
server = Server("program", "1", limits=quick if "quick" in sys.argv else DEFAULT_LIMITS)


def say(word: str) -> None:
    os.write(2, f"{word}\n".encode())


@server.tool
async def echo(word: str) -> str:
    """Answer after a turn of the loop."""
    await asyncio.sleep(0)
    return word


@server.tool
def echo_in_thread(word: str) -> str:
    """Answer from a thread."""
    return word


@server.tool
def prints(word: str) -> str:
    """Print where a server must not."""
    print(word)
    os.write(1, b"written to 1\n")
    subprocess.run(["echo", "from a child"], check=True)
    return word


@server.tool
async def waits(ctx: Context) -> None:
    """Wait until cancelled."""
    say("waiting")
    try:
        await asyncio.Event().wait()
    finally:
        say(f"stopped {ctx.cancel_reason}")


@server.tool
async def stubborn() -> None:
    """Ignore being cancelled."""
    say("waiting")
    while True:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            pass


@server.tool
def stuck() -> None:
    """Block a thread for good."""
    say("waiting")
    while True:
        time.sleep(60)


@server.tool
async def exits(code: int) -> None:
    """Leave the program."""
    raise SystemExit(code)


@server.tool(inline=True)
def large(size: int) -> str:
    """Give much."""
    return "x" * size


if __name__ == "__main__":
    server.run()
    say(f"left with {threading.active_count()} threads")
