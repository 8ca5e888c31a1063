"""A small MCP server: four tools, one of each kind.

Run it and it speaks MCP on its stdin and stdout:  python examples/server.py
"""

import asyncio
import hashlib
from pathlib import Path
from typing import Annotated, Literal

from msgspec import Meta

from anywire import Context, Server

server = Server("example", "1.0", instructions="Four small tools to try a client or a bridge with.")


@server.tool(inline=True)
def shout(text: str) -> str:
    """Return the text in capitals."""  # quick and never blocks, so it may run in place
    return text.upper() + "!"


@server.tool(inline=True)
def divide(dividend: float, divisor: float) -> float:
    """Divide one number by another."""
    if divisor == 0:
        raise ValueError("nothing can be divided by 0")  # the caller reads this sentence
    return dividend / divisor


@server.tool
def checksum(path: str, algorithm: Literal["sha256", "blake2b"] = "sha256") -> str:
    """Compute the checksum of a file.

    Args:
        path: The file to read.
        algorithm: How to compute it.
    """
    with Path(path).open("rb") as file:  # reading blocks: a plain `def` runs in a worker thread
        return hashlib.file_digest(file, algorithm).hexdigest()


@server.tool
async def countdown(context: Context, start: Annotated[int, Meta(ge=1, le=60)] = 3) -> str:
    """Count down to zero, one number every tenth of a second, and report each."""
    for number in range(start, 0, -1):
        await context.progress(start - number, start, f"{number} ...")
        await asyncio.sleep(0.1)
    return "zero"


if __name__ == "__main__":
    server.run()
