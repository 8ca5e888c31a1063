"""What the two sides of a control channel have in common: conversations, requests, lines, an end."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from functools import partial
from types import TracebackType
from typing import Any, Self, TypeAlias

import msgspec

from anywire.errors import AnywireError
from anywire.transport.contract import ignore
from anywire.transport.control.channel import Channel
from anywire.transport.control.conversation import ControlTransport
from anywire.transport.control.link import ControlLink
from anywire.wire.control import ControlRequest, OtherLine
from anywire.wire.limits import Limits
from anywire.wire.message import Fault
from anywire.wire.value import decode_value, encode_value

__all__ = ("ControlSide", "OnFault", "OnLine", "plain_object")

#: Gets a line that is no part of the control protocol, as plain JSON data.
OnLine: TypeAlias = Callable[[dict[str, Any]], object]


#: Gets what came in and is no line of the protocol, and what failed of the channel.
OnFault: TypeAlias = Callable[[Fault | AnywireError], None]


class ControlSide(ABC):
    """One side of a channel, which it owns.  `ControlRouter` and `ControlHost` are the two that there are."""

    def __init__(
        self, channel: Channel, prefix: str, on_line: OnLine | None, on_fault: OnFault | None, limits: Limits
    ) -> None:
        #: The limits in force.
        self.limits = limits
        #: What asks and answers.
        self.link = ControlLink(channel, prefix, limits)
        #: The conversations that are open, by the name of their server.
        self.conversations: dict[str, ControlTransport] = {}
        #: The names of the servers that had a conversation which has ended.
        self.ended: set[str] = set()
        self._on_line = on_line
        self._over = asyncio.Event()
        self._error: AnywireError | None = None
        self._changed = asyncio.Event()
        link = self.link
        link.on_request = self.take_request
        link.on_cancel = self.take_cancel
        link.on_other = self._take_other
        link.on_fault = on_fault or ignore
        link.on_end = self.take_end
        link.on_close = self._take_close

    def __repr__(self) -> str:
        return (
            f"<{type(self).__name__} over {self.link.channel.name}, {len(self.conversations)} conversations>"
        )

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def start(self) -> None:
        """Open the channel.  Raises `ConnectFailed`."""
        await self.link.start()

    async def wait(self) -> None:
        """Return when the channel is closed.  Raises the error with which it broke."""
        await self._over.wait()
        if self._error is not None:
            raise self._error

    def over(self) -> None:
        """Let `wait` return."""
        self._over.set()

    async def close(self) -> None:
        """End all conversations and the channel."""
        await self.leave()

    async def request(
        self, subtype: str, members: Mapping[str, object] | None = None, *, timeout: float | None = None
    ) -> dict[str, Any]:
        """Ask the other side for something and return its answer, empty where it gives none.

        `timeout` is in seconds (None: `Limits.request_seconds`).  Raises `PeerError` where it refuses,
        `DeadlineExceeded`, or `TransportClosed`.
        """
        seconds = self.limits.request_seconds if timeout is None else timeout
        response = await self.link.request(subtype, encode_value(members or {}), timeout=seconds)
        return {} if response is None else plain_object(response)

    def write(self, line: Mapping[str, Any]) -> None:
        """Write a line of the program's own, given as plain JSON data.

        Raises `TransportClosed` after the end, `SessionError` before `start()`, and `LocalProtocolError` in
        another thread than that of the event loop.
        """
        self.link.tell(encode_value(line))

    # Conversations.

    def add_conversation(self, conversation: ControlTransport) -> None:
        """Keep a conversation until its end."""
        self.conversations[conversation.server] = conversation
        conversation.on_gone = partial(self._gone, conversation)

    def _gone(self, conversation: ControlTransport) -> None:
        if self.conversations.get(conversation.server) is conversation:
            del self.conversations[conversation.server]
        self.ended.add(conversation.server)
        self._changed.set()

    async def conversations_ended(self, seconds: float) -> None:
        """Return when all conversations have ended by themselves, or that time is over."""
        try:
            async with asyncio.timeout(seconds):
                while self.conversations:
                    self._changed.clear()
                    await self._changed.wait()
        except TimeoutError:
            pass

    async def leave(self) -> None:
        """End what is left, then the channel."""
        for conversation in list(self.conversations.values()):
            await conversation.close()
        await self.link.channel.close()

    # What the link calls.

    @abstractmethod
    def take_request(self, request: ControlRequest) -> None:
        """Answer what the other side asks, now or later."""

    @abstractmethod
    def take_cancel(self, id: bytes) -> None:
        """The other side no longer waits for a request."""

    @abstractmethod
    def take_end(self) -> None:
        """The other side writes no more."""

    @abstractmethod
    def take_close(self, error: AnywireError | None) -> None:
        """The channel is closed."""

    def _take_other(self, line: OtherLine) -> None:
        if self._on_line is not None:
            self._on_line(plain_object(line.line))

    def _take_close(self, error: AnywireError | None) -> None:
        self._error = error
        self.take_close(error)
        for conversation in list(self.conversations.values()):
            conversation.fail(error)
        self.over()


def plain_object(raw: bytes) -> dict[str, Any]:
    """Return a raw object as plain JSON data; empty for what is none, or what Python cannot hold."""
    try:
        return decode_value(raw, dict[str, Any])
    except (msgspec.MsgspecError, ValueError):
        return {}
