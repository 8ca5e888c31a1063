"""The session of a client: opened by its handshake, and by the same again when the server has lost it.

A server that loses each session at once (a child that crashes, processes behind one address that know
nothing of each other) is not asked at full speed: as with a stream, only a message that was delivered
shows that a session is good.  After some in a row that brought nothing there is an end of it.
"""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Callable
from typing import Final

import msgspec

from anywire.errors import AnywireError, HttpStatusError, TransportBroken, TransportClosed
from anywire.protocol.http.reconnect import Reconnect
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
#: How many new sessions in a row may bring nothing: some two minutes, with the pauses between them.
_RENEWALS: Final = 8


class Handshake:
    """Knows the session in force."""

    def __init__(self, name: str, asker: Asker, received: Received, limits: Limits) -> None:
        #: The session that requests belong to.
        self.session = NO_SESSION
        #: Called with each session that takes the place of a lost one.
        self.opened: Callable[[HttpSession], None] = ignore
        #: Called when no further session is asked for, with the reason.
        self.given_up: Callable[[TransportClosed], None] = ignore
        self._name = name
        self._asker = asker
        self._received = received
        self._seconds = limits.connect_seconds
        self._policy = Reconnect(limits)
        self._fruitless = 0  # sessions in a row that brought no message, or were refused
        self._request: Request | None = None
        self._renewing: asyncio.Task[None] | None = None

    async def open(self, request: Request, expected: Expected) -> None:
        """Shake hands as the program asks: a server that is not there is told at once.

        One that left in the middle is asked once more: a session that nobody heard of harms nobody, and
        some servers end each connection without saying so.
        """
        self._request, self.session = request, NO_SESSION
        self.delivered()
        try:
            await self._asker.ask(expected, encode(request), NO_SESSION)
        except TransportBroken:
            await self._asker.ask(expected, encode(request), NO_SESSION)
        self.session = _session_of(expected)

    def delivered(self) -> None:
        """A message has come in the session: it is a good one."""
        if self._fruitless:
            self._fruitless = 0
            self._policy.delivered()

    async def renew(self, session: HttpSession) -> None:
        """Shake hands again, once for all who found that session gone; not at once after one for nothing.

        Raises `TransportClosed` when there was no handshake that could be repeated, or it was repeated
        often enough.
        """
        if self.session is not session:
            return
        if self._renewing is None:
            self._renewing = asyncio.get_running_loop().create_task(self._repeat())
            self._renewing.add_done_callback(self._renewed)
        await asyncio.shield(self._renewing)

    def lost_again(self, refusal: AnywireError | None) -> TransportBroken:
        """Return the error of a request that the new session did not take either."""
        return TransportBroken(
            f"{self._name}: the server does not know the session that it has just given (if several "
            f"processes serve this address, each client must always reach the same one): {refusal}"
        )

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
        if self._fruitless:
            await self._pause()
        request = msgspec.structs.replace(self._request, id=_RENEWAL_ID, frame=b"")
        expected, body = Expected([request.id], self._received, single=True), encode(request)
        try:
            await persist(
                lambda: self._asker.ask(expected, body, NO_SESSION), again=True, seconds=self._seconds
            )
        except HttpStatusError:
            self._fruitless += 1
            raise
        self._fruitless += 1
        if not isinstance(expected.reply, Response):
            raise TransportBroken(f"{self._name}: the session is gone and a new handshake was refused")
        self.session = _session_of(expected)
        if self._fruitless == 1:
            _log.info("%s: the session was gone; a new one has been opened", self._name)
        await self._asker.tell(encode(create_notification(INITIALIZED)), self.session)
        self.opened(self.session)

    async def _pause(self) -> None:
        """The last new session brought nothing: wait before the next, or give up."""
        if self._fruitless >= _RENEWALS:
            error = TransportClosed(
                f"{self._name}: given up: {self._fruitless} new sessions in a row were refused, or lost "
                f"before they brought anything; if several processes serve this address, each client "
                f"must always reach the same one"
            )
            self.given_up(error)
            raise error
        if self._fruitless == 1:
            _log.warning(
                "%s: the new session is gone as well; trying again ever more slowly, up to %d times",
                self._name,
                _RENEWALS,
            )
        await asyncio.sleep(self._policy.delay(random.random()))  # noqa: S311 it spreads load


def _session_of(expected: Expected) -> HttpSession:
    """Return the session that the answer to `initialize` opened."""
    if not isinstance(expected.reply, Response):
        return NO_SESSION
    try:
        revision = read(expected.reply.result, InitializeResult).protocol_version
    except msgspec.MsgspecError:
        revision = None
    return HttpSession(expected.session_id, revision)
