"""Which era is the server behind the bridge of?  Asked over a transport that nobody else uses yet.

Specification: MCP `basic/versioning#era-detection`, 2026-07-28.
"""

from __future__ import annotations

import asyncio
import contextlib
from enum import Enum
from typing import Final

from anywire.client.discovery import Discovered, EraChoice, discover
from anywire.errors import AnywireError, DeadlineExceeded, PeerError, TransportClosed
from anywire.protocol.legacy import ClientConversation
from anywire.protocol.modern import Envelope
from anywire.transport.contract import Callbacks, Transport
from anywire.transport.process import ChildProcess
from anywire.wire.codec import encode_value
from anywire.wire.limits import Limits
from anywire.wire.message import Batch, ErrorResponse, Message, Request, Response
from anywire.wire.peer import peer_error

__all__ = ("Era", "ask_era", "era_of")

#: The id of our question; the next one's has a number more.
_ID: Final = b'"anywire-era-%d"'
_LOOK_SECONDS: Final = 0.25


class Era(Enum):
    """How a server wants to be spoken to."""

    # Asked for with each message: the hash that an `Enum` has of itself is one in Python.
    __hash__ = object.__hash__

    #: It shakes hands: 2024-11-05 to 2025-11-25.  Whoever serves both eras counts as this one to a client
    #: that shakes hands, and as the other to one that does not.
    HANDSHAKE = "handshake"
    #: Each request says of itself what it needs: 2026-07-28.
    STATELESS = "stateless"


def era_of(choice: EraChoice) -> Era | None:
    """Return the era that a user names; None for `auto`."""
    return {"auto": None, "legacy": Era.HANDSHAKE, "modern": Era.STATELESS}[choice]


async def ask_era(transport: Transport, client: Envelope, limits: Limits) -> Era | None:
    """Ask the server on a started transport; its callbacks are ours meanwhile.

    `client` says who asks.  A child that is busy starting is waited for longer than one that ignores the
    question.  Whatever is no answer of the stateless era means a handshake; None is silence, which most
    likely means the same.

    Raises the error with which the wire ended, and what says nothing about an era (`HttpStatusError`).
    """
    question = _Question(transport, transport.callbacks, limits)
    said = ClientConversation(client.client_info, encode_value(client.client_capabilities))
    over_http = hasattr(transport, "mirrors")
    seconds = limits.connect_seconds if over_http else limits.era_seconds
    before, transport.callbacks = transport.callbacks, question.callbacks
    try:
        found = await discover(question.ask, said, seconds)
    except PeerError:
        return Era.STATELESS  # it refuses as only that era does
    finally:
        transport.callbacks = before
        question.close()
    if isinstance(found, Discovered):
        return Era.STATELESS
    return None if found.late else Era.HANDSHAKE


class _Question:
    """Sends a request and waits for its answer; what else comes meanwhile is for whoever listened before."""

    def __init__(self, transport: Transport, listening: Callbacks, limits: Limits) -> None:
        self._transport = transport
        self._listening = listening
        self._limits = limits
        self._asked = 0
        self._answer: asyncio.Future[Response] | None = None
        self.callbacks = Callbacks()
        self.callbacks.on_message = self._receive
        self.callbacks.on_error = listening.on_error
        self.callbacks.on_failed = lambda _, error: self._fail(error)
        self.callbacks.on_close = lambda error: self._fail(error or TransportClosed("the server has ended"))

    async def ask(self, method: str, params: bytes, *, timeout: float | None = None) -> bytes:
        """Return the raw result."""
        self._asked += 1
        loop = asyncio.get_running_loop()
        self._answer = loop.create_future()
        self._transport.post(Request(_ID % self._asked, method, params))
        began, seconds = loop.time(), timeout or self._limits.connect_seconds
        work, quiet_since = -1, began
        while not self._answer.done():
            now = loop.time()
            if (done := self._work()) != work:
                work, quiet_since = done, now
            if now - began >= self._limits.connect_seconds or now - quiet_since >= seconds:
                raise DeadlineExceeded(f"no answer to {method} within {now - began:g} s")
            left = min(quiet_since + seconds, began + self._limits.connect_seconds) - now
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(min(left, _LOOK_SECONDS)):
                    await asyncio.shield(self._answer)
        return (await self._answer).result

    def close(self) -> None:
        """Want no answer any more."""
        if self._answer is not None:
            self._answer.cancel()

    def _work(self) -> int:
        child: ChildProcess | None = getattr(self._transport, "child", None)
        return 0 if child is None else child.work

    def _receive(self, message: Message | Batch) -> None:
        answer = self._answer
        if not isinstance(message, Response | ErrorResponse):
            self._listening.on_message(message)
        elif answer is None or answer.done() or message.id != _ID % self._asked:
            return
        elif isinstance(message, Response):
            answer.set_result(message)
        else:
            self._fail(peer_error(message))

    def _fail(self, error: AnywireError) -> None:
        if self._answer is not None and not self._answer.done():
            self._answer.set_exception(error)
            self._answer.exception()  # looked at by whoever still waits
