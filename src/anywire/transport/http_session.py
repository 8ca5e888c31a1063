"""One session of an HTTP server, as a transport: which message goes out on which stream.

A reply goes on the stream of the POST it answers, a `related` message on the stream of the POST it
belongs to, anything else on the session's general stream, which a client opens with a GET.  What goes
on an event stream is kept in the event log; a client that lost the connection finds it again by the id
of the last event it saw.  A reply that goes out as one JSON text has no such id and is not kept.

Specification: MCP `basic/transports#streamable-http`, 2025-03-26 to 2025-11-25.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections.abc import Callable, Iterable
from contextvars import Context, copy_context
from typing import TypeAlias

import msgspec

from anywire.errors import AnywireError
from anywire.store.event_log import EventLog, stream_of
from anywire.transport.contract import Callbacks, call_back, ignore, refuse_when_closed
from anywire.transport.gate import Gate
from anywire.transport.http_keys import ReplyKeys, cancelled_keys, reply_keys, request_ids, session_ended
from anywire.transport.http_stream import OutgoingStream
from anywire.wire.codec import encode
from anywire.wire.limits import Limits
from anywire.wire.message import Batch, Message, Notification, Request, Response, id_key
from anywire.wire.peer import read_cancel

__all__ = ("HttpServerTransport",)

_log = logging.getLogger("anywire.http")

#: What came in before anybody listened, in whose context, with the stream for its replies.
_Early: TypeAlias = tuple[Context, Message | Batch, OutgoingStream | None]


class HttpServerTransport(msgspec.Struct, eq=False):
    """A session.  See `anywire.transport.contract.Transport`."""

    # A struct, which has no dictionary: there may be very many of these.
    #: The session id that the client sends with each request.
    id: str
    # Made when something is to be kept: of most sessions nothing is.
    _make_log: Callable[[], EventLog]
    _limits: Limits
    callbacks: Callbacks = msgspec.field(default_factory=Callbacks)
    #: When the client was last heard of, in the time of the loop, for whoever keeps the sessions.
    used: float = 0.0
    #: What holds back further messages of the client.
    gate: Gate = msgspec.field(default_factory=Gate)
    #: Called when more waits than a client should have waiting, and when there is room again.
    on_full: Callable[[], None] = ignore
    on_room: Callable[[], None] = ignore
    #: Called at the end, for whoever keeps the sessions.
    on_gone: Callable[[HttpServerTransport], None] = ignore
    #: True once the session has ended.
    closed: bool = False
    _log: EventLog | None = None
    # Part of each event's id, so that another session's are known for what they are.
    _tag: str = ""
    _general: OutgoingStream | None = None
    # Streams that have a name: those that began to be sent as events.
    _posts: dict[str, OutgoingStream] = msgspec.field(default_factory=dict[str, OutgoingStream])
    _by_request: dict[bytes, OutgoingStream] = msgspec.field(default_factory=dict[bytes, OutgoingStream])
    _full: set[OutgoingStream] | None = None
    _delivering: OutgoingStream | None = None
    _next_post: int = 0
    _over: bool = False  # on_close has been called
    _end: asyncio.Event | None = None
    _early: list[_Early] | None = msgspec.field(default_factory=list[_Early])

    def __repr__(self) -> str:
        state = "closed" if self.closed else "open"
        return f"<HttpServerTransport {state}, {len(self._by_request)} requests, {len(self._posts)} streams>"

    @property
    def session_id(self) -> str:
        """The same, under the name that it has at both ends.  It is a secret."""
        return self.id

    @property
    def is_read(self) -> bool:
        """Whether the client is connected to one of its streams: then the session does not idle."""
        general = self._general
        if general is not None and general.has_reader:
            return True
        return any(stream.has_reader for stream in self._open_posts())

    @property
    def is_working(self) -> bool:
        """Whether a request is unanswered."""
        return bool(self._by_request)

    async def start(self) -> None:
        """Receive what has come in meanwhile, and go on receiving."""
        early, self._early = self._early or [], None
        for context, message, stream in early:  # each as its own request, not as that of the first
            context.run(self._hand_on, message, stream)

    # In.

    def is_withdrawn_by(self, message: Message | Batch) -> bool:
        """Say whether a message cancels a request that is unanswered."""
        cancelled = read_cancel(message) if isinstance(message, Notification) else None
        return cancelled is not None and cancelled.key in self._by_request

    def open_post(self, message: Message | Batch) -> OutgoingStream | bytes:
        """Return the stream for the replies to a message that is about to be delivered.

        The raw id of a request instead means that it must not be delivered: one of that id is unanswered.
        """
        if type(message) is Request:  # as most are
            key = id_key(message.id)
            if key in self._by_request:
                return message.id
            stream = OutgoingStream(self._limits, awaited={key}, on_level=self._level)
            self._by_request[key] = stream
            return stream
        keys: set[bytes] = set()
        for id in request_ids(message):
            key = id_key(id)
            if key in self._by_request:
                return id
            keys.add(key)
        stream = OutgoingStream(self._limits, awaited=keys, on_level=self._level)
        for key in keys:
            self._by_request[key] = stream
        if not keys:  # found by its name if by nothing else
            self._name(stream)
        return stream

    def _name(self, stream: OutgoingStream) -> None:
        stream.name = f"p{self._next_post}-{self._own_tag()}"
        self._next_post += 1
        self._posts[stream.name] = stream

    def _own_tag(self) -> str:
        self._tag = self._tag or secrets.token_hex(4)
        return self._tag

    def _own_log(self) -> EventLog:
        log = self._log
        if log is None:
            log = self._log = self._make_log()
            if self.closed:
                log.close()
        return log

    def _own_general(self) -> OutgoingStream:
        general = self._general
        if general is None:
            general = OutgoingStream(self._limits, name=f"g{self._own_tag()}", on_level=self._level)
            general.start_id = general.seen_id = self._own_log().mark(general.name)
            general.abandoned = True  # until a client opens it: what it says meanwhile is in the log
            general.ended = self.closed
            self._general = general
        return general

    def _open_posts(self) -> Iterable[OutgoingStream]:
        return {*self._posts.values(), *self._by_request.values()}

    def begin_events(self, stream: OutgoingStream) -> None:
        """A stream is about to be sent as events: from now on it can be resumed, and is kept for that."""
        if not stream.start_id:
            if not stream.name:
                self._name(stream)
            log = self._own_log()
            stream.start_id = log.mark(stream.name)
            stream.resume([log.append(stream.name, data) for data in stream.waiting()])

    def deliver(self, message: Message | Batch, stream: OutgoingStream | None) -> None:
        """Hand a POSTed message on, with the stream for its replies; None where none are due."""
        if self._early is not None:
            self._early.append((copy_context(), message, stream))
        else:
            self._hand_on(message, stream)

    def hold_reading(self, reason: str) -> None:
        """Take no further message of the client, for one of several reasons that may hold at once."""
        self.gate.hold(reason)

    def release_reading(self, reason: str) -> None:
        """That reason holds no longer."""
        self.gate.release(reason)

    def _hand_on(self, message: Message | Batch, stream: OutgoingStream | None) -> None:
        # A reply without an id can only answer what is being delivered right now.
        self._delivering = stream
        call_back(self.callbacks.on_message, message)
        self._delivering = None
        if type(message) is Request:
            return
        for key in cancelled_keys(message):
            self._settle_cancelled(key)

    # Streams.

    def general(self) -> OutgoingStream:
        """Return the stream of messages that belong to no request."""
        general, log = self._own_general(), self._own_log()
        if general.abandoned:
            general.start_id, events = log.rest(general.seen_id)
            general.seen_id = general.start_id
            general.resume(events)
        elif not len(general):
            general.start_id = log.mark(general.name)
        return general

    def resume(self, last_event_id: str) -> OutgoingStream | None:
        """Return the stream of that event, set to what came after it.

        None: the event is none of this session's, or nothing of its stream is left.
        """
        name = stream_of(last_event_id)
        if not name.endswith(self._own_tag()):
            return None
        general, missed = self._own_general(), self._own_log().after(last_event_id)
        if name == general.name:
            if missed is None:
                return self.general()
            general.seen_id = last_event_id
            general.resume(missed)
            return general
        stream = self._posts.get(name)
        if stream is None and missed is not None:
            stream = OutgoingStream(self._limits, name=name)
            stream.start_id = last_event_id  # its events are in the log
            stream.end()
        elif stream is not None and not stream.start_id:
            return None  # invented: no event of it was ever sent
        if stream is not None and (missed is not None or stream.abandoned):
            stream.resume(missed or [])  # where some are gone for good, the others are still to come
        return stream

    def let_go(self, stream: OutgoingStream, ticket: int) -> None:
        """A reader leaves a stream: all of it has been sent, or its client has gone."""
        if stream.ended and not stream.name:
            return  # it is known nowhere any more
        stream.stop_reading(ticket)
        if stream.has_reader:
            return
        if stream.ended:
            self._posts.pop(stream.name, None)
        else:
            stream.abandon()

    def _level(self, stream: OutgoingStream) -> None:
        """A stream is full, or is so no more."""
        full = self._full = set() if self._full is None else self._full
        if stream.full:
            full.add(stream)
            if len(full) == 1:
                self.on_full()
        elif stream in full:
            full.remove(stream)
            if not full:
                self.on_room()

    def detach(self, related: bytes) -> None:
        """Let go of the connection that waits for an answer; see `anywire.transport.contract.Detachable`."""
        stream = self._by_request.get(id_key(related))
        if stream is not None:
            stream.rest()

    # Out.

    def post(self, message: Message | Batch, related: bytes | None = None) -> None:
        """Put a message on the stream where it belongs."""
        if type(message) is Response and not self.closed:  # all but always, and to a request that is known
            key = id_key(message.id)
            stream = self._by_request.pop(key, None)
            if stream is not None:
                stream.awaited.discard(key)
                stream.replied = True
                self._put(stream, encode(message), last=not stream.awaited)
                return
        self._post(message, related)

    async def send(self, message: Message | Batch, related: bytes | None = None) -> None:
        """As `post`, and wait while the client reads too slowly."""
        stream = self._post(message, related)
        if stream is not None and stream.full:
            await stream.room()

    def _post(self, message: Message | Batch, related: bytes | None) -> OutgoingStream | None:
        if self.closed:
            refuse_when_closed(self.closed, f"session {self.id[:8]}…")
        answered = reply_keys(message)
        stream = self._stream_for(answered, related)
        if stream is None:
            _log.info("session %s…: a reply that answers no open request is dropped", self.id[:8])
            return None
        if answered:
            stream.replied = True
        self._put(stream, encode(message), last=self._settle(stream, answered))
        if stream is self._general and stream.full:
            self._bound_general()
        return stream

    def _put(self, stream: OutgoingStream, data: bytes, *, last: bool) -> None:
        """Put a text on a stream, and keep it if a client could come back for it."""
        id = self._own_log().append(stream.name, data).id if stream.start_id else ""
        stream.put(data, id, last=last)
        if last and stream.abandoned:
            self._posts.pop(stream.name, None)

    def _stream_for(self, answered: ReplyKeys, related: bytes | None) -> OutgoingStream | None:
        if not answered:
            known = self._by_request.get(id_key(related)) if related is not None else None
            return self._own_general() if known is None else known
        for key in answered:
            stream = self._by_request.get(key) if key is not None else None
            if stream is not None:
                return stream
        return self._delivering if None in answered else None

    def _settle(self, stream: OutgoingStream, answered: ReplyKeys) -> bool:
        """Note which replies a stream need not wait for any more; say whether these were the last."""
        for key in answered:
            if key is not None:
                stream.awaited.discard(key)
                self._by_request.pop(key, None)
                continue
            for unread in stream.awaited:  # it answers all that was delivered, none of which could be read
                self._by_request.pop(unread, None)
            stream.awaited.clear()
        return bool(answered) and not stream.awaited and stream is not self._general

    def _settle_cancelled(self, key: bytes) -> None:
        """A request was cancelled and gets no reply: its stream need not wait for one."""
        stream = self._by_request.pop(key, None)
        if stream is not None:
            stream.awaited.discard(key)
            if not stream.awaited:
                self._end_post(stream)

    def _end_post(self, stream: OutgoingStream) -> None:
        stream.end()
        if stream.abandoned:
            self._posts.pop(stream.name, None)  # what a client can come back for is in the log

    def _fail(self, stream: OutgoingStream) -> None:
        """Answer what is unanswered with an error.

        Without an answer a client could take it for refused, and send again what has been executed.
        """
        for key in stream.awaited:
            stream.replied = True
            self._put(stream, encode(session_ended(key)), last=False)
        stream.end()

    def give_up(self, stream: OutgoingStream) -> bytes:
        """Wait no more for what is unanswered on a stream; return what its client is told, if anything."""
        answers = [encode(session_ended(key)) for key in stream.awaited] or stream.waiting()[-1:]
        for key in stream.awaited:
            self._by_request.pop(key, None)
        stream.awaited.clear()
        stream.end()
        return b"[%b]" % b",".join(answers) if len(answers) > 1 else b"".join(answers)

    def _bound_general(self) -> None:
        """Its reader is far behind: let it go.  What it has not seen is in the log, as far as that goes."""
        general = self._own_general()
        if len(general) > self._limits.replay_events or general.size > self._limits.replay_bytes:
            _log.warning("session %s…: its stream is read too slowly, and ends", self.id[:8])
            general.dismiss()
            general.abandon()

    async def close(self) -> None:
        """End the session and all its streams."""
        self.end(None)
        if not self._over:
            self._end = self._end or asyncio.Event()
            await self._end.wait()

    def end(self, error: AnywireError | None) -> None:
        """End the session, for a reason when it was not in order."""
        if self.closed:
            return
        self.closed = True
        for stream in self._open_posts():
            self._fail(stream)
        if self._general is not None:
            self._general.end()
        self._by_request.clear()
        self.gate.break_down()
        if self._log is not None:
            self._log.close()
        self.on_gone(self)
        asyncio.get_running_loop().call_soon(self._fire_close, error)  # not inside another callback

    def _fire_close(self, error: AnywireError | None) -> None:
        self._over = True
        call_back(self.callbacks.on_close, error)
        if self._end is not None:
            self._end.set()
