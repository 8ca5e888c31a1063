"""What the steps of the adapters share: servers, and the ways to join the two sides.

It is imported first: it lends this interpreter the folders that stand behind `--`.
"""

# The SDKs are not where the types of this project are checked.
# pyright: basic, reportMissingImports=false, reportAttributeAccessIssue=false, reportCallIssue=false

from __future__ import annotations

import asyncio
import contextlib
import sys
from collections.abc import AsyncIterator
from importlib.metadata import version
from typing import Any

import mcp
from mcp import types
from mcp.shared.message import SessionMessage

sys.path += sys.argv[sys.argv.index("--") + 1 :]

from anywire import Server
from anywire.interop.mcp import anywire_streams

OLD = version("mcp").startswith("1.")

ours = Server("ours", version="1")
hanging, stopped = asyncio.Event(), asyncio.Event()


@ours.tool
async def echo(text: str) -> str:
    """Give the text back."""
    return text


@ours.tool
async def hang() -> str:
    """Wait until it is cancelled."""
    hanging.set()
    try:
        await asyncio.Event().wait()
    except asyncio.CancelledError:
        stopped.set()
        raise
    return "never"


def theirs() -> Any:
    """A server of the SDK's own short way."""
    if OLD:
        from mcp.server.fastmcp import FastMCP as Short
    else:
        from mcp.server.mcpserver import MCPServer as Short
    return with_tools(Short("theirs"))


def lowlevel() -> Any:
    """What is below the short way."""
    return theirs()._mcp_server if OLD else theirs()._lowlevel_server


def with_tools(server: Any) -> Any:
    @server.tool()
    def echo(text: str) -> str:
        """Give the text back."""
        return text

    @server.tool()
    def fail(reason: str) -> str:
        """Fail for this reason."""
        raise ValueError(reason)

    @server.tool()
    def cut() -> str:
        """Give a text that was cut in the middle of an emoji."""
        return "a\ud83db"

    return server


def text_of(result: Any) -> str:
    return result.content[0].text


@contextlib.asynccontextmanager
async def background(coroutine: Any) -> AsyncIterator[asyncio.Task[None]]:
    """Run something beside the block; it has to end by itself within bounds after the block."""
    task = asyncio.create_task(coroutine)
    try:
        yield task
        async with asyncio.timeout(5):
            await task
    finally:
        task.cancel()


@contextlib.asynccontextmanager
async def session_over(transport: Any, **options: Any) -> AsyncIterator[Any]:
    async with (
        anywire_streams(transport) as (read, write),
        mcp.ClientSession(read, write, **options) as session,
    ):
        yield session


def plain(item: Any) -> Any:
    """The model inside what a session reads."""
    return item.message.root if OLD else item.message


def session_message(message: Any = None) -> Any:
    carried = message or types.JSONRPCRequest(jsonrpc="2.0", id=1, method="ping")
    return SessionMessage(types.JSONRPCMessage(carried) if OLD else carried)
