"""A server's life in an application that serves it: set up once, however many conversations there are.

In the stateless era each request is a conversation of its own.  What the program sets up is entered with
the application, or with the first request where its host tells it of no beginning, and left with it.

Specification: none; `lifespan` is that of ASGI 3.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING

from anywire.protocol.modern import Envelope
from anywire.server.conversations import Conversation, Conversations
from anywire.transport.contract import Transport
from anywire.wire.message import Request

if TYPE_CHECKING:
    from anywire.transport.http_call import HttpCallTransport

__all__ = ("HostedServer",)


class HostedServer:
    """One user of a server's lifespan, and the conversations that it was given.

    See `transport.contract.Life`.  `layered` returns a transport with what is put in front of it.
    """

    def __init__(
        self, conversations: Conversations, layered: Callable[[Transport], Transport] = lambda each: each
    ) -> None:
        self._server = conversations
        self._layered = layered
        # How many of the server's conversations came this way and are not over.
        self._accepted = 0
        self._all_over: asyncio.Event | None = None
        self._entering: asyncio.Task[None] | None = None
        #: Everything is set up.
        self.entered = False

    def accept(self, transport: Transport) -> None:
        """Serve a conversation in the background."""
        self._server.begin(self._layered(transport), self._over)
        self._accepted += 1

    def call(self, call: HttpCallTransport, request: Request, envelope: Envelope) -> None:
        """Serve a request that is a conversation of its own."""
        if self._server.call(call, request, envelope, self._over):
            self._accepted += 1

    def _over(self, conversation: Conversation) -> None:
        self._accepted -= 1
        if self._all_over is not None and not self._accepted:
            self._all_over.set()

    async def enter(self) -> None:
        """Have everything set up, unless it is.

        Raises what the set-up raises; then it may be tried again.
        """
        if self._entering is None:
            self._entering = asyncio.get_running_loop().create_task(self._server.lifespan.enter())
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
        for conversation, over in list(self._server.accepted.items()):
            if over == self._over:
                conversation.end()
        while self._accepted:  # each has its bounds
            self._all_over = asyncio.Event()
            await self._all_over.wait()
        if entering is not None:
            await asyncio.wait((entering,))
            if not entering.cancelled() and entering.exception() is None:
                await self._server.leave()
