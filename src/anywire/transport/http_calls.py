"""Requests to one server, one HTTP call each: which headers go on them, where redirects lead.

What came back is handed on as a response and what `anywire.protocol.http.client` makes of its head.
"""

from __future__ import annotations

import asyncio
import logging
import math
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager
from contextvars import ContextVar
from types import MappingProxyType, TracebackType
from typing import Final, TypeAlias

import msgspec

from anywire.errors import (
    AnywireError,
    ConfigError,
    HttpStatusError,
    LimitExceeded,
    LocalProtocolError,
    TransportBroken,
    TransportError,
)
from anywire.protocol.http.client import (
    Purpose,
    Reading,
    merge_headers,
    read_head,
    redirect_target,
    request_headers,
)
from anywire.protocol.http.media import media_type
from anywire.transport.deadline import bounded
from anywire.transport.gate import Gate
from anywire.transport.http_exchange import Exchange, HttpResponse
from anywire.transport.redact import show_url, without_secrets, without_values
from anywire.wire.limits import Limits

__all__ = ("SHOWN_BYTES", "HttpCalls", "HttpSession", "TokenHook")

_log = logging.getLogger("anywire.http")

#: Called before each request; returns headers for it alone, such as a fresh token.
TokenHook: TypeAlias = Callable[[], Awaitable[Mapping[str, str]]]

#: How much of a body that cannot be used is shown.
SHOWN_BYTES: Final = 300
_SHOWN_SECONDS: Final = 2.0
#: What the hook gave for the request that the current task has made.
_given: ContextVar[Mapping[str, str]] = ContextVar("anywire.http.given", default=MappingProxyType({}))


class HttpSession(msgspec.Struct, frozen=True, eq=False):
    """What a handshake gave: the session's id and the revision; both None before it."""

    id: str | None = None
    revision: str | None = None


NO_SESSION: Final = HttpSession()


class HttpCalls:
    """Sends requests to one URL.  `start()` before the first, `close()` after the last."""

    def __init__(
        self,
        url: str,
        headers: Mapping[str, str] | None,
        hook: TokenHook | None,
        make_exchange: Callable[[], Exchange],
        limits: Limits,
    ) -> None:
        #: Where requests go ...
        self.url = url
        #: ... and what that is called in errors.
        self.name = without_secrets(url)
        #: What goes on every request.
        self.headers = dict(headers or {})
        #: What gives more headers for each request.
        self.hook = hook
        #: What holds back reading.
        self.gate = Gate()
        #: Makes what sends them.
        self.make_exchange = make_exchange
        self._exchange: Exchange | None = None
        self._usual: tuple[HttpSession, dict[str, str]] | None = None
        self._limits = limits

    def start(self) -> None:
        """Be ready to send.  Raises `ConfigError` where a library is missing."""
        self._exchange = self.make_exchange()

    async def close(self) -> None:
        """Close all connections."""
        self.gate.break_down()
        if self._exchange is not None:
            await self._exchange.close()

    @property
    def exchange(self) -> Exchange:
        """What sends the requests.  Raises `LocalProtocolError` before the start."""
        if self._exchange is None:
            raise LocalProtocolError("the transport has not been started")
        return self._exchange

    @property
    def started(self) -> bool:
        """Whether anything can be sent."""
        return self._exchange is not None

    def open(
        self,
        method: str,
        purpose: Purpose,
        body: bytes | None = None,
        *,
        session: HttpSession = NO_SESSION,
        last_event_id: str = "",
        url: str | None = None,
        more: Mapping[str, str] | None = None,
    ) -> AbstractAsyncContextManager[tuple[HttpResponse, Reading]]:
        """Send a request, following redirects on the same origin.

        `url` is another than the usual one, `more` are headers of this request alone.
        """
        call = _Call(self, method, purpose, body, session=session, last_event_id=last_event_id, more=more)
        call.url = url or self.url
        return call

    async def headers_of(
        self, purpose: Purpose, session: HttpSession, last_event_id: str, more: Mapping[str, str] | None
    ) -> dict[str, str]:
        """Return all headers of a request; those of requests in one session are mostly the same."""
        usual = purpose is Purpose.REQUEST and self.hook is None and more is None
        if usual and self._usual is not None and self._usual[0] is session:
            return self._usual[1]
        given: Mapping[str, str] = {} if self.hook is None else await self._ask_hook(self.hook)
        _given.set(given)
        protocol = request_headers(
            purpose, session_id=session.id, revision=session.revision, last_event_id=last_event_id
        )
        headers = merge_headers(self.headers, given, protocol, more or {})
        if usual:
            self._usual = session, headers
        return headers

    async def _ask_hook(self, hook: TokenHook) -> Mapping[str, str]:
        try:
            given: object = await hook()
        except AnywireError:
            raise
        except Exception as error:  # a hook is the user's and may raise anything
            reason = f"{type(error).__name__}: {error}"
            raise ConfigError(f"{self.name}: the hook for headers raised {reason}") from error
        try:
            return msgspec.convert(given, dict[str, str], strict=True)
        except msgspec.ValidationError:  # whose text may show a value
            kind = type(given).__name__
            reason = f"returned a {kind} that is no mapping of names to values, both text"
            raise ConfigError(f"{self.name}: the hook for headers {reason}") from None

    def refused_redirect(self, response: HttpResponse, location: str | None) -> HttpStatusError:
        """Return the error for a redirect that is not followed."""
        content = media_type(response.headers.get("content-type"))
        where = f"{show_url(location)}, which is not followed" if location else "nowhere"
        reason = f"a redirect to {where}"
        return HttpStatusError(self.name, response.status, content, reason.encode("utf-8", "replace"))

    def known(self, error: Exception) -> AnywireError:
        """Return an error as one that a caller can expect."""
        if isinstance(error, AnywireError):
            return error
        _log.error("%s: something went wrong", self.name, exc_info=error)
        return TransportBroken(f"{self.name}: {type(error).__name__}: {error}")

    # Bodies.

    async def read(self, response: HttpResponse) -> bytes:
        """Return more of a body, empty at its end; not while reading is held."""
        if self.gate.held:
            await self.gate.passed()
        seconds = self._limits.stream_idle_seconds
        if seconds == math.inf:
            return await response.read()
        async with bounded(seconds, f"{self.name}: the answer stopped; nothing more came"):
            return await response.read()

    async def read_all(self, response: HttpResponse) -> bytes:
        """Return the whole body.  Raises `LimitExceeded` for one that is too large."""
        chunks: list[bytes] = []
        size, limit = 0, self._limits.message_bytes
        while chunk := await self.read(response):
            size += len(chunk)
            if size > limit:
                raise LimitExceeded(f"{self.name}: the answer exceeds {limit} bytes")
            chunks.append(chunk)
        return b"".join(chunks)

    def shown(self, body: bytes) -> bytes:
        """Return so much of a body as is shown in errors, without the values of headers that it repeats."""
        values = (*self.headers.values(), *_given.get().values())
        return without_values(body[: self._looked_at()], values)[:SHOWN_BYTES]

    def _looked_at(self) -> int:
        """Return how much of a body is looked at, so that no value is cut where what is shown ends."""
        values = (*self.headers.values(), *_given.get().values())
        return SHOWN_BYTES + max((len(value.encode("utf-8", "replace")) for value in values), default=0)

    async def status_error(self, response: HttpResponse) -> HttpStatusError:
        """Return the error for a response that cannot be used, with the first bytes of its body."""
        start, enough = b"", self._looked_at()
        try:  # what is known is worth more than the rest
            async with asyncio.timeout(_SHOWN_SECONDS):
                while len(start) < enough and (chunk := await response.read()):
                    start += chunk
        except TimeoutError:
            start = start or b"no more than the head came"
        except TransportError as error:
            start = start or str(error).encode("utf-8", "replace")
        content = media_type(response.headers.get("content-type"))
        return HttpStatusError(self.name, response.status, content, self.shown(start))


class _Call:
    """One request and where redirects lead: the response and its reading while the block lasts."""

    _open: AbstractAsyncContextManager[HttpResponse]

    def __init__(
        self,
        calls: HttpCalls,
        method: str,
        purpose: Purpose,
        body: bytes | None,
        *,
        session: HttpSession,
        last_event_id: str,
        more: Mapping[str, str] | None,
    ) -> None:
        self._calls = calls
        self._method = method
        self._purpose = purpose
        self._body = body
        self._session = session
        self._last_event_id = last_event_id
        self._more = more
        #: Where it goes.
        self.url = calls.url

    async def __aenter__(self) -> tuple[HttpResponse, Reading]:
        exchange, purpose, session = self._calls.exchange, self._purpose, self._session
        headers = await self._calls.headers_of(purpose, session, self._last_event_id, self._more)
        url, followed = self.url, 0
        while True:
            self._open = exchange.open(self._method, url, headers, self._body)
            response = await self._open.__aenter__()
            had_session = session.id is not None
            reading = read_head(purpose, response.status, response.headers, had_session=had_session)
            if reading is not Reading.REDIRECT:
                return response, reading
            location = response.headers.get("location")
            await self._open.__aexit__(None, None, None)
            target = redirect_target(url, location, followed=followed)
            if target is None:
                raise self._calls.refused_redirect(response, location)
            url, followed = target, followed + 1

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        return await self._open.__aexit__(kind, error, trace)
