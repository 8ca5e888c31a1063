"""The session of a client: opened by its handshake, and by the same again when the server has lost it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

import msgspec

from anywire.errors import TransportBroken, TransportClosed
from anywire.protocol.types.initialize import InitializeResult
from anywire.protocol.types.reading import read
from anywire.transport.contract import ignore
from anywire.transport.http_calls import NO_SESSION, HttpSession
from anywire.transport.http_request import Asker, Expected, Received
from anywire.transport.persist import persist
from anywire.wire.codec import encode
from anywire.wire.limits import Limits
from anywire.wire.message import Request, Response, create_notification

__all__ = ("INITIALIZED", "Handshake")

INITIALIZED = "notifications/initialized"
_RENEWAL_ID = b'"anywire-renewal"'
_log = logging.getLogger("anywire.http")


class Handshake:
    """Knows the session in force."""

    def __init__(self, name: str, asker: Asker, received: Received, limits: Limits) -> None:
        #: The session that requests belong to.
        self.session = NO_SESSION
        #: Called with each session that takes the place of a lost one.
        self.opened: Callable[[HttpSession], None] = ignore
        self._name = name
        self._asker = asker
        self._received = received
        self._seconds = limits.connect_seconds
        self._request: Request | None = None
        self._renewing: asyncio.Task[None] | None = None

    async def open(self, request: Request, expected: Expected) -> None:
        """Shake hands as the program asks: a server that is not there is told at once."""
        self._request, self.session = request, NO_SESSION
        await self._asker.ask(expected, encode(request), NO_SESSION)
        self.session = _session_of(expected)

    async def renew(self, session: HttpSession) -> None:
        """Shake hands again, once for all who found that session gone.

        Raises `TransportClosed` when there was no handshake that could be repeated.
        """
        if self.session is not session:
            return
        if self._renewing is None:
            self._renewing = asyncio.get_running_loop().create_task(self._repeat())
            self._renewing.add_done_callback(self._renewed)
        await asyncio.shield(self._renewing)

    def stop(self) -> asyncio.Task[None] | None:
        """Shake no more hands; returns the task that is about to end, if there is one."""
        if self._renewing is not None:
            self._renewing.cancel()
        return self._renewing

    def _renewed(self, task: asyncio.Task[None]) -> None:
        self._renewing = None
        if not task.cancelled():
            task.exception()  # whoever waits has it; nobody may wait any more

    async def _repeat(self) -> None:
        if self._request is None:
            raise TransportClosed(f"{self._name}: the session is gone, and there was no handshake to repeat")
        request = msgspec.structs.replace(self._request, id=_RENEWAL_ID, frame=b"")
        expected, body = Expected([request.id], self._received, single=True), encode(request)
        await persist(lambda: self._asker.ask(expected, body, NO_SESSION), again=True, seconds=self._seconds)
        if not isinstance(expected.reply, Response):
            raise TransportBroken(f"{self._name}: the session is gone and a new handshake was refused")
        self.session = _session_of(expected)
        _log.info("%s: the session was gone; a new one has been opened", self._name)
        await self._asker.tell(encode(create_notification(INITIALIZED)), self.session)
        self.opened(self.session)


def _session_of(expected: Expected) -> HttpSession:
    """Return the session that the answer to `initialize` opened."""
    if not isinstance(expected.reply, Response):
        return NO_SESSION
    try:
        revision = read(expected.reply.result, InitializeResult).protocol_version
    except msgspec.MsgspecError:
        revision = None
    return HttpSession(expected.session_id, revision)
