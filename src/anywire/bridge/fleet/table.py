"""What is known of one client of a fleet: its servers, what it has asked and set; and how it is told."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Hashable, Mapping
from typing import Protocol

import msgspec

from anywire.bridge.fleet.catalogue import Catalogue
from anywire.bridge.fleet.conversation import Conversation
from anywire.bridge.fleet.greeting import NOBODY
from anywire.bridge.fleet.lists import Lists, Troubles
from anywire.bridge.fleet.member import Member
from anywire.bridge.fleet.names import Label, Names
from anywire.bridge.fleet.questions import Questions
from anywire.bridge.meeting.upstream import Upstream
from anywire.transport.contract import Callbacks, call_back
from anywire.wire.batch import BatchReplies
from anywire.wire.limits import Limits
from anywire.wire.message import Batch, ErrorResponse, Message, Notification, Request, Response, id_key

__all__ = ("Call", "Roster", "Table")


class Roster(Troubles, Protocol):
    """The fleet, as far as one of its clients needs it."""

    names: Names
    limits: Limits
    discreet: bool
    chance: Callable[[], float]

    @property
    def members(self) -> Mapping[str, Upstream]:
        """The servers, by their names, in order."""
        ...

    def changed(self, catalogue: Catalogue, server: Hashable, notification: str) -> None:
        """A server has said that a list has changed."""
        ...


class Call(msgspec.Struct, eq=False):
    """A request of the client that is unanswered: whom it went to, or what makes the answer."""

    request: Request
    conversation: Conversation | None = None
    task: asyncio.Task[None] | None = None
    #: The key of the progress token that came with it.
    token: bytes | None = None
    #: The resource that it is about, as its server spells it.
    uri: bytes | None = None


class Table:
    """See the module.  `callbacks` are those of the client's transport."""

    def __init__(self, fleet: Roster, catalogue: Catalogue, callbacks: Callable[[], Callbacks]) -> None:
        self.fleet = fleet
        self.catalogue = catalogue
        self.lists = Lists(catalogue, fleet, fleet.limits)
        self.members: dict[str, Member] = {}
        self.conversations: set[Conversation] = set()
        self.questions: Questions[Conversation] = Questions(fleet.limits)
        self.batches = BatchReplies()
        #: The requests that are unanswered, by the keys of their ids.
        self.calls: dict[bytes, Call] = {}
        #: What servers are told by `initialize`.
        self.introduction = NOBODY
        #: The revision agreed on, None before the handshake.
        self.revision: str | None = None
        #: The client has said that its handshake is done, or acts like it.
        self.initialized = False
        #: The raw params with which the level of the logs was set.
        self.level: bytes | None = None
        #: The raw id of the client's request that the message being handed over is about.
        self.related: bytes | None = None
        #: Which server says it.
        self.speaker: str | None = None
        #: Nobody is told anything any more.
        self.closed = False
        self._callbacks = callbacks
        self._tokens: dict[tuple[Conversation, bytes], Call] = {}

    def labels(self) -> list[Label]:
        """Return what the servers are called."""
        return [member.label for member in self.members.values()]

    def member_of(self, conversation: Conversation) -> Member | None:
        """Return the server with which a conversation is, None for one that the fleet has no more."""
        member = self.members.get(conversation.label.server)
        return member if member is not None and member.upstream is conversation.upstream else None

    def open_conversations(self) -> list[Conversation]:
        """Return the conversations with the servers that know whom they speak to."""
        running = [member.running for member in self.members.values()]
        return [each for each in running if each is not None and each.is_open]

    # Requests.

    def send(self, call: Call, conversation: Conversation, token: bytes | None) -> None:
        """A request goes to a server, with that raw progress token."""
        call.conversation = conversation
        if token is not None:
            call.token = id_key(token)
            self._tokens[conversation, call.token] = call

    def reporting(self, conversation: Conversation, token: bytes) -> Call | None:
        """Return the request of whose progress a server reports."""
        return self._tokens.get((conversation, id_key(token)))

    def forget(self, call: Call) -> bool:
        """A request needs no answer any more; False where it had one."""
        key = id_key(call.request.id)
        if self.calls.get(key) is not call:
            return False
        del self.calls[key]
        if call.conversation is not None and call.token is not None:
            self._tokens.pop((call.conversation, call.token), None)
        return True

    def answer(self, call: Call, reply: Response | ErrorResponse) -> None:
        """Answer soon: who sends does not expect to be called before that is done."""
        self.soon(self.settle, call, reply)

    def settle(self, call: Call, reply: Response | ErrorResponse) -> None:
        """A request has its answer, alone or together with those of its batch."""
        if not self.forget(call):
            return
        together = self.batches.add(reply) if self.batches.active else None
        if together is None:
            self.tell(reply, call.request.id)
        else:
            self.tell_together(together)

    # What the client is told.

    def tell(self, message: Message | Batch, related: bytes | None = None) -> None:
        """Hand a message over; `related` is the raw id of the request that it belongs to."""
        if self.closed:
            return
        self.related = related
        try:
            call_back(self._callbacks().on_message, message)
        finally:
            self.related = None

    def tell_together(self, replies: list[Response | ErrorResponse]) -> None:
        """Hand the replies to a batch over, where there are any yet."""
        if replies:
            self.tell(Batch(tuple(replies)))

    def tell_changed(self, notification: str) -> None:
        """A list has changed; who has not shaken hands has seen none."""
        if self.initialized:
            self.tell(Notification(notification))

    def soon(self, callback: Callable[..., None], *arguments: object) -> None:
        """Call something when whoever runs now is done."""
        asyncio.get_running_loop().call_soon(callback, *arguments)
