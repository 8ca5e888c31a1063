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
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Final, TypeAlias

from anywire.errors import (
    AnywireError,
    HttpStatusError,
    TransportClosed,
)
from anywire.protocol.http.mirrored import Mirror, stateless_headers
from anywire.protocol.modern import claimed_revision
from anywire.protocol.retry import is_read_only
from anywire.transport.contract import Callbacks, call_back, refuse_when_closed
from anywire.transport.http_calls import HttpCalls, HttpSession, TokenHook
from anywire.transport.http_direct import DirectExchange
from anywire.transport.http_exchange import Exchange
from anywire.transport.http_handshake import INITIALIZED, Handshake
from anywire.transport.http_listening import GeneralStream
from anywire.transport.http_order import Order, Turn
from anywire.transport.http_request import Asker, Expected
from anywire.transport.persist import persist
from anywire.wire.codec import encode
from anywire.wire.limits import DEFAULT_LIMITS, Limits
from anywire.wire.message import (
    Batch,
    ErrorResponse,
    Fault,
    Message,
    Notification,
    Request,
    Response,
    id_key,
)
from anywire.wire.peer import read_cancel

if TYPE_CHECKING:
    from anywire.transport.sse_client import SseClientTransport

__all__ = ("HttpClientTransport",)


_GOODBYE_SECONDS: Final = 2.0

#: Gets the raw id of each request that cannot have an answer any more (None: it was no request).
_Failed: TypeAlias = Callable[[bytes | None, AnywireError], None]


class HttpClientTransport:
    """A conversation with a server at one URL.  See `anywire.transport.contract.Transport`.

    `headers` go on every request, `hook` gives more for each.  A request that cannot have an answer is
    reported by `on_failed`, with the HTTP status, the content type and the first bytes of the body.
    Requests and replies travel on connections of their own, so only notifications keep their order.
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
        self._limits = limits
        self._calls = HttpCalls(url, headers, hook, exchange or (lambda: DirectExchange(limits)), limits)
        #: What this wire is called in errors.
        self.name = self._calls.name
        self._asker = Asker(self._calls, limits)
        # What comes before a handshake is done says nothing about the session that it opens.
        self._handshake = Handshake(self.name, self._asker, self._hand_on, limits)
        self._general = GeneralStream(
            self.name, self._asker, self._receive, self._handshake.renew, self._lost_for_good, limits
        )
        self._handshake.opened = self._reopened
        self._handshake.given_up = self._lost_for_good
        #: The arguments that headers repeat, by the name of the tool; for requests without a session.
        self.mirrors: dict[str, Sequence[Mirror]] = {}
        self._asked: dict[bytes, asyncio.Task[None]] = {}
        self._alone: set[bytes] = set()
        self._met = False  # a request that stands for itself has been answered
        self._expected: dict[bytes, Expected] = {}
        self._telling: set[asyncio.Task[None]] = set()
        self._order = Order(limits.probe_seconds)
        self._places = asyncio.Semaphore(limits.connections)
        self._closing: asyncio.Task[None] | None = None
        self._reason: AnywireError | None = None  # why it was closed from within
        self._over = False  # nobody is called back any more
        self._old: SseClientTransport | None = None  # what carries the messages of an old server

    def __repr__(self) -> str:
        return f"<HttpClientTransport {self.name}, {len(self._asked)} requests>"

    @property
    def closed(self) -> bool:
        """True from the moment `close()` was called, or the stream of an old server was lost."""
        return self._closing is not None or (self._old is not None and self._old.closed)

    @property
    def session_id(self) -> str | None:
        """What names the session in each request, None: there is none.  It is a secret."""
        return self._handshake.session.id

    async def start(self) -> None:
        """Be ready to send; the first message shows whether anybody is there."""
        self._calls.start()

    # Sending.

    def post(self, message: Message | Batch, related: bytes | None = None) -> None:
        """Send without waiting for the answer."""
        self.begin(message, self._report)

    async def send(self, message: Message | Batch, related: bytes | None = None) -> None:
        """Send; what wants no reply has arrived when this returns."""
        task = self.begin(message, self._report)
        if isinstance(message, Request | Batch):
            return
        await asyncio.wait([task])
        if not task.cancelled():  # as the request is that hangs up, or what waited when the end came
            task.result()

    def begin(self, message: Message | Batch, failed: _Failed) -> asyncio.Task[None]:
        """Send in a task that ends when everything that the server answers has been received.

        `failed` is told what cannot be answered any more, or could not be delivered.
        """
        refuse_when_closed(self.closed, self.name, self._reason)
        cancelled = read_cancel(message) if isinstance(message, Notification) else None
        if cancelled is not None and cancelled.key in self._alone:
            return self._hang_up(cancelled.key)
        turn = self._order.turn(message)
        task = asyncio.get_running_loop().create_task(self._send_in_turn(turn, message, failed))
        self._order.enter(message, task)
        if isinstance(message, Request):
            key = id_key(message.id)
            self._asked[key] = task
            task.add_done_callback(partial(self._answered, key))
            return task
        self._telling.add(task)
        task.add_done_callback(self._telling.discard)
        if cancelled is not None and (abandoned := self._asked.get(cancelled.key)) is not None:
            abandoned.cancel()
        return task

    def _hang_up(self, key: bytes) -> asyncio.Task[None]:
        """Cancel a request that stands for itself: the end of its connection says so."""
        task = self._asked[key]
        task.cancel()
        return task

    async def _send_in_turn(self, turn: Turn, message: Message | Batch, failed: _Failed) -> None:
        if not turn.has_come:
            await turn.come()
        if self._old is not None:
            await self._send_to_old(self._old, message, failed)
        elif isinstance(message, Request):
            await self._ask(message, failed)
        elif isinstance(message, Batch) and any(isinstance(item, Request) for item in message.items):
            await self._ask_all(message, failed)
        else:
            await self._tell(message, failed)

    def _answered(self, key: bytes, task: asyncio.Task[None]) -> None:
        if self._asked.get(key) is task:
            del self._asked[key]

    def _report(self, id: bytes | None, error: AnywireError) -> None:
        if self._over:
            return
        if id is None:
            call_back(self.callbacks.on_error, error)
        else:
            call_back(self.callbacks.on_failed, id, error)

    # Requests.

    async def _ask(self, request: Request, failed: _Failed) -> None:
        """Send a request until it is answered or cannot be."""
        expected = Expected([request.id], self._receive, single=True)
        key = id_key(request.id)
        self._expected[key] = expected
        try:
            revision = claimed_revision(request.params)
            if revision is not None:
                await self._ask_alone(request, expected, revision)
            elif request.method == "initialize":
                await self._handshake.open(request, expected)
            else:
                await self._send_request(request, expected, again=is_read_only(request.method))
        except HttpStatusError as error:
            if request.method != "initialize" or not await self._fall_back(error, request):
                failed(request.id, error)
        except Exception as error:  # noqa: BLE001 nobody may wait in vain, whatever happened
            failed(request.id, self._calls.known(error))
        else:
            assert expected.reply is not None
            self._receive(expected.reply)
        finally:
            if self._expected.get(key) is expected:
                del self._expected[key]

    async def _ask_alone(self, request: Request, expected: Expected, revision: str) -> None:
        """Send a request that stands for itself: it names its revision and belongs to no session."""
        headers = stateless_headers(request.method, request.params, revision, self.mirrors)
        send = partial(self._asker.ask_alone, expected, encode(request), headers)
        key = id_key(request.id)
        self._alone.add(key)
        try:
            async with self._places:
                if self._met:
                    again, seconds = is_read_only(request.method), self._limits.connect_seconds
                    await persist(send, again=again, seconds=seconds)
                else:
                    await send()  # as with a handshake: a server that is not there is told at once
                    self._met = True
        finally:
            self._alone.discard(key)

    async def _ask_all(self, batch: Batch, failed: _Failed) -> None:
        requests = [item for item in batch.items if isinstance(item, Request)]
        again = len(requests) == len(batch.items) and all(is_read_only(each.method) for each in requests)
        expected = Expected([request.id for request in requests], self._receive, single=False)
        try:
            await self._send_request(batch, expected, again=again)
        except Exception as error:  # noqa: BLE001 nobody may wait in vain, whatever happened
            for id in list(expected.missing.values()):
                failed(id, self._calls.known(error))

    async def _send_request(self, message: Request | Batch, expected: Expected, *, again: bool) -> None:
        """Send what wants replies; once more when the session turns out to be gone.

        What must not be done twice is sent again only to a server that knows nothing of the session:
        then it was that which it refused, before it looked at what was asked.
        """
        body, seconds = encode(message), self._limits.connect_seconds
        async with self._places:
            for _ in range(2):
                session = self._handshake.session
                send = partial(self._asker.ask, expected, body, session)
                if await persist(send, again=again, seconds=seconds):
                    return
                assert expected.refusal is not None
                if not again and not await self._asker.is_certainly_gone(session):
                    raise expected.refusal
                expected.trouble = f"the session is gone, and there is no new one yet: {expected.refusal}"
                await self._handshake.renew(session)
                expected.trouble = ""
        raise self._handshake.lost_again(expected.refusal)

    async def _fall_back(self, error: HttpStatusError, request: Request) -> bool:
        """Where no POST is taken there may be an old server, which begins with a stream."""
        if error.status not in (400, 404, 405):
            return False
        from anywire.transport.sse_client import old_server

        old = await old_server(self._calls, self._limits)
        if old is None:
            return False  # the first error says more
        old.callbacks, self._old = self.callbacks, old
        old.post(request)
        return True

    # What wants no reply.

    async def _tell(self, message: Message | Batch, failed: _Failed) -> None:
        """Send what wants no reply; what the old session asked for is nothing to a new one."""
        body, session = encode(message), self._handshake.session
        try:
            send = partial(self._asker.tell, body, session)
            if not await persist(send, again=False, seconds=self._limits.connect_seconds):
                await self._handshake.renew(session)
                if not isinstance(message, Response | ErrorResponse):
                    await self._asker.tell(body, self._handshake.session)
        except Exception as error:  # noqa: BLE001 whatever happened, somebody must hear of it
            failed(None, self._calls.known(error))
        else:
            if isinstance(message, Notification) and message.method == INITIALIZED:
                self._general.open(self._handshake.session)

    async def _send_to_old(self, old: SseClientTransport, message: Message | Batch, failed: _Failed) -> None:
        try:
            await old.send(message)
        except AnywireError as error:
            failed(message.id if isinstance(message, Request) else None, error)

    # Receiving.

    def trouble(self, key: bytes) -> str:
        """Say what keeps the reply to a request from coming, empty where nothing is known of that."""
        expected = self._expected.get(key)
        return "" if expected is None else expected.obstacle

    def _reopened(self, session: HttpSession) -> None:
        self._general.open(session)
        if not self._over:
            call_back(self.callbacks.on_reopened)

    def _receive(self, message: Message | Batch | Fault) -> None:
        if not isinstance(message, Fault):
            self._handshake.delivered()
        self._hand_on(message)

    def _hand_on(self, message: Message | Batch | Fault) -> None:
        if self._over:
            return
        if isinstance(message, Fault):
            call_back(self.callbacks.on_error, message)
        else:
            call_back(self.callbacks.on_message, message)

    def hold_reading(self, reason: str) -> None:
        """Read no more of any answer, for one of several reasons that may hold at once."""
        self._calls.gate.hold(reason)

    def release_reading(self, reason: str) -> None:
        """That reason holds no longer."""
        self._calls.gate.release(reason)

    def _lost_for_good(self, error: TransportClosed) -> None:
        """There is no session, and no way to another."""
        if self._closing is None:
            self._reason = error
            self._closing = asyncio.get_running_loop().create_task(self._close())

    # The end.

    async def close(self) -> None:
        """Send what is being sent, end the session, close all connections."""
        if self._closing is None:
            self._closing = asyncio.get_running_loop().create_task(self._close())
        await asyncio.shield(self._closing)

    async def _close(self) -> None:
        reading = [*self._asked.values(), self._general.stop(), self._handshake.stop()]
        for task in self._asked.values():
            task.cancel()
        if self._telling:
            await asyncio.wait(self._telling, timeout=_GOODBYE_SECONDS)
        telling = list(self._telling)
        for task in telling:
            task.cancel()
        with contextlib.suppress(AnywireError, TimeoutError):
            async with asyncio.timeout(_GOODBYE_SECONDS):
                await self._asker.end(self._handshake.session)
        left = [task for task in [*reading, *telling] if task is not None]
        if left:
            await asyncio.wait(left, timeout=_GOODBYE_SECONDS)
        await self._calls.close()
        self._over = True
        if self._old is None:
            call_back(self.callbacks.on_close, self._reason)
        else:
            await self._old.close()  # which says that it is closed
