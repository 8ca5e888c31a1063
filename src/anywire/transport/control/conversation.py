"""The conversation with one server over a control channel, as a transport.

Both sides put each message of theirs into an `mcp_message`.  On the side where the server lives (`in_place`)
a request waits for its reply, which travels as the response to the `mcp_message` it came in; everything else
is acknowledged.  The other side acknowledges all that it gets and replies with messages of its own.

Which request a reply belongs to is told by the `mcp_message` that brought it.  Hosts exist that call
everything 1: of two requests in flight with one id, the later gets another on its way to the server, and its
own back.  Whether a message asks or answers is told by its members; ids of the two directions never meet.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from functools import partial

import msgspec

from anywire.errors import AnywireError, ConnectFailed, DeadlineExceeded, RemoteProtocolError, TransportClosed
from anywire.transport.contract import Callbacks, call_back, ignore, refuse_when_closed
from anywire.transport.control.asked import Asked, AskedRequests
from anywire.transport.control.awaited import AwaitedReplies
from anywire.transport.control.link import ControlLink, Outcome
from anywire.wire.codec import decode, encode, encode_value
from anywire.wire.control_mcp import mcp_request, read_mcp_response
from anywire.wire.event import read_cancel
from anywire.wire.limits import DEFAULT_LIMITS, Limits
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
from anywire.wire.splice import set_member

__all__ = ("ControlTransport",)


class ControlTransport:
    """One conversation; made by `ControlRouter` and `ControlHost`.  The contract is that of any transport.

    It ends with its channel; its own end leaves the channel to the others on it.
    """

    def __init__(
        self, link: ControlLink, server: str, *, in_place: bool, limits: Limits = DEFAULT_LIMITS
    ) -> None:
        self.callbacks = Callbacks()
        #: What it is called in errors.
        self.name = f"{server} over {link.channel.name}"
        #: The name of the server.
        self.server = server
        #: Called once, after `on_close`.
        self.on_gone: Callable[[], None] = ignore
        self._link = link
        self._server = encode_value(server)
        self._in_place = in_place
        self._limits = limits
        self._replies = AwaitedReplies(link)
        self._asked = AskedRequests(link.forget)
        self._inbox: deque[tuple[bytes, bytes]] = deque()
        self._inbox_bytes = 0
        self._scheduled = False
        self._started = False
        self._peer_ended = False
        self._closed = False
        self._closed_with: AnywireError | None = None
        self._fired = asyncio.Event()
        self._timer: asyncio.TimerHandle | None = None

    def __repr__(self) -> str:
        return f"<ControlTransport {self.name}, {len(self._replies)} in, {len(self._asked)} out>"

    @property
    def closed(self) -> bool:
        """True from the moment it began to end."""
        return self._closed

    async def start(self) -> None:
        """Receive what has come already, and go on receiving.

        Raises `ConnectFailed` where the channel is closed, or has nobody at its other end who would answer.
        """
        refuse_when_closed(self._closed, self.name, self._closed_with)
        if self._link.channel.closed or (self._link.ended and not self._in_place):
            raise ConnectFailed(f"{self.name}: the channel has ended")
        self._started = True
        self._schedule()

    # In.

    def receive(self, control_id: bytes, raw: bytes) -> None:
        """Take a message out of an `mcp_message`; whatever becomes of it, that request has an answer."""
        if self._closed:
            self._link.fail(control_id, f"{self.server} has ended")
        elif self._started and not self._inbox:
            self._take(control_id, raw)
        elif (
            len(self._inbox) >= self._limits.requests_in_flight
            or self._inbox_bytes > self._limits.unread_bytes
        ):
            self._link.fail(control_id, f"{self.server} has not started, and too much waits for it")
        else:
            self._inbox.append((control_id, raw))
            self._inbox_bytes += len(raw)
            self._schedule()

    def withdraw(self, control_id: bytes) -> bool:
        """The other side waits for that `mcp_message` no more; tell the server.  Say whether it was here."""
        withdrawn = self._replies.withdraw(control_id)
        for token in withdrawn:
            params = b'{"requestId":%b,"reason":"the request was cancelled"}' % token
            call_back(self.callbacks.on_message, Notification("notifications/cancelled", params))
        return bool(withdrawn)

    def end(self, error: AnywireError | None = None) -> None:
        """The other side of the channel sends no more.  Where the server is elsewhere, that is its end."""
        if self._in_place:
            self._peer_ended = True
            self._schedule()
        else:
            self.fail(error or TransportClosed(f"{self.name}: the other side has ended"))

    def _schedule(self) -> None:
        if self._started and not self._scheduled and (self._inbox or self._peer_ended):
            self._link.here(self.name).call_soon(self._catch_up)
            self._scheduled = True

    def _catch_up(self) -> None:
        self._scheduled = False
        for _ in range(len(self._inbox)):
            if not self._inbox:
                break  # closed by a callback
            control_id, raw = self._inbox.popleft()
            self._inbox_bytes -= len(raw)
            self._take(control_id, raw)
        if self._inbox:
            self._schedule()
        elif self._peer_ended and not self._closed:
            self._peer_ended = False
            call_back(self.callbacks.on_end)

    def _take(self, control_id: bytes, raw: bytes) -> None:
        message = decode(raw, self._limits)
        if type(message) is Fault:
            self._take_fault(control_id, message)
        elif not self._in_place:
            self._hand_on(message)
            self._link.answer(control_id)
        elif type(message) is Request:
            self._hand_on(self._replies.expect(control_id, message))
            self._replies.delivered()
        elif type(message) is Batch:
            if self._replies.expect_batch(control_id, message):
                self._hand_on(message)
                self._replies.delivered()
        else:
            cancelled = self._replies.cancel(message) if isinstance(message, Notification) else message
            self._hand_on(cancelled)
            self._link.answer_message(control_id)

    def _take_fault(self, control_id: bytes, fault: Fault) -> None:
        """What is no message is answered here; what was to be a reply concerns whoever waits for it."""
        reply = fault.answer()
        if reply is not None:
            self._link.answer_message(control_id, encode(reply))
            return
        call_back(self.callbacks.on_error, fault)
        self._link.answer_message(control_id)

    def _hand_on(self, message: Message | Batch) -> None:
        if type(message) is not Request:
            for item in message.items if type(message) is Batch else (message,):
                if isinstance(item, Response | ErrorResponse) and item.id is not None:
                    self._asked.settle(item.id)
        if not self._closed:
            call_back(self.callbacks.on_message, message)

    # Out.

    def post(self, message: Message | Batch, related: bytes | None = None) -> None:
        """Send without waiting for room.

        Raises `LocalProtocolError` in another thread than that of the event loop.
        """
        loop = self._link.here(self.name)
        if self._closed:
            refuse_when_closed(True, self.name, self._closed_with)
        if self._in_place:
            rest = self._replies.take(message)
            if rest is None:
                return
            message = rest
        control_id = self._link.next_id()
        line = mcp_request(control_id, self._server, encode(message))
        asked = self._asked.add(control_id, message, loop.time())
        if asked is not None:
            try:
                self._link.ask(control_id, line, partial(self._answered, asked))
            except TransportClosed:
                self._asked.drop_all(asked)
                raise
            if not self._in_place and self._timer is None:
                self._set_timer()
            return
        if type(message) is Notification and (cancelled := read_cancel(message)) is not None:
            self._asked.settle(cancelled.key)
        self._link.tell(line)

    async def send(self, message: Message | Batch, related: bytes | None = None) -> None:
        """Send, and wait until there is room for the next message."""
        self.post(message, related)
        await self._link.channel.wait_for_room()

    def _answered(self, asked: Asked, outcome: Outcome) -> None:
        """A response has come to an `mcp_message` in which we asked for something."""
        if isinstance(outcome, AnywireError):
            self._fail(asked, outcome)
            return
        raw = read_mcp_response(outcome.response)
        message = None if raw is None else decode(raw, self._limits)
        if type(message) is Request or type(message) is Notification:
            # An answer cannot ask: a message of the server's was taken for it.  The true one is to come.
            self._hand_on(message)
        elif self._in_place:
            if isinstance(message, Response | ErrorResponse) and _answers(message, asked):
                self._hand_on(message)  # else the reply comes as a message of its own
        elif type(message) is Batch:
            self._hand_on(message)
            self._fail_rest(asked)
        elif asked.waiting:
            self._take_reply(asked, message, raw or b"")

    def _take_reply(self, asked: Asked, message: Response | ErrorResponse | Fault | None, raw: bytes) -> None:
        """Hand on the one reply to what we asked; what it does not answer is not waited for."""
        id = None if message is None else message.id
        if type(message) is Fault and message.is_reply and raw.lstrip()[:1] == b"{":
            named = decode(set_member(raw, "id", next(iter(asked.waiting.values()))), self._limits)
            message = named if isinstance(named, Response | ErrorResponse) else message
        if message is None or type(message) is Fault:
            reason = "no message" if message is None else message.reason
            self._fail(asked, RemoteProtocolError(f"{self.name}: {asked.method} was answered with {reason}"))
            return
        for key in asked.concerned(id, is_error=type(message) is ErrorResponse):
            if (given := asked.waiting.get(key)) is not None:
                self._asked.drop(asked, key)
                if not self._closed:
                    call_back(self.callbacks.on_message, _renamed(message, given))
        self._fail_rest(asked)

    def _fail_rest(self, asked: Asked) -> None:
        self._fail(asked, RemoteProtocolError(f"{self.name}: not all of a batch was answered"))

    def _fail(self, asked: Asked, error: AnywireError) -> None:
        for id in self._asked.drop_all(asked):
            if not self._closed:
                call_back(self.callbacks.on_failed, id, error)

    # Time.

    def _set_timer(self) -> None:
        """Look after the longest time that anybody waits; whoever asks has a shorter clock of its own."""
        oldest = self._asked.oldest()
        if oldest is not None:
            at = oldest.since + self._limits.request_total_seconds
            self._timer = asyncio.get_running_loop().call_at(at, self._look)

    def _look(self) -> None:
        self._timer = None
        seconds = self._limits.request_total_seconds
        before = asyncio.get_running_loop().time() - seconds
        while (asked := self._asked.oldest()) is not None and asked.since <= before:
            self._link.cancel(asked.control_id)
            self._fail(
                asked, DeadlineExceeded(f"{self.name}: no answer to {asked.method} within {seconds:g} s")
            )
        self._set_timer()

    # The end.

    async def close(self) -> None:
        """End the conversation: what is asked of the server here is answered with an error."""
        self.fail(None)
        await self._fired.wait()

    def fail(self, error: AnywireError | None) -> None:
        """End the conversation because of an error; `on_close` follows."""
        if not self._closed:
            self.stop(error)
            # Not from here: this may be inside another callback.
            asyncio.get_running_loop().call_soon(self.fire_close)

    def stop(self, error: AnywireError | None) -> None:
        """Send and receive nothing more; whoever waits for an answer is told."""
        self._closed = True
        self._closed_with = error
        for control_id, _ in self._inbox:
            self._link.fail(control_id, f"{self.server} has ended")
        self._inbox.clear()
        self._replies.end(f"{self.server} ended before it answered")
        for asked in self._asked.end():
            self._link.cancel(asked.control_id)
        if self._timer is not None:
            self._timer.cancel()

    def fire_close(self) -> None:
        """Report the end, once."""
        if not self._fired.is_set():
            call_back(self.callbacks.on_close, self._closed_with)
            self._fired.set()
            self.on_gone()


def _renamed(reply: Response | ErrorResponse, id: bytes) -> Response | ErrorResponse:
    if reply.id is not None and id_key(reply.id) == id_key(id):
        return reply
    frame = set_member(reply.frame, "id", id) if reply.frame else b""
    return msgspec.structs.replace(reply, id=id, frame=frame)


def _answers(message: Response | ErrorResponse, asked: Asked) -> bool:
    """Say whether this is the reply to what we asked, and not the empty one that acknowledges anything."""
    if message.id is None or id_key(message.id) not in asked.waiting:
        return False
    is_empty = isinstance(message, Response) and message.result.strip(b"{} \t\r\n") == b""
    return not is_empty or asked.method == "ping"
