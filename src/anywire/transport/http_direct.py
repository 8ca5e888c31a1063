"""Requests to an HTTP server that is reached straight: what nearly all of them are, at a third of the cost.

Where there is more to it, `AiohttpExchange` does it: a proxy, a user and password in the address, an
address or headers that want quoting or are none, a body that is sent piece by piece.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager
from types import TracebackType
from typing import TYPE_CHECKING, Final, NamedTuple

from anywire._version import __version__
from anywire.errors import ConfigError, DeadlineExceeded, TransportBroken
from anywire.transport.content_coding import ACCEPTED_CODINGS, Inflating, inflating
from anywire.transport.http_exchange import LARGE_BYTES, WRITTEN_OUT, AiohttpExchange, HttpResponse
from anywire.transport.http_socket import describe
from anywire.transport.proxy import proxy_for
from anywire.transport.redact import without_secrets
from anywire.wire.limits import Limits

if TYPE_CHECKING:
    from anywire.transport.http_connection import HttpConnection
    from anywire.transport.http_pool import Origin, Pool

__all__ = ("DirectExchange",)

_MOST_PLACES: Final = 100
_NAME: Final = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
_NOT_IN_A_VALUE: Final = re.compile(r"[\0-\x08\x0a-\x1f\x7f\ud800-\udfff]")
#: What says how the request itself is sent.
_FRAMING: Final = frozenset(
    {"connection", "content-length", "expect", "te", "trailer", "transfer-encoding", "upgrade"}
)


class _Place(NamedTuple):
    """Where a URL leads, and what is asked for there."""

    origin: Origin
    authority: str
    path: str


class DirectExchange:
    """Sends requests; connections are kept for the next.  Otherwise as `AiohttpExchange`."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._loop = asyncio.get_running_loop()
        self._other: AiohttpExchange | None = None
        try:
            from anywire.transport.http_pool import Pool
        except ImportError:  # there is no httptools
            self._pool = None
            self._other = AiohttpExchange(limits)
        else:
            self._pool = Pool(limits)
        self._places: dict[str, _Place | None] = {}
        self._head: tuple[str, str, Mapping[str, str], bytes | None] = ("", "", {}, None)
        # Who waits for the first byte, the soonest first: all of them may wait as long.
        self._waiting: dict[HttpConnection, tuple[float, Callable[[], str]]] = {}
        self._alarm: asyncio.TimerHandle | None = None
        #: With whom HTTP has been spoken.
        self.spoken_with: set[Origin] = set()

    def open(
        self, method: str, url: str, headers: Mapping[str, str], body: bytes | None
    ) -> AbstractAsyncContextManager[HttpResponse]:
        """Send a request."""
        if self._pool is not None and (body is None or len(body) <= LARGE_BYTES):
            place = self._places[url] if url in self._places else self._find_place(url)
            head = None if place is None else self._head_of(method, url, place, headers)
            if place is not None and head is not None:
                end = b"\r\n" if body is None else b"Content-Length: %d\r\n\r\n%b" % (len(body), body)
                return _DirectCall(self, self._pool, (method, url), place.origin, head + end)
        if self._other is None:
            self._other = AiohttpExchange(self._limits)
        return self._other.open(method, url, headers, body)

    def _find_place(self, url: str) -> _Place | None:
        """Read a URL, once; None for one that is not for here."""
        if len(self._places) >= _MOST_PLACES:
            self._places.clear()
        place = self._places[url] = _read_place(url)
        return place

    def _head_of(self, method: str, url: str, place: _Place, headers: Mapping[str, str]) -> bytes | None:
        """Return a request up to its length; None where the headers are not for here."""
        known_method, known_url, known, head = self._head
        if known is not headers or known_method != method or known_url != url:
            head = _write_head(method, place, headers)
            self._head = (method, url, headers, head)
        return head

    # Who waits for an answer.

    def watch(self, connection: HttpConnection, where: Callable[[], str]) -> None:
        """The first byte of an answer is waited for, and not without end."""
        seconds = self._limits.first_byte_seconds
        self._waiting[connection] = (self._loop.time() + seconds, where)
        if self._alarm is None:
            self._alarm = self._loop.call_later(seconds, self._look)

    def unwatch(self, connection: HttpConnection) -> None:
        """It is there, or wanted no more."""
        self._waiting.pop(connection, None)

    def _look(self) -> None:
        """End what has waited for too long, and look again when the next has."""
        self._alarm, now = None, self._loop.time()
        for connection, (deadline, where) in list(self._waiting.items()):
            if deadline > now:
                self._alarm = self._loop.call_at(deadline, self._look)
                return
            del self._waiting[connection]
            what = "no whole head of an answer" if connection.answered else "no first byte of an answer"
            seconds = self._limits.first_byte_seconds
            connection.fail(DeadlineExceeded(f"{where()}: {what} within {seconds:g} s"))

    async def close(self) -> None:
        """Close all connections."""
        if self._alarm is not None:
            self._alarm.cancel()
        if self._pool is not None:
            await self._pool.close()
        if self._other is not None:
            await self._other.close()


class _DirectCall:
    """One request: the response to it while the block lasts."""

    _connection: HttpConnection
    status: int
    headers: Mapping[str, str]

    def __init__(
        self, exchange: DirectExchange, pool: Pool, called: tuple[str, str], origin: Origin, request: bytes
    ) -> None:
        self._exchange = exchange
        self._pool = pool
        self._called = called
        self._origin = origin
        self._request = request
        self._inflating: Inflating | None = None
        self._is_coded = False

    def where(self) -> str:
        """Return what the request is called in errors."""
        method, url = self._called
        return f"{method} {without_secrets(url)}"

    async def __aenter__(self) -> _DirectCall:
        connection = await self._pool.get(self._origin, self.where)
        if not await self._ask(connection):
            connection = await self._pool.connect(self._origin, self.where)
            await self._ask(connection)
        self._connection = connection
        self.status, self.headers = connection.status, connection.headers
        self._is_coded = "content-encoding" in connection.headers
        return self

    async def _ask(self, connection: HttpConnection) -> bool:
        """Send the request; False where a kept connection has ended meanwhile, and it may be sent again."""
        head = connection.begin(self._request)
        self._exchange.watch(connection, self.where)
        try:
            await head
        except DeadlineExceeded:
            raise
        except OSError as error:
            if connection.used and not connection.answered and self._called[0] != "POST":
                return False
            raise TransportBroken(f"{self.where()}: {describe(error)}{self._hint(connection)}") from error
        except asyncio.CancelledError:
            connection.end()
            raise
        finally:
            self._exchange.unwatch(connection)
        self._exchange.spoken_with.add(self._origin)
        return True

    def _hint(self, connection: HttpConnection) -> str:
        if self._origin.tls or connection.is_http or self._origin in self._exchange.spoken_with:
            return ""
        return "; if TLS is spoken there, the address begins with https://"

    async def read(self) -> bytes:
        try:
            return await (self._read_coded() if self._is_coded else self._connection.read())
        except (OSError, ValueError) as error:
            raise TransportBroken(f"{self.where()}: the answer was cut: {describe(error)}") from error

    async def _read_coded(self) -> bytes:
        coded = self._inflating = self._inflating or inflating(self.headers["content-encoding"])
        if coded is None:
            self._is_coded = False
            return await self._connection.read()
        while True:
            if coded.has_more:
                piece = b""
                await asyncio.sleep(0)  # a little of the network may be a lot to inflate
            elif not (piece := await self._connection.read()):
                return coded.end()
            inflated = coded.feed(piece)
            if inflated:
                return inflated

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._pool.give_back(self._connection, rest=kind is None)


def _read_place(url: str) -> _Place | None:
    from anywire.transport.http_pool import Origin

    match = WRITTEN_OUT.fullmatch(url)
    if match is None:
        return None
    scheme, host, port, path = match.groups()
    usual = 443 if scheme == "https" else 80
    number = int(port or usual)
    try:
        if number > 65_535 or proxy_for(url) is not None:
            return None
    except (ConfigError, ValueError):
        return None  # who does it instead says so
    authority = host if number == usual else f"{host}:{number}"
    return _Place(Origin(scheme == "https", host.strip("[]"), number), authority, _path_of(path))


def _path_of(rest: str) -> str:
    return rest if rest.startswith("/") else f"/{rest}"


def _write_head(method: str, place: _Place, headers: Mapping[str, str]) -> bytes | None:
    given = {name.lower() for name in headers}
    try:
        for name, value in headers.items():
            if _NAME.fullmatch(name) is None or _NOT_IN_A_VALUE.search(value) is not None:
                return None
    except TypeError:  # that is no text
        return None
    if len(given) < len(headers) or not given.isdisjoint(_FRAMING):
        return None
    usual = {
        "Host": place.authority,
        "User-Agent": f"anywire/{__version__}",
        "Accept": "*/*",
        "Accept-Encoding": ACCEPTED_CODINGS,
    }
    lines = [f"{method} {place.path} HTTP/1.1"]
    lines += [f"{name}: {value}" for name, value in usual.items() if name.lower() not in given]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    return "\r\n".join([*lines, ""]).encode()
