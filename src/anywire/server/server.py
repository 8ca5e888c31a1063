"""A server: its tools, and the conversations in which they are served."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, TypeVar, overload

import msgspec

from anywire.errors import ConfigError
from anywire.protocol.legacy import ServerIdentity
from anywire.protocol.types.initialize import Implementation, ServerCapabilities, ToolsCapability
from anywire.protocol.types.tools import Tool
from anywire.server.session import SERVED_METHODS, ServerSession
from anywire.server.threads import DaemonThreads
from anywire.server.tool import RegisteredTool, register
from anywire.transport.contract import Transport
from anywire.transport.run_process import run_process
from anywire.wire.codec import encode_value
from anywire.wire.limits import DEFAULT_LIMITS, Limits

if TYPE_CHECKING:
    from anywire.transport.http_server import HttpListener
    from anywire.transport.sse_server import SseListener

__all__ = ("Server",)

_log = logging.getLogger("anywire.server")

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
        self._sessions: dict[Transport, ServerSession] = {}
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
        task = asyncio.get_running_loop().create_task(self._run_in_background(session))
        self._accepted[session] = task
        task.add_done_callback(lambda _: self._accepted.pop(session, None))

    async def serve(self, transport: Transport) -> None:
        """Serve one conversation until its end.

        Called twice with one transport, both calls return at the end of the one conversation; a closed
        transport has no conversation left.  Never ends the process; raises a handler's `SystemExit` or
        `KeyboardInterrupt` after an orderly end.
        """
        known = self._sessions.get(transport)
        if known is not None:
            await known.wait()
        elif not transport.closed:
            await self._run(self._session(transport))

    async def close(self) -> None:
        """End all conversations that were accepted."""
        for session in list(self._accepted):
            await session.close()

    def http_app(
        self,
        *,
        path: str | None = None,
        host: str = "127.0.0.1",
        allowed_hosts: Iterable[str] = (),
        allowed_origins: Iterable[str] = (),
    ) -> HttpListener:
        """Return an ASGI application that serves this server over Streamable HTTP.

        `host` is the address it will be bound to: from it follows which hosts and origins are let
        in; the two lists let in more.  `path` is the one path that is answered (None: wherever the
        application is mounted).
        """
        from anywire.protocol.http.guard import Guard
        from anywire.transport.http_server import HttpListener

        guard = Guard.for_bind(host, hosts=allowed_hosts, origins=allowed_origins)
        return HttpListener(
            self.accept, SERVED_METHODS.__contains__, guard=guard, path=path, limits=self._limits
        )

    def sse_app(
        self,
        *,
        host: str = "127.0.0.1",
        allowed_hosts: Iterable[str] = (),
        allowed_origins: Iterable[str] = (),
    ) -> SseListener:
        """Return an ASGI application that serves this server over HTTP+SSE, for old clients.

        The parameters are those of `http_app`.  Below where it is mounted, POSTs go to `messages`.
        """
        from anywire.protocol.http.guard import Guard
        from anywire.transport.sse_server import SseListener

        guard = Guard.for_bind(host, hosts=allowed_hosts, origins=allowed_origins)
        return SseListener(self.accept, guard=guard, limits=self._limits)

    def run(self) -> None:
        """Serve the process's stdin and stdout until the client leaves; the whole life of a stdio server.

        Takes descriptors 0 and 1, so that nothing else can write on the wire; prints go to stderr, also
        those that come after it, when the process ends.  Raises `SystemExit` when a signal or a handler
        ended it.
        """
        from anywire.transport.stdio_claim import claim_stdio

        claim = claim_stdio()
        try:
            run_process(self._serve_stdio, self._limits)
        finally:
            claim.release()

    async def _serve_stdio(self) -> None:
        from anywire.transport.stdio_server import StdioListener

        # Not the handlers' threads: the loop stops its executor when it closes, and blocking look-ups
        # of names must not wait for a handler that blocks.
        asyncio.get_running_loop().set_default_executor(DaemonThreads(self._limits.worker_threads))
        await self.serve(StdioListener(limits=self._limits).open())

    def _session(self, transport: Transport) -> ServerSession:
        session = ServerSession(transport, self, self._threads, self._limits)
        self._sessions[transport] = session
        return session

    async def _run_in_background(self, session: ServerSession) -> None:
        """A handler that ends the server ends this conversation; the program around it goes on."""
        try:
            await self._run(session)
        except (SystemExit, KeyboardInterrupt) as error:
            _log.warning("a handler of %s ended a conversation with %r", self.identity.info.name, error)

    async def _run(self, session: ServerSession) -> None:
        try:
            await session.run()
        finally:
            try:
                await session.close()
            finally:
                self._sessions.pop(session.transport, None)
