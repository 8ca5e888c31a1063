"""The two streams between a session of the official SDK and an anywire transport."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable
from types import TracebackType
from typing import Self

from anywire.errors import (
    AnywireError,
    LocalProtocolError,
    RemoteProtocolError,
    SessionError,
    TransportClosed,
)
from anywire.interop.sdk_models import CONNECTION_CLOSED, Models, reply_with
from anywire.transport.contract import Holding, Transport, ignore
from anywire.wire.limits import Limits
from anywire.wire.message import (
    Batch,
    ErrorResponse,
    Fault,
    JsonRpcErrorCode,
    Message,
    Notification,
    Request,
    Response,
    id_key,
)
from anywire.wire.peer import read_cancel

__all__ = ("ReadingEnd", "SdkStreams", "WritingEnd")

_log = logging.getLogger("anywire.interop")
_BEHIND = "the SDK's session does not read"


class _End:
    """What both ends are: something that is closed by hand or by leaving a block."""

    def __init__(self) -> None:
        self._closed = False

    def close(self) -> None:
        """Close this end; the transport lives on.  Idempotent."""
        self._closed = True

    async def aclose(self) -> None:
        """As `close()`."""
        self.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class ReadingEnd(_End):
    """What a session reads: the SDK's messages, and exceptions in their midst.

    `receive()` raises anyio's `EndOfStream` at the end and `ClosedResourceError` after `close()`.
    """

    def __init__(self, models: Models) -> None:
        super().__init__()
        self._models = models
        self._items: deque[object] = deque()
        self._ended = False
        self._news = asyncio.Event()
        #: Called each time something was taken.
        self.on_taken: Callable[[], None] = ignore

    def __len__(self) -> int:
        return len(self._items)

    def put(self, item: object) -> None:
        """Hand something to the reader; dropped when it reads no more."""
        if not self._closed and not self._ended:
            self._items.append(item)
            self._news.set()

    def end(self) -> None:
        """Nothing will come after what is there."""
        self._ended = True
        self._news.set()

    async def receive(self) -> object:
        """Return what came next, and wait for it."""
        while not self._items or self._closed:
            if self._closed:
                raise self._models.closed
            if self._ended:
                raise self._models.end_of_stream
            self._news.clear()
            await self._news.wait()
        item = self._items.popleft()
        self.on_taken()
        return item

    def close(self) -> None:
        """Read no more: what is there is dropped."""
        super().close()
        self._items.clear()
        self._news.set()
        self.on_taken()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> object:
        try:
            return await self.receive()
        except self._models.end_of_stream:
            raise StopAsyncIteration from None


class WritingEnd(_End):
    """What a session writes to.

    `send()` waits for room.  It raises anyio's `BrokenResourceError` when the transport is closed and
    `ClosedResourceError` after `close()`.
    """

    def __init__(self, transport: Transport, models: Models, on_written: Callable[[Message], None]) -> None:
        super().__init__()
        self._transport = transport
        self._models = models
        self._on_written = on_written

    async def send(self, item: object) -> None:
        """Send a message of the SDK's; a reply that cannot be written becomes an error.

        Raises `LocalProtocolError` for anything else that cannot be, and for what is no message.
        """
        if self._closed:
            raise self._models.closed
        message, related = self._models.unwrap(item)
        if isinstance(message, Fault):
            # Whoever waits for a reply has to be told, and a server that is told instead may end itself.
            if not message.is_reply or message.id is None:
                raise LocalProtocolError(f"a message that cannot be sent: {message.reason}")
            message = reply_with(message.id, f"the reply cannot be sent: {message.reason}")
        if self._transport.closed:
            raise self._models.broken
        self._on_written(message)
        try:
            await self._transport.send(message, related)
        except TransportClosed:
            raise self._models.broken from None


class SdkStreams:
    """The callbacks of a transport on one side, the two ends for a session on the other.

    It remembers which requests of the session are unanswered, so that each is settled with the reason
    when the wire cannot bring its answer any more.
    """

    def __init__(self, transport: Transport, models: Models, limits: Limits) -> None:
        self._transport = transport
        self._models = models
        self._most = limits.requests_in_flight
        self._name = str(getattr(transport, "name", "the transport"))
        self._unanswered: dict[bytes, bytes] = {}
        self._behind = False
        self.reading = ReadingEnd(models)
        self.writing = WritingEnd(transport, models, self._written)
        self.reading.on_taken = self._taken
        callbacks = transport.callbacks
        callbacks.on_message = self._on_message
        callbacks.on_error = self._on_error
        callbacks.on_failed = self._on_failed
        callbacks.on_reopened = self._on_reopened
        callbacks.on_end = self._on_end
        callbacks.on_close = self._on_close

    def end(self) -> None:
        """The session is over: its reader learns that nothing comes any more."""
        self.reading.end()

    # From the session.

    def _written(self, message: Message) -> None:
        if isinstance(message, Request):
            # A session that gives up without a word leaves its requests here: the oldest make room.
            if len(self._unanswered) >= self._most:
                del self._unanswered[next(iter(self._unanswered))]
            self._unanswered[id_key(message.id)] = message.id
        elif isinstance(message, Notification) and (cancelled := read_cancel(message)) is not None:
            self._unanswered.pop(cancelled.key, None)

    def _taken(self) -> None:
        if self._behind and 2 * len(self.reading) <= self._most:
            self._behind = False
            if isinstance(self._transport, Holding):
                self._transport.release_reading(_BEHIND)

    # From the wire.

    def _on_message(self, message: Message | Batch) -> None:
        for item in message.items if isinstance(message, Batch) else (message,):
            if isinstance(item, Fault):
                self._on_error(item)
            else:
                self._take(item)

    def _take(self, message: Message) -> None:
        owed = False
        if isinstance(message, Response | ErrorResponse) and message.id is not None:
            owed = self._unanswered.pop(id_key(message.id), None) is not None
        if self._has_room() or owed:
            self._hand_on(message)
        elif isinstance(message, Request):
            self._answer(message.id, f"{self._most} messages wait to be read")

    def _has_room(self) -> bool:
        """Say whether the reader can have what it does not wait for; a wire that can be held has no more."""
        if len(self.reading) < self._most:
            return True
        began, self._behind = not self._behind, True
        if isinstance(self._transport, Holding):
            if began:
                self._transport.hold_reading(_BEHIND)
            return True  # it had come in before
        if began:
            why = f"{self._most} messages of {self._name} wait to be read: what comes meanwhile is left out"
            self.reading.put(SessionError(why))
        return False

    def _hand_on(self, message: Message) -> None:
        try:
            self.reading.put(self._models.wrap(message))
        except RemoteProtocolError as error:
            match message:
                case Response(id):
                    self._settle(id, reply_with(id, f"its reply cannot be used: {error}"))
                case ErrorResponse(bytes(id)):
                    told = message.detail()
                    self._settle(id, reply_with(id, told.message, told.code))
                case Request(id):
                    self._answer(id, str(error), JsonRpcErrorCode.InvalidRequest)
                    self.reading.put(error)
                case _:
                    self.reading.put(error)

    def _on_error(self, error: Fault | AnywireError) -> None:
        if not isinstance(error, Fault):
            self.reading.put(error)
        elif error.may_settle and error.id is not None and id_key(error.id) in self._unanswered:
            self._settle(error.id, reply_with(error.id, f"its reply cannot be used: {error.reason}"))
        else:
            if error.id is not None and (reply := error.answer()) is not None:
                self._transport.post(reply)  # whoever asked is told; the reader cannot
            if self._has_room():
                self.reading.put(RemoteProtocolError(error.reason))

    def _on_failed(self, id: bytes, error: AnywireError) -> None:
        self._settle(id, reply_with(id, error))

    def _on_reopened(self) -> None:
        self.reading.put(SessionError(f"{self._name} had lost the conversation, and a new one was opened"))

    def _on_end(self) -> None:
        self._over(TransportClosed(f"{self._name} closed the connection"))

    def _on_close(self, error: AnywireError | None) -> None:
        if error is not None and not self._unanswered:
            _log.warning("%s: %s", self._name, error)
        self._over(error or TransportClosed(f"the connection to {self._name} is closed"))

    def _over(self, why: AnywireError) -> None:
        for id in list(self._unanswered.values()):
            self._settle(id, reply_with(id, why, CONNECTION_CLOSED))
        self.reading.end()

    def _settle(self, id: bytes, reply: ErrorResponse) -> None:
        """Answer a request of the session's in the place of the peer."""
        self._unanswered.pop(id_key(id), None)
        try:
            self.reading.put(self._models.wrap(reply))
        except RemoteProtocolError as error:
            self.reading.put(error)  # an id that the session cannot have sent

    def _answer(self, id: bytes, reason: str, code: int | None = None) -> None:
        if not self._transport.closed:
            self._transport.post(reply_with(id, reason, code), id)
