"""How one client gets at the server behind the bridge: a server of its own, or a share of one."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from functools import partial
from typing import TYPE_CHECKING, Protocol, TypeAlias

from anywire.bridge.meeting.era import Era, ask_era
from anywire.bridge.meeting.opened import Opened
from anywire.bridge.sharing.hub import Declares, Hub
from anywire.errors import AnywireError, HttpStatusError, TransportError
from anywire.protocol.translate.modern_client import IN_ROUNDS
from anywire.transport.contract import Transport, ignore

if TYPE_CHECKING:
    from anywire.bridge.meeting.upstream import Upstream
    from anywire.protocol.modern import Envelope

__all__ = ("Access", "Lost", "OwnServer", "SharedServer")

#: Hears why the server ended.
Lost: TypeAlias = Callable[[AnywireError | None], None]


class Access(Protocol):
    """One client's access to the server."""

    @property
    def name(self) -> str:
        """What the server is called in errors."""
        ...

    async def start(self, lost: Lost) -> None:
        """Start what is for this client alone; `lost` hears of its end while nobody has its line.

        Raises `ConnectFailed`.
        """
        ...

    async def ask(self, client: Envelope) -> Era:
        """Return the era of the server, which is asked unless that is known.

        Raises `HttpStatusError` for a server that refuses to say, and what starting it raises.
        """
        ...

    def line(self) -> Transport:
        """Return a way to the server, to be started and closed by whoever gets it."""
        ...

    def conversations(self, client: Envelope, method: str) -> Callable[[], Transport]:
        """Return what makes conversations with a server that shakes hands: as many as are wanted.

        The first of them is for a request of that method, of that client.
        """
        ...

    async def close(self) -> None:
        """End what was for this client alone."""
        ...


class OwnServer:
    """A server for this client alone."""

    def __init__(self, upstream: Upstream) -> None:
        self._upstream = upstream
        self._fresh: Transport | None = upstream.make()
        self._made = [self._fresh]
        self._open: Transport | None = None
        self._hub: Hub | None = None
        self.name = upstream.name

    async def start(self, lost: Lost) -> None:
        """See `Access`."""
        opened = Opened(self._take_fresh(), lost)
        await opened.open()
        self._open = opened

    async def ask(self, client: Envelope) -> Era:
        """See `Access`.  A server that dies of the question shakes hands, for all we know."""
        if self._upstream.era is not None:
            return self._upstream.era
        if self._open is None:
            await self.start(ignore)
        assert self._open is not None
        try:
            era = await ask_era(self._open, client, self._upstream.limits)
        except HttpStatusError:
            raise
        except TransportError:
            self._open = None
            return Era.HANDSHAKE
        self._upstream.era = era
        return era or Era.HANDSHAKE

    def line(self) -> Transport:
        """Return the line that is open, or another."""
        line, self._open = self._open, None
        return line if line is not None and not line.closed else self._take_fresh()

    def conversations(self, client: Envelope, method: str) -> Callable[[], Transport]:
        """See `Access`.  Where the server ends, the next of them has another."""
        upstream = self._upstream
        self._hub = Hub(
            self.line, upstream.report, upstream.limits, declares=Declares.FIRST, name=upstream.name
        )
        return partial(self._hub.connect, self)

    async def close(self) -> None:
        """End it."""
        if self._hub is not None:
            await self._hub.close()
        for made in self._made:
            await made.close()

    def _take_fresh(self) -> Transport:
        fresh, self._fresh = self._fresh, None
        if fresh is None:
            fresh = self._upstream.make()
            self._made = [made for made in self._made if not made.closed]
            self._made.append(fresh)
        return fresh


class SharedServer:
    """A share of the server that all have in common, or of the few of them that stateless calls need.

    `owner` is whose it is.
    """

    def __init__(self, upstream: Upstream, owner: Hashable) -> None:
        self._upstream = upstream
        self._owner = owner
        self.name = upstream.name

    async def start(self, lost: Lost) -> None:
        """Do nothing: it is started with the first message."""

    async def ask(self, client: Envelope) -> Era:
        """See `Access`."""
        return await self._upstream.ask(client)

    def line(self) -> Transport:
        """Return a connection to the hub."""
        return self._upstream.hub.connect(self._owner)

    def conversations(self, client: Envelope, method: str) -> Callable[[], Transport]:
        """See `Access`."""
        lanes = self._upstream.lanes
        if lanes is None:
            return self.line
        return partial(lanes.connect, client.client_capabilities, is_call=method in IN_ROUNDS)

    async def close(self) -> None:
        """Do nothing: the server is of others, too."""
