"""A program on the Claude Agent SDK with a server in it: `control_sdk.py CLI`, which is given to the SDK as `cli_path`.

Each message of its turn is a line; the last line says which tools ran.
"""

# The SDK is not where the types of this project are checked.
# pyright: basic, reportMissingImports=false

from __future__ import annotations

import asyncio
import dataclasses
import json
import sys
from typing import Any

from claude_agent_sdk import (
    ClaudeAgentOptions,
    create_sdk_mcp_server,
    query,
    tool,
)

ran: list[str] = []


def text(words: str) -> dict[str, Any]:
    """The result of a tool."""
    return {"content": [{"type": "text", "text": words}]}


@tool("weigh", "Weigh a parcel.", {"parcel": str, "grams": int})
async def weigh(arguments: dict[str, Any]) -> dict[str, Any]:
    ran.append("weigh")
    return text(f"{arguments['parcel']} weighs {arguments['grams']} g")


@tool("fail", "Fail.", {})
async def fail(_: dict[str, Any]) -> dict[str, Any]:
    ran.append("fail")
    raise ValueError("it is broken")


@tool("wait", "Wait for ever.", {})
async def wait(_: dict[str, Any]) -> dict[str, Any]:
    ran.append("wait")
    try:
        await asyncio.Event().wait()
    finally:
        ran.append("wait has ended")
    return text("never")


async def main() -> None:
    """Take one turn."""
    server = create_sdk_mcp_server("calc", "1", [weigh, fail, wait])
    options = ClaudeAgentOptions(cli_path=sys.argv[1], mcp_servers={"calc": server})
    async for message in query(prompt="Weigh the parcel.", options=options):
        print(json.dumps({"kind": type(message).__name__, **dataclasses.asdict(message)}), flush=True)
    print(json.dumps({"ran": ran}))


asyncio.run(main())
