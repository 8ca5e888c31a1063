"""A server's life in an application that serves it: set up once, however many conversations there are.

In the stateless era each request is a conversation of its own.  What the program sets up is entered with
the application, or with the first request where its host tells it of no beginning, and left with it.

Specification: none; `lifespan` is that of ASGI 3.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from anywire.server.lifespan import Lifespan
from anywire.transport.contract import Transport

if TYPE_CHECKING:
    from anywire.server.session import ServerSession

__all__ = ("HostedServer",)


class HostedServer:
    """One user of a server's lifespan, and the conversations that it was given.

    See `transport.contract.Life`.  `serve` begins a conversation in the background, `leave` takes back one
    use of the lifespan.
    """

    def __init__(
        self,
        lifespan: Lifespan,
        serve: Callable[[Transport], tuple[ServerSession, asyncio.Task[None]]],
        leave: Callable[[], Awaitable[None]],
    ) -> None:
        self._lifespan = lifespan
        self._serve = serve
        self._leave = leave
        self._conversations: dict[asyncio.Task[None], ServerSession] = {}
        self._entering: asyncio.Task[None] | None = None
        #: Everything is set up.
        self.entered = False

    def accept(self, transport: Transport) -> None:
        """Serve a conversation in the background."""
        session, task = self._serve(transport)
        self._conversations[task] = session
        task.add_done_callback(self._conversations.pop)

    async def enter(self) -> None:
        """Have everything set up, unless it is.

        Raises what the set-up raises; then it may be tried again.
        """
        if self._entering is None:
            self._entering = asyncio.get_running_loop().create_task(self._lifespan.enter())
        entering = self._entering
        try:
            await asyncio.shield(entering)  # whoever waits may go, others wait as well
        except Exception:
            if self._entering is entering:
                self._entering = None
            raise
        self.entered = self._entering is entering

    async def leave(self) -> None:
        """End the conversations and have everything taken down.  Idempotent; raises what that raises."""
        entering, self._entering, self.entered = self._entering, None, False
        tasks = list(self._conversations)
        for session in list(self._conversations.values()):
            session.end()
        if tasks:
            await asyncio.wait(tasks)  # each has its bounds
        if entering is not None:
            await asyncio.wait((entering,))
            if not entering.cancelled() and entering.exception() is None:
                await self._leave()
