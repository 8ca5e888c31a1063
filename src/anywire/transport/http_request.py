"""One HTTP request of a client and what comes back: reading, redirects, resuming a lost stream."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Final, TypeAlias, TypeGuard

import msgspec

from anywire.errors import (
    HttpStatusError,
    LimitExceeded,
    LocalProtocolError,
    RemoteProtocolError,
    TransportBroken,
)
from anywire.protocol.http.client import Purpose, Reading, read_head, redirect_target, request_headers
from anywire.protocol.http.media import JSON, media_type
from anywire.protocol.http.reconnect import Reconnect
from anywire.protocol.types.initialize import InitializeResult
from anywire.transport.http_exchange import Exchange, HttpResponse
from anywire.wire.codec import decode
from anywire.wire.event_stream import EventStreamDecoder
from anywire.wire.limits import Limits
from anywire.wire.message import Batch, ErrorResponse, Fault, FaultKind, Message, Response, id_key
from anywire.wire.value import decode_value

__all__ = ("Asker", "HttpSession", "Received", "Reply", "StreamEnd", "TokenHook")

#: Called before each request; returns headers for it alone, such as a fresh token.
TokenHook: TypeAlias = Callable[[], Awaitable[Mapping[str, str]]]

#: Gets each thing that comes in.
Received: TypeAlias = Callable[[Message | Batch | Fault], None]

_SHOWN_BYTES: Final = 300
_RESUMES: Final = 8


class Reply(msgspec.Struct, frozen=True):
    """The answer to a request, with the session id that came with it."""

    message: Response | ErrorResponse
    session_id: str | None = None


class StreamEnd(msgspec.Struct, frozen=True):
    """How a general stream ended: what it was, and from where it can be taken up again."""

    reading: Reading
    last_event_id: str = ""
    retry: int | None = None


class HttpSession(msgspec.Struct, frozen=True, eq=False):
    """What a handshake gave: the session's id and the revision; both None before it."""

    id: str | None = None
    revision: str | None = None

    @classmethod
    def opened(cls, reply: Reply) -> HttpSession:
        """Return the session that the answer to `initialize` opened."""
        if not isinstance(reply.message, Response):
            return cls()
        try:
            revision = decode_value(reply.message.result, InitializeResult).protocol_version
        except msgspec.MsgspecError:
            revision = None
        return cls(reply.session_id, revision)


class Asker:
    """Sends requests to one URL and reads what comes back."""

    def __init__(self, url: str, headers: Mapping[str, str], hook: TokenHook | None, limits: Limits) -> None:
        self._url = url
        #: What goes on every request.
        self.headers = headers
        #: What gives more headers for each request.
        self.hook = hook
        self._limits = limits
        #: What sends them; set before the first.
        self.exchange: Exchange | None = None

    async def ask(self, id: bytes, body: bytes, session: HttpSession, received: Received) -> Reply | None:
        """Send a request and return its reply; what comes before it goes to `received`.

        None: the session is gone, and the request was refused because of it.  Raises a
        `TransportError` or `ProtocolError` when there is no reply.
        """
        async with self._open("POST", Purpose.REQUEST, session, body) as (response, reading):
            if reading is Reading.SESSION_GONE:
                return None
            session_id = response.headers.get("mcp-session-id") or None
            if reading is Reading.JSON:
                message = await self._read_json(response, id, received)
            elif reading is Reading.STREAM:
                message = await self._read_reply(response, id, session, received)
            else:
                message = await self._read_failure(response, id)
        return Reply(message, session_id)

    async def tell(self, body: bytes, session: HttpSession, received: Received) -> bool:
        """Send what wants no reply; False: the session is gone."""
        async with self._open("POST", Purpose.NOTE, session, body) as (response, reading):
            if reading is Reading.SESSION_GONE:
                return False
            if reading is Reading.STREAM:  # the replies to a batch
                await self._read_events(response, EventStreamDecoder(self._limits), received)
            elif reading is not Reading.ACCEPTED:
                raise await self._status_error(response)
            return True

    async def listen(self, session: HttpSession, last_event_id: str, received: Received) -> StreamEnd:
        """Read the general stream to its end."""
        async with self._open("GET", Purpose.STREAM, session, None, last_event_id) as (response, reading):
            if reading is Reading.FAILED:
                raise await self._status_error(response)
            if reading is not Reading.STREAM:
                return StreamEnd(reading)
            decoder = EventStreamDecoder(self._limits)
            decoder.last_event_id = last_event_id
            await self._read_events(response, decoder, received)
            return StreamEnd(reading, decoder.last_event_id, decoder.retry)

    async def end(self, session: HttpSession) -> None:
        """Tell the server that the session is over, if there is one."""
        if session.id is not None and self.exchange is not None:
            async with self._open("DELETE", Purpose.END, session, None):
                pass

    # One request.

    @asynccontextmanager
    async def _open(
        self, method: str, purpose: Purpose, session: HttpSession, body: bytes | None, last_event_id: str = ""
    ) -> AsyncGenerator[tuple[HttpResponse, Reading], None]:
        """Send a request, following redirects on the same origin."""
        if self.exchange is None:
            raise LocalProtocolError("the transport has not been started")
        headers = request_headers(
            purpose, session_id=session.id, revision=session.revision, last_event_id=last_event_id
        )
        headers = {**self.headers, **headers, **(await self.hook() if self.hook is not None else {})}
        url, followed = self._url, 0
        while True:
            async with self.exchange.open(method, url, headers, body) as response:
                had_session = session.id is not None
                reading = read_head(purpose, response.status, response.headers, had_session=had_session)
                if reading is not Reading.REDIRECT:
                    yield response, reading
                    return
                target = redirect_target(url, response.headers.get("location"), followed=followed)
                if target is None:
                    raise await self._status_error(response)
            url, followed = target, followed + 1

    # Bodies.

    async def _read_json(
        self, response: HttpResponse, id: bytes, received: Received
    ) -> Response | ErrorResponse:
        body = await self._read_body(response)
        message = decode(body, self._limits)
        for item in message.items if isinstance(message, Batch) else (message,):
            if _answers(item, id):
                return item
            received(item)
        if isinstance(message, Fault):
            raise RemoteProtocolError(f"{self._url}: the answer cannot be used: {message.reason}")
        raise RemoteProtocolError(
            f"{self._url}: the answer does not answer the request: {body[:_SHOWN_BYTES]!r}"
        )

    async def _read_body(self, response: HttpResponse) -> bytes:
        chunks: list[bytes] = []
        size, limit = 0, self._limits.message_bytes
        async for chunk in response.chunks():
            size += len(chunk)
            if size > limit:
                raise LimitExceeded(f"{self._url}: the answer exceeds {limit} bytes")
            chunks.append(chunk)
        return b"".join(chunks)

    async def _read_reply(
        self, response: HttpResponse, id: bytes, session: HttpSession, received: Received
    ) -> Response | ErrorResponse:
        """Read events up to the reply, over as many connections as it takes while there is progress."""
        decoder = EventStreamDecoder(self._limits)
        waiting = _Waiting(id, received)
        await self._read_events_or_lose_them(response, decoder, waiting)
        policy, tries = Reconnect(self._limits), 0
        while waiting.reply is None:
            tries += 1
            seen = decoder.last_event_id
            if not seen or tries > _RESUMES:
                raise TransportBroken(f"{self._url}: the stream ended without the reply")
            await asyncio.sleep(policy.delay(0.0, decoder.retry))
            async with self._open("GET", Purpose.STREAM, session, None, seen) as (resumed, reading):
                if reading is not Reading.STREAM:
                    raise TransportBroken(
                        f"{self._url}: the stream ended without the reply and was not resumed"
                    )
                retry, decoder = decoder.retry, EventStreamDecoder(self._limits)
                decoder.last_event_id, decoder.retry = seen, retry
                await self._read_events_or_lose_them(resumed, decoder, waiting)
            if decoder.last_event_id != seen:
                tries = 0
                policy.delivered()
        return waiting.reply

    async def _read_events_or_lose_them(
        self, response: HttpResponse, decoder: EventStreamDecoder, waiting: _Waiting
    ) -> None:
        """Read events to the reply; a stream that breaks is as good as one that ends."""
        try:
            await self._read_events(response, decoder, waiting, until=waiting.is_over)
        except TransportBroken:
            if not decoder.last_event_id:
                raise

    async def _read_events(
        self,
        response: HttpResponse,
        decoder: EventStreamDecoder,
        received: Received,
        until: Callable[[], bool] = lambda: False,
    ) -> None:
        """Read an event stream to its end, or until that is so."""
        async for chunk in response.chunks():
            for event in decoder.feed(chunk):
                self._take_event(event if isinstance(event, Fault) else event.data, received)
            if until():
                return
        for event in decoder.end():
            self._take_event(event if isinstance(event, Fault) else event.data, received)

    def _take_event(self, data: bytes | Fault, received: Received) -> None:
        if isinstance(data, Fault):
            received(data)
        elif data:  # an event without data primes the stream or keeps it alive
            received(decode(data, self._limits))

    async def _read_failure(self, response: HttpResponse, id: bytes) -> Response | ErrorResponse:
        """A JSON-RPC error may come with any status; anything else is an error of this wire."""
        content = media_type(response.headers.get("content-type"))
        if content == JSON and response.status not in (401, 403):
            body = await self._read_body(response)
            message = decode(body, self._limits)
            if isinstance(message, ErrorResponse) and _answers(message, id):
                return message
            raise HttpStatusError(self._url, response.status, content, body[:_SHOWN_BYTES])
        raise await self._status_error(response)

    async def _status_error(self, response: HttpResponse) -> HttpStatusError:
        start = b""
        async for chunk in response.chunks():
            start += chunk
            if len(start) >= _SHOWN_BYTES:
                break
        content = media_type(response.headers.get("content-type"))
        return HttpStatusError(self._url, response.status, content, start[:_SHOWN_BYTES])


class _Waiting:
    """Receives on behalf of a request and keeps its reply."""

    def __init__(self, id: bytes, received: Received) -> None:
        self._id = id
        self._received = received
        self.reply: Response | ErrorResponse | None = None

    def __call__(self, message: Message | Batch | Fault) -> None:
        """Take one thing that came in."""
        if self.reply is None and _answers(message, self._id):
            self.reply = message
            return
        if isinstance(message, Fault) and message.is_reply and message.id == self._id:
            reason = f"the reply could not be used: {message.reason}"
            error = LimitExceeded if message.kind is FaultKind.TOO_LARGE else RemoteProtocolError
            raise error(reason)
        self._received(message)

    def is_over(self) -> bool:
        """Whether the reply is there."""
        return self.reply is not None


def _answers(message: Message | Batch | Fault, id: bytes) -> TypeGuard[Response | ErrorResponse]:
    return (
        isinstance(message, Response | ErrorResponse)
        and message.id is not None
        and id_key(message.id) == id_key(id)
    )
