"""HTTP+SSE, the transport of 2024-11-05, as an ASGI application: for clients that know nothing newer.

One GET is one session: everything to the client goes on its stream, everything from it is POSTed.
When the stream ends, so does the session.

Specification: MCP 2024-11-05 `basic/transports#http-with-sse`.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections.abc import Callable
from contextvars import Context, copy_context
from typing import Final

from anywire.errors import AnywireError, TransportBroken, TransportClosed
from anywire.protocol.http.guard import Guard
from anywire.protocol.http.old_sse import (
    ENDPOINT_EVENT,
    MESSAGES,
    BeginStream,
    TakeMessage,
    check_old_head,
    endpoint_of,
    read_old_post,
)
from anywire.protocol.http.server import (
    Reject,
    check_bearer,
    held,
    not_serving,
    too_many_sessions,
    unknown_session,
)
from anywire.transport.asgi import (
    ClientGone,
    Intake,
    Receive,
    Scope,
    Send,
    Wire,
    follow_lifespan,
    read_head_of,
    told_to_end,
)
from anywire.transport.contract import Accept, Callbacks, call_back, refuse_when_closed
from anywire.transport.gate import Gate
from anywire.transport.http_keys import cancelled_keys, reply_keys, request_ids, session_ended
from anywire.transport.http_stream import OutgoingStream
from anywire.wire.codec import encode
from anywire.wire.event_stream import encode_comment, encode_event
from anywire.wire.limits import DEFAULT_LIMITS, Limits
from anywire.wire.message import Batch, Message, id_key

__all__ = ("SseListener", "SseServerTransport")

_log = logging.getLogger("anywire.http")
_CLIENT_FULL: Final = "the client does not read its stream"


class SseServerTransport:
    """One session.  See `anywire.transport.contract.Transport`."""

    def __init__(self, limits: Limits) -> None:
        self.callbacks = Callbacks()
        #: What the client names in the address of its POSTs.
        self.id = secrets.token_urlsafe(24)
        self.stream = OutgoingStream(limits, on_level=self._level)
        #: What holds back further messages of the client.
        self.gate = Gate()
        #: Called when more waits than a client should have waiting, and when there is room again.
        self.on_full: Callable[[], None] = lambda: self.hold_reading(_CLIENT_FULL)
        self.on_room: Callable[[], None] = lambda: self.release_reading(_CLIENT_FULL)
        self._limits = limits
        self._unanswered: set[bytes] = set()
        self._early: list[tuple[Context, Message | Batch]] | None = []
        self._closed = False
        self._over = asyncio.Event()  # on_close has been called

    @property
    def closed(self) -> bool:
        """True once the stream has ended or `close()` was called."""
        return self._closed

    async def start(self) -> None:
        """Receive what was POSTed meanwhile, and go on receiving."""
        early, self._early = self._early or [], None
        for context, message in early:  # each as its own request, not as that of the stream
            context.run(call_back, self.callbacks.on_message, message)

    def deliver(self, message: Message | Batch) -> None:
        """Hand on what was POSTed."""
        self._unanswered.update(map(id_key, request_ids(message)))
        if self._early is not None:
            self._early.append((copy_context(), message))
        else:
            call_back(self.callbacks.on_message, message)
        self._unanswered.difference_update(cancelled_keys(message))

    def hold_reading(self, reason: str) -> None:
        """Take no further message of the client, for one of several reasons that may hold at once."""
        self.gate.hold(reason)

    def release_reading(self, reason: str) -> None:
        """That reason holds no longer."""
        self.gate.release(reason)

    def _level(self, stream: OutgoingStream) -> None:
        (self.on_full if stream.full else self.on_room)()

    def post(self, message: Message | Batch, related: bytes | None = None) -> None:
        """Put a message on the stream."""
        refuse_when_closed(self._closed, "the HTTP+SSE session")
        waits = self.stream.size
        if waits > self._limits.unread_bytes:
            # What was asked before the client was held is answered all the same: it asked very much.
            reason = f"the client does not read its stream: {waits} bytes wait for it"
            _log.warning("an HTTP+SSE session is ended: %s", reason)
            self.end(TransportBroken(reason))
            return
        self._unanswered.difference_update(reply_keys(message))
        self.stream.put(encode(message))

    async def send(self, message: Message | Batch, related: bytes | None = None) -> None:
        """As `post`, and wait while the client reads too slowly."""
        self.post(message, related)
        await self.stream.room()

    async def close(self) -> None:
        """End the session."""
        self.end(None)
        await self._over.wait()

    def end(self, error: AnywireError | None) -> None:
        """End the session, for a reason when it was not in order."""
        if not self._closed:
            self._closed = True
            if error is None:  # the client is there, and would wait for its replies
                for key in self._unanswered:
                    self.stream.put(encode(session_ended(key)))
            self.stream.end()
            self.gate.break_down()
            asyncio.get_running_loop().call_soon(self._fire_close, error)  # not inside another callback

    def _fire_close(self, error: AnywireError | None) -> None:
        call_back(self.callbacks.on_close, error)
        self._over.set()


class SseListener:
    """Accepts conversations over HTTP+SSE; an ASGI 3 application and a `Listener` in one.

    The address whose last part is `messages` takes POSTs, every other one below `path` streams.
    """

    def __init__(
        self, accept: Accept, *, guard: Guard | None = None, limits: Limits = DEFAULT_LIMITS
    ) -> None:
        self._accept = accept
        self._guard = guard or Guard.for_bind("127.0.0.1")
        self._limits = limits
        self._intake = Intake(limits)
        self._sessions: dict[str, SseServerTransport] = {}
        self._open = True

    def __len__(self) -> int:
        return len(self._sessions)

    async def close(self) -> None:
        """End all sessions and refuse new ones.  Idempotent."""
        self._open = False
        for session in list(self._sessions.values()):
            session.end(None)
        await asyncio.sleep(0)  # whoever served them hears of it now

    async def open(self) -> None:
        """Take sessions, again if there was an end before."""
        self._open = True

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request, or follow the lifespan of the process."""
        if scope["type"] == "lifespan":
            await follow_lifespan(receive, send, self.open, self.close)
        elif scope["type"] == "http":
            wire = Wire(receive, send)
            try:
                await self._answer(scope, wire)
            except ClientGone:
                pass  # an everyday thing, and nobody is there to be told anything
            except asyncio.CancelledError:
                await wire.break_off()
        else:
            await send({"type": "websocket.close", "code": 1000})

    async def _answer(self, scope: Scope, wire: Wire) -> None:
        path, head = read_head_of(scope)
        is_messages = path.rstrip("/").rpartition("/")[2] == MESSAGES
        if self._guard.origins and wire.share(head, self._guard, "POST" if is_messages else "GET"):
            await wire.respond(204)
            return
        query = scope.get("query_string", b"").decode("latin-1")
        refused = check_bearer(head.headers.get("authorization"), self._guard)
        verdict = refused or check_old_head(head, query, self._guard, is_messages=is_messages)
        match verdict:
            case Reject():
                await wire.reject(verdict)
            case BeginStream():
                await self._stream(wire)
            case TakeMessage():
                session = self._sessions.get(verdict.session_id)
                if session is None:
                    await wire.reject(unknown_session())
                    return
                # Before the body is read: what is not read is not kept.
                if not await session.gate.passed_within(self._limits.gate_seconds):
                    await wire.reject(held())
                    return
                length = head.headers.get("content-length", "").encode("latin-1")
                body = await wire.body(length, self._intake)
                if body is not None:
                    await self._take(wire, session, body)

    async def _take(self, wire: Wire, session: SseServerTransport, body: bytes) -> None:
        message = read_old_post(body, self._limits)
        if isinstance(message, Reject):
            await wire.reject(message)
        elif session.closed:
            await wire.reject(unknown_session())
        else:
            # Accepted first: the reply may be on the stream before this response is.
            session.deliver(message)
            await wire.respond(202)

    async def _stream(self, wire: Wire) -> None:
        if not self._open:
            await wire.reject(not_serving())
            return
        if len(self._sessions) >= self._limits.sessions:
            await wire.reject(too_many_sessions())
            return
        session = SseServerTransport(self._limits)
        self._sessions[session.id] = session
        ticket = session.stream.begin_reading()
        gone = asyncio.get_running_loop().create_task(wire.disconnected())
        gone.add_done_callback(lambda _: session.stream.stop_reading(ticket))
        try:
            await wire.start_stream()
            await wire.more(encode_event(endpoint_of(session.id).encode(), event=ENDPOINT_EVENT))
            self._accept(session)
            try:
                await self._send_events(wire, session, ticket)
            except asyncio.CancelledError:
                told_to_end()
            if not session.closed and not gone.done():  # it was cancelled: the server ends
                session.end(None)
                await self._send_events(wire, session, ticket)
            await wire.end_stream()
        finally:
            gone.cancel()
            del self._sessions[session.id]
            session.end(TransportClosed("the client closed its stream"))

    async def _send_events(self, wire: Wire, session: SseServerTransport, ticket: int) -> None:
        stream = session.stream
        while await stream.wait(ticket, self._limits.keep_alive_seconds):
            if not len(stream) and not stream.ended:
                await wire.more(encode_comment("keep-alive"))
            while (event := stream.take(ticket)) is not None:
                await wire.more(encode_event(event[1], event="message"))
            if stream.ended:
                return
