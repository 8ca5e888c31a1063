"""A client: requests out, answers matched, everything settled when the wire ends."""

from __future__ import annotations

import asyncio
import logging
import warnings
from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from anywire._version import __version__
from anywire.client.noise import Noise
from anywire.client.result import ToolResult
from anywire.client.tool_page import read_tool_page
from anywire.errors import (
    AnywireError,
    ConnectFailed,
    DeadlineExceeded,
    RemoteProtocolError,
    SessionError,
    TransportClosed,
)
from anywire.protocol.legacy import ClientConversation
from anywire.protocol.types.initialize import Implementation, InitializeResult
from anywire.protocol.types.pagination import PageWalk
from anywire.protocol.types.tools import Tool
from anywire.session.caller import Caller, OnProgress
from anywire.session.holding import let_go, weakly
from anywire.transport.contract import Transport, call_back
from anywire.wire.codec import decode_value, encode_value
from anywire.wire.limits import DEFAULT_LIMITS, Limits
from anywire.wire.message import (
    Batch,
    Fault,
    JsonRpcErrorCode,
    Message,
    Notification,
    Request,
    Response,
    create_error_response,
    id_key,
)
from anywire.wire.peer import Event, Peer, ProgressReceived, Refused, Settled, Unmatched

__all__ = ("Client",)

_log = logging.getLogger("anywire.client")


class Client:
    """A conversation with one server.  Made by `anywire.connect`.

    Use it as `async with`, or call `open()` and `close()` from any task.  Each failure raises one
    exception of `anywire.errors`: the server's own error as `PeerError`, a dead child as
    `ProcessExited`, no answer in time as `DeadlineExceeded`.  What a callback raises goes to the event
    loop's exception handler and stops nothing.

    A client that was opened and is no longer held by anybody is closed, with a `ResourceWarning`.
    """

    def __init__(
        self,
        transport: Transport,
        *,
        info: Implementation | None = None,
        limits: Limits = DEFAULT_LIMITS,
        on_log: Callable[[dict[str, Any]], None] | None = None,
        on_notification: Callable[[Notification], None] | None = None,
        explain: Callable[[], str] | None = None,
    ) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        self._transport = transport
        #: What the server is called in errors and logs.
        self.name: str = getattr(transport, "name", "the server")
        self._explain = explain
        self._limits = limits
        self._conversation = ClientConversation(info or Implementation("anywire", __version__))
        self._peer = Peer(limits)
        self._caller = Caller(transport, self._peer, limits)
        self._on_log = on_log
        self._on_notification = on_notification
        # Only a child has a stderr where the noise belongs.
        self._noise = Noise(self.name, "; logs belong on stderr" if hasattr(transport, "child") else "")
        callbacks = transport.callbacks
        callbacks.on_message = weakly(self._on_message)
        callbacks.on_error = weakly(self._on_error)
        callbacks.on_failed = weakly(self._on_failed)
        callbacks.on_end = weakly(self._on_end)
        callbacks.on_close = weakly(self._on_close)

    def __repr__(self) -> str:
        return f"<Client of {self.name}, {self._conversation.revision or 'not open'}, {self._peer!r}>"

    def __del__(self) -> None:
        if self._loop is not None and not self._transport.closed:
            warnings.warn(f"{self!r} was dropped without being closed", ResourceWarning, 1, self)
            let_go(self._loop, self._transport)

    async def __aenter__(self) -> Client:
        await self.open()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    # Opening and closing.

    async def open(self) -> None:
        """Start the wire and shake hands; on failure everything that was started is ended again.

        Raises `ConnectFailed` with the reason, `ProcessExited` for a child that left, `PeerError` when
        the server refused.  A client is opened once.
        """
        if self._loop is not None or self._transport.closed:
            raise SessionError("a client is opened once; make another with connect()")
        self._loop = asyncio.get_running_loop()
        try:
            await self._transport.start()
            await self._shake_hands()
        except DeadlineExceeded as error:
            await self.close()
            reason = f": {self._explain()}" if self._explain is not None else ""
            raise ConnectFailed(f"{self.name}: {error}{reason}") from error
        except BaseException:
            await self.close()
            raise

    async def _shake_hands(self) -> None:
        params = self._conversation.initialize_params()
        result = await self.request("initialize", params, timeout=self._limits.connect_seconds)
        try:
            self._conversation.initialized(result)
        except (msgspec.MsgspecError, ValueError) as error:
            message = f"{self.name}: the answer to initialize cannot be used: {error}"
            raise RemoteProtocolError(message) from error
        await self.notify("notifications/initialized")

    async def close(self) -> None:
        """End the conversation and the wire; pending requests fail.  Idempotent."""
        if self._loop is not None and not self._transport.closed:
            self._check_loop()
        self._caller.stop()
        await self._transport.close()

    @property
    def server(self) -> InitializeResult:
        """What the server said of itself.  Raises `SessionError` before `open()`."""
        if self._conversation.server is None:
            raise SessionError("the client has not been opened")
        return self._conversation.server

    @property
    def revision(self) -> str | None:
        """The revision agreed on, None before `open()`."""
        return self._conversation.revision

    # Calls.

    async def ping(self, *, timeout: float | None = None) -> None:
        """Ask the server for a sign of life."""
        await self.request("ping", timeout=timeout)

    async def tools(self) -> list[Tool]:
        """Return all tools, whatever the number of pages; one that cannot be read is left out and logged."""
        tools: list[Tool] = []
        walk = PageWalk()
        while True:
            params = None if walk.cursor is msgspec.UNSET else encode_value({"cursor": walk.cursor})
            page, cursor = read_tool_page(await self.request("tools/list", params), self.name)
            tools += page
            if not walk.advance(cursor):
                return tools

    async def call_tool(
        self,
        name: str,
        arguments: Mapping[str, Any] | None = None,
        *,
        timeout: float | None = None,
        on_progress: OnProgress | None = None,
    ) -> ToolResult:
        """Call a tool; a tool that failed is a result with `is_error`, not an exception.

        `timeout` is in seconds without answer or progress (default: `Limits.request_seconds` of the
        client).  What JSON cannot say is sent as what comes nearest: a float that is no number as null,
        half of a surrogate pair as U+FFFD.
        """
        params = encode_value({"name": name, "arguments": arguments or {}})
        raw = await self.request("tools/call", params, timeout=timeout, on_progress=on_progress)
        try:
            return ToolResult.from_raw(raw)
        except msgspec.MsgspecError as error:
            raise RemoteProtocolError(f"the result of tool {name!r} cannot be read: {error}") from error

    async def request(
        self,
        method: str,
        params: bytes | Mapping[str, Any] | None = None,
        *,
        timeout: float | None = None,
        on_progress: OnProgress | None = None,
    ) -> bytes:
        """Send any request and return its raw result (JSON, UTF-8).

        When the caller is cancelled or the time is over, the server is told to stop.
        """
        self._check_loop()
        return await self._caller.request(method, params, timeout=timeout, on_progress=on_progress)

    async def notify(self, method: str, params: bytes | Mapping[str, Any] | None = None) -> None:
        """Send any notification."""
        self._check_loop()
        raw = encode_value(params) if isinstance(params, Mapping) else params
        await self._transport.send(Notification(method, raw))

    def _check_loop(self) -> None:
        if self._loop is None:
            raise SessionError("the client has not been opened")
        if self._loop is not asyncio.get_running_loop():
            raise SessionError("the client was opened in another event loop, and works in that one only")

    # In.

    def _on_message(self, message: Message | Batch) -> None:
        assert self._loop is not None
        if type(message) is Response:  # as nearly always
            self._handle(self._peer.receive(message, self._loop.time()))
            return
        for item in message.items if isinstance(message, Batch) else (message,):
            if isinstance(item, Fault):
                self._on_error(item)
            else:
                self._handle(self._peer.receive(item, self._loop.time()))

    def _handle(self, event: Event) -> None:
        if type(event) is Settled:
            self._caller.settle(event)
            return
        match event:
            case ProgressReceived():
                self._caller.report(event)
            case Notification():
                self._notified(event)
            case Request():
                self._answer(event)
            case Refused():
                self._caller.tell(event.reply)
            case Unmatched():
                _log.info("%s: a reply that answers nothing: %s", self.name, event.message.frame[:200])
            case _:
                pass

    def _notified(self, message: Notification) -> None:
        if message.method == "notifications/message" and self._on_log is not None:
            try:
                params = decode_value(message.params or b"{}", dict[str, Any])
            except msgspec.MsgspecError:
                _log.info("%s: a log message that cannot be read: %s", self.name, message.frame[:200])
            else:
                call_back(self._on_log, params)
        if self._on_notification is not None:
            call_back(self._on_notification, message)

    def _answer(self, request: Request) -> None:
        """Answer a request of the server's: `ping` always, nothing else is offered."""
        if request.method == "initialize" or not self._peer.respond(request.id):
            return  # servers do not initialize: it is our own request, echoed, and an answer would be too
        if request.method == "ping":
            self._caller.tell(Response(request.id, b"{}"), request.id)
            return
        reason = f"Method not found: {request.method}"
        reply = create_error_response(None, JsonRpcErrorCode.MethodNotFound, reason)
        self._caller.tell(msgspec.structs.replace(reply, id=request.id), request.id)

    def _on_error(self, error: Fault | AnywireError) -> None:
        if not isinstance(error, Fault):
            _log.warning("%s: %s", self.name, error)
            return
        settled = self._peer.receive_fault(error)
        if settled is not None:
            self._caller.settle(settled)
        else:
            self._noise.hear(error)

    def _on_failed(self, id: bytes, error: AnywireError) -> None:
        settled = self._peer.fail(id_key(id), error)
        if settled is not None:
            self._caller.settle(settled)

    def _on_end(self) -> None:
        """The server sends no more: nothing that waits will be answered."""
        self._on_close(TransportClosed(f"{self.name} closed the connection"))

    def _on_close(self, error: AnywireError | None) -> None:
        self._noise.end()
        self._caller.close(error or TransportClosed(f"the connection to {self.name} is closed"))
