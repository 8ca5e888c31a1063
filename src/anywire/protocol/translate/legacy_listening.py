"""One `subscriptions/listen` for a client that never asks for one.

The lists that the server says may change, and the resources that the client subscribed to, are asked for in
one request that stays open.  When they change, another request is opened, and the first ends when the other
has been acknowledged: nothing is lost in between.  A request that ends by itself is made anew, ever later.

On a pipe what comes after the acknowledgement comes on both requests or on the new one alone, so the old one
is ended at once.  Where each request has a way of its own (HTTP), the old one lingers for a moment, and what
has been told on one of the two is not told again by the other.

Specification: MCP `basic/patterns/subscriptions`, 2026-07-28; `server/resources#subscriptions`, 2025-11-25.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Final, TypeAlias

import msgspec
from msgspec import UNSET, Raw, UnsetType

from anywire.protocol.translate.effect import ToClient, ToServer
from anywire.protocol.translate.shapes import decoded, notification_downward, subscription_of
from anywire.protocol.types.listen import ListenAcknowledgedParams
from anywire.wire.codec import encode_value
from anywire.wire.event import CANCELLED
from anywire.wire.limits import Limits
from anywire.wire.message import ErrorResponse, Notification, Request, Response, id_key
from anywire.wire.splice import get_member

__all__ = ("ACKNOWLEDGED", "Change", "Listening", "Settlement", "why_ended")

ACKNOWLEDGED: Final = "notifications/subscriptions/acknowledged"
_UPDATED: Final = "notifications/resources/updated"


class Change(msgspec.Struct, frozen=True):
    """A subscription that the client begins or ends: the key of its request, and the URI, also as it came."""

    key: bytes
    uri: str
    raw: bytes
    begins: bool


class Settlement(msgspec.Struct, frozen=True):
    """The client's request of that key is done; `fault` says why not, empty where it was."""

    key: bytes
    fault: str = ""


#: What comes of an event here.
Outcome: TypeAlias = ToServer | ToClient | Settlement


class _Listen:
    """One request that stays open."""

    def __init__(
        self, key: bytes, uris: dict[str, bytes], changes: Sequence[Change], deadline: float
    ) -> None:
        self.key = key
        self.uris = uris
        self.changes = changes
        #: When it must have been acknowledged; afterwards, when it was.
        self.deadline = deadline
        self.since = 0.0


class Listening:
    """Keeps what is listened to at what the client has set.

    `make_request` gives a request of these raw params an id and an envelope; `linger` is for how many seconds
    an old request is listened to beside the new one.
    """

    def __init__(self, make_request: Callable[[bytes], Request], limits: Limits, linger: float) -> None:
        self._make_request = make_request
        self._limits = limits
        self._linger = linger
        self._lists: tuple[str, ...] = ()
        self._uris: dict[str, bytes] = {}
        self._changes: list[Change] = []
        self._open: _Listen | None = None
        self._opening: _Listen | None = None
        self._old: _Listen | None = None
        self._cut_at = 0.0
        # While two requests are open: how much more often the old one has told of something.
        self._ahead: Counter[tuple[str, bytes | None]] = Counter()
        self._again: float | None = None
        self._wait = limits.reconnect_seconds
        self._worked = False

    # What the client sets.

    def begin(self, lists: Iterable[str], now: float) -> list[Outcome]:
        """Listen to these lists from now on, as members of the filter."""
        lists = tuple(lists)
        if lists == self._lists:
            return []
        self._lists = lists
        return self._advance(now)

    def change(self, change: Change, now: float) -> list[Outcome]:
        """Begin or end a subscription; settled when the server has acknowledged it."""
        idle = not self._changes and self._opening is None
        if (
            idle
            and change.begins == (change.uri in self._uris)
            and (self._open is not None or not change.begins)
        ):
            return [Settlement(change.key)]
        after = self._after((*self._under_way(), *self._changes, change))
        if change.begins and len(after) > self._limits.subscriptions:
            reason = f"more than {self._limits.subscriptions} subscriptions; end some of them first"
            return [Settlement(change.key, reason)]
        self._changes.append(change)
        return self._advance(now)

    def _under_way(self) -> Sequence[Change]:
        return () if self._opening is None else self._opening.changes

    def _after(self, changes: Iterable[Change]) -> dict[str, bytes]:
        uris = dict(self._uris)
        for change in changes:
            if change.begins:
                uris[change.uri] = change.raw
            else:
                uris.pop(change.uri, None)
        return uris

    def _advance(self, now: float) -> list[Outcome]:
        """Open a request for what is wanted now, unless one is being opened; another follows it then."""
        if self._opening is not None:
            return []
        changes, self._changes, self._again = self._changes, [], None
        uris = self._after(changes)
        if not uris and not self._lists:
            self._uris = uris
            settled = [Settlement(change.key) for change in changes]
            ended, self._open = self._open, None
            return [*settled, *self._end_old(), *([] if ended is None else [_cancel(ended.key)])]
        wanted: dict[str, object] = dict.fromkeys(self._lists, True)
        if uris:
            wanted["resourceSubscriptions"] = [Raw(raw) for raw in uris.values()]
        request = self._make_request(encode_value({"notifications": wanted}))
        deadline = now + self._limits.request_seconds
        self._opening = _Listen(id_key(request.id), uris, changes, deadline)
        return [ToServer(request)]

    # What the server says.

    def owns(self, key: bytes) -> bool:
        """Say whether the request of that key is one of these."""
        return any(each is not None and each.key == key for each in (self._open, self._opening, self._old))

    def hear(self, notification: Notification, now: float) -> list[Outcome]:
        """Take a notification that may be of a request of these."""
        tag = subscription_of(notification)
        key = None if tag is None else id_key(tag)
        if notification.method == ACKNOWLEDGED:
            mine = self._opening is not None and key in (None, self._opening.key)
            return self._acknowledged(notification, now) if mine else []
        if key is None:
            return [ToClient(notification)]
        if not self.owns(key):
            return []
        told = notification_downward(notification)
        is_old = self._old is not None and self._old.key == key
        if is_old and self._was_ended(told):
            return []
        return [ToClient(told)] if self._is_news(told, is_old=is_old) else []

    def _was_ended(self, told: Notification) -> bool:
        """Say whether an old request tells of what the client does not subscribe to any more."""
        assert self._old is not None
        uri = decoded(get_member(told.params or b"{}", "uri"), str) if told.method == _UPDATED else None
        return uri in self._old.uris and uri not in self._uris

    def _is_news(self, told: Notification, *, is_old: bool) -> bool:
        """Say whether the other of two open requests has not told of it."""
        if self._old is None:
            return True
        what = (told.method, told.params)
        step = 1 if is_old else -1
        news = self._ahead[what] * step >= 0
        self._ahead[what] += step
        return news

    def _acknowledged(self, notification: Notification, now: float) -> list[Outcome]:
        listen = self._opening
        assert listen is not None
        params = decoded(notification.params or b"{}", ListenAcknowledgedParams)
        told = UNSET if params is None else params.notifications.resource_subscriptions
        honoured = frozenset[str]() if isinstance(told, UnsetType) else frozenset(told)
        unheard = frozenset(listen.uris) - honoured
        outcomes: list[Outcome] = []
        for change in listen.changes:
            refused = change.begins and change.uri in unheard
            if refused:
                listen.uris.pop(change.uri, None)
            reason = f"the server will not tell of changes of {change.uri}" if refused else ""
            outcomes.append(Settlement(change.key, reason))
        outcomes += self._end_old()
        self._uris, self._opening, listen.since, self._worked = listen.uris, None, now, True
        self._open, self._old, self._cut_at = listen, self._open, now + self._linger
        if self._linger <= 0:
            outcomes += self._end_old()
        return outcomes + (self._advance(now) if self._changes else [])

    def _end_old(self) -> list[Outcome]:
        old, self._old = self._old, None
        self._ahead.clear()
        return [] if old is None else [_cancel(old.key)]

    def ended(self, key: bytes, reason: str, now: float, *, refused: bool = False) -> list[Outcome]:
        """One of these requests has ended; `refused`: the server answered it with an error."""
        if self._old is not None and self._old.key == key:
            self._end_old()
            return []
        if self._opening is not None and self._opening.key == key:
            settled: list[Outcome] = [Settlement(each.key, reason) for each in self._opening.changes]
            self._opening = None
            if self._changes:
                return settled + self._advance(now)
            if self._open is None and (self._worked or not refused):
                self._try_again(now)
            return settled
        if self._open is not None and self._open.key == key:
            if now - self._open.since > self._limits.reconnect_most_seconds:
                self._wait = self._limits.reconnect_seconds
            self._open = None
            if self._opening is None:
                self._try_again(now)
        return []

    def _try_again(self, now: float) -> None:
        if self._lists or self._uris:
            self._again = now + self._wait
            self._wait = min(2 * self._wait, self._limits.reconnect_most_seconds)

    # Time.

    def deadline(self) -> float | None:
        """Return when `tick` must be called next, None when nothing waits for the clock."""
        times = [self._again] if self._again is not None else []
        if self._opening is not None:
            times.append(self._opening.deadline)
        if self._old is not None:
            times.append(self._cut_at)
        return min(times, default=None)

    def tick(self, now: float) -> list[Outcome]:
        """Do what is due."""
        outcomes: list[Outcome] = []
        if self._old is not None and self._cut_at <= now:
            outcomes += self._end_old()
        if self._opening is not None and self._opening.deadline <= now:
            key, seconds = self._opening.key, self._limits.request_seconds
            outcomes.append(_cancel(key))
            reason = f"the server did not acknowledge subscriptions/listen within {seconds:g} s"
            outcomes += self.ended(key, reason, now)
        if self._again is not None and self._again <= now:
            outcomes += self._advance(now)
        return outcomes

    def stop(self) -> None:
        """The server is gone: nothing is listened to any more."""
        self._changes, self._again = [], None
        self._open = self._opening = self._old = None


def why_ended(answer: Response | ErrorResponse) -> str:
    """Say why a request ended that should stay open."""
    if isinstance(answer, Response):
        return "the server ended subscriptions/listen"
    return f"the server refused subscriptions/listen: {answer.detail().message}"


def _cancel(key: bytes) -> ToServer:
    return ToServer(Notification(CANCELLED, b'{"requestId":%b}' % key))
