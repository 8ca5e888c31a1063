"""One HTTP request and its response, whatever library carries them.

The interface is all that the transports know of HTTP on the way out; `AiohttpExchange` is what there
is behind it.  aiohttp is imported when it is first used: it takes longer than everything else here.
"""

from __future__ import annotations

import asyncio
import io
import re
import socket
from collections.abc import Iterator, Mapping
from contextlib import AbstractAsyncContextManager
from contextvars import ContextVar
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Protocol

from anywire._version import __version__
from anywire.errors import ConfigError, ConnectFailed, DeadlineExceeded, TransportBroken
from anywire.transport.http_socket import (
    KEEP_SECONDS,
    PAUSE_SECONDS,
    check_certificates,
    describe,
    keep_alive,
)
from anywire.transport.proxy import proxy_for
from anywire.transport.redact import without_secrets
from anywire.wire.limits import Limits

if TYPE_CHECKING:
    import aiohttp
    from aiohttp.connector import Connection
    from aiohttp.tracing import Trace
    from multidict import CIMultiDictProxy
    from yarl import URL

__all__ = ("LARGE_BYTES", "WRITTEN_OUT", "AiohttpExchange", "Exchange", "HttpResponse")

#: A body that is larger is sent piece by piece, or it would keep everything else waiting.
LARGE_BYTES: Final = 256 * 1024
_LABEL: Final = r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?"
#: A URL that is sent as it stands, since there is nothing in it to quote or to resolve: its scheme, its
#: host, its port if it names one, and the rest.
WRITTEN_OUT: Final = re.compile(
    rf"(https?)://({_LABEL}(?:\.{_LABEL})*|\[[0-9a-f:.]+\])(?::([1-9][0-9]{{0,4}}))?"
    r"((?:/(?!\.)(?:[A-Za-z0-9._~!$&'()*+,;=:@-]|%[0-9A-Fa-f]{2})*)*"
    r"(?:\?(?:[A-Za-z0-9._~!$&'()*+,;=:@/?-]|%[0-9A-Fa-f]{2})*)?)"
)


class HttpResponse(Protocol):
    """A response whose head is there and whose body is still to be read."""

    @property
    def status(self) -> int:
        """The status code."""
        ...

    @property
    def headers(self) -> Mapping[str, str]:
        """The headers under lower-case names; of one that occurs twice, the last."""
        ...

    async def read(self) -> bytes:
        """Return more of the body, empty at its end.  Raises `TransportBroken` when it is cut."""
        ...


class Exchange(Protocol):
    """Sends requests."""

    def open(
        self, method: str, url: str, headers: Mapping[str, str], body: bytes | None
    ) -> AbstractAsyncContextManager[HttpResponse]:
        """Send a request; the response is released at the end of the block.

        Raises `ConnectFailed` when nothing of it was sent, `TransportBroken` when no answer came back,
        `DeadlineExceeded` when the first byte of it did not come in time.
        """
        ...

    async def close(self) -> None:
        """Close all connections."""
        ...


class AiohttpExchange:
    """Sends requests with aiohttp; connections are kept for the next request.

    Proxies come from the environment (see `anywire.transport.proxy`), and so do certificates, as
    OpenSSL has it: `SSL_CERT_FILE`, `SSL_CERT_DIR`.

    Connections are kept alive by TCP itself: a general stream may be silent for hours, and one whose peer
    has vanished without a farewell would be waited on for ever.
    """

    def __init__(self, limits: Limits) -> None:
        try:
            import aiohttp
        except ImportError as error:
            raise ConfigError("HTTP needs aiohttp: install anywire[http]") from error
        self._aiohttp = aiohttp
        #: What aiohttp raises.
        self.client_error = aiohttp.ClientError
        #: The limits in force, and the loop that everything runs in.
        self.limits = limits
        self.loop = asyncio.get_running_loop()
        self._proxies: dict[str, str | None] = {}
        self._spoken_with: set[str] = set()
        self._last_used = 0.0
        self._session = aiohttp.ClientSession(
            connector=_connector(),
            timeout=aiohttp.ClientTimeout(),  # none: a call has a clock of its own
            auto_decompress=True,
            cookie_jar=aiohttp.DummyCookieJar(),
            read_bufsize=256 * 1024,
            headers={"User-Agent": f"anywire/{__version__}"},
        )

    def open(
        self, method: str, url: str, headers: Mapping[str, str], body: bytes | None
    ) -> AbstractAsyncContextManager[HttpResponse]:
        """Send a request."""
        return _AiohttpCall(self, method, url, headers, body)

    async def send(self, call: _AiohttpCall) -> aiohttp.ClientResponse:
        """Send the request of a call and return the response as aiohttp has it."""
        now = self.loop.time()
        if now - self._last_used > PAUSE_SECONDS:
            # After a pause the loop learns which kept connections are closed, before one is used again.
            await asyncio.sleep(0)  # now it asks the system ...
            await asyncio.sleep(0)  # ... and has acted on it
        self._last_used = now
        origin = _origin_of(call.url)
        proxy = self._proxies[origin] if origin in self._proxies else self._find_proxy(call, origin)
        body, token = call.body, _calling.set(call)
        try:
            async with call.timer:
                response = await self._session.request(
                    call.method,
                    self._address(call.url),
                    headers=call.sent_headers,
                    data=io.BytesIO(body) if body is not None and len(body) > LARGE_BYTES else body,
                    allow_redirects=False,
                    proxy=proxy,
                )
        except Exception as error:
            read = self._read_error(call, error)
            if origin.startswith("http:") and origin not in self._spoken_with and _is_no_http(error):
                read.args = (f"{read}; if TLS is spoken there, the address begins with https://",)
            raise read from error
        finally:
            _calling.reset(token)
        self._spoken_with.add(origin)
        return response

    def _address(self, url: str) -> str | URL:
        """Return a URL as aiohttp leaves it alone, where there is nothing to do about it."""
        if WRITTEN_OUT.fullmatch(url) is None:
            return url
        from yarl import URL

        try:
            return URL(url, encoded=True)
        except ValueError:  # which aiohttp tells
            return url

    def _find_proxy(self, call: _AiohttpCall, origin: str) -> str | None:
        """Look up the proxy for a URL, once for each server.  Raises `ConfigError`."""
        try:
            proxy = proxy_for(call.url)
        except ValueError as error:
            raise ConfigError(f"{call.where}: this is no URL") from error
        if origin.lower().startswith("https:"):
            check_certificates(call.where)
        self._proxies[origin] = proxy
        return proxy

    def _read_error(self, call: _AiohttpCall, error: Exception) -> Exception:
        """Tell what went wrong, and whether anything was sent."""
        aiohttp, where, connected = self._aiohttp, call.where, call.connected
        match error:
            case TimeoutError() if not connected:
                return ConnectFailed(f"{where}: no connection within {self.limits.connect_seconds:g} s")
            case TimeoutError():
                seconds = self.limits.first_byte_seconds
                return DeadlineExceeded(f"{where}: no first byte of an answer within {seconds:g} s")
            case aiohttp.InvalidURL():
                return ConfigError(f"{where}: this is no URL")
            case aiohttp.ClientError() | OSError():
                kind = TransportBroken if connected and not _was_closed_before(error) else ConnectFailed
                return kind(f"{where}: {describe(error)}")
            case ValueError() | TypeError():
                return ConfigError(f"{where}: the request cannot be sent: {describe(error)}")
            case _:
                return error

    async def close(self) -> None:
        """Close all connections."""
        await self._session.close()


class _AiohttpCall:
    """One request: the response to it while the block lasts."""

    _response: aiohttp.ClientResponse
    status: int
    headers: Mapping[str, str]
    #: Whether there was a connection: from then on the request may have been sent.
    connected: bool = False

    def __init__(
        self,
        exchange: AiohttpExchange,
        method: str,
        url: str,
        headers: Mapping[str, str],
        body: bytes | None,
    ) -> None:
        self.method = method
        self.url = url
        self.sent_headers = headers
        self.body = body
        #: How long the request may still take: first until it has a connection.
        self.timer = asyncio.timeout_at(exchange.loop.time() + exchange.limits.connect_seconds)
        self._exchange = exchange

    @property
    def where(self) -> str:
        """What the request is called in errors."""
        return f"{self.method} {without_secrets(self.url)}"

    def has_connection(self) -> None:
        """From now on the first byte of the answer is waited for."""
        self.connected = True
        self.timer.reschedule(self._exchange.loop.time() + self._exchange.limits.first_byte_seconds)

    async def __aenter__(self) -> _AiohttpCall:
        self._response = await self._exchange.send(self)
        self.status = self._response.status
        self.headers = _Headers(self._response.headers)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._response.__aexit__(kind, error, trace)

    async def read(self) -> bytes:
        try:
            return await self._response.content.readany()
        except (self._exchange.client_error, OSError) as error:
            raise TransportBroken(f"{self.where}: the answer was cut: {describe(error)}") from error


#: The call that the current task is making.
_calling: ContextVar[_AiohttpCall] = ContextVar("anywire.http.calling")


def _connector() -> aiohttp.TCPConnector:
    """Return a connector that tells each call when it has its connection."""
    import aiohttp

    class Connector(aiohttp.TCPConnector):
        async def connect(
            self, req: aiohttp.ClientRequest, traces: list[Trace], timeout: aiohttp.ClientTimeout
        ) -> Connection:
            connection = await super().connect(req, traces, timeout)
            _calling.get().has_connection()
            return connection

    # How many there may be at once is the transport's business: some must never wait for others.
    try:
        return Connector(limit=0, keepalive_timeout=KEEP_SECONDS, socket_factory=_open_socket)
    except TypeError:  # before 3.12 a socket could not be had one's own way
        return Connector(limit=0, keepalive_timeout=KEEP_SECONDS)


class _Headers(Mapping[str, str]):
    """Headers as a plain mapping under lower-case names: of one that occurs twice, the last."""

    def __init__(self, raw: CIMultiDictProxy[str]) -> None:
        self._raw = raw

    def __getitem__(self, name: str) -> str:
        return self._raw.getall(name)[-1]

    def __iter__(self) -> Iterator[str]:
        return iter({name.lower(): None for name in self._raw})

    def __len__(self) -> int:
        return len({name.lower() for name in self._raw})


def _was_closed_before(error: BaseException | None) -> bool:
    """Whether the connection had ended before the whole request was written, which was for nothing then."""
    while error is not None:
        if isinstance(error, ConnectionResetError) and error.errno is None and "closing" in str(error):
            return True
        error = error.__cause__
    return False


def _open_socket(address: tuple[Any, ...]) -> socket.socket:
    """Make a socket whose other end is asked for a sign of life after a minute of silence."""
    family, kind, protocol = address[:3]
    opened = socket.socket(family=family, type=kind, proto=protocol)
    keep_alive(opened)
    return opened


def _origin_of(url: str) -> str:
    return "/".join(url.split("/", 3)[:3])


def _is_no_http(error: BaseException) -> bool:
    """Whether somebody was there who hung up, or answered what is no HTTP."""
    return type(error).__name__ in ("ServerDisconnectedError", "ClientResponseError", "ClientOSError")
