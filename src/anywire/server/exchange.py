"""One incoming request from its arrival to its answer."""

from __future__ import annotations

import asyncio
from typing import Protocol

import msgspec
from msgspec import UNSET, Raw, UnsetType

from anywire.errors import TransportClosed
from anywire.protocol.legacy import ServerConversation
from anywire.protocol.types.initialize import Implementation
from anywire.protocol.types.logging import LogLevel, is_logged
from anywire.transport.contract import Transport
from anywire.wire.codec import decode_value, encode_value
from anywire.wire.message import Notification, id_key

__all__ = ("Conversing", "Exchange")


class _Meta(msgspec.Struct, rename="camel"):
    progress_token: Raw | UnsetType = UNSET


class _Progress(msgspec.Struct, omit_defaults=True, rename="camel"):
    progress_token: Raw
    progress: float
    total: float | None = None
    message: str | None = None


class _LogMessage(msgspec.Struct, omit_defaults=True):
    level: LogLevel
    data: object
    logger: str | None = None


class Conversing(Protocol):
    """What an exchange needs of the session that it is a part of."""

    transport: Transport
    conversation: ServerConversation
    loop: asyncio.AbstractEventLoop
    log_level: LogLevel


class Exchange:
    """What is known of a request while it is being served; `Context` is a handler's view of it.

    Nothing is sent for it after its answer, or once it has been cancelled.
    """

    __slots__ = ("_session", "_token", "cancel_reason", "cancelled", "done", "id", "key", "meta", "task")

    def __init__(self, session: Conversing, id: bytes, meta: bytes) -> None:
        self._session = session
        self._token: bytes | UnsetType | None = UNSET
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
        if self.task is not None:
            self.task.cancel(reason)

    async def progress(self, progress: float, total: float | None, message: str | None) -> None:
        """Report progress on the request, if the client wants to hear of it."""
        token = self.progress_token
        if token is not None:
            await self._notify("notifications/progress", _Progress(Raw(token), progress, total, message))

    async def log(self, level: LogLevel, data: object, logger: str | None) -> None:
        """Send a log message on behalf of the request, if the client wants messages of that level."""
        if is_logged(level, self._session.log_level):
            await self._notify("notifications/message", _LogMessage(level, data, logger))

    async def _notify(self, method: str, params: msgspec.Struct) -> None:
        if self.done or self.cancelled or self._session.transport.closed:
            return
        try:
            await self._session.transport.send(Notification(method, encode_value(params)), related=self.id)
        except TransportClosed:
            return  # the client has gone; the handler will hear of it by its cancellation
