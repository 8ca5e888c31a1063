"""What a client says to a fleet: it is answered here, or by the server whose thing it is about.

Specification: MCP `basic/lifecycle`, `basic/utilities`, `server/*`, 2024-11-05 to 2025-11-25.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, Final

from anywire.bridge.fleet import refusals
from anywire.bridge.fleet.conversation import Conversation
from anywire.bridge.fleet.greeting import greet, instructions, introduce
from anywire.bridge.fleet.member import Member, Resting
from anywire.bridge.fleet.names import Unlisted
from anywire.bridge.fleet.pages import cursor_of
from anywire.bridge.fleet.renaming import ITEMS, Addressed, Ambiguous, address
from anywire.bridge.fleet.table import Call, Table
from anywire.bridge.sharing.log_levels import read_level
from anywire.protocol.revisions import null_id
from anywire.protocol.rewriting import progress_token
from anywire.wire.message import Batch, ErrorResponse, Fault, Message, Notification, Request, Response, id_key
from anywire.wire.peer import read_cancel

__all__ = ("Upward",)

#: What is answered by the server whose thing it is about.
_ADDRESSED: Final = frozenset(
    {
        "tools/call",
        "prompts/get",
        "completion/complete",
        "resources/read",
        "resources/subscribe",
        "resources/unsubscribe",
    }
)
_EMPTY: Final = b"{}"


class Upward:
    """Takes what one client says."""

    def __init__(self, table: Table) -> None:
        self._table = table
        self._limits = table.fleet.limits
        self._tasks: set[asyncio.Task[None]] = set()

    def take(self, message: Message) -> None:
        """Take a message of the client."""
        if isinstance(message, Request):
            refusal = self._why_refused(message)
            if refusal is None:
                self._ask(message)
            else:
                self._table.soon(self._table.tell, refusal)
        elif isinstance(message, Notification):
            self._take_notification(message)
        else:
            self._pass_on(self._table.questions.answered(message))

    def take_batch(self, batch: Batch) -> None:
        """Take several that came together and are answered together."""
        batches = self._table.batches
        batches.begin()
        for item in batch.items:
            if isinstance(item, Fault):
                if (reply := item.answer(null_id(self._table.revision))) is not None:
                    batches.add_now(reply)
            elif not isinstance(item, Request):
                self.take(item)
            elif (refusal := self._why_refused(item)) is not None:
                batches.add_now(refusal)
            else:
                batches.expect(item.id)
                self._ask(item)
        self._table.soon(self._table.tell_together, batches.finish_reading())

    def _why_refused(self, request: Request) -> ErrorResponse | None:
        table, most = self._table, self._limits.requests_in_flight
        key = id_key(request.id)
        if key in table.calls or any(each.is_own(key) for each in table.conversations):
            return refusals.in_flight(request)
        if len(table.calls) >= most:
            return refusals.failed(
                request, f"more than {most} requests are unanswered; wait for some of them"
            )
        return None

    def _ask(self, request: Request) -> None:
        table = self._table
        call = table.calls[id_key(request.id)] = Call(request)
        method = request.method
        if method in _ADDRESSED:
            self._address(call)
        elif method in ITEMS:
            self._list(call)
        elif method == "initialize":
            self._initialize(call)
        elif method == "ping":
            table.answer(call, Response(request.id, _EMPTY))
        elif method == "logging/setLevel":
            self._set_level(call)
        else:
            table.answer(call, refusals.no_method(request))

    # What is answered here.

    def _initialize(self, call: Call) -> None:
        table, params = self._table, call.request.params
        own = {name: table.catalogue.instructions(each.key) for name, each in table.members.items()}
        table.revision, result = greet(params, instructions(table.labels(), own))
        table.introduction = introduce(params, table.revision)
        table.answer(call, Response(call.request.id, result))
        table.lists.prepare(table.members.values(), "tools/list")

    def _set_level(self, call: Call) -> None:
        table, params, method = self._table, call.request.params, call.request.method
        if params is None or read_level(params) is None:
            table.answer(call, refusals.invalid(call.request, "no such log level"))
            return
        table.level = params
        for conversation in table.open_conversations():
            if conversation.can(method):
                conversation.tell(method, params)
        table.answer(call, Response(call.request.id, _EMPTY))

    def _list(self, call: Call) -> None:
        table, request = self._table, call.request
        table.initialized = True  # who has seen a list hears of its changes, whatever it has said
        members, cursor = list(table.members.values()), cursor_of(request.params)
        if cursor is not None:
            result = table.lists.page(request.method, cursor)
            wrong = refusals.invalid(request, "the cursor is none that this server has given")
            table.answer(call, wrong if result is None else Response(request.id, result))
        elif (result := table.lists.known(members, request.method)) is not None:
            table.answer(call, Response(request.id, result))
        else:
            self._work_on(call, self._gather(call, members))

    async def _gather(self, call: Call, members: list[Member]) -> None:
        table, request = self._table, call.request
        await table.lists.gather(members, request.method)
        result = table.lists.merge(table.members.values(), request.method)  # as they are by now
        table.settle(call, Response(request.id, result))

    def _work_on(self, call: Call, work: Coroutine[Any, Any, None]) -> None:
        call.task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(call.task)
        call.task.add_done_callback(self._tasks.discard)

    # What a server answers.

    def _address(self, call: Call, *, listed: bool = False) -> None:
        """Let a request go to the server whose thing it is about."""
        table, request = self._table, call.request
        found = address(table.fleet.names, request)
        if isinstance(found, Ambiguous):
            table.answer(call, refusals.invalid(request, f"{found.member!r} is there twice"))
            return
        member = None if found is None else table.members.get(found.label.server)
        if isinstance(found, Unlisted) and member is not None and not listed:
            self._work_on(call, self._look_up(call, member))
        elif isinstance(found, Addressed) and member is not None:
            call.uri = found.uri
            self._forward(call, member, found.request)
        else:
            table.answer(call, refusals.unknown(request, table.labels()))

    async def _look_up(self, call: Call, member: Member) -> None:
        """A name was cut: only its list says what it was."""
        method = "tools/list" if call.request.method == "tools/call" else "prompts/list"
        await asyncio.wait([member.fetch(method)], timeout=self._limits.member_list_seconds)
        call.task = None
        self._address(call, listed=True)

    def _forward(self, call: Call, member: Member, request: Request) -> None:
        table = self._table
        try:
            conversation = member.conversation()
        except Resting as error:
            table.answer(call, refusals.failed(call.request, str(error)))
            return
        table.send(call, conversation, progress_token(request.params))
        if not conversation.post(request):
            reason = f"{member.label.server} does not read: more than {self._limits.unread_bytes} bytes wait"
            table.answer(call, refusals.failed(call.request, reason))

    # Notifications and replies.

    def _take_notification(self, message: Notification) -> None:
        table = self._table
        match message.method:
            case "notifications/cancelled":
                self._cancel(message)
            case "notifications/progress":
                self._pass_on(table.questions.progressed(message))
            case "notifications/initialized":
                table.initialized = True
            case "notifications/roots/list_changed":
                for conversation in table.open_conversations():
                    conversation.post(message)
            case _:
                pass  # nobody can tell which server it is for

    def _cancel(self, message: Notification) -> None:
        table, cancelled = self._table, read_cancel(message)
        call = None if cancelled is None else table.calls.get(cancelled.key)
        if cancelled is None or call is None or call.request.method == "initialize":
            return
        table.forget(call)
        if call.task is not None:
            call.task.cancel()
        if call.conversation is not None and not call.conversation.forget(cancelled.key):
            call.conversation.post(message)
        table.soon(table.tell_together, table.batches.drop(cancelled.key))

    def _pass_on(self, found: tuple[Conversation, Message] | None) -> None:
        if found is not None:
            found[0].post(found[1])

    async def close(self) -> None:
        """Answer nothing any more."""
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)
