"""An application for ASGI servers to run: `tests.http.programs.app:app`, at `/mcp`."""

import asyncio

from anywire import Context, Server

server = Server("app")


@server.tool(inline=True)
def echo(text: str) -> str:
    """Return the text."""
    return text


@server.tool
async def steps(context: Context, count: int) -> str:
    """Report progress so many times, then return."""
    for number in range(count):
        await context.progress(number + 1, count)
    return f"{count} steps"


@server.tool
async def sleep(context: Context, seconds: float) -> str:
    """Report once, sleep, return."""
    await context.progress(1)
    await asyncio.sleep(seconds)
    return "slept"


app = server.http_app(path="/mcp")
