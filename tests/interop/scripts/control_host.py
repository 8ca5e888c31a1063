"""A coding agent's program without an agent, started by an SDK as its `cli_path`.

Asked for something, it calls each tool of the server `calc` once, cancels the call of the one named `wait`,
and says what came of it as the result of its turn. ERA says in which era.
"""

from __future__ import annotations

import asyncio
import json
import os
from typing import Any

from anywire import Client, connect
from anywire.transport.control.channel import StdioChannel
from anywire.transport.control.host import ControlHost

ERA = "legacy" if os.environ["ERA"] == "legacy" else "modern"
ARGUMENTS = {"weigh": {"parcel": "é🙂", "grams": 250}}


async def main() -> None:
    """Serve turns until the SDK has no more to say."""
    turns: asyncio.Queue[dict[str, Any]] = asyncio.Queue()

    def take(line: dict[str, Any]) -> None:
        if line.get("type") == "user":
            turns.put_nowait(line)

    async with ControlHost(StdioChannel(), on_line=take, welcome={"commands": []}) as host:
        await host.greeted()
        async with connect(host.transport("calc"), era=ERA) as client:
            serving = asyncio.create_task(serve(host, client, turns))
            await host.wait()
            serving.cancel()


async def serve(host: ControlHost, client: Client, turns: asyncio.Queue[dict[str, Any]]) -> None:
    """Take one turn after another."""
    while True:
        await turns.get()
        result = json.dumps(await turn(client), ensure_ascii=False)
        words = {"type": "text", "text": "The tools have answered."}
        message = {"role": "assistant", "model": "none", "content": [words]}
        host.write({"type": "assistant", "message": message, "parent_tool_use_id": None, "session_id": "s"})
        times = {"duration_ms": 1, "duration_api_ms": 1, "num_turns": 1}
        ended = {"type": "result", "subtype": "success", "is_error": False, "session_id": "s"}
        host.write({**ended, **times, "result": result})


async def turn(client: Client) -> dict[str, Any]:
    """Call each tool."""
    done: dict[str, Any] = {"server": client.server.server_info.name, "revision": client.revision}
    for tool in await client.tools():
        call = asyncio.ensure_future(client.call_tool(tool.name, ARGUMENTS.get(tool.name, {})))
        if tool.name == "wait":
            await asyncio.wait([call], timeout=0.2)  # so that it is running
            call.cancel()
            await asyncio.wait([call])
            done[tool.name] = "cancelled" if call.cancelled() else "not cancelled"
        else:
            result = await call
            done[tool.name] = {"text": result.text, "is_error": result.is_error}
    return done


if __name__ == "__main__":
    asyncio.run(main())
