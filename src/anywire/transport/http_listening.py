"""The general stream of a client: what the server says that belongs to no request.

It is optional.  A server that refuses it at once does not have it, and is not asked again; one that
has served it is asked again and again, ever later while nothing comes of it.  404 may mean that there
is no such stream or no such session, which is found out.
"""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Awaitable, Callable

from anywire.errors import AnywireError, TransportClosed
from anywire.protocol.http.client import Reading
from anywire.protocol.http.reconnect import Reconnect
from anywire.transport.http_calls import HttpSession
from anywire.transport.http_request import Asker, Received
from anywire.wire.limits import Limits
from anywire.wire.message import Batch, Fault, Message

__all__ = ("GeneralStream",)

_log = logging.getLogger("anywire.http")


class GeneralStream:
    """Listens to the stream of the newest session.

    `renew` is called when the session is gone; `ended` when it is, and there is no way to another.
    """

    def __init__(
        self,
        name: str,
        asker: Asker,
        received: Received,
        renew: Callable[[HttpSession], Awaitable[None]],
        ended: Callable[[TransportClosed], None],
        limits: Limits,
    ) -> None:
        self._name = name
        self._asker = asker
        self._received = received
        self._renew = renew
        self._ended = ended
        self._limits = limits
        self._task: asyncio.Task[None] | None = None

    def open(self, session: HttpSession) -> None:
        """Listen to the stream of a session, if the server has one; to no other any more."""
        self.stop()
        self._task = asyncio.get_running_loop().create_task(self._keep_listening(session))

    def stop(self) -> asyncio.Task[None] | None:
        """Listen no more; returns the task that is about to end, if there is one."""
        if self._task is not None:
            self._task.cancel()
        return self._task

    async def _keep_listening(self, session: HttpSession) -> None:
        listening = _Listening(session, Reconnect(self._limits))

        def received(message: Message | Batch | Fault) -> None:
            if not isinstance(message, Fault):
                listening.policy.delivered()
            self._received(message)

        while await self._listen_once(listening, received):
            wait = listening.policy.delay(random.random(), listening.retry)  # noqa: S311 it spreads load
            await asyncio.sleep(wait)

    async def _listen_once(self, listening: _Listening, received: Received) -> bool:
        """Read the stream to its end; say whether to try again."""
        try:
            end = await self._asker.listen(listening.session, listening.last_event_id, received)
            gone = end.reading is Reading.SESSION_GONE and not await self._asker.is_alive(listening.session)
        except AnywireError as error:
            _log.info("%s: the general stream could not be opened: %s", self._name, error)
            return True
        if gone:
            return await self._session_gone(listening.session)
        if end.reading is Reading.STREAM:
            listening.served = True
            listening.last_event_id, listening.retry = end.last_event_id, end.retry
            if end.error is not None:
                _log.info("%s: the general stream was lost: %s", self._name, end.error)
            return True
        again = listening.served
        listening.last_event_id = ""  # the server may have forgotten that event
        return again

    async def _session_gone(self, session: HttpSession) -> bool:
        try:
            await self._renew(session)  # which listens to the new one
        except TransportClosed as error:
            self._ended(error)
        except AnywireError as error:
            _log.info("%s: the session is gone and could not be renewed: %s", self._name, error)
            return True
        return False


class _Listening:
    """What is known of one session's stream."""

    def __init__(self, session: HttpSession, policy: Reconnect) -> None:
        self.session = session
        self.policy = policy
        self.last_event_id = ""
        self.retry: int | None = None
        #: The server has the stream: it was open at least once.
        self.served = False
