"""One client's conversation with one server of a fleet: a relay of its own, whose client we are.

What a relay does is not done again here: it starts the server and finds out its era, it takes another for one
that is lost, and answers what cannot be answered any more.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from typing import Final, Protocol

from anywire.bridge.discretion import plain_sentence
from anywire.bridge.fleet.face import MemberFace
from anywire.bridge.fleet.greeting import can
from anywire.bridge.fleet.names import Label, text_of
from anywire.bridge.meeting.upstream import Upstream
from anywire.bridge.relay import Relay
from anywire.errors import AnywireError, TransportClosed
from anywire.transport.contract import Transport
from anywire.transport.deadline import bounded
from anywire.wire.limits import Limits
from anywire.wire.message import (
    Batch,
    ErrorResponse,
    Fault,
    Message,
    Notification,
    Request,
    Response,
    id_key,
)
from anywire.wire.peer import peer_error
from anywire.wire.splice import get_member

__all__ = ("Conversation", "Hearer")

#: The ids of our own requests; those of the client are other ones, as we see to.
_ID: Final = b'"anywire-fleet-%d"'
#: The wire to a server knows its own bound for a start, and what was late: it is to say so first.
_LATER_SECONDS: Final = 2.0


class Hearer(Protocol):
    """The client's end of a conversation."""

    def hear(self, conversation: Conversation, message: Message, related: bytes | None) -> None:
        """The server says something that is no answer to us."""
        ...

    def opened(self, conversation: Conversation) -> None:
        """The server has answered `initialize`: tell it what the client has set."""
        ...

    def filled(self, conversation: Conversation, full: bool) -> None:
        """Too much waits to be sent to the server, or no longer."""
        ...

    def troubled(self, conversation: Conversation, reason: str) -> None:
        """The server does not come up, or says strange things meanwhile."""
        ...

    def ended(self, conversation: Conversation) -> None:
        """There is no server any more; `conversation.error` says why, None: it was left."""
        ...


class _MemberRelay(Relay):
    """A relay that says which server is meant."""

    def __init__(
        self,
        server: str,
        face: Transport,
        make_target: Callable[[], Transport],
        report: Callable[[str], None],
        trouble: Callable[[str], None],
        limits: Limits,
        *,
        discreet: bool,
    ) -> None:
        self._server = server
        #: What is wrong goes to `trouble`, not to `report`.
        self.is_starting = True
        self._all = report
        self._trouble = trouble
        #: There will be no other server ...
        self.over = False
        #: ... for this reason, where it was not in order.
        self.lost: AnywireError | None = None
        super().__init__(face, make_target, self._say, limits, discreet=discreet)

    def _say(self, sentence: str) -> None:
        (self._trouble if self.is_starting else self._all)(sentence)

    def _target_failed(self, id: bytes, error: AnywireError) -> None:
        if self.is_starting:
            self.lost = self.lost or error
        super()._target_failed(id, error)

    def _told(self, error: AnywireError | None) -> str:
        return f"{self._server}: {super()._told(error)}"

    def end(self, error: AnywireError | None) -> None:
        """See `Relay`."""
        self.over, self.lost = True, self.lost or error
        super().end(error)


class Conversation:
    """Begins when it is made; whoever has made it awaits `close()`.

    `introduction` is what the server gets as the params of `initialize`.
    """

    def __init__(
        self,
        label: Label,
        upstream: Upstream,
        introduction: bytes,
        client: Hearer,
        *,
        discreet: bool,
    ) -> None:
        self.label = label
        self.upstream = upstream
        #: Which server it is, in a catalogue.
        self.key = label.server, upstream
        #: Why it has ended.
        self.error: AnywireError | None = None
        #: What the server has said that it can do, raw; None before it did.
        self.capabilities: bytes | None = None
        #: How it is used, as it says.
        self.instructions: str | None = None
        #: The keys of the client's requests that are unanswered.
        self.asked: set[bytes] = set()
        self._introduction = introduction
        self._client = client
        self._discreet = discreet
        self._limits = upstream.limits
        self._own: dict[bytes, asyncio.Future[Response] | None] = {}
        self._count = 0
        self._over = False
        self._leaving: asyncio.TimerHandle | None = None
        self.face = MemberFace(label.server, self._hear, self._filled, self._limits)
        self._relay = _MemberRelay(
            label.server,
            self.face,
            upstream.target,
            upstream.report,
            partial(client.troubled, self),
            self._limits,
            discreet=discreet,
        )
        loop = asyncio.get_running_loop()
        #: Done when it has ended.
        self.running = loop.create_task(self._relay.run())
        self.running.add_done_callback(self._ended)
        #: Done when the server has answered `initialize`, or cannot; it does not raise.
        self.opening = loop.create_task(self._open())

    def __repr__(self) -> str:
        return f"<Conversation with {self.label.server}, {len(self.asked)} unanswered>"

    @property
    def over(self) -> bool:
        """Whether it has ended, or is about to."""
        return self._over or self._relay.over or self.face.closed

    @property
    def is_open(self) -> bool:
        """Whether the server knows whom it speaks to."""
        return self.capabilities is not None and not self.over

    def reason(self) -> str:
        """Say why it has ended, in the words that the client may hear."""
        error = self.error or self._relay.lost or TransportClosed("it was ended")
        return f"{self.label.server}: {plain_sentence(error) if self._discreet else error}"

    # The handshake.

    async def _open(self) -> None:
        seconds = self._limits.member_start_seconds + _LATER_SECONDS
        try:
            request, answer = self._begin("initialize", self._introduction)
            self.face.greet(request)
            async with bounded(seconds, "it did not answer initialize"):
                result = (await answer).result
        except AnywireError as error:
            self.error = self.error or self._relay.lost or error
            if not self._relay.over:  # else it knows better what has happened, and says so when it ends
                await self.face.close()
            return
        self.instructions = text_of(get_member(result, "instructions"))
        self.capabilities = get_member(result, "capabilities") or b"{}"
        self._relay.is_starting = False
        self.face.greet(Notification("notifications/initialized"))
        self._client.opened(self)
        self.face.open()

    def can(self, method: str) -> bool:
        """Say whether the server has what a method is about."""
        return can(self.capabilities or b"{}", method)

    # What goes to the server.

    def post(self, message: Message) -> bool:
        """Send something, now or when the server is there; False where too much waits for it."""
        taken = self.face.put(message)
        if taken and isinstance(message, Request):
            self.asked.add(id_key(message.id))
        return taken

    async def ask(self, method: str, params: bytes) -> bytes:
        """Ask something on our own behalf; return the raw result.

        Raises `PeerError`, `DeadlineExceeded`, and the error with which the conversation ended.
        """
        request, answer = self._begin(method, params)
        seconds = self._limits.request_seconds
        try:
            if self.over:
                raise self.error or TransportClosed(self.reason())
            self.face.put(request)
            async with bounded(seconds, "it did not answer"):
                return (await answer).result
        finally:
            key = id_key(request.id)
            unanswered = self._own.pop(key, None) is not None and not self.over
            if unanswered and not self.face.withdraw(key):
                self.face.put(Notification("notifications/cancelled", b'{"requestId":%b}' % request.id))

    def tell(self, method: str, params: bytes) -> None:
        """Ask something whose answer nobody waits for; in `opened` it precedes what the client has asked."""
        request, _ = self._begin(method, params)
        self._own[id_key(request.id)] = None
        if self.face.is_open:
            self.face.put(request)
        else:
            self.face.greet(request)

    def _begin(self, method: str, params: bytes) -> tuple[Request, asyncio.Future[Response]]:
        self._count += 1
        request = Request(_ID % self._count, method, params)
        if id_key(request.id) in self.asked:
            return self._begin(method, params)
        answer: asyncio.Future[Response] = asyncio.get_running_loop().create_future()
        self._own[id_key(request.id)] = answer
        return request, answer

    def is_own(self, key: bytes) -> bool:
        """Say whether that is the key of a request of ours that is unanswered."""
        return key in self._own

    # What the server says.

    def _hear(self, message: Message | Batch, related: bytes | None) -> None:
        if isinstance(message, Batch):
            for item in message.items:
                if not isinstance(item, Fault):
                    self._hear(item, related)
            return
        if isinstance(message, Response | ErrorResponse):
            if message.id is None or self._settle(id_key(message.id), message):
                return
            self.asked.discard(id_key(message.id))
        self._client.hear(self, message, related)
        self._leave_when_idle()

    def _settle(self, key: bytes, reply: Response | ErrorResponse) -> bool:
        """Take the answer to a request of ours; say whether it was one."""
        if key not in self._own:
            return False
        answer = self._own.pop(key)
        if answer is not None and not answer.done():
            if isinstance(reply, Response):
                answer.set_result(reply)
            else:
                answer.set_exception(peer_error(reply))
                answer.exception()  # whoever waited may have left
        return True

    def _filled(self, full: bool) -> None:
        self._client.filled(self, full)

    # The end.

    def forget(self, key: bytes) -> bool:
        """The client takes a request back; say whether the server was not asked yet."""
        self.asked.discard(key)
        withdrawn = self.face.withdraw(key)
        asyncio.get_running_loop().call_soon(self._leave_when_idle)  # when the server has been told
        return withdrawn

    def retire(self) -> None:
        """Ask nothing more: end when what was asked is answered, or has taken too long."""
        if self._leaving is None:
            loop = asyncio.get_running_loop()
            self._leaving = loop.call_later(self._limits.request_seconds, self.face.end)
            self._leave_when_idle()

    def _leave_when_idle(self) -> None:
        if self._leaving is not None and not self.asked:
            self.face.end()

    def _ended(self, running: asyncio.Task[None]) -> None:
        self._over = True
        if self._leaving is not None:
            self._leaving.cancel()
        error = None if running.cancelled() else running.exception()
        if isinstance(error, AnywireError):
            self.error = error
        elif error is not None:
            self.error = AnywireError(f"the relay failed: {error!r}")
            context = {"message": "a relay of a fleet failed", "exception": error}
            running.get_loop().call_exception_handler(context)
        for answer in self._own.values():
            if answer is not None and not answer.done():
                answer.set_exception(self.error or TransportClosed(self.reason()))
                answer.exception()
        self._own.clear()
        self._client.ended(self)

    async def close(self) -> None:
        """End it now, and what belongs to it.  Idempotent; bounded in time, as the server's transport is."""
        self.opening.cancel()
        await self.face.close()
        if not self.face.started:
            self.running.cancel()
        await asyncio.wait([self.opening, self.running])
