"""One HTTP request to a server, and its answer: performs what was decided, and decides nothing.

Specification: MCP `basic/transports#streamable-http`, since 2025-03-26.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Generator
from types import coroutine
from typing import TYPE_CHECKING, Any, Final

from anywire.protocol.http.server import (
    AnswerNow,
    Deliver,
    EndSession,
    OpenSession,
    OpenStream,
    ReadBody,
    Reject,
    check_bearer,
    held,
    id_in_flight,
    naming,
    not_serving,
    read_post,
    too_many_sessions,
    unknown_event,
    unknown_session,
)
from anywire.protocol.http.stateless import (
    StatelessFace,
    is_stateless,
    refuse_handshake,
    status_of,
)
from anywire.protocol.modern import Envelope, EnvelopeFault, envelope_of
from anywire.transport.asgi import (
    ClientGone,
    Headers,
    head_from,
    headers_of,
    text_of,
)
from anywire.transport.http_call import HttpCallTransport
from anywire.transport.http_session import HttpServerTransport
from anywire.transport.http_stream import OutgoingStream
from anywire.transport.stream_wire import StreamWire
from anywire.wire.codec import decode, encode
from anywire.wire.event_stream import encode_comment
from anywire.wire.message import Batch, Fault, Message, Request

if TYPE_CHECKING:
    from anywire.transport.http_server import HttpListener

__all__ = ("HttpAnswer",)


#: A body of this size may be a cancellation, which waits for nothing.
_SMALL_BYTES: Final = 4096
_METHODS: Final = "GET, POST, DELETE"
#: Turns of the loop after which the reply of a handler that does not wait is there.
_TURNS: Final = 2


class HttpAnswer(StreamWire, eq=False, kw_only=True):
    """One HTTP request and its response."""

    #: What it came to.
    listener: HttpListener

    def answer(self) -> Coroutine[Any, Any, None]:
        """Answer the request; returns when the response is complete.  Raises `ClientGone`."""
        listener, scope = self.listener, self.scope
        if not listener.is_here(scope):
            return self.respond(404)
        headers = headers_of(scope)
        guard = listener.guard
        if guard.origins:  # only where some were named is there anything to say to pages
            head = head_from(scope["method"], headers.items())
            if self.share(head, guard, _METHODS):
                return self.respond(204)
        refused = None if guard.bearer is None else check_bearer(text_of(headers, b"authorization"), guard)
        verdict = refused or listener.check(scope["method"], headers)
        if type(verdict) is ReadBody:
            return self._post(verdict, headers)
        assert not isinstance(verdict, ReadBody)
        return self._without_body(verdict)

    async def _without_body(self, verdict: Reject | OpenStream | EndSession) -> None:
        match verdict:
            case Reject():
                await self.reject(verdict)
            case OpenStream():
                await self._get(verdict)
            case EndSession():
                found = self.listener.sessions.end(verdict.session_id)
                await (self.respond(204) if found else self.reject(unknown_session()))

    async def _post(self, head: ReadBody, headers: dict[bytes, bytes]) -> None:
        listener = self.listener
        session_id = headers.get(b"mcp-session-id", b"").decode("latin-1").strip()
        session = listener.sessions.find(session_id) if session_id else None
        length = headers.get(b"content-length", b"")
        if session is not None and session.gate.held and not await self._pass(session, length):
            return  # before the body is read: what is not read is not kept
        body = await self.body(length, listener.intake)
        if body is None:
            return
        message = decode(body, self.limits)
        face = listener.stateless
        if face is not None:
            envelope = envelope_of(message.params) if type(message) is Request else None
            # Whoever names a revision of that era in a header is refused by the other.
            if envelope is not None or (
                head.refusal is not None and is_stateless(text_of(headers, b"mcp-protocol-version"), message)
            ):
                assert not isinstance(message, Batch | Fault)
                await self._call(message, envelope, head, headers, face)
                return
            verdict = refuse_handshake(message) if face.alone else None
        else:
            verdict = None
        verdict = verdict or read_post(head, session_id, message, listener.serves)
        match verdict:
            case Deliver():
                await self._deliver(session, verdict, head)
            case Reject():
                await self.reject(verdict)
            case AnswerNow():
                await self.respond_json(encode(verdict.error))
            case OpenSession():
                await self._open(verdict, head)

    async def _call(
        self,
        message: Message,
        envelope: Envelope | EnvelopeFault | None,
        head: ReadBody,
        headers: dict[bytes, bytes],
        face: StatelessFace,
    ) -> None:
        """Answer a request that stands for itself: when its client goes, nobody wants the reply."""
        listener = self.listener
        refused = listener.check_call(headers, message, envelope, face)
        if refused is None and not listener.is_ready:
            refused = await listener.admit()
        if refused is not None:
            await self.reject(refused)
            return
        if not isinstance(message, Request) or not isinstance(envelope, Envelope):
            await self.respond(202)  # a notification, of which this era has none over HTTP
            return
        call = HttpCallTransport(message, OutgoingStream(self.limits))
        ticket = call.stream.begin_reading()
        try:
            listener.call(call, message, envelope)
            for _ in range(_TURNS):
                if call.stream.ended:
                    break
                await _one_turn()
            else:
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
        refused = await self.listener.admit()
        session = self.listener.sessions.create() if refused is None else None
        if session is None:
            full = too_many_sessions() if self.listener.sessions.is_open else not_serving()
            await self.reject(refused or naming(full, verdict.request))
            return
        self.listener.accept(session)
        await self._reply(session, verdict.request, head, [(b"mcp-session-id", session.id.encode())])

    async def _pass(self, session: HttpServerTransport, length: bytes) -> bool:
        """Wait while a session takes nothing, for so long as a client may be kept waiting.

        What is small may be a cancellation, which does not wait: it is read first.
        """
        if length.isdigit() and len(length) < 5 and int(length) <= _SMALL_BYTES:
            return True
        if await session.gate.passed_within(self.limits.gate_seconds):
            return True
        await self.reject(held())
        return False

    def _deliver(
        self, session: HttpServerTransport | None, verdict: Deliver, head: ReadBody
    ) -> Coroutine[Any, Any, None]:
        if session is None or session.closed:
            return self.reject(unknown_session())
        if session.gate.held and not session.is_withdrawn_by(verdict.message):
            return self._deliver_later(session, verdict, head)
        if verdict.replies:
            return self._reply(session, verdict.message, head)
        session.deliver(verdict.message, None)
        return self.respond(202)

    async def _deliver_later(self, session: HttpServerTransport, verdict: Deliver, head: ReadBody) -> None:
        """Deliver when the session takes messages again; what cancels something unanswered never waits."""
        if await session.gate.passed_within(self.limits.gate_seconds):
            await self._deliver(session, verdict, head)
        else:
            await self.reject(naming(held(), verdict.message))

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
        quick = True
        try:
            session.deliver(message, stream)
            if not stream.ended:
                await _one_turn()  # a handler that does not wait is done by then
                if not stream.ended:
                    quick = False
                    await self._shape(stream, ticket, head)
            if stream.ended and not stream.replied:
                await self.respond(202, headers)  # it was cancelled, and wants no reply
            elif stream.ended and head.json and (len(stream) == 1 or not head.stream):
                reply = stream.take_last(ticket)
                if reply is None:
                    raise ClientGone  # nobody else could have taken it
                await self.respond_json(reply, 200, headers)
            else:
                await self._stream(session, stream, ticket, headers, prime=head.prime)
        except asyncio.CancelledError:
            if self._begun:
                raise
            answer = session.give_up(stream)
            await (self.respond_json(answer, 200, headers) if answer else self.respond(202, headers))
        finally:
            session.let_go(stream, ticket)
            if not quick:
                self.listener.sessions.touch(session)

    async def _shape(self, stream: OutgoingStream, ticket: int, head: ReadBody) -> None:
        """Wait until the shape of the answer is clear."""
        self.watch(stream, ticket)
        if head.stream:
            seconds = self.limits.stream_open_seconds
            if head.prime:
                seconds = min(seconds, self.limits.prime_seconds)
            wanted = await stream.wait(ticket, seconds)
        else:
            wanted = await stream.until_ended(ticket)
        if not wanted:
            raise ClientGone  # no other reader can know of a stream that has not begun

    async def _get(self, verdict: OpenStream) -> None:
        session = self.listener.sessions.find(verdict.session_id)
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
            self.listener.sessions.touch(session)

    def _stream(
        self,
        session: HttpServerTransport,
        stream: OutgoingStream,
        ticket: int,
        headers: Headers | None,
        *,
        prime: bool,
    ) -> Coroutine[Any, Any, None]:
        """Send a stream's events until it ends or rests, another reader takes over, or the client goes.

        In this era a disconnect cancels nothing: the client may come back for its reply.
        """
        session.begin_events(stream)
        if not stream.ended:
            self.watch(stream, ticket)
        begin = self.primer(stream) if prime else encode_comment()
        return self.send_stream(stream, ticket, begin, headers)


@coroutine
def _one_turn() -> Generator[None]:
    """Let everybody else take a turn; `asyncio.sleep(0)` in one piece."""
    yield
