"""A server: its tools, and the conversations in which they are served."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, TypeVar, overload
from weakref import WeakKeyDictionary

import msgspec

from anywire.errors import ConfigError
from anywire.protocol.legacy import ServerIdentity
from anywire.protocol.types.initialize import Implementation, ServerCapabilities, ToolsCapability
from anywire.protocol.types.tools import Tool
from anywire.server.session import ServerSession
from anywire.server.threads import DaemonThreads
from anywire.server.tool import RegisteredTool, register
from anywire.transport.contract import Transport
from anywire.transport.run_process import run_process
from anywire.wire.codec import encode_value
from anywire.wire.limits import DEFAULT_LIMITS, Limits

__all__ = ("Server",)

F = TypeVar("F", bound=Callable[..., Any])


class Server:
    """An MCP server.

    Give it tools with `@server.tool`, then `run()` it on the process's stdio, `serve()` a transport,
    or hand it to `anywire.connect` to use it in the same process.  One server serves any number of
    conversations at once.
    """

    def __init__(
        self,
        name: str,
        version: str = "0",
        *,
        title: str | None = None,
        instructions: str | None = None,
        limits: Limits = DEFAULT_LIMITS,
    ) -> None:
        info = Implementation(name, version, title or msgspec.UNSET)
        capabilities = ServerCapabilities(tools=ToolsCapability(list_changed=False), logging={})
        #: What every client is told on `initialize`.
        self.identity = ServerIdentity(info, capabilities, instructions)
        #: The tools by name; add to it with `tool`.
        self.tools: dict[str, RegisteredTool] = {}
        self._limits = limits
        self._threads = DaemonThreads(limits.worker_threads)
        self._sessions: WeakKeyDictionary[Transport, ServerSession] = WeakKeyDictionary()
        self._accepted: dict[ServerSession, asyncio.Task[None]] = {}
        self._tools_list: bytes | None = None

    def __repr__(self) -> str:
        name, tools, sessions = self.identity.info.name, len(self.tools), len(self._sessions)
        return f"<Server {name}, {tools} tools, {sessions} conversations>"

    @overload
    def tool(self, function: F, /) -> F: ...

    @overload
    def tool(
        self,
        function: None = None,
        /,
        *,
        name: str | None = None,
        title: str | None = None,
        description: str | None = None,
        annotations: dict[str, Any] | None = None,
        inline: bool = False,
    ) -> Callable[[F], F]: ...

    def tool(
        self,
        function: F | None = None,
        /,
        *,
        name: str | None = None,
        title: str | None = None,
        description: str | None = None,
        annotations: dict[str, Any] | None = None,
        inline: bool = False,
    ) -> F | Callable[[F], F]:
        """Make a function a tool; used as a decorator, with or without arguments.

        Types, defaults and descriptions come from the signature and the docstring.  An `async def`
        runs in a task of its own, a `def` in a worker thread; `inline=True` promises that a `def`
        does not block and runs it in place.  Raises `ConfigError` for a function that cannot be
        served, and for a name that is taken.
        """

        def add(function: F) -> F:
            tool = register(
                function,
                name=name,
                title=title,
                description=description,
                annotations=annotations,
                inline=inline,
            )
            if tool.listing.name in self.tools:
                raise ConfigError(f"there is a tool {tool.listing.name!r} already")
            self.tools[tool.listing.name] = tool
            self._tools_list = None
            return function

        return add if function is None else add(function)

    @property
    def tools_list(self) -> bytes:
        """The raw result of `tools/list`: all tools on one page, in the order they were added."""
        if self._tools_list is None:
            listings: list[Tool] = [tool.listing for tool in self.tools.values()]
            self._tools_list = encode_value({"tools": listings})
        return self._tools_list

    def accept(self, transport: Transport) -> None:
        """Serve a conversation in the background; what a `Listener` calls."""
        session = self._session(transport)
        task = asyncio.get_running_loop().create_task(session.run())
        self._accepted[session] = task
        task.add_done_callback(lambda _: self._accepted.pop(session, None))

    async def serve(self, transport: Transport) -> None:
        """Serve one conversation until its end.

        Called twice with one transport, both calls return at the end of the one conversation.  Never
        ends the process; raises a handler's `SystemExit` or `KeyboardInterrupt` after an orderly end.
        """
        known = self._sessions.get(transport)
        if known is not None:
            await known.wait()
            return
        session = self._session(transport)
        try:
            await session.run()
        finally:
            await session.close()

    async def close(self) -> None:
        """End all conversations that were accepted."""
        for session in list(self._accepted):
            await session.close()

    def run(self) -> None:
        """Serve the process's stdin and stdout until the client leaves; the whole life of a stdio server.

        Takes descriptors 0 and 1, so that nothing else can write on the wire; prints go to stderr.
        Raises `SystemExit` when a signal or a handler ended it.
        """
        from anywire.transport.stdio_claim import claim_stdio

        claim = claim_stdio()
        try:
            run_process(self._serve_stdio, self._limits)
        finally:
            claim.restore()

    async def _serve_stdio(self) -> None:
        from anywire.transport.stdio_server import StdioListener

        asyncio.get_running_loop().set_default_executor(self._threads)
        await self.serve(StdioListener(limits=self._limits).open())

    def _session(self, transport: Transport) -> ServerSession:
        session = ServerSession(transport, self, self._threads, self._limits)
        self._sessions[transport] = session
        return session
