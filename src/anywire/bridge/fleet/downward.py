"""What the servers of a fleet say to one client: whose it is, and under which names.

Specification: MCP `basic/utilities`, `server/*`, `client/*`, 2024-11-05 to 2025-11-25.
"""

from __future__ import annotations

from anywire.bridge.fleet import refusals
from anywire.bridge.fleet.conversation import Conversation
from anywire.bridge.fleet.renaming import (
    LISTS,
    named_error,
    named_notification,
    named_question,
    named_result,
)
from anywire.bridge.fleet.table import Table
from anywire.wire.message import ErrorResponse, Message, Notification, Request, Response, id_key
from anywire.wire.splice import get_member

__all__ = ("Downward",)


class Downward:
    """Takes what the servers of one client say, and how they come and go."""

    def __init__(self, table: Table) -> None:
        self._table = table

    def hear(self, conversation: Conversation, message: Message, related: bytes | None) -> None:
        """Take a message of a server; `related` is the raw id of a request that it belongs to."""
        self._table.speaker = conversation.label.server
        try:
            if isinstance(message, Response | ErrorResponse):
                self._take_reply(conversation, message)
            elif isinstance(message, Request):
                self._take_question(conversation, message, related)
            else:
                self._take_notification(conversation, message, related)
        finally:
            self._table.speaker = None

    def _take_reply(self, conversation: Conversation, reply: Response | ErrorResponse) -> None:
        table = self._table
        call = table.calls.get(b"" if reply.id is None else id_key(reply.id))
        if call is None or call.conversation is not conversation:
            return  # late, or nobody's
        label, names, method = conversation.label, table.fleet.names, call.request.method
        if isinstance(reply, ErrorResponse):
            table.settle(call, named_error(names, label, method, reply))
            return
        member = table.member_of(conversation)
        if call.uri is not None and member is not None and method != "resources/read":
            member.follow(call.uri, follow=method == "resources/subscribe")
        table.settle(call, named_result(names, label, method, reply))

    def _take_question(self, conversation: Conversation, request: Request, related: bytes | None) -> None:
        table = self._table
        if request.method == "ping":
            conversation.post(Response(request.id, b"{}"))
            return
        asked = table.questions.ask(conversation, request)
        if isinstance(asked, ErrorResponse):
            conversation.post(asked)
        else:
            named = named_question(table.fleet.names, conversation.label, asked)
            table.tell(named, self._related(conversation, related))

    def _take_notification(
        self, conversation: Conversation, message: Notification, related: bytes | None
    ) -> None:
        table = self._table
        if message.method in LISTS:
            table.fleet.changed(table.catalogue, conversation.key, message.method)
        elif message.method == "notifications/progress":
            token = get_member(message.params or b"", "progressToken")
            call = None if token is None else table.reporting(conversation, token)
            if call is not None:
                table.tell(message, call.request.id)
        elif message.method == "notifications/cancelled":
            withdrawn = table.questions.withdrawn(conversation, message)
            if withdrawn is not None:
                table.tell(withdrawn, self._related(conversation, related))
        else:
            named = named_notification(table.fleet.names, conversation.label, message)
            table.tell(named, self._related(conversation, related))

    def _related(self, conversation: Conversation, related: bytes | None) -> bytes | None:
        call = None if related is None else self._table.calls.get(id_key(related))
        return call.request.id if call is not None and call.conversation is conversation else None

    # How they come and go.

    def opened(self, conversation: Conversation) -> None:
        """A server is there: tell it what the client has set."""
        table, member = self._table, self._table.member_of(conversation)
        if table.level is not None and conversation.can("logging/setLevel"):
            conversation.tell("logging/setLevel", table.level)
        table.fleet.well(conversation.label.server)
        if member is None:
            return
        member.opened()
        for uri in member.followed.values():
            params = b'{"uri":%b}' % uri
            conversation.tell("resources/subscribe", params)
            updated = Notification("notifications/resources/updated", params)
            table.tell(named_notification(table.fleet.names, conversation.label, updated))

    def ended(self, conversation: Conversation) -> None:
        """A server is not there any more: what it was asked fails with the reason."""
        table = self._table
        table.conversations.discard(conversation)
        if table.closed:
            return
        if conversation.error is not None:
            table.fleet.troubled(conversation.label.server, str(conversation.error))
        if (member := table.member_of(conversation)) is not None:
            member.lost(conversation)
        reason = conversation.reason()
        for call in [call for call in table.calls.values() if call.conversation is conversation]:
            table.settle(call, refusals.failed(call.request, reason))
        for cancellation in table.questions.lose(conversation, reason):
            table.tell(cancellation)
