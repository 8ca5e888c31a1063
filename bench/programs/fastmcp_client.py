"""A client of fastmcp under load: `fastmcp_client.py TARGET ERA SECONDS`."""

# The packages of peers are not where this project's types are checked.
# pyright: basic, reportMissingImports=false

import asyncio

from client_load import COMMAND, ERA, REVISION, TARGET, TEXT, measure
from fastmcp import Client
from fastmcp.client.transports import StdioTransport


async def main() -> None:
    target = TARGET if TARGET.startswith("http") else StdioTransport(COMMAND[0], COMMAND[1:])
    async with Client(target, mode=REVISION if ERA == "modern" else "legacy") as client:

        async def call() -> None:
            result = await client.call_tool("echo", {"text": TEXT})
            assert result.content[0].text == TEXT, result

        await measure(call)


asyncio.run(main())
