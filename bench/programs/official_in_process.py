"""The official SDK's client and server, back to back: `official_in_process.py - ERA SECONDS`."""

# The packages of peers are not where this project's types are checked.
# pyright: basic, reportMissingImports=false

import asyncio

from client_load import ERA, REVISION, TEXT, measure
from mcp import Client
from mcp.server.mcpserver import MCPServer

server = MCPServer("echo")


@server.tool(structured_output=False)
async def echo(text: str) -> str:
    return text


async def main() -> None:
    async with Client(server, mode=REVISION if ERA == "modern" else "legacy") as client:

        async def call() -> None:
            result = await client.call_tool("echo", {"text": TEXT})
            assert result.content[0].text == TEXT, result

        await measure(call)


asyncio.run(main())
