"""One server of a fleet, for one client: its conversation is begun when it is needed, and again when lost.

A server that does not come up is not tried at each request: until its next start is due, whoever wants
something of it hears at once why not, and when.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Final, Protocol

import msgspec
from msgspec import UNSET, Raw, UnsetType

from anywire.bridge.fleet.catalogue import Catalogue
from anywire.bridge.fleet.conversation import Conversation
from anywire.bridge.fleet.names import Label, Names
from anywire.bridge.fleet.renaming import IDENTITIES, ITEMS, named_item
from anywire.bridge.meeting.upstream import Upstream
from anywire.bridge.recovery.respawn import Respawn
from anywire.errors import AnywireError, LimitExceeded, PeerError, RemoteProtocolError, TransportError
from anywire.protocol.types.pagination import PageWalk
from anywire.wire.codec import encode_value
from anywire.wire.message import JsonRpcErrorCode, id_key
from anywire.wire.splice import get_member
from anywire.wire.value import decode_value

__all__ = ("Member", "Resting", "Session")

#: A list of more pages has no end.
_MOST_PAGES: Final = 1_000


class Resting(TransportError):
    """The server was lost, and its next start is not due yet."""


class Session(Protocol):
    """Whose member it is."""

    def begin(self, member: Member) -> Conversation:
        """Begin a conversation with a server."""
        ...

    def listed(self, member: Member, method: str, error: AnywireError | None) -> None:
        """A list is in the catalogue now, or could not be had."""
        ...


class _Page(msgspec.Struct, rename="camel"):
    tools: list[Raw] | UnsetType = UNSET
    prompts: list[Raw] | UnsetType = UNSET
    resources: list[Raw] | UnsetType = UNSET
    resource_templates: list[Raw] | UnsetType = UNSET
    next_cursor: str | None = None


_pages: Final = msgspec.json.Decoder(_Page)


class Member:
    """A server of the fleet, as one client has it.  `chance` gives numbers between 0 and 1."""

    def __init__(
        self,
        label: Label,
        upstream: Upstream,
        names: Names,
        catalogue: Catalogue,
        session: Session,
        chance: Callable[[], float],
    ) -> None:
        self.label = label
        self.upstream = upstream
        #: Which server it is, in a catalogue.
        self.key = label.server, upstream
        #: The resources that the client is told of, by the key of the raw own URI.
        self.followed: dict[bytes, bytes] = {}
        self._names = names
        self._catalogue = catalogue
        self._session = session
        self._chance = chance
        self._conversation: Conversation | None = None
        self._respawn = Respawn(upstream.limits)
        self._standing = catalogue.standing(self.key)
        self._error: AnywireError | None = None
        self._due = 0.0
        self._fetching: dict[str, asyncio.Task[None]] = {}
        self._asked_at: dict[str, float] = {}
        #: The lists that could not be had when they were asked for last.
        self._missing: dict[str, None] = {}
        self._again: asyncio.TimerHandle | None = None
        self._retired = False

    def __repr__(self) -> str:
        return f"<Member {self.label.server}, {self._conversation or 'not begun'}>"

    # Its conversation.

    @property
    def running(self) -> Conversation | None:
        """The conversation that there is."""
        conversation = self._conversation
        return None if conversation is None or conversation.over else conversation

    def conversation(self) -> Conversation:
        """Return the conversation, begun where there is none.  Raises `Resting`."""
        running = self.running
        if running is not None:
            return running
        if self._conversation is not None:
            raise Resting(self._conversation.reason())  # its process is about to end
        now = asyncio.get_running_loop().time()
        for error, due in ((self._error, self._due), (self._standing.error, self._standing.due)):
            if error is not None and now < due:
                raise Resting(f"{error}; it is tried again in {due - now:.1f} s")
        self._conversation = self._session.begin(self)
        self._standing.begun(self._conversation, now)
        return self._conversation

    def is_late(self, method: str) -> bool:
        """Say whether a list of it is not to be waited for: it was late, for this client or another."""
        return self._standing.is_late(method)

    def missed(self, method: str) -> None:
        """A list of it was not there in time."""
        self._standing.missed(method)

    def opened(self) -> None:
        """The server is there."""
        now = asyncio.get_running_loop().time()
        self._error = None
        self._respawn.opened(now)
        if self._conversation is not None:
            self._standing.opened(self._conversation, now)

    def lost(self, conversation: Conversation) -> None:
        """A conversation has ended by itself; the words are those that the client may hear."""
        if conversation is not self._conversation:
            self._standing.ended(conversation)
            return
        self._conversation = None
        now = asyncio.get_running_loop().time()
        self._error = TransportError(conversation.reason())
        if conversation.capabilities is None:
            self._standing.failed(conversation, self._error, now, self._chance())
        else:
            self._respawn.lost(now, served=True)
            # What was served is never given up.
            self._due = now + (self._respawn.delay(self._chance()) or 0.0)
        if self._missing:
            self._try_again()

    def follow(self, uri: bytes, *, follow: bool) -> None:
        """The client is told of a resource from now on, or no more."""
        self.followed.pop(id_key(uri), None)
        if follow and len(self.followed) < self.upstream.limits.subscriptions:
            self.followed[id_key(uri)] = uri

    # Its lists.

    def fetch(self, method: str) -> asyncio.Task[None]:
        """Let a list be asked for, once for all who want it; the task does not raise."""
        task = self._fetching.get(method)
        if task is None:
            loop = asyncio.get_running_loop()
            task = self._fetching[method] = loop.create_task(self._fetch(method))
            self._asked_at[method] = loop.time()
            task.add_done_callback(lambda _: self._fetching.pop(method, None))
        return task

    def asked_at(self, method: str) -> float:
        """Return when a list was asked for last."""
        return self._asked_at.get(method, 0.0)

    async def _fetch(self, method: str) -> None:
        catalogue, key = self._catalogue, self.key
        loop = asyncio.get_running_loop()
        begun = catalogue.begin(key, method)
        items: Sequence[bytes] | None = None
        error: AnywireError | None = None
        try:
            await self._standing.turn()
            known = catalogue.fresh(key, method, loop.time())  # by another's start, meanwhile
            items = await self._ask(method) if known is None else known
        except AnywireError as caught:
            error = caught
        finally:
            catalogue.settle(key, method, begun, items, loop.time())
        if error is None:
            self._missing.pop(method, None)
            self._standing.listed(method)
        else:
            self._missing[method] = None
            self._try_again()
        self._session.listed(self, method, error)

    async def _ask(self, method: str) -> Sequence[bytes]:
        conversation = self.conversation()
        await asyncio.wait([conversation.opening])
        if not conversation.is_open:
            await asyncio.wait([conversation.running])
            raise self._error or TransportError(conversation.reason())
        self._catalogue.introduce(self.key, conversation.instructions)
        if not conversation.can(method):
            return ()
        return await self._ask_for_pages(conversation, method)

    async def _ask_for_pages(self, conversation: Conversation, method: str) -> Sequence[bytes]:
        items: dict[bytes, bytes] = {}
        walk, size = PageWalk(), 0
        for _ in range(_MOST_PAGES):
            cursor = walk.cursor
            params = b"{}" if isinstance(cursor, UnsetType) else b'{"cursor":%b}' % encode_value(cursor)
            try:
                result = await conversation.ask(method, params)
            except PeerError as error:
                if error.code == JsonRpcErrorCode.MethodNotFound:
                    return ()  # templates, mostly: the capability is for several methods
                raise
            size += len(result)
            if size > self.upstream.limits.message_bytes:
                raise LimitExceeded(f"its {method} is longer than {self.upstream.limits.message_bytes} bytes")
            page = _read(method, result)
            for item in getattr(page, _FIELDS[method]) or ():
                named = named_item(self._names, self.label, method, bytes(item))
                if named is not None:
                    items.setdefault(id_key(get_member(named, IDENTITIES[method]) or b""), named)
            if not walk.advance(page.next_cursor):
                break
        return list(items.values())

    def _try_again(self) -> None:
        """Look for the lists of a server that did not come up when its next start is due, within reason."""
        waits = self._again is not None or self._conversation is not None
        if waits or self._retired or self._standing.is_given_up:
            return
        due = max(self._due, self._standing.due)
        self._again = asyncio.get_running_loop().call_at(due, self._fetch_missing)

    def _fetch_missing(self) -> None:
        self._again = None
        for method in list(self._missing):
            self.fetch(method)

    # The end.

    def retire(self) -> Conversation | None:
        """Ask nothing more; return the conversation that ends when what was asked is answered."""
        self._retired = True
        self._stop()
        conversation, self._conversation = self.running, None
        if conversation is not None:
            self._standing.ended(conversation)
            conversation.retire()
        return conversation

    def _stop(self) -> list[asyncio.Task[None]]:
        if self._again is not None:
            self._again.cancel()
        tasks = list(self._fetching.values())
        for task in tasks:
            task.cancel()
        return tasks

    async def close(self) -> None:
        """End it now."""
        self._retired = True
        if self._conversation is not None:
            self._standing.ended(self._conversation)
        tasks = self._stop()
        if tasks:
            await asyncio.wait(tasks)


_FIELDS: Final = {**ITEMS, "resources/templates/list": "resource_templates"}


def _read(method: str, result: bytes) -> _Page:
    try:
        return decode_value(result, _Page, _pages)
    except msgspec.MsgspecError as error:
        raise RemoteProtocolError(f"its {method} cannot be read: {error}") from error
