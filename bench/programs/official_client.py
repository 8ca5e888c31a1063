"""A client of the official Python SDK 2.x under load: `official_client.py TARGET ERA SECONDS`."""

# The packages of peers are not where this project's types are checked.
# pyright: basic, reportMissingImports=false

import asyncio

from client_load import COMMAND, ERA, REVISION, TARGET, TEXT, measure
from mcp import Client
from mcp.client.stdio import StdioServerParameters


async def main() -> None:
    command = StdioServerParameters(command=COMMAND[0], args=COMMAND[1:])
    mode = REVISION if ERA == "modern" else "legacy"
    async with Client(TARGET if TARGET.startswith("http") else command, mode=mode) as client:

        async def call() -> None:
            result = await client.call_tool("echo", {"text": TEXT})
            assert result.content[0].text == TEXT, result

        await measure(call)


asyncio.run(main())
