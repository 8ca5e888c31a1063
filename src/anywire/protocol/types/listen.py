"""Asking to be told of changes, on a request that stays open.

Specification: MCP `basic/patterns/subscriptions`, 2026-07-28.
"""

from __future__ import annotations

import msgspec
from msgspec import UNSET, UnsetType

from anywire.protocol.types.metadata import NotificationParams, RequestParams, Result

__all__ = ("ListenAcknowledgedParams", "ListenParams", "ListenResult", "SubscriptionFilter")


class SubscriptionFilter(msgspec.Struct, frozen=True, omit_defaults=True, rename="camel"):
    """What a client wants to be told of; `resource_subscriptions` are URIs."""

    tools_list_changed: bool | UnsetType = UNSET
    prompts_list_changed: bool | UnsetType = UNSET
    resources_list_changed: bool | UnsetType = UNSET
    resource_subscriptions: list[str] | UnsetType = UNSET


class ListenParams(RequestParams, frozen=True):
    """The params of `subscriptions/listen`."""

    notifications: SubscriptionFilter


class ListenAcknowledgedParams(NotificationParams, frozen=True):
    """The params of `notifications/subscriptions/acknowledged`: the part that the server will honour."""

    notifications: SubscriptionFilter


class ListenResult(Result, frozen=True):
    """The result with which a server ends a subscription; its `_meta` has the subscription's id."""
