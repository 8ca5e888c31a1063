"""A host on the official Python SDK, 1.x or 2.x: starts a command, lists its tools, calls one for each argument.

`host_of_many.py TOOL=JSON… -- COMMAND…` prints one JSON object: `tools`, and for each call its text.
"""

# The SDKs are not where the types of this project are checked.
# pyright: basic, reportMissingImports=false, reportAttributeAccessIssue=false, reportCallIssue=false

import json
import os
import sys

import anyio
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client

WITHIN = 60.0


async def main() -> None:
    at = sys.argv.index("--")
    calls, command = sys.argv[1:at], sys.argv[at + 1 :]
    parameters = StdioServerParameters(command=command[0], args=command[1:], env=dict(os.environ))
    told = {}
    with anyio.fail_after(WITHIN):
        async with stdio_client(parameters) as (reading, writing), ClientSession(reading, writing) as session:
            await session.initialize()
            told["tools"] = [tool.name for tool in (await session.list_tools()).tools]
            for call in calls:
                tool, _, arguments = call.partition("=")
                result = await session.call_tool(tool, json.loads(arguments))
                told[tool] = "".join(block.text for block in result.content)
    print(json.dumps(told))


anyio.run(main)
