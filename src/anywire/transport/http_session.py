"""One session of an HTTP server, as a transport: which message goes out on which stream.

A reply goes on the stream of the POST it answers, a `related` message on the stream of the POST it
belongs to, anything else on the session's general stream, which a client opens with a GET.  A
stream that lost its connection keeps what is sent on it; the client finds it again by the id of the
last event it saw.

Specification: MCP `basic/transports#streamable-http`, 2025-03-26 to 2025-11-25.
"""

from __future__ import annotations

import logging

from anywire.errors import AnywireError
from anywire.store.event_log import EventLog, stream_of
from anywire.transport.contract import Callbacks, call_back, refuse_when_closed
from anywire.transport.http_stream import OutgoingStream
from anywire.wire.codec import encode
from anywire.wire.limits import Limits
from anywire.wire.message import (
    NULL_ID,
    Batch,
    ErrorResponse,
    Fault,
    Message,
    Notification,
    Request,
    Response,
    id_key,
)
from anywire.wire.peer import read_cancel

__all__ = ("HttpServerTransport",)

_log = logging.getLogger("anywire.http")
_GENERAL = "g"


class HttpServerTransport:
    """A session.  See `anywire.transport.contract.Transport`."""

    def __init__(self, id: str, log: EventLog, limits: Limits) -> None:
        self.callbacks = Callbacks()
        #: The session id that the client sends with each request.
        self.id = id
        self._log = log
        self._limits = limits
        self._general = OutgoingStream(_GENERAL)
        self._posts: dict[str, OutgoingStream] = {}
        self._by_request: dict[bytes, OutgoingStream] = {}
        self._delivering: OutgoingStream | None = None
        self._next_post = 0
        self._closed = False
        self._started = False
        self._early: list[Message | Batch] = []
        self._dropped = 0

    def __repr__(self) -> str:
        state = "closed" if self._closed else "open"
        return f"<HttpServerTransport {state}, {len(self._by_request)} requests, {len(self._posts)} streams>"

    @property
    def closed(self) -> bool:
        """True once the session has ended."""
        return self._closed

    @property
    def busy(self) -> bool:
        """Whether a request is unanswered or a stream is being read: then it does not idle."""
        streams = (self._general, *self._posts.values())
        return bool(self._by_request) or any(stream.has_reader for stream in streams)

    async def start(self) -> None:
        """Receive what has come in meanwhile, and go on receiving."""
        self._started = True
        early, self._early = self._early, []
        for message in early:
            call_back(self.callbacks.on_message, message)

    # In.

    def deliver(self, message: Message | Batch) -> OutgoingStream | None:
        """Hand a POSTed message on; return the stream its replies come on, None where none are due."""
        keys = {id_key(item.id) for item in _items(message) if isinstance(item, Request)}
        stream = self._open_post(keys) if keys else None
        if not self._started:
            self._early.append(message)
            return stream
        # A reply without an id can only answer what is being delivered right now.
        self._delivering = stream
        call_back(self.callbacks.on_message, message)
        self._delivering = None
        for item in _items(message):
            cancelled = read_cancel(item) if isinstance(item, Notification) else None
            if cancelled is not None:
                self._settle_cancelled(cancelled.key)
        return stream

    def _open_post(self, keys: set[bytes]) -> OutgoingStream:
        name = f"p{self._next_post}"
        self._next_post += 1
        stream = self._posts[name] = OutgoingStream(name, keys, self._log.mark(name))
        for key in keys:
            self._by_request.setdefault(key, stream)
        return stream

    def general(self) -> OutgoingStream:
        """Return the stream of messages that belong to no request."""
        if not len(self._general):
            self._general.start_id = self._log.mark(_GENERAL)
        return self._general

    def resume(self, last_event_id: str) -> OutgoingStream | None:
        """Return the stream of that event, set to what came after it; None when it is not known."""
        missed = self._log.after(last_event_id)
        if missed is None:
            return None
        name = stream_of(last_event_id)
        if name == _GENERAL:
            stream = self._general
        else:
            stream = self._posts.get(name) or OutgoingStream(name)
            if name not in self._posts:
                stream.end()
        stream.replace(missed)
        return stream

    def finished(self, stream: OutgoingStream) -> None:
        """Everything of a POST's stream has been sent: forget it."""
        if stream.ended and not len(stream):
            self._posts.pop(stream.name, None)

    # Out.

    def post(self, message: Message | Batch, related: bytes | None = None) -> None:
        """Put a message on the stream where it belongs."""
        refuse_when_closed(self._closed, f"session {self.id[:8]}…")
        stream = self._stream_for(message, related)
        if stream is None:
            _log.info("session %s…: a reply that answers no open request is dropped", self.id[:8])
            return
        body = encode(message)
        stream.put(self._log.append(stream.name, body))
        self._settle(stream, message)
        if stream is self._general:
            self._bound_general()

    async def send(self, message: Message | Batch, related: bytes | None = None) -> None:
        """As `post`, and wait while the client reads too slowly."""
        stream = self._stream_for(message, related)
        self.post(message, related)
        if stream is not None:
            await stream.room(self._limits.write_high_bytes)

    def _stream_for(self, message: Message | Batch, related: bytes | None) -> OutgoingStream | None:
        for id in (related, *(_reply_ids(message))):
            stream = self._by_request.get(id_key(id)) if id is not None and id != NULL_ID else None
            if stream is not None:
                return stream
        if isinstance(message, Response | ErrorResponse | Batch):
            return self._delivering
        return self._general

    def _settle(self, stream: OutgoingStream, message: Message | Batch) -> None:
        """Note which replies a stream need not wait for any more; end it after the last."""
        for id in _reply_ids(message):
            if id is None or id == NULL_ID:
                stream.awaited.clear()  # it answers all that was delivered, none of which could be read
                continue
            key = id_key(id)
            stream.awaited.discard(key)
            self._by_request.pop(key, None)
        if stream is not self._general and not stream.awaited:
            stream.end()

    def _settle_cancelled(self, key: bytes) -> None:
        """A request was cancelled and gets no reply: its stream need not wait for one."""
        stream = self._by_request.pop(key, None)
        if stream is not None:
            stream.awaited.discard(key)
            stream.cancelled = True
            if not stream.awaited:
                stream.end()

    def _bound_general(self) -> None:
        """Nobody may be there to read the general stream: keep the newest of what waits on it."""
        while (
            len(self._general) > self._limits.replay_events or self._general.size > self._limits.replay_bytes
        ):
            if self._general.drop() is None:
                return
            self._dropped += 1
            if self._dropped == 1:
                _log.warning(
                    "session %s…: nobody reads its stream; the oldest messages are dropped", self.id[:8]
                )

    async def close(self) -> None:
        """End the session and all its streams."""
        self.end(None)

    def end(self, error: AnywireError | None) -> None:
        """End the session, for a reason when it was not in order."""
        if self._closed:
            return
        self._closed = True
        for stream in (self._general, *self._posts.values()):
            stream.end()
        self._by_request.clear()
        call_back(self.callbacks.on_close, error)


def _items(message: Message | Batch) -> tuple[Message | Fault, ...]:
    return message.items if isinstance(message, Batch) else (message,)


def _reply_ids(message: Message | Batch) -> list[bytes | None]:
    return [item.id for item in _items(message) if isinstance(item, Response | ErrorResponse)]
