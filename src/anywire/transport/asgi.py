"""What every ASGI application of this house does alike: heads, bodies, responses.

Specification: ASGI 3.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable, Generator, MutableMapping
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
    "read_head_of",
)

Scope: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send: TypeAlias = Callable[[MutableMapping[str, Any]], Awaitable[None]]
Headers: TypeAlias = list[tuple[bytes, bytes]]

_log = logging.getLogger("anywire.http")
_STREAM_HEADERS: Headers = [
    (b"content-type", EVENT_STREAM.encode()),
    (b"cache-control", b"no-cache, no-transform"),
    (b"x-accel-buffering", b"no"),
]


class ClientGone(Exception):
    """The client has disconnected: nothing more can be read or sent."""


class Wire:
    """One request's way in and its response's way out.  Every method but one may raise `ClientGone`."""

    def __init__(self, receive: Receive, send: Send) -> None:
        self._receive = receive
        self._send_raw = send
        self._gone = False

    async def body(self, head: Head, limit: int) -> bytes | None:
        """Read the body; None when it is too large, which has been answered."""
        length = head.headers.get("content-length", "")
        if length.isascii() and length.isdigit() and (len(length) > 18 or int(length) > limit):
            await self.reject(too_large(limit))
            return None
        chunks: list[bytes] = []
        size = 0
        while True:
            message = await self._receive()
            if message["type"] == "http.disconnect":
                raise ClientGone
            chunk = message.get("body", b"")
            size += len(chunk)
            if size > limit:
                await self.reject(too_large(limit))
                return None
            chunks.append(chunk)
            if not message.get("more_body"):
                return chunks[0] if len(chunks) == 1 else b"".join(chunks)

    async def disconnected(self) -> None:
        """Return when the client has gone.  Raises nothing."""
        while (await self._receive())["type"] != "http.disconnect":
            pass
        self._gone = True

    async def reject(self, verdict: Reject) -> None:
        """Answer with an error."""
        headers = [(b"allow", verdict.allow.encode())] if verdict.allow else []
        await self.respond(verdict.status, encode(verdict.error), JSON, headers)

    async def respond(
        self, status: int, body: bytes = b"", media: str = "", headers: Headers | None = None
    ) -> None:
        """Answer with a whole body."""
        typed = [(b"content-type", media.encode())] if media else []
        length = [(b"content-length", b"%d" % len(body))] if status != 204 else []
        await self._start(status, [*typed, *length, *(headers or [])])
        await self._send({"type": "http.response.body", "body": body})

    async def start_stream(self, headers: Headers | None = None) -> None:
        """Begin an event stream."""
        await self._start(200, [*_STREAM_HEADERS, *(headers or [])])

    async def more(self, data: bytes) -> None:
        """Send more of the stream; returns when there is room."""
        await self._send({"type": "http.response.body", "body": data, "more_body": True})

    async def end_stream(self) -> None:
        """End the stream."""
        await self._send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _start(self, status: int, headers: Headers) -> None:
        await self._send({"type": "http.response.start", "status": status, "headers": headers})

    async def _send(self, event: dict[str, Any]) -> None:
        if self._gone:
            raise ClientGone
        try:
            await self._send_raw(event)
        except OSError as error:  # what ASGI wants of servers since 2.4
            raise ClientGone from error


@contextlib.contextmanager
def ending_politely() -> Generator[None]:
    """Take a cancellation for the end of a stream: at their end servers tell long responses no other way."""
    try:
        yield
    except asyncio.CancelledError:
        _log.debug("a stream was cancelled and ends")


def read_head_of(scope: Scope) -> tuple[str, Head]:
    """Return a request's path below the mount point, and its head.

    Headers that occur twice are joined, as RFC 9110 has it.
    """
    headers: dict[str, str] = {}
    for name, value in scope["headers"]:
        key, text = name.decode("latin-1").lower(), value.decode("latin-1").strip()
        headers[key] = f"{headers[key]}, {text}" if key in headers else text
    path = scope["path"].removeprefix(scope.get("root_path", ""))
    return path, Head(scope["method"], headers)


async def follow_lifespan(
    receive: Receive, send: Send, open: Callable[[], None], close: Callable[[], Awaitable[None]]
) -> None:
    """Take part in the lifespan of the process: open at its beginning, close at its end."""
    while True:
        message = await receive()
        if message["type"] == "lifespan.startup":
            open()
            await send({"type": "lifespan.startup.complete"})
        else:
            await close()
            await send({"type": "lifespan.shutdown.complete"})
            return
