"""A server of Streamable HTTP as an ASGI application.

It performs the verdicts of `anywire.protocol.http.server` and takes no decision of its own.  Mount it
under any prefix of any ASGI framework, or run it with any ASGI server; the path it is mounted at is
served with and without a slash at the end.  It needs no lifespan and takes part in one.

Specification: MCP `basic/transports#streamable-http`, 2025-03-26 to 2025-11-25.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Generator
from types import coroutine
from typing import Any, Final

from anywire.protocol.http.guard import Guard
from anywire.protocol.http.server import (
    POST_HEADERS,
    AnswerNow,
    Deliver,
    EndSession,
    OpenSession,
    OpenStream,
    PostVerdict,
    ReadBody,
    Reject,
    check_head,
    id_in_flight,
    not_serving,
    read_post,
    too_many_sessions,
    unknown_event,
    unknown_session,
)
from anywire.transport.asgi import (
    ClientGone,
    Headers,
    Intake,
    Receive,
    Scope,
    Send,
    Wire,
    ending_politely,
    follow_lifespan,
    head_from,
    headers_of,
    path_of,
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

_POST_HEADERS: Final = tuple(name.encode() for name in POST_HEADERS)
_METHODS: Final = "GET, POST, DELETE"
#: Different heads of POSTs that are remembered at once, and how large one may be.
_HEADS: Final = 256
_HEAD_BYTES: Final = 2048
#: Events that wait are sent together up to so many bytes.
_CHUNK_BYTES: Final = 64 * 1024


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
        #: Who is let in.
        self.guard = guard or Guard.for_bind("127.0.0.1")
        self._path = None if path is None else "/" + path.strip("/")
        self._limits = limits
        #: The bodies that are being read.
        self.intake = Intake(limits)
        self._heads: dict[tuple[bytes | None, ...], ReadBody] = {}
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
            return
        if scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1000})
            return
        exchange = _Exchange(self, receive, send)
        try:
            await exchange.answer(scope)
        except ClientGone:
            pass  # an everyday thing, and nobody is there to be told anything
        except asyncio.CancelledError:
            await exchange.break_off()
        finally:
            exchange.stop_watching()

    def is_here(self, path: str) -> bool:
        """Say whether a path is the one that is served."""
        here = self._path
        return here is None or path == here or (path.rstrip("/") or "/") == (here.rstrip("/") or "/")

    def check(self, method: str, headers: dict[bytes, bytes]) -> Reject | ReadBody | OpenStream | EndSession:
        """Decide what can be decided without the body."""
        if method != "POST":
            return check_head(head_from(method, headers.items()), self.guard)
        telling = tuple(map(headers.get, _POST_HEADERS))
        known = self._heads.get(telling)
        if known is not None:
            return known
        # What is decided from no other header is the same for all POSTs that have these.
        head = [
            (name, value) for name, value in zip(_POST_HEADERS, telling, strict=True) if value is not None
        ]
        verdict = check_head(head_from(method, head), self.guard)
        if isinstance(verdict, ReadBody) and sum(len(value) for _, value in head) <= _HEAD_BYTES:
            if len(self._heads) >= _HEADS:
                self._heads.clear()
            self._heads[telling] = verdict
        return verdict

    def read(self, head: ReadBody, session_id: str, body: bytes) -> PostVerdict:
        """Decide what a body means."""
        return read_post(head, session_id, body, self._serves, self._limits)

    def accept(self, session: HttpServerTransport) -> None:
        """Hand a new session to whoever serves it."""
        self._accept(session)

    @property
    def limits(self) -> Limits:
        """The limits in force."""
        return self._limits


class _Exchange(Wire):
    """One HTTP request and its response."""

    _watcher: asyncio.Task[None] | None = None

    def __init__(self, listener: HttpListener, receive: Receive, send: Send) -> None:
        super().__init__(receive, send)
        self._listener = listener
        self._limits = listener.limits

    def answer(self, scope: Scope) -> Coroutine[Any, Any, None]:
        """Answer the request; returns when the response is complete.  Raises `ClientGone`."""
        if not self._listener.is_here(path_of(scope)):
            return self.respond(404)
        headers = headers_of(scope)
        guard = self._listener.guard
        if guard.origins:  # only where some were named is there anything to say to pages
            head = head_from(scope["method"], headers.items())
            if self.share(head, guard, _METHODS):
                return self.respond(204)
        verdict = self._listener.check(scope["method"], headers)
        if isinstance(verdict, ReadBody):
            return self._post(verdict, headers)
        return self._without_body(verdict)

    def stop_watching(self) -> None:
        """The response is complete: the client may go."""
        if self._watcher is not None:
            self._watcher.cancel()

    async def _without_body(self, verdict: Reject | OpenStream | EndSession) -> None:
        match verdict:
            case Reject():
                await self.reject(verdict)
            case OpenStream():
                await self._get(verdict)
            case EndSession():
                found = self._listener.sessions.end(verdict.session_id)
                await (self.respond(204) if found else self.reject(unknown_session()))

    async def _post(self, head: ReadBody, headers: dict[bytes, bytes]) -> None:
        listener = self._listener
        session_id = headers.get(b"mcp-session-id", b"").decode("latin-1").strip()
        session = listener.sessions.find(session_id) if session_id else None
        if session is not None and session.gate.held:
            await session.gate.passed()  # before the body is read: what is not read is not kept
        body = await self.body(headers.get(b"content-length", b""), listener.intake)
        if body is None:
            return
        verdict = listener.read(head, session_id, body)
        match verdict:
            case Deliver():
                if session is None or session.closed:
                    await self.reject(unknown_session())
                elif verdict.replies:
                    await self._reply(session, verdict.message, head)
                else:
                    session.deliver(verdict.message, None)
                    await self.respond(202)
            case Reject():
                await self.reject(verdict)
            case AnswerNow():
                await self.respond_json(encode(verdict.error))
            case OpenSession():
                await self._open(verdict, head)

    async def _open(self, verdict: OpenSession, head: ReadBody) -> None:
        session = self._listener.sessions.create()
        if session is None:
            await self.reject(too_many_sessions() if self._listener.sessions.is_open else not_serving())
            return
        self._listener.accept(session)
        await self._reply(session, verdict.request, head, [(b"mcp-session-id", session.id.encode())])

    async def _reply(
        self,
        session: HttpServerTransport,
        message: Message | Batch,
        head: ReadBody,
        headers: Headers | None = None,
    ) -> None:
        """Answer a POST: one JSON text, or an event stream when something must precede the reply."""
        stream = session.open_post(message)
        if isinstance(stream, bytes):
            await self.respond_json(encode(id_in_flight(stream).error))
            return
        ticket = stream.begin_reading()  # before anybody writes, who would not be held
        try:
            session.deliver(message, stream)
            if not stream.ended:
                await _one_turn()  # a handler that does not wait is done by then
                if not stream.ended:
                    await self._shape(stream, ticket, head)
            if stream.ended and not stream.replied:
                await self.respond(202, headers)  # it was cancelled, and wants no reply
            elif stream.ended and head.json and (len(stream) == 1 or not head.stream):
                await self._last(stream, ticket, headers)
            else:
                await self._stream(session, stream, ticket, headers, prime=head.prime)
        except asyncio.CancelledError:
            if self._begun:
                raise
            answer = session.give_up(stream)
            await (self.respond_json(answer, 200, headers) if answer else self.respond(202, headers))
        finally:
            session.let_go(stream, ticket)
            self._listener.sessions.touch(session)

    async def _shape(self, stream: OutgoingStream, ticket: int, head: ReadBody) -> None:
        """Wait until the shape of the answer is clear."""
        self._watch(stream, ticket)
        if head.stream:
            seconds = self._limits.stream_open_seconds
            if head.prime:
                seconds = min(seconds, self._limits.prime_seconds)
            wanted = await stream.wait(ticket, seconds)
        else:
            wanted = await stream.until_ended(ticket)
        if not wanted:
            raise ClientGone  # no other reader can know of a stream that has not begun

    async def _last(self, stream: OutgoingStream, ticket: int, headers: Headers | None) -> None:
        """Answer with the reply alone; what belonged to the request before it is left out."""
        reply = stream.take_last(ticket)
        if reply is None:
            raise ClientGone  # nobody else could have taken it
        await self.respond_json(reply, 200, headers)

    async def _get(self, verdict: OpenStream) -> None:
        session = self._listener.sessions.find(verdict.session_id)
        if session is None:
            await self.reject(unknown_session())
            return
        last = verdict.last_event_id
        stream = session.resume(last) if last else session.general()
        if stream is None:
            await self.reject(unknown_event(last or ""))
            return
        ticket = stream.begin_reading()
        try:
            await self._stream(session, stream, ticket, None, prime=verdict.prime and not last)
        finally:
            session.let_go(stream, ticket)
            self._listener.sessions.touch(session)

    async def _stream(
        self,
        session: HttpServerTransport,
        stream: OutgoingStream,
        ticket: int,
        headers: Headers | None,
        *,
        prime: bool,
    ) -> None:
        """Send a stream's events until it ends, another reader takes over, or the client goes.

        In this era a disconnect cancels nothing: the client may come back for its reply.
        """
        session.begin_events(stream)
        if not stream.ended:
            self._watch(stream, ticket)
        await self.start_stream(headers)
        rest = b""
        with ending_politely():
            rest = await self._send_events(
                stream, ticket, self._primer(stream) if prime else encode_comment()
            )
        await self.end_stream(rest)

    async def _send_events(self, stream: OutgoingStream, ticket: int, begin: bytes) -> bytes:
        """Send what there is and what comes; return what is to go out with the end of the response."""
        chunk = begin
        while True:
            events = [chunk]
            size = len(chunk)
            while size < _CHUNK_BYTES and (event := stream.take(ticket)) is not None:
                id, data = event
                events.append(encode_event(data, id=id, event="message"))
                size += len(events[-1])
            chunk = b"".join(events)
            if stream.ended and not len(stream):
                return chunk
            if chunk:
                await self.more(chunk)
            if not await stream.wait(ticket, self._limits.keep_alive_seconds):
                return b""
            chunk = b"" if len(stream) or stream.ended else encode_comment("keep-alive")

    def _primer(self, stream: OutgoingStream) -> bytes:
        """From its first byte on a stream can be resumed, and its client knows how soon."""
        return encode_event(b"", id=stream.start_id, retry=round(self._limits.reconnect_seconds * 1000))

    def _watch(self, stream: OutgoingStream, ticket: int) -> None:
        """From now on, stop reading the stream when the client disconnects."""
        if self._watcher is None:
            self._watcher = asyncio.get_running_loop().create_task(self._until_disconnected(stream, ticket))

    async def _until_disconnected(self, stream: OutgoingStream, ticket: int) -> None:
        await self.disconnected()
        stream.stop_reading(ticket)


@coroutine
def _one_turn() -> Generator[None]:
    """Let everybody else take a turn; `asyncio.sleep(0)` in one piece."""
    yield
