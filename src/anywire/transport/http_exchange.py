"""One HTTP request and its response, whatever library carries them.

The interface is all that the transports know of HTTP on the way out; `AiohttpExchange` is what there
is behind it.  aiohttp is imported when it is first used: it takes longer than everything else here.
"""

from __future__ import annotations

import asyncio
import contextlib
import io
import os
import socket
from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from types import ModuleType
from typing import TYPE_CHECKING, Any, Final, Protocol

from anywire._version import __version__
from anywire.errors import ConfigError, ConnectFailed, DeadlineExceeded, TransportBroken
from anywire.transport.proxy import proxy_for
from anywire.transport.redact import without_secrets
from anywire.wire.limits import Limits

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    import aiohttp

__all__ = ("AiohttpExchange", "Exchange", "HttpResponse")

#: How long an idle connection is kept: less than the five seconds after which many servers drop one,
#: since a request that crosses with the end of its connection may or may not have been executed.
_KEEP_SECONDS: Final = 4.0
#: A program that did something else for so long may not have been told of the end of a connection.
_PAUSE_SECONDS: Final = 0.005
#: A body that is larger is sent piece by piece, or it would keep everything else waiting.
_LARGE_BYTES: Final = 256 * 1024
#: When the system asks an idle connection for a sign of life, how often it asks again, and how many times.
_ALIVE: Final = {"TCP_KEEPIDLE": 60, "TCP_KEEPALIVE": 60, "TCP_KEEPINTVL": 15, "TCP_KEEPCNT": 4}


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
        self._limits = limits
        self._proxies: dict[str, str | None] = {}
        self._spoken_with: set[str] = set()
        self._last_used = 0.0
        tracing = aiohttp.TraceConfig()
        tracing.on_connection_create_end.append(self._connected)
        tracing.on_connection_reuseconn.append(self._connected)
        # How many there may be at once is the transport's business: some must never wait for others.
        connector = _connector(aiohttp)
        self._session = aiohttp.ClientSession(
            connector=connector,
            timeout=aiohttp.ClientTimeout(total=None, connect=limits.connect_seconds),
            auto_decompress=True,
            cookie_jar=aiohttp.DummyCookieJar(),
            read_bufsize=256 * 1024,
            headers={"User-Agent": f"anywire/{__version__}"},
            trace_configs=[tracing],
        )

    async def _connected(self, session: object, context: Any, params: object) -> None:  # noqa: ANN401 of aiohttp
        """The connection is there: from now on the first byte is waited for."""
        deadline: asyncio.Timeout = context.trace_request_ctx
        deadline.reschedule(asyncio.get_running_loop().time() + self._limits.first_byte_seconds)

    @asynccontextmanager
    async def open(
        self, method: str, url: str, headers: Mapping[str, str], body: bytes | None
    ) -> AsyncGenerator[HttpResponse, None]:
        """Send a request."""
        where = f"{method} {without_secrets(url)}"
        deadline = asyncio.timeout(None)
        proxy, origin = self._proxy(where, url), _origin_of(url)
        await self._notice_what_ended()
        try:
            async with deadline:
                response = await self._session.request(
                    method,
                    url,
                    headers=headers,
                    data=io.BytesIO(body) if body is not None and len(body) > _LARGE_BYTES else body,
                    allow_redirects=False,
                    trace_request_ctx=deadline,
                    proxy=proxy,
                )
        except Exception as error:
            read = self._read_error(where, error, connected=deadline.when() is not None)
            if origin.startswith("http:") and origin not in self._spoken_with and _is_no_http(error):
                read.args = (f"{read}; if TLS is spoken there, the address begins with https://",)
            raise read from error
        self._spoken_with.add(origin)
        async with response:
            yield _AiohttpResponse(response, where, self._aiohttp)

    async def _notice_what_ended(self) -> None:
        """After a pause let the loop learn which kept connections are closed, before one is used again."""
        now = asyncio.get_running_loop().time()
        if now - self._last_used > _PAUSE_SECONDS:
            await asyncio.sleep(0)  # now it asks the system ...
            await asyncio.sleep(0)  # ... and has acted on it
        self._last_used = now

    def _proxy(self, where: str, url: str) -> str | None:
        """Return the proxy for a URL, which is looked up once for each server."""
        origin = _origin_of(url)
        if origin not in self._proxies:
            try:
                self._proxies[origin] = proxy_for(url)
            except ValueError as error:
                raise ConfigError(f"{where}: this is no URL") from error
            if origin.lower().startswith("https:"):
                _check_certificates(where)
        return self._proxies[origin]

    def _read_error(self, where: str, error: Exception, *, connected: bool) -> Exception:
        """Tell what went wrong, and whether anything was sent."""
        aiohttp = self._aiohttp
        match error:
            case aiohttp.ConnectionTimeoutError():
                return ConnectFailed(f"{where}: no connection within {self._limits.connect_seconds:g} s")
            case TimeoutError():
                seconds = self._limits.first_byte_seconds
                return DeadlineExceeded(f"{where}: no first byte of an answer within {seconds:g} s")
            case aiohttp.InvalidURL():
                return ConfigError(f"{where}: this is no URL")
            case aiohttp.ClientError() | OSError():
                kind = TransportBroken if connected and not _was_closed_before(error) else ConnectFailed
                return kind(f"{where}: {_describe(error)}")
            case ValueError() | TypeError():
                return ConfigError(f"{where}: the request cannot be sent: {_describe(error)}")
            case _:
                return error

    async def close(self) -> None:
        """Close all connections."""
        await self._session.close()


class _AiohttpResponse:
    def __init__(self, response: aiohttp.ClientResponse, where: str, library: ModuleType) -> None:
        self._response = response
        self._where = where
        self._library = library
        self.status = response.status
        self.headers = {name.lower(): value for name, value in response.headers.items()}

    async def read(self) -> bytes:
        try:
            return await self._response.content.readany()
        except (self._library.ClientError, OSError) as error:
            raise TransportBroken(f"{self._where}: the answer was cut: {_describe(error)}") from error


def _was_closed_before(error: BaseException | None) -> bool:
    """Whether the connection had ended before the whole request was written, which was for nothing then."""
    while error is not None:
        if isinstance(error, ConnectionResetError) and error.errno is None and "closing" in str(error):
            return True
        error = error.__cause__
    return False


def _connector(library: ModuleType) -> aiohttp.TCPConnector:
    try:
        return library.TCPConnector(limit=0, keepalive_timeout=_KEEP_SECONDS, socket_factory=_open_socket)
    except TypeError:  # before 3.12 a socket could not be had one's own way
        return library.TCPConnector(limit=0, keepalive_timeout=_KEEP_SECONDS)


def _open_socket(address: tuple[Any, ...]) -> socket.socket:
    """Make a socket whose other end is asked for a sign of life after a minute of silence."""
    family, kind, protocol = address[:3]
    opened = socket.socket(family=family, type=kind, proto=protocol)
    opened.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in _ALIVE.items():
        option: int | None = getattr(socket, name, None)  # not every system has each of them
        if option is not None:
            with contextlib.suppress(OSError):
                opened.setsockopt(socket.IPPROTO_TCP, option, value)
    return opened


def _check_certificates(where: str) -> None:
    """OpenSSL passes over what is not there, and then trusts nobody.  Raises `ConfigError`."""
    path = os.environ.get("SSL_CERT_FILE")
    if path and not os.access(path, os.R_OK):
        raise ConfigError(f"{where}: SSL_CERT_FILE is {path!r}, which cannot be read")


def _origin_of(url: str) -> str:
    return "/".join(url.split("/", 3)[:3])


def _is_no_http(error: BaseException) -> bool:
    """Whether somebody was there who hung up, or answered what is no HTTP."""
    return type(error).__name__ in ("ServerDisconnectedError", "ClientResponseError", "ClientOSError")


def _describe(error: BaseException) -> str:
    return str(error) or type(error).__name__
