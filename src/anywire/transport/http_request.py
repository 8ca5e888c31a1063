"""One request of a client and its reply, over as many connections as that takes."""

from __future__ import annotations

import asyncio
import math
import random
from collections.abc import Callable, Coroutine, Iterable, Mapping
from typing import Any, Final, TypeAlias

import msgspec

from anywire.errors import (
    AnywireError,
    ConnectFailed,
    DeadlineExceeded,
    HttpStatusError,
    LimitExceeded,
    ProtocolError,
    RemoteProtocolError,
    TransportBroken,
)
from anywire.protocol.http.client import Purpose, Reading
from anywire.protocol.http.media import JSON, media_type
from anywire.protocol.http.reconnect import Reconnect
from anywire.transport.contract import ignore
from anywire.transport.deadline import bounded
from anywire.transport.http_calls import HttpCalls, HttpSession
from anywire.transport.http_exchange import HttpResponse
from anywire.wire.codec import decode, encode
from anywire.wire.event_stream import EventStreamDecoder, ServerEvent
from anywire.wire.limits import Limits
from anywire.wire.message import (
    NULL_ID,
    Batch,
    ErrorResponse,
    Fault,
    FaultKind,
    Message,
    Request,
    Response,
    id_key,
)

__all__ = ("Asker", "Expected", "Received", "StreamEnd")

#: Gets each thing that comes in.
Received: TypeAlias = Callable[[Message | Batch | Fault], None]

# How often in a row a lost reply is gone after in vain.
_RESUMES: Final = 8
_PING_ID: Final = b'"anywire-ping"'


class Expected:
    """What was asked and whose replies have not come; receives on its behalf.

    The reply to a single request is kept back as `reply`; those to a batch are handed on.
    """

    def __init__(self, ids: Iterable[bytes], received: Received, *, single: bool) -> None:
        #: The raw ids that are unanswered, by their keys.
        self.missing = {id_key(id): id for id in ids}
        #: The reply to the single request.
        self.reply: Response | ErrorResponse | None = None
        #: How a request was refused that was not answered.
        self.refusal: HttpStatusError | None = None
        #: What keeps the reply from coming, for whoever waits for it too long ...
        self.trouble = ""
        #: ... and the answer that should be it, once its head has come.
        self.answer: HttpResponse | None = None
        #: The session that the answer named.
        self.session_id: str | None = None
        #: How many messages have come in.
        self.delivered = 0
        self._received = received
        self._single = single

    def __call__(self, message: Message | Batch | Fault) -> None:
        """Take one thing that came in.  Raises when it is the reply, and cannot be used."""
        if isinstance(message, Fault):
            self._take_fault(message)
        elif isinstance(message, Batch) and self._single:
            for item in message.items:
                self(item)
        else:
            self._take(message)

    def _take(self, message: Message | Batch) -> None:
        self.delivered += 1
        answered = False
        for item in message.items if isinstance(message, Batch) else (message,):
            key = self._answered(item)
            if key is not None:
                answered = True
                id = self.missing.pop(key)
                if self._single:
                    self.reply = _named(item, id)
        if not (answered and self._single):
            self._received(message)

    def _answered(self, item: Message | Fault) -> bytes | None:
        """Return the key of the request that a message answers, None where it answers none of these."""
        if not isinstance(item, Response | ErrorResponse):
            return None
        sole = next(iter(self.missing)) if len(self.missing) == 1 else None
        if item.id is None or item.id == NULL_ID:
            return sole if isinstance(item, ErrorResponse) else None
        key = id_key(item.id)
        if key in self.missing:
            return key
        return sole if sole is not None and key.strip(b'"') == sole.strip(b'"') else None

    def is_named_by(self, item: Message | Fault) -> bool:
        """Say whether that is a reply to one of these requests, and says to which."""
        return (
            isinstance(item, Response | ErrorResponse)
            and item.id is not None
            and id_key(item.id) in self.missing
        )

    def _take_fault(self, fault: Fault) -> None:
        key = None if fault.id is None else id_key(fault.id)
        if self._single and self.missing and fault.may_settle and (key is None or key in self.missing):
            kind = LimitExceeded if fault.kind is FaultKind.TOO_LARGE else RemoteProtocolError
            raise kind(f"the reply could not be used: {fault.reason}")
        self._received(fault)

    @property
    def complete(self) -> bool:
        """Whether all replies have come."""
        return not self.missing

    @property
    def obstacle(self) -> str:
        """What keeps the reply from coming, as far as that is known; empty where it is not."""
        if self.trouble or self.answer is None:
            return self.trouble
        content = media_type(self.answer.headers.get("content-type"))
        return f"an answer has begun (HTTP {self.answer.status}, {content}) that does not end"


def _named(item: Message | Fault, id: bytes) -> Response | ErrorResponse:
    """Give an error without an id that of the request it answers."""
    assert isinstance(item, Response | ErrorResponse)
    if item.id is None or item.id == NULL_ID:
        return msgspec.structs.replace(item, id=id, frame=b"")
    return item


class StreamEnd(msgspec.Struct, frozen=True):
    """How a general stream ended: what it was, from where it can be taken up again, what broke it."""

    reading: Reading
    last_event_id: str = ""
    retry: int | None = None
    error: AnywireError | None = None


class Asker:
    """Sends messages with an `HttpCalls` and reads what comes back."""

    def __init__(self, calls: HttpCalls, limits: Limits) -> None:
        self._calls = calls
        self._limits = limits

    def ask(self, expected: Expected, body: bytes, session: HttpSession) -> Coroutine[Any, Any, bool]:
        """Send what wants replies, and hand them to `expected`.

        False: it was refused as if the session were gone, see `expected.refusal`.  Raises a
        `TransportError`, `ProtocolError` or `DeadlineExceeded` when there is no reply.
        """
        answer = self._ask(expected, body, session)
        seconds = self._limits.answer_seconds
        return answer if seconds == math.inf else self._in_time(answer, seconds)

    async def _in_time(self, answer: Coroutine[Any, Any, bool], seconds: float) -> bool:
        async with bounded(seconds, f"{self._calls.name}: the answer was not complete"):
            return await answer

    async def _ask(self, expected: Expected, body: bytes, session: HttpSession) -> bool:
        async with self._calls.open("POST", Purpose.REQUEST, body, session=session) as (response, reading):
            expected.session_id = response.headers.get("mcp-session-id") or None
            if reading is Reading.SESSION_GONE:
                return await self._read_refusal(response, expected)
            if reading is Reading.JSON:
                await self._read_json(response, expected)
            elif reading is Reading.STREAM:
                await self._read_replies(response, expected, session)
            else:
                await self._read_failure(response, expected)
            return True

    async def ask_alone(self, expected: Expected, body: bytes, headers: Mapping[str, str]) -> bool:
        """Send a request that stands for itself; a stream that is lost is not taken up again.  True.

        Raises as `ask` does.
        """
        async with self._calls.open("POST", Purpose.REQUEST, body, more=headers) as (response, reading):
            if reading is Reading.JSON:
                await self._read_json(response, expected)
            elif reading is Reading.STREAM:
                decoder = EventStreamDecoder(self._limits)
                cut = await self._read_events(response, decoder, expected, until=lambda: expected.complete)
                if not expected.complete:
                    raise self._lost("the stream ended without the reply", cut)
            else:
                await self._read_failure(response, expected, alone=True)
            return True

    async def tell(self, body: bytes, session: HttpSession) -> bool:
        """Send what wants no reply; False: the session is gone."""
        async with self._calls.open("POST", Purpose.NOTE, body, session=session) as (response, reading):
            if reading is Reading.SESSION_GONE:
                return False
            if reading not in (Reading.ACCEPTED, Reading.STREAM):
                raise await self._calls.status_error(response)
            return True

    async def listen(self, session: HttpSession, last_event_id: str, received: Received) -> StreamEnd:
        """Read the general stream to its end.  Raises when it could not be opened."""
        async with self._calls.open("GET", Purpose.STREAM, session=session, last_event_id=last_event_id) as (
            response,
            reading,
        ):
            if reading is Reading.FAILED:
                raise await self._calls.status_error(response)
            if reading is not Reading.STREAM:
                return StreamEnd(reading)
            decoder = EventStreamDecoder(self._limits)
            decoder.last_event_id = last_event_id
            cut = await self._read_events(response, decoder, received)
            return StreamEnd(reading, decoder.last_event_id, decoder.retry, cut)

    async def is_alive(self, session: HttpSession) -> bool:
        """Ask whether a session is still there: any answer but that it is gone says so."""
        expected = Expected([_PING_ID], ignore, single=True)
        try:
            return await self.ask(expected, encode(Request(_PING_ID, "ping")), session)
        except (HttpStatusError, ProtocolError):
            return True

    async def is_certainly_gone(self, session: HttpSession) -> bool:
        """Say whether the server knows nothing of a session; where it says nothing, that is not known."""
        try:
            return not await self.is_alive(session)
        except AnywireError:
            return False

    async def end(self, session: HttpSession) -> None:
        """Tell the server that the session is over, if there is one."""
        if session.id is not None and self._calls.started:
            async with self._calls.open("DELETE", Purpose.END, session=session):
                pass

    # Bodies.

    async def _read_json(self, response: HttpResponse, expected: Expected) -> None:
        expected.answer = response
        body = await self._calls.read_all(response)
        message = decode(body, self._limits)
        if isinstance(message, Fault):
            raise RemoteProtocolError(self._unusable(response, body, message.reason))
        expected(message)
        if not expected.complete:
            raise RemoteProtocolError(self._unusable(response, body, "it does not answer the request"))

    async def _read_refusal(self, response: HttpResponse, expected: Expected) -> bool:
        """A 404 that names the request is its answer; one that does not is the session's."""
        content = media_type(response.headers.get("content-type"))
        if content != JSON:
            expected.refusal = await self._calls.status_error(response)
            return False
        body = await self._calls.read_all(response)
        message = decode(body, self._limits)
        items = message.items if isinstance(message, Batch) else (message,)
        if all(expected.is_named_by(item) for item in items):
            expected(message)
        if not expected.complete:
            expected.refusal = HttpStatusError(
                self._calls.name, response.status, content, self._calls.shown(body)
            )
        return expected.complete

    async def _read_failure(self, response: HttpResponse, expected: Expected, *, alone: bool = False) -> None:
        """A JSON-RPC error may come with any status; anything else is an error of this wire.

        One that names no request is the answer to one that stands `alone`, since there is no session that
        it could be about: the server may have refused the headers, before it read the body.
        """
        content = media_type(response.headers.get("content-type"))
        if content != JSON or response.status in (401, 403):
            raise await self._calls.status_error(response)
        expected.answer = response
        body = await self._calls.read_all(response)
        message = decode(body, self._limits)
        nameless = isinstance(message, ErrorResponse) and (message.id is None or message.id == NULL_ID)
        if not isinstance(message, ErrorResponse) or (nameless and not (alone and response.status < 500)):
            raise HttpStatusError(self._calls.name, response.status, content, self._calls.shown(body))
        expected(message)
        if not expected.complete:
            raise HttpStatusError(self._calls.name, response.status, content, self._calls.shown(body))

    def _unusable(self, response: HttpResponse, body: bytes, reason: str) -> str:
        content = media_type(response.headers.get("content-type"))
        shown = self._calls.shown(body).decode("utf-8", "backslashreplace")
        return (
            f"{self._calls.name}: the answer (HTTP {response.status}, {content}) cannot be used: "
            f"{reason}: {shown!r}"
        )

    # Event streams.

    async def _read_replies(self, response: HttpResponse, expected: Expected, session: HttpSession) -> None:
        """Read events up to the last reply, over as many connections as it takes while one comes about."""
        decoder = EventStreamDecoder(self._limits)
        cut = await self._read_events(response, decoder, expected, until=lambda: expected.complete)
        policy, failures = Reconnect(self._limits), 0
        clock = asyncio.get_running_loop()
        lost_at, seconds = clock.time(), self._limits.request_seconds
        while not expected.complete:
            if not decoder.last_event_id:
                raise self._lost("the stream ended without the reply", cut)
            if failures:
                expected.trouble = f"the stream of the reply was lost and not resumed in {failures} tries"
                expected.trouble += f": {cut}" if cut is not None else ""
            # Whoever asked has a clock of its own; this one is for those who have none.
            if failures >= _RESUMES or (failures and clock.time() - lost_at >= seconds):
                what = f"the stream ended without the reply and could not be resumed in {failures} tries"
                raise self._lost(f"{what} and {clock.time() - lost_at:.0f} s", cut)
            await asyncio.sleep(policy.delay(random.random(), decoder.retry))  # noqa: S311 it spreads load
            seen, delivered = decoder.last_event_id, expected.delivered
            cut = await self._resume(decoder, expected, session)
            if expected.delivered > delivered:
                policy.delivered()
            if decoder.last_event_id != seen:
                failures, lost_at, expected.trouble = 0, clock.time(), ""
            else:
                failures += 1

    async def _resume(
        self, decoder: EventStreamDecoder, expected: Expected, session: HttpSession
    ) -> AnywireError | None:
        """Go on with a stream where it was lost; return what broke it this time, None for a polite end."""
        seen = decoder.last_event_id
        try:
            async with self._calls.open("GET", Purpose.STREAM, session=session, last_event_id=seen) as (
                response,
                reading,
            ):
                if reading is Reading.STREAM:
                    return await self._read_events(
                        response, decoder, expected, until=lambda: expected.complete
                    )
                error = await self._calls.status_error(response)
        except (ConnectFailed, TransportBroken, DeadlineExceeded) as failure:
            return failure  # not that of the request, which has been sent: it must not look so
        if reading is Reading.FAILED:
            return error
        raise self._lost("the stream ended without the reply and was not resumed", error)

    def _lost(self, what: str, cause: AnywireError | None) -> TransportBroken:
        """The request was sent, and its reply is lost."""
        error = TransportBroken(f"{self._calls.name}: {what}" + (f": {cause}" if cause is not None else ""))
        error.__cause__ = cause
        return error

    async def _read_events(
        self,
        response: HttpResponse,
        decoder: EventStreamDecoder,
        received: Received,
        until: Callable[[], bool] = lambda: False,
    ) -> AnywireError | None:
        """Read an event stream to its end, or until that is so; return what broke it."""
        cut: AnywireError | None = None
        try:
            while chunk := await self._calls.read(response):
                for event in decoder.feed(chunk):
                    self._take_event(event, received)
                if until():
                    return None
        except (TransportBroken, DeadlineExceeded) as error:
            cut = error
        for event in decoder.end():
            self._take_event(event, received)
        return cut

    def _take_event(self, event: ServerEvent | Fault, received: Received) -> None:
        if isinstance(event, Fault):
            received(event)
        elif event.data:  # an event without data primes the stream or keeps it alive
            received(decode(event.data, self._limits))
