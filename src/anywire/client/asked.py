"""A request of the server's, as the function that answers it sees it."""

from __future__ import annotations

import asyncio

import msgspec
from msgspec import UNSET, Raw, UnsetType

from anywire.session.caller import Caller
from anywire.wire.codec import decode_value, encode_value
from anywire.wire.message import Notification, Request, id_key

__all__ = ("Asked",)


class _Meta(msgspec.Struct, frozen=True, rename="camel"):
    progress_token: Raw | UnsetType = UNSET


class _Params(msgspec.Struct):
    meta: _Meta = msgspec.field(default=_Meta(), name="_meta")


class _Progress(msgspec.Struct, omit_defaults=True, rename="camel"):
    progress_token: Raw
    progress: float
    total: float | None = None
    message: str | None = None


class Asked:
    """What is known of a request of the server's while it is being answered.

    A callback gets one if it takes a second parameter.  Everything here can be used from any thread.
    """

    def __init__(
        self, request: Request, caller: Caller, loop: asyncio.AbstractEventLoop, revision: str | None
    ) -> None:
        self._caller = caller
        self._loop = loop
        #: What is asked.
        self.method = request.method
        #: The request's id, raw JSON ...
        self.id = request.id
        #: ... and as a key of tables.
        self.key = id_key(request.id)
        #: The params, raw JSON.
        self.params = request.params or b"{}"
        #: The revision of the conversation.
        self.revision = revision
        #: Nobody waits for the answer any more.  A callback in a thread should look at it.
        self.cancelled = False
        #: The answer has been sent.
        self.done = False
        #: What runs the callback.
        self.task: asyncio.Task[None] | None = None

    def progress(self, progress: float, total: float | None = None, message: str | None = None) -> None:
        """Report progress, if the server asked for it.  `progress` must grow from call to call."""
        try:
            token = decode_value(self.params, _Params).meta.progress_token
        except msgspec.MsgspecError:
            return
        if not isinstance(token, UnsetType):
            params = encode_value(_Progress(Raw(bytes(token)), progress, total, message))
            note = Notification("notifications/progress", params)
            if _running_loop() is self._loop:
                self._tell(note)
            else:
                self._loop.call_soon_threadsafe(self._tell, note)

    def cancel(self, reason: str) -> None:
        """Nobody waits for the answer any more: stop what makes it."""
        self.cancelled = True
        if self.task is not None:
            self.task.cancel(reason)

    def _tell(self, note: Notification) -> None:
        if not self.cancelled and not self.done:
            self._caller.tell(note, self.id)


def _running_loop() -> asyncio.AbstractEventLoop | None:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None
