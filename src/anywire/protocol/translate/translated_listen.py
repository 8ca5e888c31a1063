"""A stateless subscription before a handshake server, which subscribes resource by resource.

It is acknowledged when the server has answered all subscriptions, with those that it granted.  What the
server tells before that waits.

Specification: MCP `basic/patterns/subscriptions`, 2026-07-28; `server/resources#subscriptions`, 2025-11-25.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Final

from msgspec import UNSET, UnsetType

from anywire.errors import AnywireError
from anywire.protocol.modern import Envelope, tag_subscription
from anywire.protocol.translate.envelope_shapes import Greeted, spliced, tagged
from anywire.protocol.translate.virtual_handshake import (
    Answer,
    Reply,
    Step,
    ToClient,
    VirtualHandshake,
)
from anywire.protocol.types.initialize import ServerCapabilities
from anywire.protocol.types.listen import SubscriptionFilter
from anywire.wire.codec import encode_value
from anywire.wire.message import Notification, Request, Response

__all__ = ("TranslatedListen",)

_UPDATED: Final = "notifications/resources/updated"
_ACKNOWLEDGED: Final = "notifications/subscriptions/acknowledged"
#: So many different notifications may come before the acknowledgement; what comes beyond is left out.
_MOST_EARLY: Final = 1_000


class TranslatedListen(VirtualHandshake):
    """See `VirtualHandshake`.  `wanted` is what the request asks to be told of."""

    def __init__(self, request: Request, envelope: Envelope, name: str, wanted: SubscriptionFilter) -> None:
        super().__init__(request, envelope, name)
        self._wanted = wanted
        self._granted = SubscriptionFilter()
        self._uris: list[str] = []
        self._pending = 0
        self._acknowledged = False
        # A dictionary in the place of a set, for its order.
        self._early: dict[Notification, None] = {}

    def _opened(self, greeted: Greeted) -> list[Step]:
        self._granted = _granted(self._wanted, greeted.capabilities)
        uris = self._granted.resource_subscriptions
        asked = [] if isinstance(uris, UnsetType) else list(dict.fromkeys(uris))
        self._pending = len(asked)
        if not asked:
            return self._acknowledge()
        self.opening = True  # until they are answered
        return [self._about("resources/subscribe", uri, partial(self._subscribed, uri)) for uri in asked]

    def _about(self, method: str, uri: str, then: Callable[[Reply], list[Step]]) -> Step:
        return self._ask(method, b'{"uri":%b}' % encode_value(uri), then)

    def _subscribed(self, uri: str, reply: Reply) -> list[Step]:
        if isinstance(reply, Response):
            self._uris.append(uri)
        self._pending -= 1
        return [] if self._pending else self._acknowledge()

    def _acknowledge(self) -> list[Step]:
        self.opening = False
        self._acknowledged = True
        granted = self._granted
        filter = SubscriptionFilter(
            granted.tools_list_changed,
            granted.prompts_list_changed,
            granted.resources_list_changed,
            self._uris or UNSET,
        )
        self._granted = filter
        params = tag_subscription({"notifications": filter}, self.id)
        early, self._early = self._early, {}
        acknowledged: Step = ToClient(Notification(_ACKNOWLEDGED, params))
        return [acknowledged, *(step for message in early for step in self._told(message))]

    def _told(self, message: Notification) -> list[Step]:
        if not self._is_wanted(message.method):
            return []
        if not self._acknowledged:
            if len(self._early) < _MOST_EARLY:
                self._early[message] = None
            return []
        params = tagged(message.params, self.id)
        return [ToClient(Notification(message.method, params, spliced(message.frame, {"params": params})))]

    def _is_wanted(self, method: str) -> bool:
        granted = self._granted
        match method:
            case "notifications/tools/list_changed":
                return granted.tools_list_changed is True
            case "notifications/prompts/list_changed":
                return granted.prompts_list_changed is True
            case "notifications/resources/list_changed":
                return granted.resources_list_changed is True
            case _:
                # Of whatever URI: it may be that of a part of a resource.
                return method == _UPDATED and granted.resource_subscriptions is not UNSET

    def _withdraw(self, reason: str) -> list[Step]:
        return [self._about("resources/unsubscribe", uri, lambda _: []) for uri in self._uris]

    def reopened(self) -> list[Step]:
        """See `VirtualHandshake`; the new conversation knows no subscriptions."""
        again = [self._about("resources/subscribe", uri, lambda _: []) for uri in self._uris]
        return [*super().reopened(), *again]

    def lose(self, error: AnywireError | None) -> list[Step]:
        """See `VirtualHandshake`; a server that ends in order ends its subscriptions so."""
        if self.over or error is not None or not self._acknowledged:
            return super().lose(error)
        self.over = True
        assert self._greeted is not None
        result = self._greeted.frame.complete(tag_subscription({}, self.id))
        return [Answer(Response(self.id, result))]


def _granted(wanted: SubscriptionFilter, offered: ServerCapabilities) -> SubscriptionFilter:
    """Return what will be told: what was asked for, as far as the server says that it tells it."""
    tools, prompts, resources = offered.tools, offered.prompts, offered.resources
    return SubscriptionFilter(
        _if(wanted.tools_list_changed, not isinstance(tools, UnsetType) and tools.list_changed),
        _if(wanted.prompts_list_changed, not isinstance(prompts, UnsetType) and prompts.list_changed),
        _if(wanted.resources_list_changed, not isinstance(resources, UnsetType) and resources.list_changed),
        wanted.resource_subscriptions
        if not isinstance(resources, UnsetType) and resources.subscribe is True
        else UNSET,
    )


def _if(wanted: bool | UnsetType, offered: bool | UnsetType) -> bool | UnsetType:
    return True if wanted is True and offered is True else UNSET
