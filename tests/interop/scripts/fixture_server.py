"""The server under test: `anywire serve fixture_server.py:server`."""

from __future__ import annotations

import asyncio
import sys

from anywire import Context, Server

server = Server("interop-fixture", version="1")
cancelled: list[float] = []


@server.tool
async def echo(text: str) -> str:
    """Give the text back."""
    return text


@server.tool
def shout(text: str) -> str:
    """Give the text back in capitals, from a worker thread."""
    return text.upper()


@server.tool(inline=True)
def add(a: int, b: int = 0) -> int:
    """Add two numbers."""
    return a + b


@server.tool
async def fail(reason: str) -> str:
    """Fail for this reason."""
    raise ValueError(reason)


@server.tool
async def count(steps: int, ctx: Context) -> str:
    """Report progress at each step."""
    for step in range(1, steps + 1):
        await ctx.progress(step, total=steps, message=f"step {step} é🙂")
    return f"counted to {steps}"


@server.tool
async def tell(text: str, ctx: Context) -> str:
    """Send a log message."""
    await ctx.log("warning", {"text": text})
    return "told"


@server.tool
async def slow(seconds: float) -> str:
    """Take this long, and take note when cancelled meanwhile."""
    try:
        await asyncio.sleep(seconds)
    except asyncio.CancelledError:
        cancelled.append(seconds)
        raise
    return f"slept {seconds}"


@server.tool(inline=True)
def cancellations() -> str:
    """How many slow calls have been cancelled."""
    return str(len(cancelled))


@server.tool
async def modules() -> str:
    """What this process has imported, a name a line."""
    return "\n".join(sorted(sys.modules))
