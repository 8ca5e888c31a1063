"""A client on the official Python SDK, 1.x or 2.x, whichever this interpreter has.

`sdk_client.py MODE STEP,STEP… -- COMMAND…` starts the command as a stdio server (or connects to a
server on HTTP where a URL stands for the command; `sse+http://` is the old transport), takes the steps in
turn, closes, and prints one JSON object: for each step what it gave or how it failed, and under
`closing` when, by the monotonic clock, the session began to close. MODE is `legacy` (initialize) or
`auto` (as 2.x does by itself: it asks `server/discover` first).
"""

# The SDKs are not where the types of this project are checked.
# pyright: basic, reportMissingImports=false, reportAttributeAccessIssue=false, reportCallIssue=false

from __future__ import annotations

import contextlib
import json
import os
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import timedelta
from importlib.metadata import version
from typing import Any

import anyio
import mcp
from mcp import types

OLD = version("mcp").startswith("1.")
EMOJI = "é🙂"
STEP_WITHIN = 60.0
NOTICE_WITHIN = 10.0

McpError: Any = mcp.McpError if OLD else mcp.MCPError


class Log:
    """The log messages that came."""

    def __init__(self) -> None:
        self.messages: list[Any] = []
        self.came = anyio.Event()

    async def __call__(self, params: Any) -> None:
        self.messages.append(dump(params))
        self.came.set()


class Peer:
    """What both SDKs can do, under one set of names."""

    def __init__(self, client: Any, log: Log, shaken: Any) -> None:
        self.client = client
        self.log = log
        self.shaken = shaken
        self.session = client if OLD else client.session

    async def call(
        self, tool: str, *, timeout: float | None = None, progress: Any = None, **arguments: Any
    ) -> Any:
        within: Any = timedelta(seconds=timeout) if OLD and timeout is not None else timeout
        result = await self.client.call_tool(
            tool, arguments, read_timeout_seconds=within, progress_callback=progress
        )
        return dump(result)

    async def text(self, tool: str, **arguments: Any) -> str:
        result = await self.call(tool, **arguments)
        assert not result.get("isError"), result
        return result["content"][0]["text"]

    async def cancel_last(self) -> None:
        """2.x cancels a call that it gives up by itself, 1.x leaves that to us."""
        if OLD:
            params = types.CancelledNotificationParams(requestId=self.session._request_id - 1)
            await self.session.send_notification(
                types.ClientNotification(types.CancelledNotification(params=params)),
            )


@contextlib.asynccontextmanager
async def connected(mode: str, command: list[str], closing: list[float]) -> AsyncIterator[Peer]:
    log = Log()
    if OLD:
        async with (
            old_transport(command) as (read, write, *_),
            mcp.ClientSession(read, write, logging_callback=log) as session,
        ):
            shaken = dump(await session.initialize())
            yield Peer(session, log, shaken)
            closing.append(time.monotonic())
    else:
        target = new_target(command)
        async with mcp.Client(target, mode=mode, logging_callback=log, log_level="debug") as client:
            shaken = {
                "protocolVersion": client.protocol_version,
                "serverInfo": dump(client.server_info),
                "capabilities": dump(client.server_capabilities),
            }
            yield Peer(client, log, shaken)
            closing.append(time.monotonic())


def stdio_parameters(command: list[str]) -> Any:
    return mcp.StdioServerParameters(command=command[0], args=command[1:], env=dict(os.environ))


def old_transport(command: list[str]) -> Any:
    url = command[0]
    if url.startswith("sse+http"):
        from mcp.client.sse import sse_client

        return sse_client(url.removeprefix("sse+"))
    if url.startswith("http"):
        from mcp.client.streamable_http import streamable_http_client

        return streamable_http_client(url)
    return mcp.stdio_client(stdio_parameters(command))


def new_target(command: list[str]) -> Any:
    url = command[0]
    if url.startswith("sse+http"):
        from mcp.client.sse import sse_client

        return sse_client(url.removeprefix("sse+"))
    return url if url.startswith("http") else stdio_parameters(command)


def dump(model: Any) -> Any:
    return model.model_dump(mode="json", by_alias=True, exclude_none=True)


async def noticed(event: anyio.Event) -> None:
    """Wait for what comes by itself; the caller's report shows whether it came."""
    with anyio.move_on_after(NOTICE_WITHIN):
        await event.wait()


async def handshake(peer: Peer) -> Any:
    return peer.shaken


async def tools(peer: Peer) -> Any:
    return dump(await peer.client.list_tools())["tools"]


async def echo(peer: Peer) -> Any:
    return await peer.call("echo", text=EMOJI)


async def big_echo(peer: Peer) -> Any:
    """Five megabytes there and back; the comparison is made here."""
    text = (f'0123456789 abcdefghijklmnopqrstuvwxyz "\\\n\t/ {EMOJI} ' * 120_000)[: 5 * 1024 * 1024]
    back = await peer.text("echo", text=text)
    return {"equal": back == text, "characters": len(back)}


async def thread(peer: Peer) -> Any:
    return await peer.text("shout", text="abc é")


async def inline(peer: Peer) -> Any:
    return [await peer.text("add", a=2, b=3), await peer.text("add", a=2)]


async def failing(peer: Peer) -> Any:
    return await peer.call("fail", reason="no luck é🙂")


async def progress(peer: Peer) -> Any:
    seen: list[Any] = []
    complete = anyio.Event()

    async def on_progress(done: float, total: float | None, message: str | None) -> None:
        seen.append([done, total, message])
        if len(seen) == 3:
            complete.set()

    text = await peer.text("count", steps=3, progress=on_progress)
    await noticed(complete)
    return {"text": text, "seen": sorted(seen)}


async def log(peer: Peer) -> Any:
    if peer.shaken["protocolVersion"] < "2026":
        await peer.session.set_logging_level("debug")
    text = await peer.text("tell", text=EMOJI)
    await noticed(peer.log.came)
    return {"text": text, "logged": peer.log.messages}


async def unknown_method(peer: Peer) -> Any:
    request = types.Request[Any, str](method="interop/unknown", params=None)
    try:
        await peer.session.send_request(request, types.EmptyResult)
    except McpError as error:
        return {"code": error.error.code, "message": error.error.message}
    return "was answered"


async def give_up(peer: Peer) -> Any:
    """Give up a slow call; what matters is what works afterwards."""
    began = time.monotonic()
    try:
        await peer.call("slow", seconds=50.0, timeout=0.3)
    except McpError as error:
        gave_up = {"code": error.error.code, "after": time.monotonic() - began}
    else:
        return "was answered"
    await peer.cancel_last()
    next_text = await peer.text("echo", text="still here")
    cancelled = "0"
    with anyio.move_on_after(NOTICE_WITHIN):
        for _ in range(200):
            cancelled = await peer.text("cancellations")
            if cancelled != "0":
                break
            await anyio.sleep(0.05)
    return {**gave_up, "next": next_text, "cancelled": cancelled}


async def many(peer: Peer) -> Any:
    """64 calls at once that each take a while: all are answered, and they do not queue up."""
    answers: dict[int, str] = {}

    async def one(index: int) -> None:
        await peer.text("slow", seconds=0.25)
        answers[index] = await peer.text("echo", text=f"{index} {EMOJI}")

    began = time.monotonic()
    async with anyio.create_task_group() as group:
        for index in range(64):
            group.start_soon(one, index)
    return {"answers": [answers[index] for index in sorted(answers)], "seconds": time.monotonic() - began}


STEPS: dict[str, Callable[[Peer], Awaitable[Any]]] = {
    step.__name__: step
    for step in (
        handshake,
        tools,
        echo,
        big_echo,
        thread,
        inline,
        failing,
        progress,
        log,
        unknown_method,
        give_up,
        many,
    )
}


async def take(step: Callable[[Peer], Awaitable[Any]], peer: Peer) -> Any:
    """One step's outcome; one that fails or hangs leaves the others alone."""
    try:
        with anyio.fail_after(STEP_WITHIN):
            return {"gave": await step(peer)}
    except Exception as error:
        return {"failed": f"{type(error).__name__}: {error}"}


async def main(mode: str, steps: str, dashes: str, *command: str) -> None:
    assert dashes == "--"
    closing: list[float] = []
    report: dict[str, Any] = {}
    async with connected(mode, list(command), closing) as peer:
        for name in steps.split(","):
            report[name] = await take(STEPS[name], peer)
    print(json.dumps({"steps": report, "closing": closing[0]}))


anyio.run(lambda: main(*sys.argv[1:]))
