"""What a server tells without having been asked: one type for each kind of notification."""

from __future__ import annotations

from typing import Any, Final, Literal, TypeAlias

import msgspec
from msgspec import UnsetType

from anywire.protocol.types.elicitation import ElicitationCompleteParams
from anywire.protocol.types.logging import LogLevel, LogMessageParams
from anywire.protocol.types.reading import read
from anywire.protocol.types.resources import ResourceUpdatedParams
from anywire.wire.message import Notification

__all__ = (
    "ClientEvent",
    "ElicitationCompleted",
    "EventsMissed",
    "ListChanged",
    "LogMessage",
    "OtherNotification",
    "ResourceUpdated",
    "read_event",
)


class _Told(msgspec.Struct, frozen=True, kw_only=True):
    #: The params of the notification as they came, JSON in UTF-8.
    raw: bytes = b"{}"


class ListChanged(_Told, frozen=True):
    """A list of the server has changed; `resources` stands for the resource templates as well."""

    which: Literal["tools", "resources", "prompts"]


class ResourceUpdated(_Told, frozen=True):
    """A resource that was subscribed to has changed; the URI may be of a part of it."""

    uri: str


class LogMessage(_Told, frozen=True):
    """A log message of the server's; `data` is plain JSON data."""

    level: LogLevel
    data: Any
    logger: str | None = None


class ElicitationCompleted(_Told, frozen=True):
    """The user has done what there was to do at an address."""

    elicitation_id: str


class OtherNotification(_Told, frozen=True):
    """A notification of another kind, or one whose params cannot be read."""

    method: str


class EventsMissed(msgspec.Struct, frozen=True):
    """Here so many events were left out, because they were not taken in time."""

    count: int


#: What a listener gets.
ClientEvent: TypeAlias = (
    ListChanged | ResourceUpdated | LogMessage | ElicitationCompleted | OtherNotification | EventsMissed
)

_LISTS: Final[dict[str, Literal["tools", "resources", "prompts"]]] = {
    "notifications/tools/list_changed": "tools",
    "notifications/resources/list_changed": "resources",
    "notifications/prompts/list_changed": "prompts",
}


def read_event(notification: Notification) -> ClientEvent:
    """Return what a notification tells."""
    raw = notification.params or b"{}"
    which = _LISTS.get(notification.method)
    if which is not None:
        return ListChanged(which, raw=raw)
    try:
        match notification.method:
            case "notifications/resources/updated":
                return ResourceUpdated(read(raw, ResourceUpdatedParams).uri, raw=raw)
            case "notifications/message":
                log = read(raw, LogMessageParams)
                logger = None if isinstance(log.logger, UnsetType) else log.logger
                return LogMessage(log.level, log.data, logger, raw=raw)
            case "notifications/elicitation/complete":
                return ElicitationCompleted(read(raw, ElicitationCompleteParams).elicitation_id, raw=raw)
            case _:
                pass
    except msgspec.MsgspecError:
        pass
    return OtherNotification(notification.method, raw=raw)
