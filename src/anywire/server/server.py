"""A server: its tools, and the conversations in which they are served."""

from __future__ import annotations

import asyncio
import logging
import secrets
import time
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Literal, TypeVar, Unpack, overload

from msgspec import UNSET

from anywire.protocol.legacy import ServerIdentity
from anywire.protocol.modern import ResultFrame
from anywire.protocol.types.caching import CacheScope
from anywire.protocol.types.initialize import Implementation
from anywire.server.catalogue import Catalogue, Offer
from anywire.server.completing import register_completion
from anywire.server.conversations import Conversations
from anywire.server.held import HeldCalls
from anywire.server.hosted import HostedServer
from anywire.server.lifespan import Lifespan, LifespanFunction
from anywire.server.methods.table import METHODS, STATELESS_METHODS
from anywire.server.prompt import PromptOptions, register_prompt
from anywire.server.resource import ResourceOptions, register_resource
from anywire.server.tool import RegisteredTool, ToolOptions, register_tool
from anywire.session.threads import DaemonThreads
from anywire.transport.contract import Transport
from anywire.transport.run_process import run_process
from anywire.wire.limits import DEFAULT_LIMITS, Limits

if TYPE_CHECKING:
    from anywire.protocol.http.guard import Guard
    from anywire.protocol.http.mirrored import Mirror
    from anywire.protocol.http.stateless import StatelessFace
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
        name: str | Implementation,
        version: str = "0",
        *,
        title: str | None = None,
        instructions: str | None = None,
        lifespan: LifespanFunction | None = None,
        page_size: int | None = None,
        eras: Iterable[Literal["legacy", "modern"]] = ("legacy", "modern"),
        state_key: bytes | None = None,
        fresh_seconds: float = 0.0,
        cache_scope: CacheScope = "private",
        limits: Limits = DEFAULT_LIMITS,
    ) -> None:
        """Make a server without anything to offer yet.

        An `Implementation` in the place of the name says more: a description, icons, a website.

        `lifespan` is called without arguments and gives an asynchronous context manager: entered before
        the first conversation, left after the last, or with the application that `http_app` makes; handlers
        find what it gives as `Context.lifespan`.
        `page_size` is how many tools, resources or prompts a client is told at once (None: all).

        `eras` narrows whom it serves: clients that shake hands, stateless ones (2026-07-28), or both.  For
        the latter, `state_key` seals the state of calls that ask for input, so that another process with
        the same key can go on with them (None: only this one); `fresh_seconds` is how long a client may
        keep its lists, `cache_scope` whether a cache may serve them to others.
        """
        if isinstance(name, str):
            name = Implementation(name, version, title=title or UNSET)
        self._info = name
        self._instructions = instructions
        #: What the server offers.
        self.catalogue = Catalogue(page_size, self._tell_changed)
        #: Which eras are served.
        self.eras = frozenset(eras)
        #: What results of the stateless era say of themselves.
        self.frame = ResultFrame(self._info)
        #: The handlers that wait for another round.
        self.held = HeldCalls(limits)
        #: What the state between rounds is sealed with.
        self.state_key = secrets.token_bytes(32) if state_key is None else state_key
        #: How long a client may keep a list.
        self.fresh_seconds = fresh_seconds
        #: Whom a result may be kept for.
        self.cache_scope: CacheScope = cache_scope
        #: Where handlers run that block.
        self.threads = DaemonThreads(limits.worker_threads)
        #: Puts something in front of each transport that is accepted, such as a tap; None: nothing.
        self.layer: Callable[[Transport], Transport] | None = None
        self._limits = limits
        self._lifespan = Lifespan(lifespan)
        self._conversations = Conversations(self, self._lifespan, limits)
        self._sessions = self._conversations.sessions
        self._accepted = self._conversations.accepted

    def __repr__(self) -> str:
        return f"<Server {self._info.name}, {self.catalogue!r}, {len(self._sessions)} conversations>"

    @property
    def identity(self) -> ServerIdentity:
        """What every client is told on `initialize`."""
        return ServerIdentity(self._info, self.catalogue.capabilities, self._instructions)

    @property
    def limits(self) -> Limits:
        """The limits in force."""
        return self._limits

    @property
    def tools(self) -> Mapping[str, RegisteredTool]:
        """The tools by name; add to them with `tool`, take from them with `remove_tool`."""
        return self.catalogue.tools

    @property
    def lifespan_value(self) -> Any:
        """What the lifespan gave, None before and after."""
        return self._lifespan.value

    # What it offers.

    @overload
    def tool(self, function: F, /) -> F: ...

    @overload
    def tool(self, function: None = None, /, **options: Unpack[ToolOptions]) -> Callable[[F], F]: ...

    def tool(self, function: F | None = None, /, **options: Unpack[ToolOptions]) -> F | Callable[[F], F]:
        """Make a function a tool; used as a decorator, with or without arguments.

        Types, defaults and descriptions come from the signature and the docstring, the schema of
        structured results from the annotation of the result (`structured=False`: there are none).  An
        `async def` runs in a task of its own, a `def` in a worker thread; `inline=True` promises that a
        `def` does not block and runs it in place.  With an `input_schema` the function takes all
        arguments as one dictionary.  Tools may be added while the server runs: clients are told.

        Raises `ConfigError` for a function that cannot be served, and for a name that is taken.
        """

        def add(function: F) -> F:
            self.catalogue.add(register_tool(function, options))
            return function

        return add if function is None else add(function)

    def resource(self, uri: str, /, **options: Unpack[ResourceOptions]) -> Callable[[F], F]:
        """Make a function a resource: it returns text, bytes, an image, or anything that has a JSON.

        Where the URI has variables (`users://{id}`, RFC 6570) it is a template, and they are the
        function's parameters.  A function that returns None, or raises `ResourceNotFound`, says that there
        is no such resource.  Raises `ConfigError` for a function or a URI that cannot be served.
        """

        def add(function: F) -> F:
            self.catalogue.add(register_resource(uri, function, options))
            return function

        return add

    @overload
    def prompt(self, function: F, /) -> F: ...

    @overload
    def prompt(self, function: None = None, /, **options: Unpack[PromptOptions]) -> Callable[[F], F]: ...

    def prompt(self, function: F | None = None, /, **options: Unpack[PromptOptions]) -> F | Callable[[F], F]:
        """Make a function a prompt: it returns a text, a block, a `PromptMessage`, or a list of these.

        Its parameters are the prompt's arguments, which travel as texts.  Raises `ConfigError` for a
        function that cannot be served, and for a name that is taken.
        """

        def add(function: F) -> F:
            self.catalogue.add(register_prompt(function, options))
            return function

        return add if function is None else add(function)

    def completion(self, of: str, argument: str) -> Callable[[F], F]:
        """Make a function complete an argument of a prompt (`of` is its name) or of a resource template.

        It takes what is typed, and as a second parameter, if it wants it, a dictionary of the other
        arguments; it returns the values to choose from.  An argument that is a `Literal` or an `Enum`
        needs none.  Raises `ConfigError` for what is completed already.
        """

        def add(function: F) -> F:
            self.catalogue.add_completion(register_completion(of, argument, function))
            return function

        return add

    def remove_tool(self, name: str) -> None:
        """Offer a tool no more; clients are told.  Raises `ConfigError` for an unknown name."""
        self.catalogue.remove(Offer.TOOLS, name)

    def remove_resource(self, uri: str) -> None:
        """Offer a resource, or a template, no more.  Raises `ConfigError` for an unknown one."""
        is_template = uri in self.catalogue.templates
        self.catalogue.remove(Offer.TEMPLATES if is_template else Offer.RESOURCES, uri)

    def remove_prompt(self, name: str) -> None:
        """Offer a prompt no more.  Raises `ConfigError` for an unknown name."""
        self.catalogue.remove(Offer.PROMPTS, name)

    # What it tells.

    def resource_updated(self, uri: str) -> None:
        """Tell every client that subscribed to a resource that it has changed.  Callable from any thread."""
        self._conversations.tell_all(lambda each: each.tell_updated(uri))

    def elicitation_complete(self, elicitation_id: str) -> None:
        """Tell the clients that a user has done what there was to do at an address (2025-11-25)."""
        self._conversations.tell_all(lambda each: each.tell_elicited(elicitation_id))

    def _tell_changed(self, offer: Offer) -> None:
        self._conversations.tell_all(lambda each: each.tell_changed(offer))

    # How it is served.

    def accept(self, transport: Transport) -> None:
        """Serve a conversation in the background; what a `Listener` calls."""
        self._conversations.begin(self.layered(transport))

    async def serve(self, transport: Transport) -> None:
        """Serve one conversation until its end.

        Called twice with one transport, both calls return at the end of the one conversation; a closed
        transport has no conversation left.  Never ends the process; raises a handler's `SystemExit` or
        `KeyboardInterrupt` after an orderly end.
        """
        await self._conversations.serve(transport)

    def layered(self, transport: Transport) -> Transport:
        """Return a transport with what is put in front of it."""
        return transport if self.layer is None else self.layer(transport)

    def wall_clock(self) -> float:
        """The seconds of the epoch."""
        return time.time()

    async def close(self) -> None:
        """End all conversations that were accepted, and the calls that wait for input."""
        await self.held.end("the server is closed")
        await self._conversations.close()

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

        return self.http_listener(
            Guard.for_bind(host, hosts=allowed_hosts, origins=allowed_origins), path=path
        )

    def http_listener(
        self, guard: Guard, *, path: str | None = None, limits: Limits | None = None
    ) -> HttpListener:
        """Return what `http_app` does, for a guard of your own."""
        from anywire.transport.http_server import HttpListener

        hosted = HostedServer(self._conversations, self.layered)
        return HttpListener(
            hosted.accept,
            METHODS.__contains__,
            guard=guard,
            path=path,
            life=hosted,
            stateless=self._stateless_face() if "modern" in self.eras else None,
            call=hosted.call if self.layer is None else None,
            limits=limits or self.limits,
        )

    def _stateless_face(self) -> StatelessFace:
        from anywire.protocol.http.stateless import StatelessFace

        def mirrors(name: str) -> tuple[Mirror, ...]:
            tool = self.tools.get(name)
            return () if tool is None else tool.mirrors

        return StatelessFace(STATELESS_METHODS.__contains__, mirrors, alone="legacy" not in self.eras)

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

        return self.sse_listener(Guard.for_bind(host, hosts=allowed_hosts, origins=allowed_origins))

    def sse_listener(self, guard: Guard, *, limits: Limits | None = None) -> SseListener:
        """Return what `sse_app` does, for a guard of your own."""
        from anywire.transport.sse_server import SseListener

        return SseListener(self.accept, guard=guard, limits=limits or self.limits)

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
        await self.serve(self.layered(StdioListener(limits=self._limits).open()))
