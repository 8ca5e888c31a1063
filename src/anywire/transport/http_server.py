"""A server of Streamable HTTP as an ASGI application.

It performs the verdicts of `anywire.protocol.http.server` and takes no decision of its own.  Mount it
under any prefix of any ASGI framework, or run it with any ASGI server; the path it is mounted at is
served with and without a slash at the end.  It needs no lifespan and takes part in one.

Specification: MCP `basic/transports#streamable-http`, 2025-03-26 to 2025-11-25.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Generator

from anywire.protocol.http.guard import Guard
from anywire.protocol.http.media import JSON
from anywire.protocol.http.server import (
    AnswerNow,
    Deliver,
    EndSession,
    Head,
    OpenSession,
    OpenStream,
    ReadBody,
    Reject,
    check_head,
    held,
    id_in_flight,
    naming,
    read_elsewhere,
    read_post,
    too_many_sessions,
    unknown_event,
    unknown_session,
)
from anywire.transport.asgi import (
    ClientGone,
    Headers,
    Receive,
    Scope,
    Send,
    Wire,
    ending_politely,
    follow_lifespan,
    read_head_of,
)
from anywire.transport.contract import Accept
from anywire.transport.http_session import HttpServerTransport
from anywire.transport.http_sessions import HttpSessions
from anywire.transport.http_stream import OutgoingStream
from anywire.wire.codec import encode
from anywire.wire.event_stream import encode_comment, encode_event
from anywire.wire.limits import DEFAULT_LIMITS, Limits
from anywire.wire.message import Batch, Message

__all__ = ("HttpListener",)

#: A body of this size may be a cancellation, which waits for nothing.
_SMALL_BYTES = 4096


class HttpListener:
    """Accepts conversations over HTTP; an ASGI 3 application and a `Listener` in one.

    `accept` is given each new session; `serves` says whether its server has a method.  `path` limits
    what is answered to one path (and the same with a slash), None answers wherever it is mounted.
    """

    def __init__(
        self,
        accept: Accept,
        serves: Callable[[str], bool],
        *,
        guard: Guard | None = None,
        path: str | None = None,
        limits: Limits = DEFAULT_LIMITS,
    ) -> None:
        self._accept = accept
        self._serves = serves
        self._guard = guard or Guard.for_bind("127.0.0.1")
        self._path = None if path is None else "/" + path.strip("/")
        self._limits = limits
        #: The sessions that live.
        self.sessions = HttpSessions(limits)

    async def close(self) -> None:
        """End all sessions and refuse new ones.  Idempotent."""
        self.sessions.close()
        await asyncio.sleep(0)  # whoever served them hears of it now

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request, or follow the lifespan of the process."""
        if scope["type"] == "lifespan":
            await follow_lifespan(receive, send, self.sessions.open, self.close)
        elif scope["type"] == "http":
            await _Exchange(self, receive, send).answer(scope)
        else:
            await send({"type": "websocket.close", "code": 1000})

    def is_here(self, path: str) -> bool:
        """Say whether a path is the one that is served."""
        return self._path is None or (path.rstrip("/") or "/") == (self._path.rstrip("/") or "/")

    def check(self, head: Head) -> Reject | ReadBody | OpenStream | EndSession:
        """Decide what can be decided without the body."""
        return check_head(head, self._guard)

    def read(self, head: Head, body: bytes) -> Reject | OpenSession | Deliver | AnswerNow:
        """Decide what a body means."""
        return read_post(head, body, serves=self._serves, limits=self._limits)

    def accept(self, session: HttpServerTransport) -> None:
        """Hand a new session to whoever serves it."""
        self._accept(session)

    @property
    def limits(self) -> Limits:
        """The limits in force."""
        return self._limits


class _Exchange:
    """One HTTP request and its response."""

    def __init__(self, listener: HttpListener, receive: Receive, send: Send) -> None:
        self._listener = listener
        self._limits = listener.limits
        self._wire = Wire(receive, send)
        self._watcher: asyncio.Task[None] | None = None

    async def answer(self, scope: Scope) -> None:
        """Answer the request; returns when the response is complete or the client has gone."""
        try:
            await self._answer(scope)
        except ClientGone:
            pass  # an everyday thing, and nobody is there to be told anything
        finally:
            if self._watcher is not None:
                self._watcher.cancel()

    async def _answer(self, scope: Scope) -> None:
        path, head = read_head_of(scope)
        if not self._listener.is_here(path):
            await self._wire.respond(404)
            return
        verdict = self._listener.check(head)
        match verdict:
            case Reject():
                await self._wire.reject(verdict)
            case ReadBody():
                await self._post(head, verdict)
            case OpenStream():
                await self._get(verdict)
            case EndSession():
                found = self._listener.sessions.end(verdict.session_id)
                await (self._wire.respond(204) if found else self._wire.reject(unknown_session()))

    async def _post(self, head: Head, shapes: ReadBody) -> None:
        session = self._listener.sessions.find(head.session_id) if head.session_id else None
        if session is not None and not self._may_be_cancel(head) and not await self._pass(session):
            return  # before the body is read: what is not read is not kept
        body = await self._wire.body(head, self._limits.body_bytes)
        if body is None:
            return
        verdict = self._listener.read(head, body)
        match verdict:
            case Reject():
                await self._wire.reject(verdict)
            case AnswerNow():
                await self._wire.respond(200, encode(verdict.error), JSON)
            case OpenSession():
                await self._open(verdict, shapes)
            case Deliver():
                await self._deliver(verdict, shapes)

    async def _open(self, verdict: OpenSession, shapes: ReadBody) -> None:
        session = self._listener.sessions.create()
        if session is None:
            await self._wire.reject(naming(too_many_sessions(), verdict.request))
            return
        self._listener.accept(session)
        await self._reply(session, verdict.request, shapes, [(b"mcp-session-id", session.id.encode())])

    def _may_be_cancel(self, head: Head) -> bool:
        """Whether a body is small enough to be read before it is known whether its message must wait."""
        length = head.headers.get("content-length", "")
        return length.isascii() and length.isdigit() and len(length) < 5 and int(length) <= _SMALL_BYTES

    async def _pass(self, session: HttpServerTransport, message: Message | Batch | None = None) -> bool:
        """Wait while a session takes nothing, for so long as a client may be kept waiting.

        A cancellation of what is unanswered does not wait: it may be what ends the waiting.
        """
        if message is not None and session.is_withdrawn_by(message):
            return True
        if await session.gate.passed_within(self._limits.held_seconds):
            return True
        await self._wire.reject(held() if message is None else naming(held(), message))
        return False

    async def _deliver(self, verdict: Deliver, shapes: ReadBody) -> None:
        session = self._listener.sessions.find(verdict.session_id)
        if session is not None and session.gate.held and not await self._pass(session, verdict.message):
            return
        if session is None or session.closed:  # which it may be after a wait
            await self._wire.reject(unknown_session())
            return
        taken = session.in_flight(verdict.message)
        if taken is not None:
            await self._wire.respond(200, encode(id_in_flight(taken).error), JSON)
            return
        if verdict.replies:
            await self._reply(session, verdict.message, shapes, [])
        else:
            session.deliver(verdict.message, None)
            await self._wire.respond(202)

    async def _reply(
        self, session: HttpServerTransport, message: Message | Batch, shapes: ReadBody, headers: Headers
    ) -> None:
        """Answer a POST: one JSON text, or an event stream when something must precede the reply."""
        stream = session.open_post(message)
        with self._reading(session, stream) as ticket:  # before anybody writes, who would not be held
            session.deliver(message, stream)
            if not stream.ended:
                await asyncio.sleep(0)  # a handler that does not wait is done by now
            if not stream.ended and not await self._decided(stream, ticket, shapes):
                await self._wire.reject(naming(read_elsewhere(), message))
            elif stream.cancelled and stream.ended:
                await self._wire.respond(202, headers=headers)
            elif shapes.json and (not shapes.stream or (stream.ended and len(stream) <= 1)):
                await self._respond_last(stream, ticket, headers)
            else:
                await self._stream(stream, ticket, headers, prime=shapes.prime)

    async def _decided(self, stream: OutgoingStream, ticket: int, shapes: ReadBody) -> bool:
        """Wait until the shape of the answer is clear; say whether it is still wanted here."""
        self._watch(stream, ticket)
        if not shapes.stream:
            return await stream.until_ended(ticket)
        return await stream.wait(ticket, self._limits.stream_open_seconds)

    async def _respond_last(self, stream: OutgoingStream, ticket: int, headers: Headers) -> None:
        """Answer with the reply alone; what belonged to the request before it is left out."""
        event = stream.take(ticket)
        while len(stream):
            event = stream.take(ticket)
        if event is None:
            await self._wire.reject(read_elsewhere())
        else:
            await self._wire.respond(200, event.data, JSON, headers)

    async def _get(self, verdict: OpenStream) -> None:
        session = self._listener.sessions.find(verdict.session_id)
        if session is None:
            await self._wire.reject(unknown_session())
            return
        last = verdict.last_event_id
        stream = session.resume(last) if last else session.general()
        if stream is None:
            await self._wire.reject(unknown_event(last or ""))
            return
        with self._reading(session, stream) as ticket:
            await self._stream(stream, ticket, [], prime=verdict.prime and not last)

    async def _stream(self, stream: OutgoingStream, ticket: int, headers: Headers, *, prime: bool) -> None:
        """Send a stream's events until it ends, another reader takes over, or the client goes.

        In this era a disconnect cancels nothing: the client may come back for its reply.
        """
        self._watch(stream, ticket)
        await self._wire.start_stream(headers)
        await self._wire.more(self._primer(stream) if prime else encode_comment())
        with ending_politely():
            await self._send_events(stream, ticket)
        await self._wire.end_stream()

    async def _send_events(self, stream: OutgoingStream, ticket: int) -> None:
        while True:
            while (event := stream.take(ticket)) is not None:
                await self._wire.more(encode_event(event.data, id=event.id, event="message"))
            if stream.ended or not await stream.wait(ticket, self._limits.keep_alive_seconds):
                return
            if not len(stream) and not stream.ended:
                await self._wire.more(encode_comment("keep-alive"))

    def _primer(self, stream: OutgoingStream) -> bytes:
        """From its first byte on a stream can be resumed, and its client knows how soon."""
        return encode_event(b"", id=stream.start_id, retry=round(self._limits.reconnect_seconds * 1000))

    @contextlib.contextmanager
    def _reading(self, session: HttpServerTransport, stream: OutgoingStream) -> Generator[int]:
        """Be the reader of a stream for a while."""
        ticket = stream.begin_reading()
        try:
            yield ticket
        finally:
            stream.stop_reading(ticket)
            session.let_go(stream)
            self._listener.sessions.touch(session)

    def _watch(self, stream: OutgoingStream, ticket: int) -> None:
        """From now on, stop reading the stream when the client disconnects."""
        if self._watcher is None:
            self._watcher = asyncio.get_running_loop().create_task(self._until_disconnected(stream, ticket))

    async def _until_disconnected(self, stream: OutgoingStream, ticket: int) -> None:
        await self._wire.disconnected()
        stream.stop_reading(ticket)
