"""A control channel with one conversation on it: a transport like any other for who has its other end.

There are two ways to carry a server over this process's own stdio: as the program that a host asks, and as
the host of a program.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from anywire.errors import ConnectFailed
from anywire.transport.contract import Transport, ignore
from anywire.transport.control.channel import Channel, StdioChannel
from anywire.transport.control.conversation import ControlTransport
from anywire.transport.control.host import ControlHost
from anywire.transport.control.router import ControlRouter
from anywire.transport.control.side import ControlSide
from anywire.wire.codec import encode_value
from anywire.wire.control import control_request
from anywire.wire.limits import DEFAULT_LIMITS, Limits

__all__ = ("SoleConversation", "control_face", "control_target")


def control_face(name: str, channel: Channel | None = None, *, limits: Limits = DEFAULT_LIMITS) -> Transport:
    """Return the transport on which a host asks the server NAME: this process is a program that has it.

    `channel` is how the host is reached (None: this process's own stdio, which is claimed at once).
    """
    router = _FaceRouter(channel or StdioChannel(limits=limits), {}, limits=limits)
    return _Face(router, name, in_place=True)


def control_target(
    name: str, channel: Channel | None = None, *, limits: Limits = DEFAULT_LIMITS
) -> Transport:
    """Return a transport to the server NAME of the program that has started this process as its host.

    `channel` is how that program is reached (None: this process's own stdio, which is claimed at once).
    `start()` waits until the program has said which servers it has, and raises `ConnectFailed` where it
    does not within `Limits.connect_seconds`, or has none of that name.
    """
    host = ControlHost(channel or StdioChannel(limits=limits), limits=limits)
    return _Target(host, name)


class SoleConversation(ControlTransport):
    """The only conversation on a channel, which it opens and closes."""

    def __init__(self, side: ControlSide, server: str, *, in_place: bool) -> None:
        super().__init__(side.link, server, in_place=in_place, limits=side.limits)
        self._channel = side.link.channel
        self._ending: asyncio.Task[None] | None = None
        side.add_conversation(self)

    async def start(self) -> None:
        """Open the channel, and receive."""
        await self._link.start()
        await super().start()

    async def close(self) -> None:
        """End the conversation and the channel: what was sent is written, within bounds."""
        if self._ending is None:
            if not self.closed:
                self.stop(None)
            self._ending = asyncio.get_running_loop().create_task(self._end())
        await asyncio.shield(self._ending)

    async def _end(self) -> None:
        await self._channel.close()
        self.fire_close()

    # A bridge holds one end while the other is full.

    @property
    def on_full(self) -> Callable[[], None]:
        """Called when too much waits to be written."""
        return self._channel.on_full

    @on_full.setter
    def on_full(self, callback: Callable[[], None]) -> None:
        self._channel.on_full = callback

    @property
    def on_room(self) -> Callable[[], None]:
        """Called when there is room again."""
        return self._channel.on_room

    @on_room.setter
    def on_room(self, callback: Callable[[], None]) -> None:
        self._channel.on_room = callback

    def hold_reading(self, reason: str) -> None:
        """Read no more, for one of several reasons that may hold at once."""
        self._channel.hold_reading(reason)

    def release_reading(self, reason: str) -> None:
        """That reason holds no longer."""
        self._channel.release_reading(reason)


class _Face(SoleConversation):
    async def start(self) -> None:
        """Open the channel and say which server is here."""
        await super().start()
        id = self._link.next_id()
        members = encode_value({"sdkMcpServers": [self.server]})
        # Hosts that know of no such thing refuse it, or say nothing; they have the name from elsewhere.
        self._link.ask(id, control_request(id, "initialize", members), ignore)


class _FaceRouter(ControlRouter):
    """Leaves it to whoever serves the conversation how long the last calls may take."""

    @property
    def servers(self) -> tuple[str, ...]:
        """The names of the servers: there is one."""
        return tuple(conversation.server for conversation in self.conversations.values())

    def take_end(self) -> None:
        """The host writes no more."""
        for conversation in list(self.conversations.values()):
            conversation.end()


class _Target(SoleConversation):
    def __init__(self, host: ControlHost, server: str) -> None:
        super().__init__(host, server, in_place=False)
        self._host = host

    async def start(self) -> None:
        """Open the channel and wait for the program to say which servers it has."""
        try:
            await super().start()
            names = await self._host.greeted()
        except ConnectFailed:
            await self.close()
            raise
        if names is not None and self.server not in names:
            await self.close()
            there_are = ", ".join(names) or "none"
            raise ConnectFailed(f"the program has no server {self.server!r}; servers are: {there_are}")
