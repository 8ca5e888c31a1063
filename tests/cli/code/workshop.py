"""A Server of Python code for `anywire serve`, with tools that take their time."""

from __future__ import annotations

import asyncio
import time

from anywire import Context, Server

server = Server("workshop", version="2.0")


@server.tool
def shout(text: str) -> str:
    """Return the text in capitals."""
    return text.upper()


@server.tool
async def wait(context: Context) -> str:
    """Never end."""
    await context.progress(1, 2, "waiting")
    await asyncio.sleep(600)
    return "done"


@server.tool
def block() -> str:
    """Never end, and hear nothing meanwhile."""
    time.sleep(600)
    return "done"
