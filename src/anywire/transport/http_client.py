"""Streamable HTTP, the calling end.

Each message is a POST of its own; replies come as JSON or as events, on the POST or, when its stream
was lost, on a GET that resumes it.  One GET carries what belongs to no request, where the server
offers it.  When the session is gone the handshake is done again, once for all who wait for it, and
what the old session refused is sent again; nothing is ever sent again that may have been executed.

Specification: MCP `basic/transports#streamable-http`, 2025-03-26 to 2025-11-25.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import random
from collections.abc import Callable, Coroutine, Mapping
from typing import TYPE_CHECKING, Any, Final

import msgspec

from anywire.errors import (
    AnywireError,
    ConnectFailed,
    HttpStatusError,
    LocalProtocolError,
    RemoteProtocolError,
    TransportBroken,
    TransportClosed,
)
from anywire.protocol.http.client import Reading
from anywire.protocol.http.reconnect import Reconnect
from anywire.protocol.retry import is_read_only
from anywire.transport.contract import Callbacks, call_back, ignore, refuse_when_closed
from anywire.transport.http_exchange import AiohttpExchange, Exchange
from anywire.transport.http_request import Asker, HttpSession, Reply, TokenHook
from anywire.wire.codec import decode, encode
from anywire.wire.limits import DEFAULT_LIMITS, Limits
from anywire.wire.message import (
    Batch,
    Fault,
    Message,
    Notification,
    Request,
    Response,
    create_notification,
    id_key,
)
from anywire.wire.peer import read_cancel
from anywire.wire.value import decode_value, encode_value

if TYPE_CHECKING:
    from anywire.transport.sse_client import SseClientTransport

__all__ = ("MAX_SSE_BYTES", "HttpClientTransport", "StreamableHttpClient", "StreamableHttpOptions")

_log = logging.getLogger("anywire.http")

#: The most that one event or one JSON body may hold for `StreamableHttpClient`; a longer one is
#: reported and skipped.
MAX_SSE_BYTES: Final = 10 * 1024 * 1024

_INITIALIZED: Final = "notifications/initialized"
_RENEWAL_ID: Final = b'"anywire-renewal"'
# What a request that can be sent again is given when the server is away, in tries.
_TRIES: Final = 6
_GOODBYE_SECONDS: Final = 2.0


class HttpClientTransport:
    """A conversation with a server at one URL.  See `anywire.transport.contract.Transport`.

    `headers` go on every request, `hook` gives more for each.  A request that cannot have an answer
    any more is reported by `on_failed`, with the HTTP status, the content type and the first bytes
    where there are any.
    """

    def __init__(
        self,
        url: str,
        *,
        headers: Mapping[str, str] | None = None,
        hook: TokenHook | None = None,
        exchange: Callable[[], Exchange] | None = None,
        limits: Limits = DEFAULT_LIMITS,
    ) -> None:
        self.callbacks = Callbacks()
        #: What this wire is called in errors.
        self.name = url
        self._limits = limits
        self._new_exchange = exchange or (lambda: AiohttpExchange(limits))
        self._asker = Asker(url, dict(headers or {}), hook, limits)
        self._session = HttpSession()
        self._initialize: Request | None = None
        self._posts: dict[bytes, asyncio.Task[None]] = {}
        self._notes: set[asyncio.Task[None]] = set()
        self._listening: asyncio.Task[None] | None = None
        self._renewing: asyncio.Task[None] | None = None
        self._closing: asyncio.Task[None] | None = None
        self._old: SseClientTransport | None = None  # what carries the messages of an old server

    def __repr__(self) -> str:
        return f"<HttpClientTransport {self.name}, {len(self._posts)} requests>"

    @property
    def closed(self) -> bool:
        """True from the moment `close()` was called."""
        return self._closing is not None

    async def start(self) -> None:
        """Be ready to send; the first message shows whether anybody is there."""
        self._asker.exchange = self._new_exchange()

    # Sending.

    def post(self, message: Message | Batch, related: bytes | None = None) -> None:
        """Send without waiting for the answer."""
        if self._old is not None:
            self._old.post(message)
        else:
            self.begin(message)

    async def send(self, message: Message | Batch, related: bytes | None = None) -> None:
        """Send; what wants no reply has arrived when this returns."""
        if self._old is not None:
            await self._old.send(message)
            return
        task = self.begin(message)
        if not isinstance(message, Request | Batch):
            await asyncio.shield(task)

    def begin(self, message: Message | Batch) -> asyncio.Task[None]:
        """Send in a task that ends when everything that the server answers has been received."""
        refuse_when_closed(self.closed, self.name)
        if isinstance(message, Request):
            task = self._task(self._ask(message))
            self._posts[id_key(message.id)] = task
            return task
        task = self._task(self._tell(message))
        self._notes.add(task)
        task.add_done_callback(self._notes.discard)
        return task

    def _task(self, coroutine: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        return asyncio.get_running_loop().create_task(coroutine)

    async def _ask(self, request: Request) -> None:
        """Send a request until it is answered or cannot be; report the latter."""
        if request.method == "initialize":
            self._initialize, self._session = request, HttpSession()
        try:
            reply = await self._ask_until_answered(request)
        except HttpStatusError as error:
            if request.method != "initialize" or not await self._fall_back(error, request):
                call_back(self.callbacks.on_failed, request.id, error)
        except AnywireError as error:
            call_back(self.callbacks.on_failed, request.id, error)
        else:
            if request.method == "initialize":
                self._session = HttpSession.opened(reply)
            self._receive(reply.message)
        finally:
            self._posts.pop(id_key(request.id), None)

    async def _fall_back(self, error: HttpStatusError, request: Request) -> bool:
        """Where no POST is taken there may be an old server, which begins with a stream."""
        if error.status not in (400, 404, 405):
            return False
        from anywire.transport.sse_client import SseClientTransport

        old = SseClientTransport(
            self.name,
            headers=self._asker.headers,
            hook=self._asker.hook,
            exchange=self._new_exchange,
            limits=self._limits,
            callbacks=self.callbacks,
        )
        try:
            await old.start()
        except AnywireError:
            return False  # the first error says more
        self._old = old
        old.post(request)
        return True

    async def _ask_until_answered(self, request: Request) -> Reply:
        """Send again what cannot have been executed, or only reads, within bounds."""
        body, tries, renewed = encode(request), 0, False
        while True:
            tries += 1
            session = self._session
            try:
                reply = await self._asker.ask(request.id, body, session, self._receive)
            except (ConnectFailed, TransportBroken) as error:
                sent = not isinstance(error, ConnectFailed)
                first = request.method == "initialize"
                if tries >= _TRIES or first or (sent and not is_read_only(request.method)):
                    raise
                await asyncio.sleep(min(0.1 * 2**tries, 2.0))
                continue
            if reply is not None:
                return reply
            if renewed:
                raise TransportBroken(f"{self.name}: a new session was refused as well")
            renewed = True
            await self._renew(session)

    async def _tell(self, message: Message | Batch) -> None:
        """Send what wants no reply; a batch may have replies, which are received."""
        cancelled = read_cancel(message) if isinstance(message, Notification) else None
        body = encode(message)
        try:
            if not await self._asker.tell(body, self._session, self._receive):
                await self._renew(self._session)
                await self._asker.tell(body, self._session, self._receive)
        except AnywireError as error:
            call_back(self.callbacks.on_error, error)
            return
        finally:
            abandoned = self._posts.pop(cancelled.key, None) if cancelled is not None else None
            if abandoned is not None:
                abandoned.cancel()
        if isinstance(message, Notification) and message.method == _INITIALIZED:
            self._listen()

    # Receiving.

    def _receive(self, message: Message | Batch | Fault) -> None:
        if isinstance(message, Fault):
            call_back(self.callbacks.on_error, message)
        else:
            call_back(self.callbacks.on_message, message)

    def _listen(self) -> None:
        """Open the general stream, if the server has one."""
        if self._listening is not None:
            self._listening.cancel()
        self._listening = self._task(self._keep_listening(self._session))

    async def _keep_listening(self, session: HttpSession) -> None:
        policy, last_event_id, retry = Reconnect(self._limits), "", None

        def received(message: Message | Batch | Fault) -> None:
            policy.delivered()
            self._receive(message)

        while not self.closed:
            try:
                end = await self._asker.listen(session, last_event_id, received)
            except AnywireError as error:
                _log.info("%s: the general stream was lost: %s", self.name, error)
            else:
                if end.reading is Reading.NOT_OFFERED:
                    return
                if end.reading is Reading.SESSION_GONE:
                    await self._renew_quietly(session)
                    return
                last_event_id, retry = end.last_event_id, end.retry
            await asyncio.sleep(policy.delay(random.random(), retry))  # noqa: S311 it spreads load, no more

    # The session.

    async def _renew(self, session: HttpSession) -> None:
        """Shake hands again, once for all who found the session gone."""
        if self._session is not session:
            return
        if self._renewing is None:
            self._renewing = self._task(self._shake_hands_again())
            self._renewing.add_done_callback(self._renewed)
        await asyncio.shield(self._renewing)

    def _renewed(self, task: asyncio.Task[None]) -> None:
        self._renewing = None
        if not task.cancelled():
            task.exception()  # whoever waits has it; nobody may wait any more

    async def _renew_quietly(self, session: HttpSession) -> None:
        with contextlib.suppress(AnywireError):
            await self._renew(session)

    async def _shake_hands_again(self) -> None:
        if self._initialize is None:
            raise TransportClosed(f"{self.name}: the session is gone, and there was no handshake to repeat")
        request = msgspec.structs.replace(self._initialize, id=_RENEWAL_ID, frame=b"")
        reply = await self._asker.ask(request.id, encode(request), HttpSession(), self._receive)
        if reply is None or not isinstance(reply.message, Response):
            raise TransportBroken(f"{self.name}: the session is gone and a new handshake was refused")
        self._session = HttpSession.opened(reply)
        _log.info("%s: the session was gone; a new one has been opened", self.name)
        await self._asker.tell(encode(create_notification(_INITIALIZED)), self._session, self._receive)
        self._listen()

    # The end.

    async def close(self) -> None:
        """Send what is being sent, end the session, close all connections."""
        if self._closing is None:
            self._closing = self._task(self._close())
        await asyncio.shield(self._closing)

    async def _close(self) -> None:
        tasks = [*self._posts.values(), self._listening, self._renewing]
        for task in tasks:
            if task is not None:
                task.cancel()
        if self._notes:
            await asyncio.wait(self._notes, timeout=_GOODBYE_SECONDS)
        with contextlib.suppress(AnywireError, TimeoutError):
            async with asyncio.timeout(_GOODBYE_SECONDS):
                await self._asker.end(self._session)
        waited = [task for task in [*tasks, *self._notes] if task is not None]
        for task in self._notes:
            task.cancel()
        await asyncio.gather(*waited, return_exceptions=True)
        if self._asker.exchange is not None:
            await self._asker.exchange.close()
        if self._old is not None:
            await self._old.close()  # which says that it is closed
        else:
            call_back(self.callbacks.on_close, None)


class StreamableHttpOptions(msgspec.Struct, frozen=True, kw_only=True):
    """What a `StreamableHttpClient` needs.

    `on_frame` gets every message of the server as plain JSON data, from whichever stream it comes;
    `on_error` what goes wrong with the general stream, and what cannot be read.
    """

    url: str
    on_frame: Callable[[Any], None]
    headers: Mapping[str, str] = msgspec.field(default_factory=dict[str, str])
    on_error: Callable[[Exception], None] = ignore


class StreamableHttpClient:
    """Streamable HTTP for programs that speak plain JSON objects and match replies by themselves.

    A small face on `HttpClientTransport`: the session id and the protocol version go on every later
    request by themselves, the general stream is opened when the handshake is done.
    """

    def __init__(self, options: StreamableHttpOptions) -> None:
        self._options = options
        limits = DEFAULT_LIMITS.replace(message_bytes=MAX_SSE_BYTES)
        self._transport = HttpClientTransport(options.url, headers=options.headers, limits=limits)
        callbacks = self._transport.callbacks
        callbacks.on_message = self._frame
        callbacks.on_error = self._error
        callbacks.on_failed = self._failed
        self._failures: dict[bytes, AnywireError] = {}
        self._started = False

    async def send(self, frame: Mapping[str, Any]) -> None:
        """POST one frame; returns when everything that the server answers to it has been received.

        Raises an `AnywireError` when the server refuses it or cannot be reached, `TransportClosed`
        after `stop()`.
        """
        if not self._started:
            self._started = True
            await self._transport.start()
        message = decode(encode_value(frame))
        if isinstance(message, Fault):
            raise LocalProtocolError(message.reason)
        await asyncio.shield(self._transport.begin(message))
        failure = self._failures.pop(message.id, None) if isinstance(message, Request) else None
        if failure is not None:
            raise failure

    async def stop(self) -> None:
        """End the streams and the session; later sends are refused.  Idempotent."""
        await self._transport.close()

    def _frame(self, message: Message | Batch) -> None:
        for item in message.items if isinstance(message, Batch) else (message,):
            if isinstance(item, Fault):
                self._error(item)
            else:
                self._options.on_frame(decode_value(encode(item), object))

    def _error(self, error: Fault | AnywireError) -> None:
        self._options.on_error(RemoteProtocolError(error.reason) if isinstance(error, Fault) else error)

    def _failed(self, id: bytes, error: AnywireError) -> None:
        self._failures[id] = error
