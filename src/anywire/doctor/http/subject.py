"""A server under examination over HTTP: requests as they are given, answers as they come.

Nothing here judges.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from typing import Final

import msgspec

from anywire.doctor.patience import Patience
from anywire.doctor.reply import Reply, find_reply, has_id
from anywire.doctor.strict import strict_faults
from anywire.errors import TransportError
from anywire.protocol.http.client import Purpose, merge_headers, request_headers
from anywire.protocol.http.media import EVENT_STREAM, JSON, media_type
from anywire.transport.http_exchange import AiohttpExchange, HttpResponse
from anywire.wire.codec import decode, encode
from anywire.wire.event_stream import EventStreamDecoder
from anywire.wire.limits import DEFAULT_LIMITS
from anywire.wire.message import Batch, ErrorResponse, Fault, Message, Request, Response

__all__ = ("Answer", "HttpSubject")

# Enough of a body to say what it is.
_SHOWN_BYTES: Final = 300
_SHOWN_SECONDS: Final = 1.0
_DOCUMENT_BYTES: Final = 64 * 1024
_MOST_BYTES: Final = DEFAULT_LIMITS.message_bytes


class Answer(msgspec.Struct, frozen=True):
    """What came back: the head, the first of the body, and what was in it."""

    status: int
    headers: Mapping[str, str]
    #: From the request to the head.
    head_seconds: float
    start: bytes = b""
    #: The answers in the body, in order, and what was there besides and is no message.
    replies: tuple[Reply, ...] = ()
    faults: tuple[Fault, ...] = ()
    #: How many bytes of the body were read, and whether the reply stood in an event without an end.
    size: int = 0
    unfinished: bool = False
    #: Whether the body had come to its end.
    ended: bool = True
    #: Why it could not be read to its end, empty where nothing went wrong.
    broken: str = ""

    @property
    def media(self) -> str:
        """The type of the body, empty where none is named."""
        return media_type(self.headers.get("content-type"))

    @property
    def is_usable(self) -> bool:
        """Whether the status and the type are those of a body with messages."""
        return 200 <= self.status < 300 and self.media in (JSON, EVENT_STREAM)

    def reply(self, id: bytes) -> Reply | None:
        """Return the answer to the request of that id."""
        return find_reply(self.replies, id)

    def __str__(self) -> str:
        """Say what it is in a sentence's part."""
        shown = self.start.decode("utf-8", "backslashreplace").strip()
        body = f", {self.media or 'no type'}: {shown[:160]!r}" if shown else ""
        return f"HTTP {self.status}{body}"


class HttpSubject:
    """Sends requests to one URL.  `close()` must be awaited on every path."""

    def __init__(self, url: str, headers: Mapping[str, str], patience: Patience) -> None:
        #: What goes on every request.
        self.headers = headers
        #: Where requests go.
        self.url = url
        #: What `initialize` gave: the session and the revision, None before it and without one.
        self.session_id: str | None = None
        self.revision: str | None = None
        self._patience = patience
        limits = DEFAULT_LIMITS.replace(
            connect_seconds=min(DEFAULT_LIMITS.connect_seconds, patience.start_seconds),
            first_byte_seconds=patience.start_seconds,
        )
        self._exchange = AiohttpExchange(limits)
        self._next_id = 0

    async def close(self) -> None:
        """Close all connections."""
        await self._exchange.close()

    def new_id(self) -> bytes:
        """Return an id that was not used before."""
        self._next_id += 1
        return str(self._next_id).encode()

    async def post(
        self, message: Message, headers: Mapping[str, str] | None = None, *, url: str | None = None
    ) -> Answer:
        """POST a message and read what is answered, up to the reply if it wants one.

        Raises what `Exchange.open` does.
        """
        wants = message.id if isinstance(message, Request) else None
        purpose = Purpose.NOTE if wants is None else Purpose.REQUEST
        async with self._open("POST", purpose, encode(message), headers, url) as (response, seconds):
            answer = Answer(response.status, response.headers, seconds)
            return await self._read(response, answer, wants)

    async def delete(self, headers: Mapping[str, str] | None = None) -> Answer:
        """Ask for the end of the session."""
        async with self._open("DELETE", Purpose.END, None, headers, None) as (response, seconds):
            answer = Answer(response.status, response.headers, seconds)
            return await self._read_start(response, answer)

    async def get(self, watched_seconds: float, *, url: str | None = None, until: bytes = b"\0") -> Answer:
        """Ask for the stream and read it for a while, or until that is in it; `ended`: it was over sooner."""
        async with self._open("GET", Purpose.STREAM, None, None, url) as (response, seconds):
            return await self._watch(response, seconds, watched_seconds, until)

    async def listen(
        self, request: Request, headers: Mapping[str, str], watched_seconds: float, *, until: bytes
    ) -> Answer:
        """POST a request whose answer is a stream without an end, and read it like one that a GET gives."""
        body = encode(request)
        async with self._open("POST", Purpose.REQUEST, body, headers, None) as (response, seconds):
            return await self._watch(response, seconds, watched_seconds, until)

    async def fetch(self, url: str) -> Answer:
        """GET a public document, without any of the headers that were given; `start` is all of it."""
        loop = asyncio.get_running_loop()
        began = loop.time()
        async with self._exchange.open("GET", url, {"Accept": JSON}, None) as response:
            answer = Answer(response.status, response.headers, loop.time() - began)
            return await self._read_start(response, answer, _DOCUMENT_BYTES)

    @asynccontextmanager
    async def _open(
        self,
        method: str,
        purpose: Purpose,
        body: bytes | None,
        headers: Mapping[str, str] | None,
        url: str | None,
    ) -> AsyncGenerator[tuple[HttpResponse, float]]:
        protocol = request_headers(purpose, session_id=self.session_id, revision=self.revision)
        merged = merge_headers(self.headers, protocol, headers or {})
        loop = asyncio.get_running_loop()
        began = loop.time()
        async with self._exchange.open(method, url or self.url, merged, body) as response:
            yield response, loop.time() - began

    # Bodies.

    async def _read(self, response: HttpResponse, answer: Answer, wants: bytes | None) -> Answer:
        if wants is None or answer.media not in (JSON, EVENT_STREAM):
            return await self._read_start(response, answer)
        reader = _BodyReader(answer.media == EVENT_STREAM, wants)
        ended, broken = False, ""
        try:
            async with asyncio.timeout(self._patience.answer_seconds):
                while not ended and not reader.has_reply and reader.size < _MOST_BYTES:
                    chunk = await response.read()
                    ended = not chunk
                    reader.feed(chunk)
        except TimeoutError:
            pass  # what has come is judged
        except TransportError as error:
            broken = str(error)
        if ended or answer.media == EVENT_STREAM:
            reader.end()
        return msgspec.structs.replace(
            answer,
            start=bytes(reader.start),
            replies=tuple(reader.replies),
            faults=tuple(reader.faults),
            size=reader.size,
            unfinished=reader.unfinished,
            ended=ended,
            broken=broken,
        )

    async def _watch(
        self, response: HttpResponse, seconds: float, watched_seconds: float, until: bytes
    ) -> Answer:
        answer = Answer(response.status, response.headers, seconds)
        if answer.status != 200 or answer.media != EVENT_STREAM:
            return await self._read_start(response, answer)
        start, ended = bytearray(), False
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(watched_seconds):
                while not ended and len(start) < _SHOWN_BYTES and until not in start:
                    chunk = await response.read()
                    start += chunk
                    ended = not chunk
        return msgspec.structs.replace(answer, start=bytes(start), ended=ended)

    async def _read_start(self, response: HttpResponse, answer: Answer, most: int = _SHOWN_BYTES) -> Answer:
        start, ended = bytearray(), False
        with contextlib.suppress(TimeoutError, TransportError):
            async with asyncio.timeout(_SHOWN_SECONDS):
                while not ended and len(start) < most:
                    chunk = await response.read()
                    start += chunk
                    ended = not chunk
        return msgspec.structs.replace(answer, start=bytes(start[:most]), ended=ended)


class _BodyReader:
    """Reads messages out of a body of either type."""

    def __init__(self, is_stream: bool, wants: bytes) -> None:
        self.start = bytearray()
        self.replies: list[Reply] = []
        self.faults: list[Fault] = []
        self.size = 0
        #: Whether the reply came out at the end of the stream only, which is no end of an event.
        self.unfinished = False
        self._wants = wants
        self._decoder = EventStreamDecoder() if is_stream else None
        self._body = bytearray()

    @property
    def has_reply(self) -> bool:
        """Whether what was asked is answered."""
        return any(has_id(reply, self._wants) for reply in self.replies)

    def feed(self, chunk: bytes) -> None:
        """Take more of the body."""
        self.size += len(chunk)
        self.start += chunk[: _SHOWN_BYTES - len(self.start)]
        if self._decoder is None:
            self._body += chunk
            return
        for event in self._decoder.feed(chunk):
            self._take(event if isinstance(event, Fault) else event.data)

    def end(self) -> None:
        """Take the end of the body."""
        if self._decoder is None:
            self._take(bytes(self._body))
            return
        had_reply = self.has_reply
        for event in self._decoder.end():
            self._take(event if isinstance(event, Fault) else event.data)
        self.unfinished = self.has_reply and not had_reply

    def _take(self, data: bytes | Fault) -> None:
        if not data:
            return  # an event without data primes a stream
        message = data if isinstance(data, Fault) else decode(data)
        self.faults += strict_faults(message)
        for item in message.items if isinstance(message, Batch) else (message,):
            if isinstance(item, Fault):
                self.faults.append(item)
            elif isinstance(item, Response | ErrorResponse):
                self.replies.append(item)
