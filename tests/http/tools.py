"""A server whose tools a test can watch and hold."""

from __future__ import annotations

import asyncio
from collections import Counter

from anywire import Context, Server
from anywire.transport.contract import Transport
from anywire.wire.limits import Limits
from anywire.wire.message import create_notification
from tests.http.serving import QUICK, until


class Tools:
    """A server; what its handlers do, and how often, is written down."""

    def __init__(self, limits: Limits = QUICK) -> None:
        self.server = Server("tools", limits=limits)
        #: How often each call began, by its name.
        self.runs: Counter[str] = Counter()
        #: How many handlers are held at the moment.
        self.held = 0
        #: How many handlers were cancelled.
        self.cancelled = 0
        #: What holds the handlers.
        self.gate = asyncio.Event()
        #: The transports of the sessions, in order.
        self.transports: list[Transport] = []
        self._register()

    def accept(self, transport: Transport) -> None:
        """Serve a session, and remember its transport."""
        self.transports.append(transport)
        self.server.accept(transport)

    def tell(self, method: str, session: int = -1) -> None:
        """Send a notification that belongs to no request."""
        self.transports[session].post(create_notification(method))

    async def until_held(self, count: int = 1) -> None:
        """Wait until so many handlers are held."""
        await until(lambda: self.held >= count, f"{count} handlers are held")

    def _register(self) -> None:
        server = self.server

        @server.tool(inline=True)
        def echo(text: str) -> str:
            """Return the text."""
            self.runs[text] += 1
            return text

        @server.tool
        async def hold(name: str = "hold") -> str:
            """Wait until the test lets go."""
            self.runs[name] += 1
            self.held += 1
            try:
                await self.gate.wait()
            except asyncio.CancelledError:
                self.cancelled += 1
                raise
            finally:
                self.held -= 1
            return f"{name} is done"

        @server.tool
        async def steps(context: Context, count: int, size: int = 0) -> str:
            """Report progress so many times, then return."""
            self.runs["steps"] += 1
            for number in range(count):
                await context.progress(number + 1, count, "x" * size or f"step {number + 1}")
            return f"{count} steps"

        @server.tool
        async def step_then_hold(context: Context) -> str:
            """Report progress twice, wait, return."""
            self.runs["step_then_hold"] += 1
            await context.progress(1, 3, "one")
            await context.progress(2, 3, "two")
            self.held += 1
            try:
                await self.gate.wait()
            finally:
                self.held -= 1
            return "three"

        @server.tool(inline=True)
        def large(size: int) -> str:
            """Return so many characters."""
            self.runs["large"] += 1
            return "x" * size
