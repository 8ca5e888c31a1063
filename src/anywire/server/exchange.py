"""One incoming request from its arrival to its answer."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import msgspec
from msgspec import UNSET, Raw, UnsetType

from anywire.errors import Refusal, SessionError, TransportClosed
from anywire.protocol.legacy import ServerConversation
from anywire.protocol.types.initialize import ClientCapabilities, Implementation
from anywire.protocol.types.logging import LogLevel, LogMessageParams, is_logged
from anywire.session.caller import Caller
from anywire.transport.contract import Detachable, Transport
from anywire.wire.codec import decode_value, encode_value
from anywire.wire.limits import Limits
from anywire.wire.message import Notification

if TYPE_CHECKING:
    from anywire.server.context import Context
    from anywire.server.question import InputRequired
    from anywire.server.running import Running
    from anywire.server.service import Service
    from anywire.server.telling import Teller

__all__ = ("Conversing", "Exchange", "Terms")

T = TypeVar("T")


class _Params(msgspec.Struct):
    meta: Raw = msgspec.field(default=Raw(b"{}"), name="_meta")


class _Meta(msgspec.Struct, rename="camel"):
    progress_token: Raw | UnsetType = UNSET


class _Progress(msgspec.Struct, omit_defaults=True, rename="camel"):
    progress_token: Raw
    progress: float
    total: float | None = None
    message: str | None = None


class Terms(Protocol):
    """What was agreed on for a request: by a handshake, or by its own envelope."""

    @property
    def revision(self) -> str | None:
        """The revision, None before a handshake."""
        ...

    @property
    def client_info(self) -> Implementation:
        """Who the client says it is."""
        ...

    @property
    def client_capabilities(self) -> ClientCapabilities:
        """What the client says it can do."""
        ...

    @property
    def log_level(self) -> LogLevel | None:
        """The least severe level of log messages that the client wants; None: no messages."""
        ...


class Conversing(Protocol):
    """What an exchange needs of the session that it is a part of."""

    @property
    def transport(self) -> Transport:
        """What it comes over."""
        ...

    @property
    def service(self) -> Service:
        """The server."""
        ...

    @property
    def loop(self) -> asyncio.AbstractEventLoop:
        """The loop that it is served on."""
        ...

    @property
    def limits(self) -> Limits:
        """The limits in force."""
        ...

    @property
    def running(self) -> Running:
        """The requests that are being served."""
        ...

    @property
    def caller(self) -> Caller:
        """Asks the client."""
        ...

    @property
    def teller(self) -> Teller:
        """Tells the client of changes."""
        ...

    @property
    def is_ending(self) -> bool:
        """Whether the conversation is about to end."""
        ...

    def reply(self, id: bytes, result: bytes) -> None:
        """Answer a request with a raw result, unless it was answered or cancelled before."""
        ...

    def fail(self, id: bytes, code: int, message: str, data: object = None) -> None:
        """Answer a request with an error, unless it was answered or cancelled before."""
        ...

    def end_by(self, error: BaseException) -> None:
        """The program wants to end: a handler raised `SystemExit` or `KeyboardInterrupt`."""
        ...


class Exchange(msgspec.Struct, eq=False):
    """What is known of a request while it is being served; `Context` is a handler's view of it.

    Nothing is sent for it after its answer, or once it has been cancelled.
    """

    # A struct, since one that is answered at once costs least so.
    #: The conversation that the request came in.
    session: Conversing
    #: The request's id, raw JSON.
    id: bytes
    method: str
    #: The request's params, raw JSON, None where it has none.
    params: bytes | None
    #: What was agreed on for the request.
    terms: Terms
    #: The client has withdrawn the request ...
    cancelled: bool = False
    #: ... and this is why.
    cancel_reason: str = ""
    #: The answer has been sent.
    done: bool = False
    #: It stands in the table of what is being served ...
    listed: bool = False
    #: ... under this key, made of its id.
    key: bytes = b""
    #: How long a client may keep the result, where results say so.
    fresh_seconds: float = 0.0
    #: The task that serves it, None while it runs in place.
    task: asyncio.Task[None] | None = None
    #: What the client answered to an `InputRequired`, raw results by key; None before.
    answers: dict[str, bytes] | None = None
    #: How often input was asked for so.
    rounds: int = 0
    #: The state that came with it.
    round_state: Any = None
    _meta: bytes | None = None
    _token: bytes | UnsetType | None = UNSET
    # What a handler in a thread waits for on the loop.
    _asking: set[asyncio.Task[Any]] | None = None

    def context(self) -> Context:
        """Return a handler's view of it."""
        from anywire.server.context import Context

        return Context(self)

    @property
    def state(self) -> dict[str, Any]:
        """What the program keeps for the conversation."""
        return self.handshake.state

    @property
    def handshake(self) -> ServerConversation:
        """What the handshake of the conversation agreed on, for what there is in that era only."""
        assert isinstance(self.terms, ServerConversation), "a method of the other era"
        return self.terms

    @property
    def meta(self) -> bytes:
        """The request's `_meta`, raw JSON."""
        if self._meta is None:
            try:
                self._meta = bytes(decode_value(self.params or b"{}", _Params).meta)
            except msgspec.MsgspecError:
                self._meta = b"{}"
        return self._meta

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

    # Answering.

    def reply(self, result: bytes) -> None:
        """Answer with a raw result."""
        self.session.reply(self.id, result)

    def fail(self, code: int, message: str, data: object = None) -> None:
        """Answer with an error."""
        self.session.fail(self.id, code, message, data)

    def refuse(self, refusal: Refusal) -> None:
        """Answer with the error of a refusal."""
        self.fail(refusal.code, refusal.message, refusal.data)

    def refusal_of(self, error: BaseException) -> Refusal | None:
        """Return the error of the request that an exception of its handler means; None: it just failed."""
        return error if isinstance(error, Refusal) else None

    async def require_input(self, required: InputRequired) -> bool:
        """Get the answers that a handler wants before it is called again; False: the answer was to ask."""
        from anywire.server.question import ask_all

        self.answers = await ask_all(self, required)
        self.round_state = required.state
        return True

    # Meanwhile.

    async def progress(self, progress: float, total: float | None, message: str | None) -> None:
        """Report progress on the request, if the client wants to hear of it."""
        token = self.progress_token
        if token is not None:
            params = encode_value(_Progress(Raw(token), progress, total, message))
            await self.notify("notifications/progress", params)

    async def log(self, level: LogLevel, data: object, logger: str | None) -> None:
        """Send a log message on behalf of the request, if the client wants messages of that level."""
        wanted = self.terms.log_level
        if wanted is not None and is_logged(level, wanted):
            params = encode_value(LogMessageParams(level, data, logger or UNSET))
            await self.notify("notifications/message", params)

    async def notify(self, method: str, params: bytes) -> None:
        """Send a notification on behalf of the request, unless it is over."""
        if self.done or self.cancelled or self.session.transport.closed:
            return
        try:
            await self.session.transport.send(Notification(method, params), related=self.id)
        except TransportClosed:
            return  # the client has gone; the handler will hear of it by its cancellation

    async def request(
        self, method: str, params: msgspec.Struct | None, timeout: float, key: str | None = None
    ) -> bytes:
        """Ask the client on behalf of the request; return the raw result.

        `key` names the question where questions have names.  Raises `SessionError` after the answer; else
        what `Caller.request` raises.
        """
        self.refuse_when_over()
        raw = None if params is None else encode_value(params)
        return await self.session.caller.request(method, raw, timeout=timeout, related=self.id)

    def refuse_when_over(self) -> None:
        """Raise `SessionError` after the answer."""
        if self.done or self.cancelled:
            raise SessionError("the request that this was asked for is over")

    def detach(self) -> None:
        """Let the wire rest until the answer, where it can.  Callable from any thread."""
        try:
            self.session.loop.call_soon_threadsafe(self._detach)
        except RuntimeError:
            pass  # the loop is closed, and the wire with it

    def _detach(self) -> None:
        transport = self.session.transport
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
        asking = self._asking = set() if self._asking is None else self._asking
        asking.add(task)
        try:
            return await coroutine
        finally:
            asking.discard(task)

    def cancel(self, reason: str) -> None:
        """The client has withdrawn the request: stop its handler."""
        self.cancelled = True
        self.cancel_reason = reason
        for task in (self.task, *(self._asking or ())):
            if task is not None:
                task.cancel(reason)
