"""What every ASGI application of this house does alike: heads, bodies, responses.

Specification: ASGI 3.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable, Coroutine, Generator, Iterable, MutableMapping
from typing import Any, TypeAlias

from anywire.protocol.http.media import EVENT_STREAM, JSON
from anywire.protocol.http.server import Head, Reject, too_large
from anywire.wire.codec import encode

__all__ = (
    "ClientGone",
    "Headers",
    "Receive",
    "Scope",
    "Send",
    "Wire",
    "ending_politely",
    "follow_lifespan",
    "head_from",
    "headers_of",
    "path_of",
    "read_head_of",
    "text_of",
)

Scope: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send: TypeAlias = Callable[[MutableMapping[str, Any]], Awaitable[None]]
Headers: TypeAlias = list[tuple[bytes, bytes]]

_log = logging.getLogger("anywire.http")
_JSON_HEADER = (b"content-type", JSON.encode())
_STREAM_HEADERS: Headers = [
    (b"content-type", EVENT_STREAM.encode()),
    (b"cache-control", b"no-cache, no-transform"),
    (b"x-accel-buffering", b"no"),
]


class ClientGone(Exception):
    """The client has disconnected: nothing more can be read or sent."""


class Wire:
    """One request's way in and its response's way out.  Every method but one may raise `ClientGone`."""

    _gone: bool = False

    def __init__(self, receive: Receive, send: Send) -> None:
        self._receive = receive
        self._send = send

    async def body(self, length: bytes, limit: int) -> bytes | None:
        """Read the body; None when it is too large, which has been answered.

        `length` is the `Content-Length` header, empty where there is none.
        """
        if length.isdigit() and (len(length) > 18 or int(length) > limit):
            await self.reject(too_large(limit))
            return None
        body = b""
        chunks: list[bytes] = []
        size = 0
        while True:
            message = await self._receive()
            if message["type"] == "http.disconnect":
                raise ClientGone
            body = message.get("body", b"")
            size += len(body)
            if size > limit:
                await self.reject(too_large(limit))
                return None
            if not message.get("more_body"):
                return b"".join((*chunks, body)) if chunks else body
            chunks.append(body)

    async def disconnected(self) -> None:
        """Return when the client has gone.  Raises nothing."""
        while (await self._receive())["type"] != "http.disconnect":
            pass
        self._gone = True

    async def reject(self, verdict: Reject) -> None:
        """Answer with an error."""
        headers = [(b"allow", verdict.allow.encode())] if verdict.allow else []
        await self.respond_json(encode(verdict.error), verdict.status, headers)

    async def respond(self, status: int, headers: Headers | None = None) -> None:
        """Answer without a body."""
        length = [(b"content-length", b"0")] if status != 204 else []
        await self._send_whole(status, [*length, *(headers or [])], b"")

    def respond_json(
        self, body: bytes, status: int = 200, headers: Headers | None = None
    ) -> Coroutine[Any, Any, None]:
        """Answer with a JSON text."""
        head = [_JSON_HEADER, (b"content-length", b"%d" % len(body))]
        return self._send_whole(status, [*head, *headers] if headers else head, body)

    async def _send_whole(self, status: int, headers: Headers, body: bytes) -> None:
        if self._gone:
            raise ClientGone
        try:
            await self._send({"type": "http.response.start", "status": status, "headers": headers})
            await self._send({"type": "http.response.body", "body": body})
        except OSError as error:  # what ASGI wants of servers since 2.4
            raise ClientGone from error

    async def start_stream(self, headers: Headers | None = None) -> None:
        """Begin an event stream."""
        head = [*_STREAM_HEADERS, *headers] if headers else _STREAM_HEADERS
        await self._send_part({"type": "http.response.start", "status": 200, "headers": head})

    async def more(self, data: bytes) -> None:
        """Send more of the stream; returns when there is room."""
        await self._send_part({"type": "http.response.body", "body": data, "more_body": True})

    async def end_stream(self, data: bytes = b"") -> None:
        """Send the last of the stream and end it."""
        await self._send_part({"type": "http.response.body", "body": data, "more_body": False})

    async def _send_part(self, event: dict[str, Any]) -> None:
        if self._gone:
            raise ClientGone
        try:
            await self._send(event)
        except OSError as error:
            raise ClientGone from error


@contextlib.contextmanager
def ending_politely() -> Generator[None]:
    """Take a cancellation for the end of a stream: at their end servers tell long responses no other way."""
    try:
        yield
    except asyncio.CancelledError:
        _log.debug("a stream was cancelled and ends")


def text_of(headers: dict[bytes, bytes], name: bytes) -> str | None:
    """Return the value of a header, None where there is none."""
    value = headers.get(name)
    return None if value is None else value.decode("latin-1").strip()


def headers_of(scope: Scope) -> dict[bytes, bytes]:
    """Return a request's headers by their names in lower case.

    Those that occur twice are joined, as RFC 9110 has it.
    """
    pairs = scope["headers"]
    headers: dict[bytes, bytes] = dict(pairs)
    if len(headers) == len(pairs) and b"".join(headers).islower():
        return headers  # as they come from a server that keeps to ASGI, all but always
    headers = {}
    for raw, value in pairs:
        name = raw.lower()
        headers[name] = b"%b, %b" % (headers[name].strip(), value.strip()) if name in headers else value
    return headers


def path_of(scope: Scope) -> str:
    """Return a request's path below the mount point."""
    return scope["path"].removeprefix(scope.get("root_path", ""))


def read_head_of(scope: Scope) -> tuple[str, Head]:
    """Return a request's path below the mount point, and its head."""
    return path_of(scope), head_from(scope["method"], headers_of(scope).items())


def head_from(method: str, headers: Iterable[tuple[bytes, bytes]]) -> Head:
    """Make a head of headers as they are on the wire."""
    text = {name.decode("latin-1"): value.decode("latin-1").strip() for name, value in headers}
    return Head(method, text)


async def follow_lifespan(
    receive: Receive, send: Send, open: Callable[[], Awaitable[None]], close: Callable[[], Awaitable[None]]
) -> None:
    """Take part in the lifespan of the process: open at its beginning, close at its end.

    What they raise is told to the host, which ends then.
    """
    while True:
        name = (await receive())["type"]
        try:
            await (open if name == "lifespan.startup" else close)()
        except Exception as error:  # noqa: BLE001 the host is told
            _log.exception("%s failed", name)
            await send({"type": f"{name}.failed", "message": f"{type(error).__name__}: {error}"})
            return
        await send({"type": f"{name}.complete"})
        if name != "lifespan.startup":
            return
