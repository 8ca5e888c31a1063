"""What a recording tells: which reply belongs to which request, and what never got one.

A reply is found by its id, progress by its token, news by their subscription, the next round of a call as
`record.rounds` has it.  The teller takes entry by entry and keeps of them only what can still be answered.

Specification: MCP `basic/utilities/progress`, `basic/utilities/cancellation`.
"""

from __future__ import annotations

from typing import Final, TypeAlias

import msgspec

from anywire.protocol.methods import Direction
from anywire.protocol.rewriting import progress_token, subscription_tag
from anywire.record.entry import Entry, Event, directions
from anywire.record.exchange import Exchange, begin, other
from anywire.record.rounds import Rounds
from anywire.wire.message import Batch, ErrorResponse, Fault, Message, Notification, Request, Response, id_key
from anywire.wire.peer import read_cancel
from anywire.wire.splice import get_member

__all__ = ("Session", "Teller", "Told")

#: The recording in the file, the conversation, the request that stands for itself in it.
_Place: TypeAlias = tuple[int, int, int]
#: Who asked, under which id.
_Key: TypeAlias = tuple[Direction, bytes]

# So many requests may be unanswered at once; then the oldest of them is taken for never answered.
_MOST_OPEN: Final = 100_000


class Session(msgspec.Struct, eq=False):
    """A conversation: `run` counts the recordings in the file, `number` the sessions of one of them."""

    run: int
    number: int
    server: str
    began: float
    messages: int = 0


class Told(msgspec.Struct, eq=False):
    """Something that happened in a session: a message, or (None) an event.

    `about` is the request that it is, answers, or tells of.  `asks`: it is a result that asks for another
    round.  `left` are the requests that nobody can answer any more, because the conversation has ended, or
    their id was taken for another.
    """

    entry: Entry
    session: Session
    message: Message | Fault | None = None
    about: Exchange | None = None
    asks: bool = False
    left: tuple[Exchange, ...] = ()


class _Open(msgspec.Struct, eq=False):
    """What is unanswered at one place, by who asked and the id, and the progress tokens of that."""

    asked: dict[_Key, Exchange] = {}
    tokens: dict[_Key, _Key] = {}
    token_of: dict[_Key, _Key] = {}

    def settle(self, key: _Key) -> Exchange | None:
        """Take a request out."""
        token = self.token_of.pop(key, None)
        if token is not None and self.tokens.get(token) == key:  # a later request may have taken it over
            del self.tokens[token]
        return self.asked.pop(key, None)


class Teller:
    """Tells entry after entry what it is about; at the end, what is `open`."""

    def __init__(self) -> None:
        self._run = 0
        self._sessions: dict[tuple[int, int], Session] = {}
        self._open: dict[_Place, _Open] = {}
        self._count = 0
        self._rounds = Rounds()
        #: How many sessions there were, and messages in them.
        self.sessions = 0
        self.messages = 0
        #: How many requests were taken for never answered without being told.
        self.forgotten = 0

    @property
    def open(self) -> list[Exchange]:
        """Whatever was asked, by either side, in a conversation that has no end here, and not answered."""
        return [each for place in self._open.values() for each in place.asked.values() if not each.cancelled]

    def take(self, entry: Entry) -> list[Told]:
        """Return what an entry tells: nothing, or a thing, or each message of a batch."""
        if entry.event == Event.RECORDING:
            self._run += not entry.continues
            return []
        session = self._session(entry)
        direction = directions.get(entry.direction)
        if not entry.raw or direction is None:
            told = self._take_event(Told(entry, session))
            # That a request which stands for itself is over shows in its reply.
            is_usual = entry.event == Event.CLOSED and entry.call and not told.left and not entry.reason
            return [] if is_usual else [told]
        session.messages += 1
        self.messages += 1
        read = entry.read()
        items = read.items if isinstance(read, Batch) else (read,)
        return [self._take_message(Told(entry, session, message), direction) for message in items]

    def _session(self, entry: Entry) -> Session:
        key = self._run, entry.session
        found = self._sessions.get(key)
        if found is None:
            self.sessions += 1
            found = self._sessions[key] = Session(*key, entry.server, entry.seconds)
        return found

    def _take_event(self, told: Told) -> Told:
        entry, place = told.entry, _place(told)
        if entry.event == Event.FAILED and not isinstance(entry.id, msgspec.UnsetType):
            # Whose id it is does not stand there: the end that records sent it.
            id = id_key(bytes(entry.id))
            to_server = self._settle(place, (Direction.TO_SERVER, id))
            told.about = to_server or self._settle(place, (Direction.TO_CLIENT, id))
        elif entry.event == Event.CLOSED:
            left = self._open.pop(place, _Open()).asked.values()
            self._count -= len(left)
            told.left = tuple(each for each in left if not each.cancelled)
            if not entry.call:
                self._sessions.pop(place[:2], None)
        return told

    def _take_message(self, told: Told, direction: Direction) -> Told:
        match told.message:
            case Request():
                self._take_request(told, told.message, direction)
            case Response(id=bytes(id)) | ErrorResponse(id=bytes(id)):
                told.about = self._settle(_place(told), (other(direction), id_key(id)))
                if told.about is not None and isinstance(told.message, Response):
                    told.asks = self._rounds.answered(told.about, told.message.result)
            case Notification():
                told.about = self._told_of(told, told.message, direction)
            case _:
                pass
        return told

    def _take_request(self, told: Told, request: Request, direction: Direction) -> None:
        told.about = exchange = begin(told.entry, request)
        before = self._rounds.asked(exchange, request.params)
        if before is not None:
            exchange.first, exchange.round = before.first or before, before.round + 1
        place, key = _place(told), (direction, id_key(request.id))
        replaced = self._settle(place, key)
        if replaced is not None and not replaced.cancelled:
            told.left = (replaced,)  # a reply under its id is one to this request from now on
        here = self._open.setdefault(place, _Open())
        here.asked[key] = exchange
        self._count += 1
        token = progress_token(request.params)
        if token is not None:
            of = direction, id_key(token)
            here.tokens[of], here.token_of[key] = key, of
        if self._count > _MOST_OPEN:
            oldest = next(iter(self._open))
            self._settle(oldest, next(iter(self._open[oldest].asked)))
            self.forgotten += 1

    def _settle(self, place: _Place, key: _Key) -> Exchange | None:
        here = self._open.get(place)
        exchange = None if here is None else here.settle(key)
        if here is not None and exchange is not None:
            self._count -= 1
            if not here.asked:
                del self._open[place]
        return exchange

    def _told_of(self, told: Told, message: Notification, direction: Direction) -> Exchange | None:
        here = self._open.get(_place(told))
        if here is None:
            return None
        if message.method == "notifications/progress":
            token = get_member(message.params or b"", "progressToken")
            key = None if token is None else here.tokens.get((other(direction), id_key(token)))
            return None if key is None else here.asked.get(key)
        if (tag := subscription_tag(message.params)) is not None:
            return here.asked.get((other(direction), id_key(tag)))
        cancelled = read_cancel(message)
        exchange = None if cancelled is None else here.asked.get((direction, cancelled.key))
        if exchange is not None:
            exchange.cancelled = True
        return exchange


def _place(told: Told) -> _Place:
    return told.session.run, told.session.number, told.entry.call
