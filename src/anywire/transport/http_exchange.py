"""One HTTP request and its response, whatever library carries them.

The interface is all that the transports know of HTTP on the way out; `AiohttpExchange` is what there
is behind it.  aiohttp is imported when it is first used: it takes longer than everything else here.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from types import ModuleType
from typing import TYPE_CHECKING, Protocol
from urllib.parse import urlsplit

from anywire.errors import ConfigError, ConnectFailed, DeadlineExceeded, TransportBroken
from anywire.wire.limits import Limits

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    import aiohttp

__all__ = ("AiohttpExchange", "Exchange", "HttpResponse")


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

    def chunks(self) -> AsyncIterator[bytes]:
        """Return the body as it comes.  Raises `TransportBroken` when it is cut."""
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
    """Sends requests with aiohttp: proxies and CA bundles from the environment, connections kept."""

    def __init__(self, limits: Limits) -> None:
        try:
            import aiohttp
        except ImportError as error:
            raise ConfigError("HTTP needs aiohttp: install anywire[http]") from error
        self._aiohttp = aiohttp
        self._limits = limits
        connector = aiohttp.TCPConnector(limit=limits.connections)
        timeout = aiohttp.ClientTimeout(
            total=None, connect=None, sock_connect=limits.connect_seconds, sock_read=None
        )
        self._session = aiohttp.ClientSession(
            connector=connector,
            timeout=timeout,
            trust_env=True,
            auto_decompress=True,
            cookie_jar=aiohttp.DummyCookieJar(),
            read_bufsize=256 * 1024,
        )

    @asynccontextmanager
    async def open(
        self, method: str, url: str, headers: Mapping[str, str], body: bytes | None
    ) -> AsyncGenerator[HttpResponse, None]:
        """Send a request."""
        aiohttp, where = self._aiohttp, f"{method} {_without_secrets(url)}"
        try:
            async with asyncio.timeout(self._limits.first_byte_seconds):
                response = await self._session.request(
                    method, url, headers=headers, data=body, allow_redirects=False
                )
        except aiohttp.ClientConnectorError as error:
            raise ConnectFailed(f"{where}: {error}") from error
        except aiohttp.ConnectionTimeoutError as error:
            reason = f"no connection within {self._limits.connect_seconds:g} s"
            raise ConnectFailed(f"{where}: {reason}") from error
        except TimeoutError as error:
            seconds = self._limits.first_byte_seconds
            raise DeadlineExceeded(f"{where}: no first byte of an answer within {seconds:g} s") from error
        except aiohttp.InvalidURL as error:
            raise ConfigError(f"{url!r} is no URL") from error
        except (aiohttp.ClientError, OSError) as error:
            raise TransportBroken(f"{where}: {_describe(error)}") from error
        async with response:
            yield _AiohttpResponse(response, where, aiohttp)

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

    async def chunks(self) -> AsyncIterator[bytes]:
        try:
            async for chunk in self._response.content.iter_any():
                yield chunk
        except (self._library.ClientError, OSError, TimeoutError) as error:
            raise TransportBroken(f"{self._where}: the answer was cut: {_describe(error)}") from error


def _without_secrets(url: str) -> str:
    """Leave out what a URL may hold of passwords and keys."""
    parts = urlsplit(url)
    host = parts.netloc.rpartition("@")[2]
    return f"{parts.scheme}://{host}{parts.path}" + ("?…" if parts.query else "")


def _describe(error: BaseException) -> str:
    return str(error) or type(error).__name__
