"""One incoming request from its arrival to its answer."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import msgspec
from msgspec import UNSET, Raw, UnsetType

from anywire.errors import SessionError, TransportClosed
from anywire.protocol.legacy import ServerConversation
from anywire.protocol.types.initialize import ClientCapabilities, Implementation
from anywire.protocol.types.logging import LogLevel, LogMessageParams, is_logged
from anywire.session.caller import Caller
from anywire.transport.contract import Detachable, Transport
from anywire.wire.codec import decode_value, encode_value
from anywire.wire.limits import Limits
from anywire.wire.message import Notification, id_key

if TYPE_CHECKING:
    from anywire.server.service import Service

__all__ = ("Conversing", "Exchange")


T = TypeVar("T")


class _Meta(msgspec.Struct, rename="camel"):
    progress_token: Raw | UnsetType = UNSET


class _Progress(msgspec.Struct, omit_defaults=True, rename="camel"):
    progress_token: Raw
    progress: float
    total: float | None = None
    message: str | None = None


class Conversing(Protocol):
    """What an exchange needs of the session that it is a part of."""

    transport: Transport
    service: Service
    conversation: ServerConversation
    caller: Caller
    loop: asyncio.AbstractEventLoop
    limits: Limits
    log_level: LogLevel
    state: dict[str, Any]


class Exchange:
    """What is known of a request while it is being served; `Context` is a handler's view of it.

    Nothing is sent for it after its answer, or once it has been cancelled.
    """

    __slots__ = (
        "_asking",
        "_session",
        "_token",
        "cancel_reason",
        "cancelled",
        "done",
        "id",
        "key",
        "meta",
        "task",
    )

    def __init__(self, session: Conversing, id: bytes, meta: bytes) -> None:
        self._session = session
        self._token: bytes | UnsetType | None = UNSET
        # What a handler in a thread waits for on the loop.
        self._asking: set[asyncio.Task[Any]] = set()
        #: The request's id, raw JSON ...
        self.id = id
        #: ... and as a key of tables.
        self.key = id_key(id)
        #: The request's `_meta`, raw JSON.
        self.meta = meta
        #: The client has withdrawn the request ...
        self.cancelled = False
        #: ... and this is why.
        self.cancel_reason = ""
        #: The answer has been sent.
        self.done = False
        #: The task that serves it, None while it runs in place.
        self.task: asyncio.Task[None] | None = None

    @property
    def loop(self) -> asyncio.AbstractEventLoop:
        """The loop that serves the request."""
        return self._session.loop

    @property
    def client(self) -> Implementation:
        """Who the client says it is."""
        return self._session.conversation.client_info

    @property
    def revision(self) -> str | None:
        """The revision of the conversation."""
        return self._session.conversation.revision

    @property
    def client_capabilities(self) -> ClientCapabilities:
        """What the client can do."""
        return self._session.conversation.client_capabilities

    @property
    def limits(self) -> Limits:
        """The limits in force."""
        return self._session.limits

    @property
    def state(self) -> dict[str, Any]:
        """What the program keeps for the conversation."""
        return self._session.state

    @property
    def service(self) -> Service:
        """The server."""
        return self._session.service

    @property
    def progress_token(self) -> bytes | None:
        """The token under which the client wants progress, raw JSON, or None."""
        if isinstance(self._token, UnsetType):
            try:
                token = decode_value(self.meta, _Meta).progress_token
            except msgspec.MsgspecError:
                token = UNSET
            self._token = None if isinstance(token, UnsetType) else bytes(token)
        return self._token

    def cancel(self, reason: str) -> None:
        """The client has withdrawn the request: stop its handler."""
        self.cancelled = True
        self.cancel_reason = reason
        for task in (self.task, *self._asking):
            if task is not None:
                task.cancel(reason)

    async def progress(self, progress: float, total: float | None, message: str | None) -> None:
        """Report progress on the request, if the client wants to hear of it."""
        token = self.progress_token
        if token is not None:
            await self._notify("notifications/progress", _Progress(Raw(token), progress, total, message))

    async def log(self, level: LogLevel, data: object, logger: str | None) -> None:
        """Send a log message on behalf of the request, if the client wants messages of that level."""
        if is_logged(level, self._session.log_level):
            await self._notify("notifications/message", LogMessageParams(level, data, logger or UNSET))

    async def request(self, method: str, params: msgspec.Struct | None, timeout: float) -> bytes:
        """Ask the client on behalf of the request; return the raw result.

        Raises `SessionError` after the answer; else what `Caller.request` raises.
        """
        if self.done or self.cancelled:
            raise SessionError("the request that this was asked for is over")
        raw = None if params is None else encode_value(params)
        return await self._session.caller.request(method, raw, timeout=timeout, related=self.id)

    def detach(self) -> None:
        """Let the wire rest until the answer, where it can.  Callable from any thread."""
        try:
            self.loop.call_soon_threadsafe(self._detach)
        except RuntimeError:
            pass  # the loop is closed, and the wire with it

    def _detach(self) -> None:
        transport = self._session.transport
        over = self.done or self.cancelled  # its id may be in use again
        if not over and isinstance(transport, Detachable):
            transport.detach(self.id)

    async def owned(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Await something in a task of its own that ends with the request at the latest."""
        task = asyncio.current_task()
        assert task is not None
        if self.cancelled:
            coroutine.close()
            raise asyncio.CancelledError(self.cancel_reason)
        self._asking.add(task)
        try:
            return await coroutine
        finally:
            self._asking.discard(task)

    async def _notify(self, method: str, params: msgspec.Struct) -> None:
        if self.done or self.cancelled or self._session.transport.closed:
            return
        try:
            await self._session.transport.send(Notification(method, encode_value(params)), related=self.id)
        except TransportClosed:
            return  # the client has gone; the handler will hear of it by its cancellation
