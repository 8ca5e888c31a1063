"""The client that the official conformance suite looks at: `client.py URL`, once for each scenario.

The suite names the scenario in `MCP_CONFORMANCE_SCENARIO`, plays the server at that URL and judges by what
it is sent; the client has to end by itself, with exit code 0.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final, TypeAlias

from anywire import connect

Scenario: TypeAlias = Callable[[str], Awaitable[None]]


async def _accept(_: object) -> str:
    return "accept"


async def look_round(url: str) -> None:
    """Shake hands, list the tools, leave."""
    async with connect(url) as client:
        await client.tools()


async def add_numbers(url: str) -> None:
    """Call a tool that takes two numbers."""
    async with connect(url) as client:
        await client.tools()
        await client.call_tool("add_numbers", {"a": 5, "b": 3})


async def accept_defaults(url: str) -> None:
    """Accept a form as it is: what the user leaves out has the values that the form suggests."""
    asked: dict[str, Any] = {"on_elicit": _accept}
    async with connect(url, **asked) as client:
        await client.tools()
        await client.call_tool("test_client_elicitation_defaults")


async def come_back(url: str) -> None:
    """Call a tool whose answer comes on another connection than the one it was asked on."""
    async with connect(url) as client:
        await client.tools()
        await client.call_tool("test_reconnection")


async def say_who_asks(url: str) -> None:
    """Ask as a client that can be asked everything; the first thing it asks is refused."""
    asked: dict[str, Any] = {"on_elicit": _accept, "on_sample": _accept, "roots": []}
    async with connect(url, **asked) as client:
        await client.tools()


async def answer_in_rounds(url: str) -> None:
    """Answer what tools want to know; in between, call one that wants to know nothing."""

    async def confirm(_: object) -> dict[str, Any]:
        return {"confirmed": True}

    asked: dict[str, Any] = {"on_elicit": confirm}
    async with connect(url, **asked) as client:
        await client.tools()
        async with asyncio.TaskGroup() as group:
            for name in ("test_mrtr_echo_state", "test_mrtr_unrelated"):
                group.create_task(client.call_tool(name))
        for name in ("test_mrtr_no_state", "test_mrtr_no_result_type"):
            await client.call_tool(name)


async def use_everything(url: str) -> None:
    """List all that there is, and use all of it."""
    async with connect(url) as client:
        for tool in await client.tools():
            await client.call_tool(tool.name)
        for resource in await client.resources():
            await client.read_resource(resource.uri)
        for prompt in await client.prompts():
            await client.get_prompt(prompt.name)


async def call_as_told(url: str) -> None:
    """Make the calls that the suite has prepared."""
    calls = json.loads(os.environ["MCP_CONFORMANCE_CONTEXT"])["toolCalls"]
    async with connect(url) as client:
        await client.tools()
        for call in calls:
            await client.call_tool(call["name"], call["arguments"])


async def call_all(url: str) -> None:
    """Call every tool that is listed."""
    async with connect(url) as client:
        for tool in await client.tools():
            await client.call_tool(tool.name, {"region": "eu"})


async def echo_schema(url: str) -> None:
    """Hand a tool's schema back as it came."""
    async with connect(url) as client:
        listed = json.loads(await client.request("tools/list"))["tools"]
        (schema,) = [tool["inputSchema"] for tool in listed if tool["name"] == "json_schema_2020_12_tool"]
        await client.call_tool("json_schema_echo", {"schema": schema})


SCENARIOS: Final[Mapping[str, Scenario]] = {
    "initialize": look_round,
    "tools_call": add_numbers,
    "elicitation-sep1034-client-defaults": accept_defaults,
    "sse-retry": come_back,
    "request-metadata": say_who_asks,
    "sep-2322-client-request-state": answer_in_rounds,
    "http-standard-headers": use_everything,
    "http-custom-headers": call_as_told,
    "http-invalid-tool-headers": call_all,
    "json-schema-ref-no-deref": look_round,
    "json-schema-2020-12-preservation": echo_schema,
}


def main() -> None:
    """The command."""
    name = os.environ.get("MCP_CONFORMANCE_SCENARIO", "")
    scenario = SCENARIOS.get(name)
    if scenario is None:
        sys.exit(f"this client knows no scenario {name!r}")

    async def play() -> None:
        await scenario(sys.argv[-1])

    asyncio.run(play())


if __name__ == "__main__":
    main()
