"""A server of Streamable HTTP as an ASGI application.

It performs the verdicts of `anywire.protocol.http.server` and takes no decision of its own.  Mount it
under any prefix of any ASGI framework, or run it with any ASGI server; the path it is mounted at is
served with and without a slash at the end.  It needs no lifespan and takes part in one.

Specification: MCP `basic/transports#streamable-http`, 2025-03-26 to 2025-11-25.
"""

from __future__ import annotations

import asyncio
import logging
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
    not_set_up,
    read_post,
    too_many_sessions,
    unknown_event,
    unknown_session,
)
from anywire.protocol.http.stateless import (
    StatelessFace,
    check_call,
    check_method,
    is_stateless,
    refuse_handshake,
    status_of,
)
from anywire.transport.asgi import (
    ClientGone,
    Headers,
    Receive,
    Scope,
    Send,
    follow_lifespan,
    head_from,
    headers_of,
    path_of,
    text_of,
)
from anywire.transport.contract import Accept, Life, Transport
from anywire.transport.http_call import HttpCallTransport
from anywire.transport.http_session import HttpServerTransport
from anywire.transport.http_sessions import HttpSessions
from anywire.transport.http_stream import OutgoingStream
from anywire.transport.stream_wire import StreamWire
from anywire.wire.codec import decode, encode
from anywire.wire.event_stream import encode_comment, encode_event
from anywire.wire.limits import DEFAULT_LIMITS, Limits
from anywire.wire.message import Batch, Fault, Message, Request

__all__ = ("HttpListener",)

_log = logging.getLogger("anywire.http")

_POST_HEADERS: Final = tuple(name.encode() for name in POST_HEADERS)
#: Different heads of POSTs that are remembered at once, and how large one may be.
_HEADS: Final = 256
_HEAD_BYTES: Final = 2048
#: Turns of the loop after which the reply of a handler that does not wait is there.
_TURNS: Final = 2


class HttpListener:
    """Accepts conversations over HTTP; an ASGI 3 application and a `Listener` in one.

    `accept` is given each new session; `serves` says whether its server has a method.  `path` limits
    what is answered to one path (and the same with a slash), None answers wherever it is mounted.  `life`
    is entered when the process says that it begins, else with the first request, and left at the end.
    """

    def __init__(
        self,
        accept: Accept,
        serves: Callable[[str], bool],
        *,
        guard: Guard | None = None,
        path: str | None = None,
        stateless: StatelessFace | None = None,
        life: Life | None = None,
        limits: Limits = DEFAULT_LIMITS,
    ) -> None:
        self._accept = accept
        self._serves = serves
        #: What is served of the stateless era; None: nothing.
        self.stateless = stateless
        #: Who is let in.
        self.guard = guard or Guard.for_bind("127.0.0.1")
        self._path = None if path is None else "/" + path.strip("/")
        self._life = life
        self._limits = limits
        self._heads: dict[tuple[bytes | None, ...], ReadBody] = {}
        #: The sessions that live.
        self.sessions = HttpSessions(limits)

    async def close(self) -> None:
        """End all sessions and refuse new ones.  Idempotent."""
        self.sessions.close()
        await asyncio.sleep(0)  # whoever served them hears of it now
        if self._life is not None:
            await self._life.leave()

    async def open(self) -> None:
        """Set up what is served, and take sessions, again if there was an end before."""
        self.sessions.open()
        if self._life is not None:
            await self._life.enter()

    async def admit(self) -> Reject | None:
        """Refuse a new conversation that cannot be served; None: everything is set up for it."""
        if self._life is not None and not self._life.entered and self.sessions.is_open:
            try:
                await self._life.enter()
            except Exception:  # noqa: BLE001 whoever asks is told that it is not served
                _log.exception("what is served could not be set up")
                return not_set_up()
        return None if self.sessions.is_open else not_serving()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request, or follow the lifespan of the process."""
        if scope["type"] == "lifespan":
            await follow_lifespan(receive, send, self.open, self.close)
            return
        if scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1000})
            return
        exchange = _Exchange(self, receive, send)
        try:
            await exchange.answer(scope)
        except ClientGone:
            pass  # an everyday thing, and nobody is there to be told anything
        finally:
            exchange.stop_watching()

    def is_here(self, path: str) -> bool:
        """Say whether a path is the one that is served."""
        here = self._path
        return here is None or path == here or (path.rstrip("/") or "/") == (here.rstrip("/") or "/")

    def check(self, method: str, headers: dict[bytes, bytes]) -> Reject | ReadBody | OpenStream | EndSession:
        """Decide what can be decided without the body."""
        if method != "POST":
            other = head_from(method, headers.items())
            refused = None if self.stateless is None else check_method(other, self.guard, self.stateless)
            return refused or check_head(other, self.guard)
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

    def read(self, head: ReadBody, session_id: str, message: Message | Batch | Fault) -> PostVerdict:
        """Decide what a message of the handshake era means."""
        if self.stateless is not None and self.stateless.alone:
            return refuse_handshake(message)
        return read_post(head, session_id, message, self._serves)

    def accept(self, transport: Transport) -> None:
        """Hand a new session, or a request that stands for itself, to whoever serves it."""
        self._accept(transport)

    @property
    def limits(self) -> Limits:
        """The limits in force."""
        return self._limits


class _Exchange(StreamWire):
    """One HTTP request and its response."""

    def __init__(self, listener: HttpListener, receive: Receive, send: Send) -> None:
        super().__init__(receive, send, listener.limits)
        self._listener = listener

    def answer(self, scope: Scope) -> Coroutine[Any, Any, None]:
        """Answer the request; returns when the response is complete.  Raises `ClientGone`."""
        if not self._listener.is_here(path_of(scope)):
            return self.respond(404)
        headers = headers_of(scope)
        verdict = self._listener.check(scope["method"], headers)
        if isinstance(verdict, ReadBody):
            return self._post(verdict, headers)
        return self._without_body(verdict)

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
        body = await self.body(headers.get(b"content-length", b""), self._limits.body_bytes)
        if body is None:
            return
        message = decode(body, self._limits)
        if listener.stateless is not None and is_stateless(
            text_of(headers, b"mcp-protocol-version"), message
        ):
            assert not isinstance(message, Batch | Fault)
            await self._call(message, head, headers, listener.stateless)
            return
        verdict = listener.read(head, session_id, message)
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

    async def _call(
        self, message: Message, head: ReadBody, headers: dict[bytes, bytes], face: StatelessFace
    ) -> None:
        """Answer a request that stands for itself: when its client goes, nobody wants the reply."""
        refused = check_call(head_from("POST", headers.items()).headers, message, face)
        refused = refused or await self._listener.admit()
        if refused is not None:
            await self.reject(refused)
            return
        if not isinstance(message, Request):
            await self.respond(202)  # a notification, of which this era has none over HTTP
            return
        call = HttpCallTransport(message, self._limits)
        ticket = call.stream.begin_reading()
        try:
            self._listener.accept(call)
            for _ in range(_TURNS):
                await _one_turn()
            if not call.stream.ended:
                await self._shape(call.stream, ticket, head)
            reply = call.reply
            if reply is not None and head.json and (len(call.stream) == 1 or not head.stream):
                await self.respond_json(encode(reply), status_of(reply))
                return
            self.watch(call.stream, ticket)
            await self.send_stream(call.stream, ticket, encode_comment())
        finally:
            call.end(gone=call.reply is None)

    async def _open(self, verdict: OpenSession, head: ReadBody) -> None:
        refused = await self._listener.admit()
        session = self._listener.sessions.create() if refused is None else None
        if session is None:
            await self.reject(refused or too_many_sessions())
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
        stream.comes_back = head.stream and head.prime
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
        finally:
            session.let_go(stream, ticket)
            self._listener.sessions.touch(session)

    async def _shape(self, stream: OutgoingStream, ticket: int, head: ReadBody) -> None:
        """Wait until the shape of the answer is clear."""
        self.watch(stream, ticket)
        if head.stream:
            wanted = await stream.wait(ticket, self._limits.stream_open_seconds)
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
        """Send a stream's events until it ends or rests, another reader takes over, or the client goes.

        In this era a disconnect cancels nothing: the client may come back for its reply.
        """
        session.begin_events(stream)
        if not stream.ended:
            self.watch(stream, ticket)
        begin = self._primer(stream) if prime else encode_comment()
        await self.send_stream(stream, ticket, begin, headers)

    def _primer(self, stream: OutgoingStream) -> bytes:
        """From its first byte on a stream can be resumed, and its client knows how soon."""
        return encode_event(b"", id=stream.start_id, retry=round(self._limits.reconnect_seconds * 1000))


@coroutine
def _one_turn() -> Generator[None]:
    """Let everybody else take a turn; `asyncio.sleep(0)` in one piece."""
    yield
