"""One client, two ways to its server: a child process, and the same process.

Run it:  python examples/client.py
"""

import asyncio
import sys
from pathlib import Path

from server import server

from anywire import Client, connect

COMMAND = [sys.executable, str(Path(__file__).with_name("server.py"))]


async def talk(client: Client) -> None:
    """Ask everything that there is to ask."""
    print(f"{client.server.server_info.name} {client.server.server_info.version}, speaking {client.revision}")
    for tool in await client.tools():
        print(f"  {tool.name}: {tool.description}")

    result = await client.call_tool("shout", {"text": "é🙂"})
    print(f"shout: {result.text}")

    result = await client.call_tool("divide", {"dividend": 1, "divisor": 0})
    print(f"divide: {result.text} (is_error={result.is_error})")

    result = await client.call_tool("countdown", {"start": 3}, on_progress=report)
    print(f"countdown: {result.text}")


def report(progress: float, total: float | None, message: str | None) -> None:
    """Print one report of a tool that takes its time."""
    print(f"  {progress:g} of {total:g}: {message}")


async def main() -> None:
    """Talk to the server in a process of its own, then to the same server in this one."""
    print("-- a child process, one JSON object per line")
    async with connect(COMMAND) as client:
        await talk(client)

    print("-- in memory, no bytes in between")
    async with connect(server) as client:
        await talk(client)


if __name__ == "__main__":
    asyncio.run(main())
