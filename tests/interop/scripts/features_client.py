"""A client on the official Python SDK, 1.x or 2.x, that uses each feature of `features_server.py` once.

`features_client.py MODE COMMAND…` starts the command as a server on stdio, or connects to a URL, takes
all steps and prints a JSON line for each: what it gave, as on the wire, or how it failed.  MODE is
`legacy` for the handshake era, or `auto`, with which 2.x finds the stateless one.
"""

# pyright: basic, reportMissingImports=false, reportAttributeAccessIssue=false, reportCallIssue=false

from __future__ import annotations

import json
import sys
from collections.abc import Awaitable, Callable
from typing import Any

import anyio
from features_peer import OLD, McpError, Peer, connected
from mcp import types
from pydantic import AnyUrl

STEP_WITHIN = 10.0
ROOTS = [{"uri": "file:///home/a%20b", "name": "a b"}, {"uri": "file:///tmp"}]

Step = Callable[[Peer], Awaitable[Any]]
STEPS: list[Step] = []


def step(function: Step) -> Step:
    """One of the steps, in order."""
    STEPS.append(function)
    return function


def url(text: str) -> Any:
    """A URI as the SDK wants it."""
    return AnyUrl(text) if OLD else text


def dumped(model: Any) -> Any:
    return model.model_dump(mode="json", by_alias=True, exclude_none=True)


@step
async def handshake(peer: Peer) -> Any:
    return peer.shaken


@step
async def tools(peer: Peer) -> Any:
    return await peer.pages("list_tools", "tools")


@step
async def weather(peer: Peer) -> Any:
    return await peer.call("weather", {"city": "Orléans"})


@step
async def numbers(peer: Peer) -> Any:
    return await peer.call("numbers")


@step
async def blocks(peer: Peer) -> Any:
    return await peer.call("blocks")


@step
async def fail(peer: Peer) -> Any:
    return await peer.call("fail", {"reason": "no luck é🙂"})


@step
async def bad_arguments(peer: Peer) -> Any:
    return await peer.call("fail", {"reason": 7})


@step
async def unknown_tool(peer: Peer) -> Any:
    try:
        return await peer.call("no-such-tool")
    except McpError as error:
        return {"code": error.error.code}


@step
async def resources(peer: Peer) -> Any:
    return await peer.pages("list_resources", "resources")


@step
async def templates(peer: Peer) -> Any:
    return await peer.pages("list_resource_templates", "resourceTemplates")


@step
async def read(peer: Peer) -> Any:
    read = peer.client.read_resource
    return [dumped(await read(url(uri))) for uri in ("memo://today", "memo://pixel", "memo://of/ada/monday")]


@step
async def read_missing(peer: Peer) -> Any:
    try:
        return dumped(await peer.client.read_resource(url("memo://missing")))
    except McpError as error:
        return {"code": error.error.code, "data": error.error.data}


@step
async def subscribe(peer: Peer) -> Any:
    """Updates come while there is a subscription, and only of what it is of."""
    updated = "notifications/resources/updated"
    async with peer.listening("memo://today"):
        await peer.call("touch", {"uri": "memo://pixel"})
        await peer.call("touch", {"uri": "memo://today"})
        told = await peer.heard.until(lambda notes: any(method == updated for method, _ in notes))
    await peer.call("touch", {"uri": "memo://today"})
    await peer.call("numbers")
    after = await peer.heard.until(lambda notes: True)
    return {"told": told, "after": after}


@step
async def prompts(peer: Peer) -> Any:
    return await peer.pages("list_prompts", "prompts")


@step
async def prompt(peer: Peer) -> Any:
    return dumped(await peer.client.get_prompt("greet", {"name": "Ada", "tone": "cool"}))


@step
async def completion(peer: Peer) -> Any:
    greet = types.PromptReference(type="ref/prompt", name="greet")
    template = types.ResourceTemplateReference(type="ref/resource", uri="memo://of/{person}/{day}")
    complete = peer.client.complete
    return {
        "name": dumped(await complete(greet, {"name": "name", "value": "A"})),
        "known": dumped(await complete(greet, {"name": "name", "value": "A"}, {"tone": "cool"})),
        "tone": dumped(await complete(greet, {"name": "tone", "value": "w"})),
        "day": dumped(await complete(template, {"name": "day", "value": "d"})),
    }


@step
async def log(peer: Peer) -> Any:
    """Only messages of the level that was asked for come."""
    gave = {}
    for level in ("warning", "debug"):
        await peer.want_log(level)
        await peer.call("tell")
        gave[level] = await peer.heard.until(lambda notes: ["log", "error"] in levels(notes))
    return {level: [params for method, params in notes if method == "log"] for level, notes in gave.items()}


def levels(notes: list[tuple[str, Any]]) -> list[list[str]]:
    return [[method, params.get("level", "")] for method, params in notes]


@step
async def grow(peer: Peer) -> Any:
    """All three lists change at run time."""
    gave: dict[str, Any] = {}
    for what in ("grown", "shrunk"):
        async with peer.listening():
            await peer.call("grow")
            told = await peer.heard.until(lambda notes: len({method for method, _ in notes}) >= 3)
        listed = (await peer.pages("list_tools", "tools"))["items"]
        gave[what] = [sorted({method for method, _ in told}), "grown" in {tool["name"] for tool in listed}]
    return gave


@step
async def roots(peer: Peer) -> Any:
    before = await peer.call("folders")
    peer.answers.roots = [ROOTS[1]]
    if not peer.stateless:
        await peer.client.send_roots_list_changed()
    return [before["structuredContent"], (await peer.call("folders"))["structuredContent"]]


async def asked(peer: Peer, tool: str) -> Any:
    result = await peer.call(tool)
    return {"asked": peer.answers.taken(), "answer": result}


@step
async def sample(peer: Peer) -> Any:
    content = {"type": "text", "text": "A pixel é🙂"}
    peer.answers.model = {"role": "assistant", "content": content, "model": "m", "stopReason": "endTurn"}
    return await asked(peer, "sample")


@step
async def sample_with_tools(peer: Peer) -> Any:
    content = [
        {"type": "text", "text": "Let me look."},
        {"type": "tool_use", "id": "u1", "name": "weather", "input": {"city": "Orléans"}},
    ]
    peer.answers.model = {"role": "assistant", "content": content, "model": "m", "stopReason": "toolUse"}
    return await asked(peer, "sample_with_tools")


@step
async def form(peer: Peer) -> Any:
    filled_in = {
        "name": "Ada",
        "size": "small",
        "count": 3,
        "price": 1.5,
        "gift": False,
        "extras": ["cheese"],
    }
    peer.answers.user = {"action": "accept", "content": filled_in}
    return await asked(peer, "form")


@step
async def form_declined(peer: Peer) -> Any:
    peer.answers.user = {"action": "decline"}
    return await asked(peer, "form")


@step
async def visit(peer: Peer) -> Any:
    peer.answers.user = {"action": "accept"}
    gave = await asked(peer, "visit")
    return {**gave, "told": [] if peer.stateless else await peer.heard.until(bool)}


@step
async def progress(peer: Peer) -> Any:
    seen: list[Any] = []
    complete = anyio.Event()

    async def on_progress(done: float, total: float | None, message: str | None) -> None:
        seen.append([done, total, message])
        if len(seen) == 3:
            complete.set()

    result = await peer.call("count", {"steps": 3}, on_progress)
    await complete.wait()
    return {"seen": seen, "answer": result}


@step
async def cancel(peer: Peer) -> Any:
    """Give up a call once it has begun."""
    began = anyio.Event()

    async def on_progress(done: float, total: float | None, message: str | None) -> None:
        began.set()

    async with anyio.create_task_group() as group:
        group.start_soon(peer.call, "wait", {}, on_progress)
        await began.wait()
        await peer.cancel_last("changed my mind")
        group.cancel_scope.cancel()
    return await peer.call("cancellations")


@step
async def ping(peer: Peer) -> Any:
    return None if peer.stateless else dumped(await peer.client.send_ping())


@step
async def ping_back(peer: Peer) -> Any:
    return None if peer.stateless else await peer.call("ping_back")


async def take(step: Step, peer: Peer) -> Any:
    """One step's outcome; one that fails or hangs leaves the others alone."""
    try:
        with anyio.fail_after(STEP_WITHIN):
            return {"gave": await step(peer)}
    except Exception as error:
        return {"failed": f"{type(error).__name__}: {error}; heard {peer.heard.notes}"}


async def main(mode: str, *command: str) -> None:
    async with connected(mode, list(command), ROOTS) as peer:
        for step in STEPS:
            peer.heard.notes.clear()
            print(json.dumps({"step": step.__name__, **await take(step, peer)}), flush=True)


anyio.run(lambda: main(*sys.argv[1:]))
