"""The conversations of a server, from their beginning to their end, and the lifespan around them."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any, TypeAlias

from anywire.protocol.modern import Envelope
from anywire.server.call import CallSession
from anywire.server.lifespan import Lifespan
from anywire.server.running import Running
from anywire.server.service import Service
from anywire.server.session import ServerSession
from anywire.transport.contract import Transport, ignore
from anywire.wire.limits import Limits
from anywire.wire.message import Request

if TYPE_CHECKING:
    from anywire.transport.http_call import HttpCallTransport

__all__ = ("Conversation", "Conversations")

_log = logging.getLogger("anywire.server")

#: A conversation of either kind: of many requests, or of one.
Conversation: TypeAlias = ServerSession | CallSession


class Conversations:
    """Begins the conversations of one server and knows of each until nothing is left of it.

    A conversation that nobody waits for has a task while it begins and while it is taken down, none
    meanwhile: there may be very many that idle.
    """

    def __init__(self, service: Service, lifespan: Lifespan, limits: Limits) -> None:
        self._service = service
        self._limits = limits
        #: What is set up for them.
        self.lifespan = lifespan
        #: The conversations by what they come over.
        self.sessions: dict[Transport, Conversation] = {}
        #: Those of them that nobody waits for, with whoever is told when nothing is left of them.
        self.accepted: dict[Conversation, Callable[[Conversation], None]] = {}
        self._tending: set[asyncio.Task[None]] = set()

    def tell_all(self, tell: Callable[[Conversation], None]) -> None:
        """Tell each conversation of something, on its own loop.  Callable from any thread."""
        for conversation in list(self.sessions.values()):
            try:
                conversation.loop.call_soon_threadsafe(tell, conversation)
            except RuntimeError:
                pass  # its loop is closed, and the conversation with it

    async def serve(self, transport: Transport) -> None:
        """Serve one conversation until its end; see `Server.serve`."""
        known = self.sessions.get(transport)
        if known is not None:
            await known.wait()
        elif not transport.closed:
            await self._run(self._session(transport))

    def begin(self, transport: Transport, over: Callable[[Conversation], None] = ignore) -> ServerSession:
        """Begin a conversation in the background; tell when nothing is left of it."""
        session = self._session(transport)
        self.accepted[session] = over
        self._tend(self._open(session))
        return session

    def call(
        self,
        call: HttpCallTransport,
        request: Request,
        envelope: Envelope,
        over: Callable[[Conversation], None],
    ) -> bool:
        """Serve a request that is a conversation of its own; say whether it goes on.

        If it does, tell when it is over.
        """
        loop = asyncio.get_running_loop()
        session = CallSession(call, self._service, self._limits, loop, self._call_over, Running(loop))
        session.serve(request, envelope)
        if session.is_over:
            return False
        self.sessions[call] = session
        self.accepted[session] = over
        return True

    async def leave(self) -> None:
        """Be one user of the lifespan less; calls that wait for input do not outlive it."""
        if self.lifespan.users == 1:
            await self._service.held.end("the server has ended")
        await self.lifespan.leave()

    async def close(self) -> None:
        """End all conversations that nobody waits for."""
        for session in list(self.accepted):
            await session.close()

    # From the beginning to the end.

    def _session(self, transport: Transport) -> ServerSession:
        session = ServerSession(transport, self._service, self._limits)
        self.sessions[transport] = session
        return session

    async def _run(self, session: ServerSession) -> None:
        try:
            await self.lifespan.enter()
            try:
                await session.run()
            finally:
                await session.close()
                await self.leave()
        finally:
            try:
                await session.close()
            finally:
                self.sessions.pop(session.transport, None)

    def _tend(self, coroutine: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(coroutine)
        self._tending.add(task)
        task.add_done_callback(self._tending.discard)

    async def _open(self, session: ServerSession) -> None:
        at_the_end = self._forget
        try:
            await self.lifespan.enter()
            at_the_end = self._take_down
            await session.transport.start()
        except BaseException as error:
            session.end()
            if isinstance(error, SystemExit | KeyboardInterrupt):
                self._log_exit(error)
            elif isinstance(error, Exception):
                self._log_failure()
            else:
                raise
        finally:
            session.on_over = at_the_end
            if session.is_over:
                at_the_end(session)

    def _take_down(self, session: ServerSession) -> None:
        """Let go what a conversation needed that is over."""
        if session.exit is not None:
            self._log_exit(session.exit)
        if self.lifespan.users > 1:
            self.lifespan.let_go()
            self._forget(session)
        else:
            self._tend(self._leave_for(session))

    async def _leave_for(self, session: ServerSession) -> None:
        try:
            await self.leave()
        except (SystemExit, KeyboardInterrupt) as error:
            self._log_exit(error)
        except Exception:  # noqa: BLE001 nobody else would hear of it
            self._log_failure()
        finally:
            self._forget(session)

    def _forget(self, session: ServerSession) -> None:
        self._pop(session)
        if not self.sessions:  # very many may have been there: their room in the tables is given back
            self.sessions.clear()
            self.accepted.clear()

    def _pop(self, session: Conversation) -> None:
        self.sessions.pop(session.transport, None)
        self.accepted.pop(session, ignore)(session)

    def _call_over(self, session: CallSession) -> None:
        if session.exit is not None:
            self._log_exit(session.exit)
        self._pop(session)

    def _log_failure(self) -> None:
        name = self._service.identity.info.name
        _log.exception("the lifespan of %s failed, and a conversation with it", name)

    def _log_exit(self, error: BaseException) -> None:
        """A handler that ends the server ends its conversation; the program around it goes on."""
        name = self._service.identity.info.name
        _log.warning("a handler of %s ended a conversation with %r", name, error)
