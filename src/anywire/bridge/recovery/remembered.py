"""What a client has set in its conversation, and what is therefore said to a server that takes over.

In the handshake era that is the handshake, the level of log messages and the subscriptions; a stateless
client has nothing but the requests with which it listens.  What the client cannot have noticed it is told:
the lists that the server said it would tell of may be other ones, and so may be what is subscribed to.

Our own requests go out under ids that no request of the client has; their answers are for us.

Specification: MCP `basic/lifecycle`, `server/resources#subscriptions`, `server/utilities/logging`, until
2025-11-25; `basic/patterns/subscriptions`, 2026-07-28.
"""

from __future__ import annotations

from collections.abc import Container
from collections.abc import Set as AbstractSet
from typing import Final

import msgspec
from msgspec import Raw, UnsetType

from anywire.protocol.features import Feature, has
from anywire.protocol.modern import tag_subscription
from anywire.protocol.types.envelope import SUBSCRIPTION_ID_KEY
from anywire.protocol.types.initialize import ServerCapabilities
from anywire.protocol.types.listen import SubscriptionFilter
from anywire.protocol.types.reading import Received, read
from anywire.wire.codec import encode
from anywire.wire.limits import Limits
from anywire.wire.message import (
    ErrorResponse,
    Notification,
    Request,
    Response,
    create_notification,
    id_key,
)
from anywire.wire.splice import get_member, set_member

__all__ = ("ACKNOWLEDGED", "INITIALIZED", "Remembered")

INITIALIZED: Final = "notifications/initialized"
ACKNOWLEDGED: Final = "notifications/subscriptions/acknowledged"
_UPDATED: Final = "notifications/resources/updated"
_KINDS: Final = ("tools", "prompts", "resources")


class _Opened(Received, frozen=True):
    """The result of `initialize`, as far as a relay has to understand it."""

    protocol_version: str | None = None
    capabilities: Raw = Raw(b"{}")


class Remembered:
    """One client's conversation, as far as the next server has to know of it.

    `taken` has the keys of the client's own requests that are unanswered.
    """

    def __init__(self, limits: Limits, taken: Container[bytes]) -> None:
        self._most = limits.subscriptions
        self._taken = taken
        self._initialize: Request | None = None
        self._opened = _Opened()
        self._initialized: Notification | None = None
        self._level: Request | None = None
        self._subscriptions: dict[bytes, Request] = {}  # by the raw URI
        self._listens: dict[bytes, SubscriptionFilter] = {}
        self._count = 0
        #: The keys of our own requests that are unanswered, with their methods.
        self.ours: dict[bytes, str] = {}

    @property
    def has_batches(self) -> bool:
        """Whether messages may come together: not where the revision that was agreed on has no batches."""
        return self.revision is None or has(Feature.BATCHES, self.revision)

    @property
    def revision(self) -> str | None:
        """The revision that was agreed on; None before the handshake, or without one."""
        return self._opened.protocol_version

    @property
    def listens(self) -> AbstractSet[bytes]:
        """The keys of the requests that stay open."""
        return self._listens.keys()

    @property
    def is_listening(self) -> bool:
        """Whether the client wants to be told of changes by a server that is asked nothing."""
        return bool(self._subscriptions or self._listens)

    # What the client does.

    def answered(self, request: Request, reply: Response | ErrorResponse) -> None:
        """The server has answered a request of the client."""
        succeeded = isinstance(reply, Response)
        match request.method:
            case "initialize" if isinstance(reply, Response):
                self._initialize, self._opened = request, _read_result(reply)
                self._initialized = self._level = None
                self._subscriptions.clear()
            case "logging/setLevel" if succeeded:
                self._level = request
            case "resources/subscribe" if succeeded and len(self._subscriptions) < self._most:
                self._subscriptions[_uri_of(request)] = request
            case "resources/unsubscribe":
                self._subscriptions.pop(_uri_of(request), None)
            case _:
                pass

    def initialized(self, notification: Notification) -> None:
        """The client says that the handshake is done."""
        self._initialized = notification

    def gone(self, key: bytes) -> None:
        """A request of the client is unanswered no more: one that stayed open has ended."""
        self._listens.pop(key, None)

    def acknowledged(self, notification: Notification) -> list[Notification] | None:
        """The server says that a listen is open.

        Returns None where the client has to hear it; else it has heard it of the server before, and gets
        what is returned instead: that what it listens to may have changed.
        """
        params = notification.params or b"{}"
        id = get_member(get_member(params, "_meta") or b"{}", SUBSCRIPTION_ID_KEY)
        if id is None:
            return None
        key = id_key(id)
        if key not in self._taken:
            return None
        try:
            heard = read(get_member(params, "notifications") or b"{}", SubscriptionFilter)
        except msgspec.MsgspecError:
            heard = SubscriptionFilter()
        known = key in self._listens
        if known or len(self._listens) < self._most:
            self._listens[key] = heard
        return _changes_of(id, heard) if known else None

    # What is said to a server that takes over.

    def handshake(self) -> Request | None:
        """Return the client's own `initialize` under an id of ours, None where there was none."""
        self.ours.clear()  # nobody answers what the last server was asked
        return None if self._initialize is None else self._under_own_id(self._initialize)

    def differs(self, reply: Response) -> str:
        """Say in what the answer to the handshake is another than the client's; empty: it can go on."""
        agreed, offered = self._opened.protocol_version, _read_result(reply).protocol_version
        if offered != agreed:
            return f"it speaks revision {offered} now, and {agreed} was agreed on with the client"
        return ""

    def settings(self) -> list[Request | Notification]:
        """Return what a server is told after the handshake: that it is done, the level, the subscriptions."""
        said: list[Request | Notification] = [] if self._initialized is None else [self._initialized]
        return said + self.asked_anew()

    def asked_anew(self) -> list[Request | Notification]:
        """Return what a server is asked that knows of the handshake and of nothing else."""
        asked = [] if self._level is None else [self._level]
        return [self._under_own_id(request) for request in (*asked, *self._subscriptions.values())]

    def changes(self) -> list[Notification]:
        """Return what tells a client of the handshake era what may have changed."""
        if self._initialized is None:
            return []
        declared = _read_capabilities(self._opened.capabilities)
        kinds = {kind: getattr(declared, kind) for kind in _KINDS}
        lists = [
            create_notification(f"notifications/{kind}/list_changed")
            for kind, capability in kinds.items()
            if not isinstance(capability, UnsetType) and capability.list_changed is True
        ]
        uris = [create_notification(_UPDATED, {"uri": Raw(uri)}) for uri in self._subscriptions]
        return lists + uris

    def _under_own_id(self, request: Request) -> Request:
        self._count += 1
        id = b'"anywire-again-%d"' % self._count
        if id in self._taken:
            return self._under_own_id(request)
        self.ours[id] = request.method
        frame = set_member(request.frame or encode(request), "id", id)
        return Request(id, request.method, request.params, frame)


def _changes_of(id: bytes, heard: SubscriptionFilter) -> list[Notification]:
    lists = [
        Notification(f"notifications/{kind}/list_changed", tag_subscription({}, id))
        for kind in _KINDS
        if getattr(heard, f"{kind}_list_changed") is True
    ]
    uris = [] if isinstance(heard.resource_subscriptions, UnsetType) else heard.resource_subscriptions
    return lists + [Notification(_UPDATED, tag_subscription({"uri": uri}, id)) for uri in uris]


def _read_result(reply: Response) -> _Opened:
    try:
        return read(reply.result, _Opened)
    except msgspec.MsgspecError:
        return _Opened()


def _read_capabilities(raw: bytes | Raw) -> ServerCapabilities:
    try:
        return read(raw, ServerCapabilities)
    except msgspec.MsgspecError:
        return ServerCapabilities()


def _uri_of(request: Request) -> bytes:
    return get_member(request.params or b"{}", "uri") or b""
