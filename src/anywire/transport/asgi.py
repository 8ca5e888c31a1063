"""What every ASGI application of this house does alike: heads, bodies, responses.

Specification: ASGI 3.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable, Coroutine, Iterable, MutableMapping
from typing import Any, Final, TypeAlias

import msgspec

from anywire.protocol.http.cors import share_with
from anywire.protocol.http.guard import Guard
from anywire.protocol.http.media import EVENT_STREAM, JSON
from anywire.protocol.http.server import Head, Reject, not_serving, too_large, too_much_at_once, too_slow
from anywire.transport.at_once import the_rest
from anywire.wire.codec import encode
from anywire.wire.limits import Limits

__all__ = (
    "DEPARTURE",
    "NOT_STORED",
    "ClientGone",
    "Headers",
    "Intake",
    "Receive",
    "Scope",
    "Send",
    "Wire",
    "follow_lifespan",
    "head_from",
    "headers_of",
    "path_of",
    "read_head_of",
    "text_of",
    "told_to_end",
)

Scope: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send: TypeAlias = Callable[[MutableMapping[str, Any]], Awaitable[None]]
Headers: TypeAlias = list[tuple[bytes, bytes]]

#: What of ours may be among the extensions in a scope: it takes what is to be called when the client has
#: gone, and returns what takes that back.  With `receive` alone it takes a task to hear of it.
DEPARTURE: Final = "anywire.departure"

#: Nobody may keep a copy of the answer.
NOT_STORED: Final = (b"cache-control", b"no-store")

_log = logging.getLogger("anywire.http")
_JSON_HEADER = (b"content-type", JSON.encode())
_STREAM_HEADERS: Headers = [
    (b"content-type", EVENT_STREAM.encode()),
    (b"cache-control", b"no-cache, no-transform"),
    (b"x-accel-buffering", b"no"),
]


class ClientGone(Exception):
    """The client has disconnected: nothing more can be read or sent."""


class Intake:
    """What has come of bodies that are not complete: bounded for all requests of a server together."""

    def __init__(self, limits: Limits) -> None:
        #: How large one body may be, and how long nothing more of it may come.
        self.body_limit, self.patience = limits.body_bytes, limits.body_seconds
        #: The most there may be: room for one body that is as large as it may be, at least.
        self.most = max(limits.bodies_bytes, limits.body_bytes)
        #: So many bytes there are.
        self.size = 0


class Wire(msgspec.Struct, eq=False):
    """One request's way in and its response's way out.  Every method but one may raise `ClientGone`."""

    _receive: Receive
    _send: Send
    _gone: bool = False
    _begun: bool = False
    #: What goes on each answer besides, so that a page may read it.
    _shared: Headers | None = None

    def share(self, head: Head, guard: Guard, methods: str) -> bool:
        """Let a page read the answer if it may; say whether it asks no more than that."""
        share = share_with(head, guard, methods)
        if share is None:
            return False
        self._shared = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in share.headers]
        return share.preflight

    async def body(self, length: bytes, intake: Intake) -> bytes | None:
        """Read the body; None when it is too large or comes too slowly, which has been answered.

        `length` is the `Content-Length` header, empty where there is none.
        """
        limit = intake.body_limit
        if length.isdigit() and (len(length) > 18 or int(length) > limit):
            await self.reject(too_large(limit))
            return None
        # By hand: all but always all of it is there, and then no timer need be set.
        message: MutableMapping[str, Any] = {}
        steps = self._receive().__await__()
        try:
            waited_for = next(steps)
        except StopIteration as done:
            message = done.value
            if message["type"] == "http.request" and not message.get("more_body"):
                body: bytes = message.get("body", b"")
                if len(body) <= limit:
                    return body
            waiting = None
        else:
            waiting = the_rest(steps, waited_for, intake.patience)
        return await self._slow_body(message, waiting, intake)

    async def _slow_body(
        self,
        message: MutableMapping[str, Any],
        waiting: Coroutine[Any, Any, MutableMapping[str, Any]] | None,
        intake: Intake,
    ) -> bytes | None:
        """Read a body that comes in parts, the first of them here or under way."""
        chunks: list[bytes] = []
        size = 0
        try:
            while True:
                if waiting is not None:
                    message = await waiting
                if message["type"] == "http.disconnect":
                    raise ClientGone
                body: bytes = message.get("body", b"")
                if size + len(body) > intake.body_limit:
                    await self.reject(too_large(intake.body_limit))
                    return None
                chunks.append(body)
                size += len(body)
                intake.size += len(body)
                if not message.get("more_body"):
                    return b"".join(chunks)
                if intake.size > intake.most:
                    await self.reject(too_much_at_once())
                    return None
                waiting = self._next(intake)
        except TimeoutError:
            await self.reject(too_slow(intake.patience))
            return None
        finally:
            intake.size -= size

    async def _next(self, intake: Intake) -> MutableMapping[str, Any]:
        async with asyncio.timeout(intake.patience):
            return await self._receive()

    async def break_off(self) -> None:
        """The server ends, which it tells by cancelling: say so where nothing has been said yet."""
        _log.debug("a request was cancelled and ends")
        if not self._begun:
            with contextlib.suppress(ClientGone):
                await self.reject(not_serving())

    async def disconnected(self) -> None:
        """Return when the client has gone.  Raises nothing."""
        while (await self._receive())["type"] != "http.disconnect":
            pass
        self._gone = True

    async def reject(self, verdict: Reject, headers: Headers | None = None) -> None:
        """Answer with an error."""
        headers = list(headers or ())
        if verdict.allow:
            headers.append((b"allow", verdict.allow.encode()))
        if verdict.challenge is not None:
            headers.append((b"www-authenticate", verdict.challenge.encode()))
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

    def respond_with(
        self, body: bytes, content_type: str, status: int, *, is_head: bool = False
    ) -> Coroutine[Any, Any, None]:
        """Answer with something that nobody may keep a copy of; `is_head`: without its body."""
        headers = [
            (b"content-type", content_type.encode("latin-1")),
            (b"content-length", b"%d" % len(body)),
            NOT_STORED,
        ]
        return self._send_whole(status, headers, b"" if is_head else body)

    async def _send_whole(self, status: int, headers: Headers, body: bytes) -> None:
        if self._gone:
            raise ClientGone
        if self._shared is not None:
            headers = [*headers, *self._shared]
        self._begun = True
        try:
            await self._send({"type": "http.response.start", "status": status, "headers": headers})
            await self._send({"type": "http.response.body", "body": body})
        except OSError as error:  # what ASGI wants of servers since 2.4
            raise ClientGone from error

    async def start_stream(self, headers: Headers | None = None) -> None:
        """Begin an event stream."""
        head = [*_STREAM_HEADERS, *(headers or ()), *(self._shared or ())]
        self._begun = True
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


def told_to_end() -> None:
    """Note that a stream was cancelled, which is its end: so servers tell long responses of their own."""
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
    """Return a request's path below the mount point.

    Some servers leave the mount point out of the path: then it may only look like its beginning.
    """
    path: str = scope["path"]
    root = scope.get("root_path")
    if not root:
        return path
    below = path.removeprefix(root.rstrip("/"))
    return path if below and not below.startswith("/") else below


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
