"""Requests to one server, one HTTP call each: which headers go on them, where redirects lead.

What came back is handed on as a response and what `anywire.protocol.http.client` makes of its head.
"""

from __future__ import annotations

import asyncio
import contextlib
import math
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Final, TypeAlias

import msgspec

from anywire.errors import (
    AnywireError,
    ConfigError,
    HttpStatusError,
    LimitExceeded,
    LocalProtocolError,
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
from anywire.transport.redact import without_secrets
from anywire.wire.limits import Limits

__all__ = ("SHOWN_BYTES", "HttpCalls", "HttpSession", "TokenHook")

#: Called before each request; returns headers for it alone, such as a fresh token.
TokenHook: TypeAlias = Callable[[], Awaitable[Mapping[str, str]]]

#: How much of a body that cannot be used is shown.
SHOWN_BYTES: Final = 300
_SHOWN_SECONDS: Final = 2.0


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
    def started(self) -> bool:
        """Whether anything can be sent."""
        return self._exchange is not None

    @asynccontextmanager
    async def open(
        self,
        method: str,
        purpose: Purpose,
        body: bytes | None = None,
        *,
        session: HttpSession = NO_SESSION,
        last_event_id: str = "",
        url: str | None = None,
    ) -> AsyncGenerator[tuple[HttpResponse, Reading], None]:
        """Send a request, following redirects on the same origin; `url` is another than the usual one."""
        if self._exchange is None:
            raise LocalProtocolError("the transport has not been started")
        protocol = request_headers(
            purpose, session_id=session.id, revision=session.revision, last_event_id=last_event_id
        )
        headers = merge_headers(self.headers, await self._ask_hook(), protocol)
        url, followed = url or self.url, 0
        while True:
            async with self._exchange.open(method, url, headers, body) as response:
                had_session = session.id is not None
                reading = read_head(purpose, response.status, response.headers, had_session=had_session)
                if reading is not Reading.REDIRECT:
                    yield response, reading
                    return
                location = response.headers.get("location")
                target = redirect_target(url, location, followed=followed)
                if target is None:
                    raise self._refused_redirect(response, location)
            url, followed = target, followed + 1

    async def _ask_hook(self) -> Mapping[str, str]:
        if self.hook is None:
            return {}
        try:
            given: object = await self.hook()
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

    def _refused_redirect(self, response: HttpResponse, location: str | None) -> HttpStatusError:
        content = media_type(response.headers.get("content-type"))
        reason = f"a redirect to {location}, which is not followed" if location else "a redirect to nowhere"
        return HttpStatusError(self.name, response.status, content, reason.encode("utf-8", "replace"))

    # Bodies.

    async def read(self, response: HttpResponse) -> bytes:
        """Return more of a body, empty at its end; not while reading is held."""
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

    async def status_error(self, response: HttpResponse) -> HttpStatusError:
        """Return the error for a response that cannot be used, with the first bytes of its body."""
        start = b""
        with contextlib.suppress(TransportError, TimeoutError):  # what is known is worth more than the rest
            async with asyncio.timeout(_SHOWN_SECONDS):
                while len(start) < SHOWN_BYTES and (chunk := await response.read()):
                    start += chunk
        content = media_type(response.headers.get("content-type"))
        return HttpStatusError(self.name, response.status, content, start[:SHOWN_BYTES])
