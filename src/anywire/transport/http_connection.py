"""A connection to an HTTP server, and one response after the other on it: HTTP/1.1, as httptools reads it."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from typing import Final, cast

import httptools

from anywire.transport.contract import ignore
from anywire.transport.http_socket import KEEP_SECONDS, is_readable
from anywire.wire.limits import Limits

__all__ = ("HttpConnection",)

if not hasattr(httptools.HttpResponseParser, "set_dangerous_leniencies"):
    raise ImportError("httptools is older than 0.6.3")

#: So much of a body may wait until somebody reads it.
_WAITING_BYTES: Final = 512 * 1024
#: So much may still come of an answer that nobody needs any more.
_REST_BYTES: Final = 64 * 1024
#: How long a server says that it keeps a connection which is not used.
_KEPT: Final = re.compile(r"(?:^|[,; ])timeout *= *\"?([0-9]{1,9})", re.IGNORECASE)
#: So much of that is relied on.
_KEPT_SHARE: Final = 0.8


class HttpConnection(asyncio.Protocol):
    """Carries one request at a time: `begin` sends it, `read` and `release` belong to its response."""

    _transport: asyncio.Transport

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._loop = asyncio.get_running_loop()
        parser = self._parser = httptools.HttpResponseParser(self)
        # Servers are older than the rules; what they say is not passed on as HTTP.
        parser.set_dangerous_leniencies(
            lenient_headers=True, lenient_optional_cr_before_lf=True, lenient_spaces_after_chunk_size=True
        )
        #: Of the response: the status code ...
        self.status = 0
        #: ... and the headers under lower-case names; of one that occurs twice, the last.
        self.headers: dict[str, str] = {}
        #: Whether there were requests before this one.
        self.used = False
        #: Whether anything of the response has come.
        self.answered = False
        #: Whether that began as HTTP does.
        self.is_http = False
        #: When it last had been answered on, and until when it is kept then, in the time of the loop.
        self.idle_since = self.kept_until = 0.0
        #: Whether its server ended it when the next request might have been on its way, or was.
        self.left = False
        #: Called when it can have the next request, after a `release` that said it might ...
        self.on_idle: Callable[[HttpConnection], None] = ignore
        #: ... and at its end.
        self.on_lost: Callable[[HttpConnection], None] = ignore
        self._head: asyncio.Future[None] | None = None
        self._more: asyncio.Future[None] | None = None
        self._chunks: list[bytes] = []
        self._size = 0
        self._other_bytes = 0  # what has come since the last of the body, or the request
        self._complete = True  # nothing of a response is missing
        self._interim = False  # a response that only announces another
        self._surplus = False  # a response that nobody asked for
        self._keeps = True  # the connection outlives the response
        self._paused = False
        self._resting = False  # nobody needs the rest of the response
        self._left_by_us = False
        self._error: Exception | None = None

    # What is asked.

    @property
    def is_usable(self) -> bool:
        """Whether it can have a request."""
        return self._keeps and self._complete and self._error is None and not self._transport.is_closing()

    @property
    def keep_seconds(self) -> float:
        """How long it may be kept after this response: less than its server keeps it, where that is told."""
        told = self.headers.get("keep-alive")
        kept = _KEPT.search(told) if told is not None else None
        return KEEP_SECONDS if kept is None else min(KEEP_SECONDS, int(kept[1]) * _KEPT_SHARE)

    @property
    def has_news(self) -> bool:
        """Whether something has come that the loop has not read yet: where nothing was asked, the end."""
        return is_readable(self._transport.get_extra_info("socket"))

    def begin(self, request: bytes) -> asyncio.Future[None]:
        """Send a request; return what is done when the head of the response is there.

        Raises what broke the connection.
        """
        self.headers = {}
        self.answered = self._complete = self._resting = False
        self._chunks, self._size, self._other_bytes = [], 0, 0
        head = self._head = self._loop.create_future()
        self._transport.write(request)
        return head

    async def read(self) -> bytes:
        """Return what has come of the body, empty at its end.  Raises what broke the connection."""
        while not self._chunks:
            if self._error is not None:
                raise self._error
            if self._complete:
                return b""
            self._more = self._loop.create_future()
            try:
                await self._more
            finally:
                self._more = None
        chunks, self._chunks, self._size = self._chunks, [], 0
        self._resume()
        return chunks[0] if len(chunks) == 1 else b"".join(chunks)

    def release(self, *, rest: bool) -> bool:
        """Nobody reads the response any more; say whether the connection may have the next request.

        `rest`: it is waited for what is missing, which is little as a rule.  Then `on_idle` says when.
        """
        self._chunks = []
        self._resume()
        # An answer that came before the request was complete leaves the rest of that in the way.
        if self.is_usable and not self._transport.get_write_buffer_size():
            self.used, self._resting = True, False
            self.on_idle(self)
            return True
        if rest and not self._complete and self._head is None and self._error is None:
            self._resting, self._size = True, 0
            return True
        self.end()
        return False

    def end_rest(self) -> None:
        """What nobody needs has not come in time."""
        if self._resting:
            self.end()

    def _resume(self) -> None:
        if self._paused:
            self._paused = False
            if not self._transport.is_closing():
                self._transport.resume_reading()

    def fail(self, error: Exception) -> None:
        """End the connection for that reason."""
        self._error = self._error or error
        self._keeps = False
        if self._head is not None and not self._head.done():
            self._head.set_exception(self._error)
        self._head = None
        self._wake()
        self.end()

    def end(self) -> None:
        """End the connection, at once."""
        self._keeps, self._left_by_us = False, True
        self._transport.abort()

    # What comes in, as asyncio says it.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """There is a connection."""
        self._transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        """Something has come."""
        if self._complete:  # and nothing was asked
            self.end()
            return
        if not self.answered:
            self.answered, self.is_http = True, data.startswith(b"HTTP/")
        self._other_bytes += len(data)
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade:
            self._keeps = False
        except httptools.HttpParserError as error:
            self._keeps = False
            if not self._complete:
                self.fail(ConnectionError(f"this is no HTTP: {error}"))
        if self._other_bytes > self._limits.head_bytes and not self._complete:
            part = "head" if self._head is not None else "trailer"
            self.fail(ConnectionError(f"the {part} of the answer exceeds {self._limits.head_bytes} bytes"))
        self._wake()
        if self._resting and (self._complete or self._size > _REST_BYTES):
            self.release(rest=False)

    def eof_received(self) -> None:
        """The server says no more, and closes, as asyncio does then."""

    def connection_lost(self, exc: Exception | None) -> None:
        """The connection has ended."""
        self.left = self.used and not self._left_by_us and (self._complete or not self.answered)
        self._keeps = False
        if self._head is not None:
            lost = ConnectionError(
                f"Server disconnected: {exc}" if exc is not None else "Server disconnected"
            )
            if not self._head.done():
                self._head.set_exception(self._error or lost)
            self._head = None
        elif not self._complete and exc is None and self._ends_with_connection:
            self._complete = True
        if not self._complete and self._error is None:
            self._error = ConnectionError(str(exc or "the connection ended before it was complete"))
        self._wake()
        self.on_lost(self)
        del self._parser  # which knows this object

    @property
    def _ends_with_connection(self) -> bool:
        last_coding = self.headers.get("transfer-encoding", "").rpartition(",")[2]
        return "content-length" not in self.headers and last_coding.strip().lower() != "chunked"

    def _wake(self) -> None:
        if self._more is not None and not self._more.done():
            self._more.set_result(None)

    # What it is, as httptools says it.

    def on_message_begin(self) -> None:
        """A response begins."""
        if self._complete:
            self._surplus, self._keeps = True, False

    def on_header(self, name: bytes, value: bytes) -> None:
        """A header of it, or a trailer, of which none is needed."""
        if self._head is None:
            return
        if b"\0" in value:
            self.fail(ConnectionError(f"this is no HTTP: NUL in the header {name.decode('latin-1')}"))
            return
        text = value.decode("utf-8", "surrogateescape").strip(" \t")
        self.headers[name.decode("latin-1").lower()] = text

    def on_headers_complete(self) -> None:
        """Its head is there."""
        if self._surplus:
            return
        status = self._parser.get_status_code()
        if 100 <= status < 200 and status != 101:
            self._interim, self.headers = True, {}
            return
        self.status = status
        head, self._head = self._head, None
        if head is not None and not head.done():
            head.set_result(None)

    def on_body(self, body: bytes) -> None:
        """A part of its body."""
        if self._surplus:
            return
        self._other_bytes = 0
        self._size += len(body)
        if self._resting:
            return
        self._chunks.append(body)
        if self._size > _WAITING_BYTES and not self._paused:
            self._paused = True
            self._transport.pause_reading()

    def on_message_complete(self) -> None:
        """It is complete."""
        if self._interim:
            self._interim = False
        elif not self._surplus:
            self._complete = True
            self._keeps = self._keeps and self._parser.should_keep_alive()
