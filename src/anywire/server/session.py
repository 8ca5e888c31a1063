"""One conversation of a server: messages in, handlers in between, replies out."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any

import msgspec

from anywire.errors import AnywireError
from anywire.protocol.legacy import ServerConversation
from anywire.protocol.types.logging import LogLevel, SetLevelParams
from anywire.protocol.types.tools import CallToolParams
from anywire.server.context import Context
from anywire.server.eager import new_task
from anywire.server.exchange import Exchange
from anywire.server.result import describe, encode_failure, encode_output
from anywire.server.service import Service
from anywire.server.threads import DaemonThreads
from anywire.server.tool import How, RegisteredTool
from anywire.transport.contract import Transport
from anywire.wire.batch import BatchReplies
from anywire.wire.codec import decode_value
from anywire.wire.limits import Limits
from anywire.wire.message import (
    Batch,
    ErrorResponse,
    Fault,
    JsonRpcErrorCode,
    Message,
    Request,
    Response,
    create_error_response,
    is_response,
)
from anywire.wire.peer import CancelReceived, Event, Peer, Refused

__all__ = ("SERVED_METHODS", "ServerSession")

#: The methods that a session answers.
SERVED_METHODS = frozenset({"tools/call", "tools/list", "initialize", "ping", "logging/setLevel"})

_log = logging.getLogger("anywire.server")
_call_params = msgspec.json.Decoder(CallToolParams)


class ServerSession:
    """Serves one transport until either side ends.

    `run()` starts the transport and returns at the end; `close()` brings the end about.  When the
    client has sent its last message, what was accepted is finished, within bounds.
    """

    def __init__(
        self, transport: Transport, service: Service, threads: DaemonThreads, limits: Limits
    ) -> None:
        self.transport = transport
        self.conversation = ServerConversation()
        self.loop = asyncio.get_running_loop()
        #: The least severe level of log messages that the client wants.
        self.log_level: LogLevel = "info"
        self._service = service
        self._threads = threads
        self._limits = limits
        self._peer = Peer(limits)
        self._batches = BatchReplies()
        self._running: dict[bytes, Exchange] = {}
        # Handlers of withdrawn requests, until they have stopped.
        self._leaving: set[asyncio.Task[None]] = set()
        self._hurry = asyncio.Event()
        self._finishing: asyncio.Task[None] | None = None
        self._closed = asyncio.Event()
        self._exit: BaseException | None = None
        self._methods: dict[str, Callable[[Request], None]] = {
            "tools/call": self._call_tool,
            "tools/list": self._list_tools,
            "initialize": self._initialize,
            "ping": self._ping,
            "logging/setLevel": self._set_level,
        }
        assert self._methods.keys() == SERVED_METHODS
        callbacks = transport.callbacks
        callbacks.on_message = self._on_message
        callbacks.on_error = self._on_error
        callbacks.on_end = self._on_end
        callbacks.on_close = self._on_close

    def __repr__(self) -> str:
        revision = self.conversation.revision or "new"
        return f"<ServerSession {revision}, {len(self._running)} running, {self._peer!r}>"

    async def run(self) -> None:
        """Serve until the end.  Raises the `SystemExit` or `KeyboardInterrupt` of a handler then."""
        await self.transport.start()
        await self.wait()

    async def wait(self) -> None:
        """Return at the end; raises what `run()` raises."""
        await self._closed.wait()
        if self._exit is not None:
            raise self._exit

    async def close(self) -> None:
        """End the conversation now: running handlers are cancelled and answered as such."""
        self._finish(0.0)
        await self._closed.wait()

    # In.

    def _on_message(self, message: Message | Batch) -> None:
        if type(message) is Batch:
            self._receive_batch(message)
        else:
            assert not isinstance(message, Batch)
            self._handle(self._peer.receive(message, self.loop.time()))

    def _handle(self, event: Event) -> None:
        if type(event) is Request:
            self._serve(event)
        elif type(event) is CancelReceived:
            self._cancel(event)
        elif type(event) is Refused:
            self._post(event.reply)
        # Notifications that mean nothing here and replies that answer nothing are ignored.

    def _serve(self, request: Request) -> None:
        method = self._methods.get(request.method)
        if method is None:
            self.fail(request.id, JsonRpcErrorCode.MethodNotFound, f"Method not found: {request.method}")
            return
        try:
            method(request)
        except Exception:  # noqa: BLE001 whatever goes wrong costs this request and no other
            _log.exception("%s failed", request.method)
            self.fail(request.id, JsonRpcErrorCode.InternalError, f"Internal error in {request.method}")

    def _receive_batch(self, batch: Batch) -> None:
        if not self.conversation.batches:
            if all(item.is_reply if isinstance(item, Fault) else is_response(item) for item in batch.items):
                return  # never answered, also as an array
            reason = "Invalid Request: batches are part of revision 2025-03-26 only"
            fault = create_error_response(None, JsonRpcErrorCode.InvalidRequest, reason)
            self._post(msgspec.structs.replace(fault, id=self.conversation.null_id))
            return
        self._batches.begin()
        for item in batch.items:
            self._receive_item(item)
        self._send_batch(self._batches.finish_reading())

    def _receive_item(self, item: Message | Fault) -> None:
        if isinstance(item, Fault):
            reply = item.answer(self.conversation.null_id)
            if reply is not None:
                self._batches.add_now(reply)
            return
        event = self._peer.receive(item, self.loop.time())
        if isinstance(event, Refused):
            self._batches.add_now(event.reply)
            return
        if isinstance(event, Request):
            self._batches.expect(event.id)
            if event.method == "initialize":
                reason = "Invalid Request: initialize must not be part of a batch"
                self.fail(event.id, JsonRpcErrorCode.InvalidRequest, reason)
                return
        self._handle(event)

    def _on_error(self, error: Fault | AnywireError) -> None:
        if isinstance(error, Fault):
            reply = error.answer(self.conversation.null_id)
            if reply is not None:
                self._post(reply)
        else:
            _log.warning("%s", error)

    def _cancel(self, event: CancelReceived) -> None:
        exchange = self._running.pop(event.key, None)
        if exchange is not None:
            self._withdraw(exchange, event.reason)
        self._send_batch(self._batches.drop(event.key))

    # Out.

    def reply(self, id: bytes, result: bytes) -> None:
        """Answer a request with a raw result, unless it was answered or cancelled before."""
        if self._peer.respond(id):
            self._send(Response(id, result))

    def fail(self, id: bytes, code: int, message: str) -> None:
        """Answer a request with an error, unless it was answered or cancelled before."""
        if self._peer.respond(id):
            error = create_error_response(None, code, message)
            self._send(msgspec.structs.replace(error, id=id))

    def _send(self, reply: Response | ErrorResponse) -> None:
        """Send the one answer of a request, with those of its batch if it came in one."""
        gathered = self._batches.add(reply) if self._batches.active else None
        if gathered is not None:
            self._send_batch(gathered)
        elif not self.transport.closed:  # not through `_post`: this is the hot path
            self.transport.post(reply, related=reply.id)

    def _post(self, reply: Response | ErrorResponse) -> None:
        if not self.transport.closed:
            self.transport.post(reply, related=reply.id)

    def _send_batch(self, replies: list[Response | ErrorResponse]) -> None:
        if replies and not self.transport.closed:
            self.transport.post(Batch(tuple(replies)), related=replies[0].id)

    # The methods.

    def _initialize(self, request: Request) -> None:
        self.reply(request.id, self.conversation.initialize(request.params, self._service.identity))

    def _ping(self, request: Request) -> None:
        self.reply(request.id, b"{}")

    def _set_level(self, request: Request) -> None:
        try:
            self.log_level = decode_value(request.params or b"{}", SetLevelParams).level
        except msgspec.MsgspecError as error:
            self.fail(request.id, JsonRpcErrorCode.InvalidParams, f"Invalid params: {error}")
        else:
            self.reply(request.id, b"{}")

    def _list_tools(self, request: Request) -> None:
        self.reply(request.id, self._service.tools_list)

    def _call_tool(self, request: Request) -> None:
        try:
            call = decode_value(request.params or b"{}", CallToolParams, _call_params)
        except msgspec.MsgspecError as error:
            self.fail(request.id, JsonRpcErrorCode.InvalidParams, f"Invalid params: {error}")
            return
        if not call.name:
            reason = "Invalid params: tools/call needs the name of a tool"
            self.fail(request.id, JsonRpcErrorCode.InvalidParams, reason)
            return
        tool = self._service.tools.get(call.name)
        if tool is None:
            self.reply(request.id, encode_failure(self._unknown_tool(call.name)))
            return
        try:
            arguments = tool.read_arguments(call.arguments)
        except msgspec.MsgspecError as error:
            self.reply(request.id, encode_failure(f"Invalid arguments for tool {call.name!r}: {error}"))
            return
        exchange = Exchange(self, request.id, bytes(call.meta))
        if tool.how is How.INLINE:
            self._run_inline(exchange, tool, arguments)
        elif tool.how is How.TASK:
            self._start(exchange, self._run_task(exchange, tool, arguments))
        else:
            self._start(exchange, self._run_thread(exchange, tool, arguments))

    def _unknown_tool(self, name: str) -> str:
        known = ", ".join(sorted(self._service.tools)[:20]) or "none"
        return f"Unknown tool {name!r}. Tools of this server: {known}"

    # Handlers.

    def _start(self, exchange: Exchange, coroutine: Coroutine[Any, Any, None]) -> None:
        """Run a handler in a task of its own; an eager one that does not wait is done on return."""
        task = new_task(self.loop, coroutine)
        if task.done():
            return
        exchange.task = task
        self._running[exchange.key] = exchange

    def _run_inline(self, exchange: Exchange, tool: RegisteredTool, arguments: Any) -> None:
        try:
            output = tool.call(arguments, lambda: Context(exchange))
            self._finish_call(exchange, encode_output(output))
        except BaseException as error:  # noqa: BLE001 sorted out there
            self._fail_call(exchange, tool, error)

    async def _run_task(self, exchange: Exchange, tool: RegisteredTool, arguments: Any) -> None:
        try:
            output = await tool.call(arguments, lambda: Context(exchange))
            self._finish_call(exchange, encode_output(output))
        except BaseException as error:  # noqa: BLE001 sorted out there
            self._fail_call(exchange, tool, error)

    async def _run_thread(self, exchange: Exchange, tool: RegisteredTool, arguments: Any) -> None:
        call = partial(tool.call, arguments, lambda: Context(exchange))
        try:
            output = await self.loop.run_in_executor(self._threads, call)
            self._finish_call(exchange, encode_output(output))
        except BaseException as error:  # noqa: BLE001 sorted out there
            self._fail_call(exchange, tool, error)

    def _finish_call(self, exchange: Exchange, result: bytes) -> None:
        self._forget(exchange)
        if not exchange.cancelled:  # its id may be in use again
            self.reply(exchange.id, result)

    def _fail_call(self, exchange: Exchange, tool: RegisteredTool, error: BaseException) -> None:
        """Sort out why a handler did not return."""
        self._forget(exchange)
        name = tool.listing.name
        if isinstance(error, SystemExit | KeyboardInterrupt):
            # The program wants to end, and does so in order.
            self._exit = error
            self._finish(0.0)
        if exchange.cancelled:
            return  # its id may be in use again
        if error is self._exit:
            self.fail(exchange.id, JsonRpcErrorCode.InternalError, f"tool {name!r} ended the server")
        elif self._finishing is not None and isinstance(error, asyncio.CancelledError | GeneratorExit):
            reason = f"the call of tool {name!r} was cancelled by the server"
            self.fail(exchange.id, JsonRpcErrorCode.InternalError, reason)
        else:
            _log.info("tool %s failed", name, exc_info=error)
            self.reply(exchange.id, encode_failure(f"Error in tool {name!r}: {describe(error)}"))

    def _forget(self, exchange: Exchange) -> None:
        exchange.done = True
        if self._running.get(exchange.key) is exchange:
            del self._running[exchange.key]

    def _withdraw(self, exchange: Exchange, reason: str) -> None:
        """Stop a handler whose answer nobody wants."""
        exchange.cancel(reason)
        if exchange.task is not None:
            self._leaving.add(exchange.task)
            exchange.task.add_done_callback(self._leaving.discard)

    # The end.

    def _on_end(self) -> None:
        self._finish(self._limits.drain_seconds)

    def _finish(self, grace: float) -> None:
        """End the conversation after so many seconds at most; a later call can only hasten it."""
        if grace <= 0.0:
            self._hurry.set()
        if self._finishing is None:
            self._finishing = self.loop.create_task(self._finish_in_order(grace))
            # A task that is cancelled before its first step, as at the end of a loop, runs no `finally`.
            self._finishing.add_done_callback(lambda _: self._closed.set())

    async def _finish_in_order(self, grace: float) -> None:
        """Let running handlers end, for so long; then cancel them; then leave what is stuck behind."""
        try:
            await self._drain(grace)
            for task in self._handlers():
                task.cancel("the server is ending")
            await self._wait_for_handlers(self._limits.shutdown_seconds / 2)
            for exchange in list(self._running.values()):
                self._forget(exchange)
                reason = "the server ended before this call did"
                self.fail(exchange.id, JsonRpcErrorCode.InternalError, reason)
            await self.transport.close()
        finally:
            self._closed.set()

    async def _drain(self, grace: float) -> None:
        waits = (
            self.loop.create_task(self._wait_for_handlers(grace)),
            self.loop.create_task(self._hurry.wait()),
        )
        await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        for wait in waits:
            wait.cancel()

    async def _wait_for_handlers(self, seconds: float) -> None:
        handlers = self._handlers()
        if handlers:
            await asyncio.wait(handlers, timeout=seconds)

    def _handlers(self) -> list[asyncio.Task[None]]:
        running = [exchange.task for exchange in self._running.values() if exchange.task is not None]
        return [*running, *self._leaving]

    def _on_close(self, error: AnywireError | None) -> None:
        self._peer.close(error)
        for exchange in list(self._running.values()):
            self._withdraw(exchange, "the connection is closed")
        self._running.clear()
        self._finish(0.0)
