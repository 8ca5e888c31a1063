"""The host's side of a control channel: servers in the program at its other end are reached from here.

It plays the command-line program of a coding agent, as far as MCP goes.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from anywire.errors import AnywireError, ConfigError, ConnectFailed, TransportClosed
from anywire.transport.control.channel import Channel
from anywire.transport.control.conversation import ControlTransport
from anywire.transport.control.handlers import ControlHandlers, Handler
from anywire.transport.control.side import ControlSide, OnFault, OnLine, plain_object
from anywire.wire.control import ControlRequest
from anywire.wire.control_mcp import MCP_MESSAGE, read_mcp_message, read_server_names
from anywire.wire.limits import DEFAULT_LIMITS, Limits
from anywire.wire.value import encode_value

__all__ = ("ControlHost",)


class ControlHost(ControlSide):
    """Speaks to a program that has MCP servers in it, over a channel, which it owns.

    The program says with its `initialize` which servers it has, and is answered with `welcome`.  Each is
    then reached over a transport: `connect(host.transport("calc"))`.  `handlers` are by subtype the
    functions that answer what else the program asks (`interrupt`, `set_model`); what has no handler is
    answered with an error.  `on_line` gets each line of the program's own, as plain JSON data, `on_fault`
    what is no line of the protocol and what fails of the channel.

    Used as `async with`, or `start()` and `close()`.
    """

    def __init__(
        self,
        channel: Channel,
        *,
        handlers: Mapping[str, Handler] | None = None,
        welcome: Mapping[str, Any] | None = None,
        on_line: OnLine | None = None,
        on_fault: OnFault | None = None,
        limits: Limits = DEFAULT_LIMITS,
    ) -> None:
        super().__init__(channel, "host-", on_line, on_fault, limits)
        self._handlers = ControlHandlers(self.link, handlers or {}, limits)
        self._welcome = encode_value(welcome or {})
        self._greeted = asyncio.Event()
        self._left: AnywireError | None = None
        #: The names of the program's servers, None while it has not said them; some never do.
        self.servers: tuple[str, ...] | None = None
        #: What the program said when it initialized, as plain JSON data.
        self.introduction: dict[str, Any] = {}

    async def greeted(self, seconds: float | None = None) -> tuple[str, ...] | None:
        """Wait until the program has initialized; return the names of its servers, None where it told none.

        Raises `ConnectFailed` when it does not within so many seconds (None: `Limits.connect_seconds`),
        or has left.
        """
        seconds = self.limits.connect_seconds if seconds is None else seconds
        name = self.link.channel.name
        try:
            async with asyncio.timeout(seconds):
                await self._greeted.wait()
        except TimeoutError:
            raise ConnectFailed(f"{name}: the program did not initialize within {seconds:g} s") from None
        if self._left is not None:
            raise ConnectFailed(f"{name}: the program left before it initialized: {self._left}")
        return self.servers

    def transport(self, name: str) -> ControlTransport:
        """Return a transport to the server of that name, not started.

        A server has one conversation at a time.  Raises `ConfigError` for one that is in use, and for a
        name that is none of those which the program said.
        """
        self.check_name(name)
        conversation = ControlTransport(self.link, name, in_place=False, limits=self.limits)
        self.add_conversation(conversation)
        return conversation

    def check_name(self, name: str) -> None:
        """Raise `ConfigError` where no conversation with the server of that name can be opened."""
        if self.servers is not None and name not in self.servers:
            there_are = ", ".join(self.servers) or "none"
            raise ConfigError(f"the program has no server {name!r}; servers are: {there_are}")
        if name in self.conversations:
            raise ConfigError(f"the server {name!r} is in use by another conversation")

    # In.

    def take_request(self, request: ControlRequest) -> None:
        """Answer what the program asks, now or later."""
        if request.subtype == "initialize":
            self._greet(request)
        elif request.subtype == MCP_MESSAGE:
            self._take_message(request)
        else:
            self._handlers.serve(request)

    def _greet(self, request: ControlRequest) -> None:
        self.servers = read_server_names(request.request)
        self.introduction = plain_object(request.request)
        self.link.answer(request.id, self._welcome)
        self._greeted.set()

    def _take_message(self, request: ControlRequest) -> None:
        """A server has asked or told something by itself, or replied."""
        message = read_mcp_message(request.request)
        if message is None:
            self.link.fail(request.id, "an mcp_message has a 'server_name' and a 'message'")
        elif (conversation := self.conversations.get(message.server)) is None:
            self.link.fail(request.id, f"nobody speaks with the server {message.server!r}")
        else:
            conversation.receive(request.id, message.message)

    def take_cancel(self, id: bytes) -> None:
        """The program no longer waits for a request."""
        self._handlers.cancel(id)

    # The end.

    async def wait(self) -> None:
        """Return when the program writes no more; lines can still be written to it.

        Raises the error with which the channel broke before.
        """
        await super().wait()

    def take_end(self) -> None:
        """The program writes no more: none of its servers can answer."""
        self._leave_waiters(TransportClosed("it has closed its output"))
        for conversation in list(self.conversations.values()):
            conversation.end()
        self.over()

    def take_close(self, error: AnywireError | None) -> None:
        """The channel is closed; the conversations hear of it by themselves."""
        self._handlers.cancel_all()
        self._leave_waiters(error or TransportClosed("the channel is closed"))

    def _leave_waiters(self, error: AnywireError) -> None:
        if not self._greeted.is_set():
            self._left = error
            self._greeted.set()

    async def close(self) -> None:
        """End all conversations and the channel, bounded in time.  Idempotent."""
        await self._handlers.end(0.0)
        await self.leave()
