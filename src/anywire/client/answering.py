"""The server's requests that are being answered: each in a task of its own, stopped when nobody waits."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING

import msgspec
from msgspec import UNSET

from anywire.client.asked import Asked
from anywire.errors import Refusal
from anywire.session.caller import Caller
from anywire.transport.deadline import bounded
from anywire.wire.message import (
    ErrorResponse,
    JsonRpcErrorCode,
    Request,
    Response,
    create_error_response,
)
from anywire.wire.peer import Peer

if TYPE_CHECKING:
    from anywire.client.answers import Answer, Answers

__all__ = ("Answering",)

_log = logging.getLogger("anywire.client")


class Answering:
    """The one door to the table of the server's requests.

    While any of them is being answered the clocks of our own requests stand still: the server may be
    waiting for us.
    """

    def __init__(self, name: str, caller: Caller, peer: Peer, seconds: float) -> None:
        self._seconds = seconds
        self._name = name
        self._caller = caller
        self._peer = peer
        self._running: dict[bytes, Asked] = {}
        # What was told to stop and has not yet, too.
        self._tasks: set[asyncio.Task[None]] = set()

    def __len__(self) -> int:
        return len(self._running)

    def begin(self, request: Request, answers: Answers | None, revision: str | None) -> None:
        """Answer a request that the peer has let in."""
        answer = None if answers is None else answers.table.get(request.method)
        if answer is None:
            reason = f"Method not found: {request.method}"
            self._reply(request.id, _error(JsonRpcErrorCode.MethodNotFound, reason))
            return
        loop = asyncio.get_running_loop()
        asked = Asked(request, self._caller, loop, revision)
        self._running[asked.key] = asked
        self._caller.hold()
        asked.task = loop.create_task(self._answer(asked, answer))
        self._tasks.add(asked.task)
        # Not in the task: one that is cancelled before its first step runs nothing.
        asked.task.add_done_callback(lambda task: self._ended(asked, task))

    def cancel(self, key: bytes, reason: str) -> None:
        """The server does not wait for that answer any more; an unknown one is none."""
        asked = self._running.pop(key, None)
        if asked is not None:
            asked.cancel(reason)

    def stop(self, reason: str = "the conversation is over") -> None:
        """Nobody waits for any answer any more."""
        for asked in list(self._running.values()):
            if asked.task is not _current_task():  # who closes the client may be a callback of it
                self.cancel(asked.key, reason)

    def forget(self) -> None:
        """The server has lost the conversation in which it asked: its ids may come again."""
        for asked in list(self._running.values()):
            self._peer.respond(asked.id)
            self.cancel(asked.key, "the server has lost the conversation")

    async def wait(self, seconds: float) -> None:
        """Wait for what was told to stop, for so long."""
        tasks = self._tasks - {_current_task()}
        if tasks:
            await asyncio.wait(tasks, timeout=seconds)

    def _ended(self, asked: Asked, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if self._running.get(asked.key) is asked:
            del self._running[asked.key]
        self._caller.release()

    async def _answer(self, asked: Asked, answer: Answer) -> None:
        try:
            async with bounded(self._seconds, f"{asked.method} was not answered"):
                result = await answer(asked)
            reply = Response(asked.id, result)
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if asked.cancelled or (task is not None and task.cancelling()):
                raise
            reply = _error(JsonRpcErrorCode.InternalError, f"{asked.method} was cancelled by the client")
        except Refusal as refusal:
            reply = self._refused(asked, refusal)
        except Exception as error:  # noqa: BLE001 whatever the program raises costs this request alone
            if not asked.cancelled:
                _log.warning("%s: %s could not be answered", self._name, asked.method, exc_info=error)
            words = str(error) or type(error).__name__
            reply = _error(JsonRpcErrorCode.InternalError, f"Error in {asked.method}: {words}")
        asked.done = True
        if not asked.cancelled:  # its id may be in use again
            self._reply(asked.id, reply)

    def _refused(self, asked: Asked, refusal: Refusal) -> ErrorResponse:
        try:
            return _error(refusal.code, refusal.message, refusal.data)
        except TypeError as error:  # data that has no JSON
            _log.warning("%s: %s was refused with odd data: %s", self._name, asked.method, error)
            return _error(refusal.code, refusal.message)

    def _reply(self, id: bytes, reply: Response | ErrorResponse) -> None:
        if self._peer.respond(id):
            self._caller.tell(msgspec.structs.replace(reply, id=id), id)


def _error(code: int, message: str, data: object = None) -> ErrorResponse:
    return create_error_response(None, code, message, UNSET if data is None else data)


def _current_task() -> asyncio.Task[object] | None:
    try:
        return asyncio.current_task()
    except RuntimeError:
        return None
