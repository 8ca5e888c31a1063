"""The SDK side of a control channel: MCP servers in this process, for a coding agent that asks over it.

Any number of servers is on one channel, each under its name, each with a conversation of its own.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Mapping
from typing import Any

from anywire.errors import AnywireError, ConfigError, TransportClosed
from anywire.transport.contract import Accept, Transport
from anywire.transport.control.channel import Channel
from anywire.transport.control.conversation import ControlTransport
from anywire.transport.control.handlers import ControlHandlers, Handler
from anywire.transport.control.side import ControlSide, OnFault, OnLine
from anywire.wire.codec import decode
from anywire.wire.control import ControlRequest
from anywire.wire.control_mcp import MCP_MESSAGE, McpMessage, read_mcp_message
from anywire.wire.limits import DEFAULT_LIMITS, Limits
from anywire.wire.message import Request

__all__ = ("ControlRouter",)

#: What may open a new conversation with a server whose last one has ended.
_OPENING = frozenset({"initialize", "server/discover"})

_NOT_ASYNC = "is called synchronously: give a plain function (`server.accept`), not an async one"


class ControlRouter(ControlSide):
    """Serves servers of this process over a channel, which it owns.

    `servers` are by name what accepts a conversation: `{"calc": server.accept}`.  `handlers` are by subtype
    the functions that answer what else the host asks (`can_use_tool`, `hook_callback`); what has no handler
    is answered with an error.  `on_line` gets each line of the host's own, as plain JSON data, `on_fault`
    what is no line of the protocol and what fails of the channel.

    Used as `async with`, or `start()` and `close()`.  When the host has written its last line, the calls in
    flight have `Limits.drain_seconds` to finish and are answered; then the channel is closed.
    """

    def __init__(
        self,
        channel: Channel,
        servers: Mapping[str, Accept],
        *,
        handlers: Mapping[str, Handler] | None = None,
        on_line: OnLine | None = None,
        on_fault: OnFault | None = None,
        limits: Limits = DEFAULT_LIMITS,
    ) -> None:
        """Make one.  Raises `ConfigError` for an `async` function as a server, which nobody would await."""
        super().__init__(channel, "sdk-", on_line, on_fault, limits)
        self._servers: dict[str, Accept] = {}
        for name, accept in servers.items():
            self._servers[name] = _checked(name, accept)
        self._handlers = ControlHandlers(self.link, handlers or {}, limits)
        self._finishing: asyncio.Task[None] | None = None

    @property
    def servers(self) -> tuple[str, ...]:
        """The names of the servers."""
        return tuple(self._servers)

    def add(self, name: str, accept: Accept) -> None:
        """Serve one more server.  Raises `ConfigError` for a name that is taken, and an `async` function."""
        if name in self._servers:
            raise ConfigError(f"there is a server {name!r} on this channel already")
        self._servers[name] = _checked(name, accept)

    async def initialize(self, **members: object) -> dict[str, Any]:
        """Tell the host which servers there are, and what else it is to know (`hooks`, `agents`).

        Hosts that want the servers in another shape are given it as `sdkMcpServers`.

        Returns its answer.  It may speak to the servers before it answers; nothing here waits for it.
        Raises `PeerError` where it refuses, `DeadlineExceeded` after `Limits.request_seconds`.
        """
        return await self.request("initialize", {"sdkMcpServers": self.servers, **members})

    def open(self, name: str) -> ControlTransport:
        """Return the transport of a new conversation with the server of that name, not started."""
        conversation = ControlTransport(self.link, name, in_place=True, limits=self.limits)
        self.add_conversation(conversation)
        return conversation

    # In.

    def take_request(self, request: ControlRequest) -> None:
        """Answer what the host asks, now or later."""
        if request.subtype != MCP_MESSAGE:
            self._handlers.serve(request)
            return
        message = read_mcp_message(request.request)
        if message is None:
            self.link.fail(request.id, "an mcp_message has a 'server_name' and a 'message'")
            return
        conversation = self.conversations.get(message.server)
        if conversation is None:
            self._open_for(request, message)
        else:
            conversation.receive(request.id, message.message)

    def _open_for(self, request: ControlRequest, message: McpMessage) -> None:
        """A message has come for a server with which there is no conversation."""
        name = message.server
        accept = self._servers.get(name)
        if accept is None:
            there_are = ", ".join(self.servers) or "none"
            self.link.fail(request.id, f"there is no server {name!r} here; servers are: {there_are}")
            return
        if name in self.ended and not _opens(message.message):
            self.link.fail(request.id, f"the server {name!r} has ended")
            return
        if self._finishing is not None:
            self.link.fail(request.id, f"the server {name!r} takes no more requests: the program is ending")
            return
        conversation = self.open(name)
        try:
            _accept(accept, conversation)
        except Exception as error:  # noqa: BLE001 whoever waits must be told, whatever it was
            reason = f"the server {name!r} could not be started: {error or type(error).__name__}"
            conversation.fail(TransportClosed(reason))
            self.link.fail(request.id, reason)
            return
        conversation.receive(request.id, message.message)

    def take_cancel(self, id: bytes) -> None:
        """The host no longer waits for a request."""
        if not any(each.withdraw(id) for each in self.conversations.values()):
            self._handlers.cancel(id)

    # The end.

    def take_end(self) -> None:
        """The host writes no more: finish what was asked, then leave."""
        if self._finishing is None:
            self._finishing = asyncio.get_running_loop().create_task(self._finish())

    def take_close(self, error: AnywireError | None) -> None:
        """The channel is closed; the conversations hear of it by themselves."""
        self._handlers.cancel_all()

    async def _finish(self) -> None:
        for conversation in list(self.conversations.values()):
            conversation.end()
        grace = self.limits.drain_seconds + self.limits.shutdown_seconds
        await asyncio.gather(self.conversations_ended(grace), self._handlers.end(self.limits.drain_seconds))
        await self.leave()

    async def close(self) -> None:
        """End all conversations and the channel, bounded in time.  Idempotent."""
        await self._handlers.end(0.0)
        await self.leave()
        # What finishes waits for the handlers: none of them waits for it.
        finishing = self._finishing
        if (
            finishing is not None
            and finishing is not asyncio.current_task()
            and not self._handlers.is_caller()
        ):
            await asyncio.wait([finishing])


def _checked(name: str, accept: Accept) -> Accept:
    if inspect.iscoroutinefunction(accept):
        raise ConfigError(f"the server {name!r} {_NOT_ASYNC}")
    return accept


def _accept(accept: Callable[[Transport], object], conversation: ControlTransport) -> None:
    result = accept(conversation)
    if inspect.isawaitable(result) and not asyncio.isfuture(result):  # which nobody would run
        if inspect.iscoroutine(result):
            result.close()
        raise ConfigError(f"it {_NOT_ASYNC}")


def _opens(raw: bytes) -> bool:
    message = decode(raw)
    return isinstance(message, Request) and message.method in _OPENING
