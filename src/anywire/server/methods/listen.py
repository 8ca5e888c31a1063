"""`subscriptions/listen`: a request that stays open, on which changes are told.

Specification: MCP `basic/patterns/subscriptions`, 2026-07-28.
"""

from __future__ import annotations

import msgspec
from msgspec import UNSET, UnsetType

from anywire.protocol.modern import tag_subscription
from anywire.protocol.types.listen import ListenParams, SubscriptionFilter
from anywire.server.stateless import StatelessExchange
from anywire.wire.codec import decode_value
from anywire.wire.message import JsonRpcErrorCode, Notification

__all__ = ("listen",)

_MOST_CHARACTERS = 1024 * 1024


def listen(exchange: StatelessExchange) -> None:
    """Acknowledge a subscription and keep it until the client or the server ends."""
    try:
        asked = decode_value(exchange.params or b"{}", ListenParams).notifications
    except msgspec.MsgspecError as error:
        exchange.fail(JsonRpcErrorCode.InvalidParams, f"Invalid params: {error}")
        return
    uris = () if isinstance(asked.resource_subscriptions, UnsetType) else asked.resource_subscriptions
    most = exchange.session.limits.subscriptions
    if len(uris) > most or sum(map(len, uris)) > _MOST_CHARACTERS:
        reason = f"Invalid params: more than {most} resources in one subscription, or too long ones"
        exchange.fail(JsonRpcErrorCode.InvalidParams, reason)
        return
    exchange.listens_to = _honoured(asked)
    exchange.session.running.keep(exchange)
    accepted = {"notifications": exchange.listens_to}
    params = tag_subscription(accepted, exchange.id)
    exchange.acknowledge(Notification("notifications/subscriptions/acknowledged", params))


def _honoured(asked: SubscriptionFilter) -> SubscriptionFilter:
    """Return what will be told: all that was asked for, without what was asked not to be."""
    return SubscriptionFilter(
        tools_list_changed=asked.tools_list_changed or UNSET,
        prompts_list_changed=asked.prompts_list_changed or UNSET,
        resources_list_changed=asked.resources_list_changed or UNSET,
        resource_subscriptions=asked.resource_subscriptions or UNSET,
    )
