"""Every method and notification there is: who sends it, in which revisions, what it takes.

A table; it decides nothing.  Extensions are not in it.

Specification: MCP `schema`, all revisions.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Final

import msgspec

from anywire.protocol.features import FEATURES, REVISIONS, Feature

__all__ = ("METHODS", "Direction", "Method", "find_method", "needed_capability")

_NONE: Final = frozenset[str]()
_ALL: Final = frozenset(REVISIONS)
_HANDSHAKE: Final = FEATURES[Feature.HANDSHAKE]
_TASKS: Final = FEATURES[Feature.TASKS]
_STATELESS: Final = _ALL - _HANDSHAKE
_ELICITATION: Final = FEATURES[Feature.ELICITATION]


class Direction(Enum):
    """Who a message is for."""

    TO_SERVER = "client to server"
    TO_CLIENT = "server to client"
    BOTH = "both"


class Method(msgspec.Struct, frozen=True, kw_only=True):
    """A request, or a notification.

    For each way the revisions in which it goes that way; `embedded` are those in which it is no message
    but stands inside a result that requires input.  A capability is a path such as `resources.subscribe`;
    `declared_in` are the revisions that have a word for it.  `reads` says that a request changes nothing
    at its receiver.
    """

    name: str
    notification: bool = False
    to_server: frozenset[str] = _NONE
    to_client: frozenset[str] = _NONE
    embedded: frozenset[str] = _NONE
    server_capability: str | None = None
    client_capability: str | None = None
    declared_in: frozenset[str] = _ALL
    reads: bool = False

    @property
    def revisions(self) -> frozenset[str]:
        """The revisions that have it, in whatever form."""
        return self.to_server | self.to_client | self.embedded

    def direction(self, revision: str) -> Direction | None:
        """Say who it is for in a revision; None where it is no message there."""
        to_server, to_client = revision in self.to_server, revision in self.to_client
        if to_server and to_client:
            return Direction.BOTH
        if to_server:
            return Direction.TO_SERVER
        return Direction.TO_CLIENT if to_client else None


_TABLE: Final = (
    # Requests of a client.
    Method(name="initialize", to_server=_HANDSHAKE, reads=True),
    Method(name="server/discover", to_server=_STATELESS, reads=True),
    Method(name="tools/list", to_server=_ALL, server_capability="tools", reads=True),
    Method(name="tools/call", to_server=_ALL, server_capability="tools"),
    Method(name="prompts/list", to_server=_ALL, server_capability="prompts", reads=True),
    Method(name="prompts/get", to_server=_ALL, server_capability="prompts", reads=True),
    Method(name="resources/list", to_server=_ALL, server_capability="resources", reads=True),
    Method(name="resources/templates/list", to_server=_ALL, server_capability="resources", reads=True),
    Method(name="resources/read", to_server=_ALL, server_capability="resources", reads=True),
    Method(name="resources/subscribe", to_server=_HANDSHAKE, server_capability="resources.subscribe"),
    Method(name="resources/unsubscribe", to_server=_HANDSHAKE, server_capability="resources.subscribe"),
    Method(
        name="completion/complete",
        to_server=_ALL,
        server_capability="completions",
        declared_in=FEATURES[Feature.COMPLETIONS_CAPABILITY],
        reads=True,
    ),
    Method(name="logging/setLevel", to_server=_HANDSHAKE, server_capability="logging"),
    Method(name="subscriptions/listen", to_server=_STATELESS),
    # Requests of either side.
    Method(name="ping", to_server=_HANDSHAKE, to_client=_HANDSHAKE, reads=True),
    Method(
        name="tasks/get",
        to_server=_TASKS,
        to_client=_TASKS,
        server_capability="tasks",
        client_capability="tasks",
        reads=True,
    ),
    Method(
        name="tasks/result",
        to_server=_TASKS,
        to_client=_TASKS,
        server_capability="tasks",
        client_capability="tasks",
        reads=True,
    ),
    Method(
        name="tasks/list",
        to_server=_TASKS,
        to_client=_TASKS,
        server_capability="tasks.list",
        client_capability="tasks.list",
        reads=True,
    ),
    Method(
        name="tasks/cancel",
        to_server=_TASKS,
        to_client=_TASKS,
        server_capability="tasks.cancel",
        client_capability="tasks.cancel",
    ),
    # Requests of a server.
    Method(
        name="sampling/createMessage",
        to_client=_HANDSHAKE,
        embedded=_STATELESS,
        client_capability="sampling",
    ),
    Method(
        name="elicitation/create",
        to_client=_ELICITATION & _HANDSHAKE,
        embedded=_ELICITATION & _STATELESS,
        client_capability="elicitation",
    ),
    Method(
        name="roots/list", to_client=_HANDSHAKE, embedded=_STATELESS, client_capability="roots", reads=True
    ),
    # Notifications of a client.
    Method(name="notifications/initialized", notification=True, to_server=_HANDSHAKE),
    Method(
        name="notifications/roots/list_changed",
        notification=True,
        to_server=_HANDSHAKE,
        client_capability="roots.listChanged",
    ),
    # Notifications of either side.
    Method(name="notifications/cancelled", notification=True, to_server=_ALL, to_client=_ALL),
    Method(name="notifications/progress", notification=True, to_server=_HANDSHAKE, to_client=_ALL),
    Method(name="notifications/tasks/status", notification=True, to_server=_TASKS, to_client=_TASKS),
    # Notifications of a server.
    Method(name="notifications/message", notification=True, to_client=_ALL, server_capability="logging"),
    Method(
        name="notifications/tools/list_changed",
        notification=True,
        to_client=_ALL,
        server_capability="tools.listChanged",
    ),
    Method(
        name="notifications/prompts/list_changed",
        notification=True,
        to_client=_ALL,
        server_capability="prompts.listChanged",
    ),
    Method(
        name="notifications/resources/list_changed",
        notification=True,
        to_client=_ALL,
        server_capability="resources.listChanged",
    ),
    Method(
        name="notifications/resources/updated",
        notification=True,
        to_client=_ALL,
        server_capability="resources.subscribe",
    ),
    Method(
        name="notifications/elicitation/complete",
        notification=True,
        to_client=FEATURES[Feature.ELICITATION_IDS],
        client_capability="elicitation.url",
    ),
    Method(name="notifications/subscriptions/acknowledged", notification=True, to_client=_STATELESS),
)

#: Every method and notification, by name.
METHODS: Final[Mapping[str, Method]] = {method.name: method for method in _TABLE}


def find_method(name: str, revision: str) -> Method | None:
    """Return the method of that name; None where the revision has none."""
    method = METHODS.get(name)
    return method if method is not None and revision in method.revisions else None


def needed_capability(name: str, revision: str, *, of_server: bool) -> str | None:
    """Return the path of the capability that a side must have declared for a method, None where none.

    A request is for a side that declared it.  A notification comes from, or goes to, one that did.
    """
    method = find_method(name, revision)
    if method is None or revision not in method.declared_in:
        return None
    return method.server_capability if of_server else method.client_capability
