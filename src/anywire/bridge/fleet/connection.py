"""One client's conversation with all servers of a fleet, as a transport.

To the client there is one server of the handshake era.  Its ids and progress tokens go to the servers as they
are, since each has a conversation of its own; what they ask it gets ids of ours.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Protocol

from anywire.bridge.fleet.catalogue import Catalogue
from anywire.bridge.fleet.conversation import Conversation
from anywire.bridge.fleet.downward import Downward
from anywire.bridge.fleet.member import Member
from anywire.bridge.fleet.renaming import LISTS
from anywire.bridge.fleet.table import Roster, Table
from anywire.bridge.fleet.upward import Upward
from anywire.bridge.pressure import Fullness
from anywire.errors import AnywireError
from anywire.transport.contract import Callbacks, call_back, ignore, refuse_when_closed
from anywire.wire.message import Batch, Message

__all__ = ("FleetConnection",)


class Registry(Roster, Protocol):
    """The fleet, as far as a connection needs it."""

    def opened(self, connection: FleetConnection) -> None:
        """A connection is in use from now on."""
        ...

    def gone(self, connection: FleetConnection) -> None:
        """... and no more."""
        ...


class FleetConnection:
    """See `anywire.transport.contract.Transport`.  Made by `Fleet.target`; no server can end it."""

    def __init__(self, fleet: Registry, catalogue: Catalogue) -> None:
        self.callbacks = Callbacks()
        #: What this wire is called in errors.
        self.name = "the servers behind the bridge"
        #: Too much waits to be sent to one of the servers ...
        self.on_full: Callable[[], None] = ignore
        #: ... and no longer.
        self.on_room: Callable[[], None] = ignore
        self._fleet = fleet
        self._table = Table(fleet, catalogue, lambda: self.callbacks)
        self._upward = Upward(self._table)
        self._downward = Downward(self._table)
        self.hear = self._downward.hear
        self.opened = self._downward.opened
        self._fullness = Fullness(self)
        self._holds: set[str] = set()
        self._closing: asyncio.Task[None] | None = None

    def __repr__(self) -> str:
        table = self._table
        return f"<FleetConnection, {len(table.members)} servers, {len(table.calls)} unanswered>"

    @property
    def closed(self) -> bool:
        """True once `close()` was called."""
        return self._closing is not None

    @property
    def related(self) -> bytes | None:
        """The raw id of the client's request that the message being handed over is about; None: not known."""
        return self._table.related

    @property
    def speaker(self) -> str | None:
        """Which server says the message that is being handed over; None: it is ours."""
        return self._table.speaker

    @property
    def catalogue(self) -> Catalogue:
        """What is known of the lists of servers, for this client or for all."""
        return self._table.catalogue

    @property
    def conversations(self) -> frozenset[Conversation]:
        """The conversations with servers that have not ended."""
        return frozenset(self._table.conversations)

    async def start(self) -> None:
        """Be ready: a server is started when it is needed."""
        self._fleet.opened(self)
        self.take_members()

    def post(self, message: Message | Batch, related: bytes | None = None) -> None:
        """Send without waiting for room."""
        refuse_when_closed(self.closed, self.name)
        if isinstance(message, Batch):
            self._upward.take_batch(message)
        else:
            self._upward.take(message)

    async def send(self, message: Message | Batch, related: bytes | None = None) -> None:
        """Send, and wait while too much waits for one of the servers."""
        self.post(message)
        await self._fullness.room.wait()

    # The servers.

    def take_members(self) -> None:
        """Have the servers that the fleet has now; what others were asked before they still answer."""
        table, fleet = self._table, self._fleet
        if table.closed:
            return  # it is about to have none
        before, table.members = table.members, {}
        for server, upstream in fleet.members.items():
            member = before.get(server)
            if member is None or member.upstream is not upstream:
                label = fleet.names[server]
                member = Member(label, upstream, fleet.names, table.catalogue, self, fleet.chance)
            table.members[server] = member
        gone = set(before.values()) - set(table.members.values())
        new = set(table.members.values()) - set(before.values())
        for member in gone:
            table.lists.forget(member)
            table.catalogue.drop(member.key)
            member.retire()
        if table.revision is not None:
            table.lists.prepare(new, "tools/list")
        if gone or new:
            for notification in LISTS:
                table.tell_changed(notification)

    def begin(self, member: Member) -> Conversation:
        """See `member.Session`."""
        conversation = Conversation(
            member.label, member.upstream, self._table.introduction, self, discreet=self._fleet.discreet
        )
        self._table.conversations.add(conversation)
        if self._holds:
            conversation.face.on_full()
        return conversation

    def troubled(self, conversation: Conversation, reason: str) -> None:
        """See `conversation.Hearer`."""
        self._fleet.troubled(conversation.label.server, reason)

    def ended(self, conversation: Conversation) -> None:
        """See `conversation.Hearer`."""
        self.filled(conversation, full=False)
        self._downward.ended(conversation)

    def listed(self, member: Member, method: str, error: AnywireError | None) -> None:
        """See `member.Session`."""
        if self._table.lists.listed(member, method, error):
            for notification, methods in LISTS.items():
                if method in methods:
                    self._table.tell_changed(notification)

    def list_changed(self, notification: str) -> None:
        """A list of a server has changed."""
        self._table.tell_changed(notification)

    # Pressure.

    def filled(self, conversation: Conversation, full: bool) -> None:
        """Too much waits to be sent to a server, or no longer."""
        self._fullness.filled(conversation, full)

    def hold_reading(self, reason: str) -> None:
        """Read no more from the servers, for one of several reasons that may hold at once."""
        if not self._holds:
            for conversation in self._table.conversations:
                conversation.face.on_full()
        self._holds.add(reason)

    def release_reading(self, reason: str) -> None:
        """That reason holds no longer."""
        held = bool(self._holds)
        self._holds.discard(reason)
        if held and not self._holds:
            for conversation in self._table.conversations:
                conversation.face.on_room()

    # The end.

    async def close(self) -> None:
        """End all conversations: what is unanswered gets no answer any more."""
        if self._closing is None:
            self._table.closed = True
            self._closing = asyncio.get_running_loop().create_task(self._close())
        await asyncio.shield(self._closing)

    async def _close(self) -> None:
        await self._upward.close()
        for member in self._table.members.values():
            await member.close()
        await asyncio.gather(*(conversation.close() for conversation in self._table.conversations))
        self._fullness.room.set()
        self._fleet.gone(self)
        call_back(self.callbacks.on_close, None)
