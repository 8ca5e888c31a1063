"""What a client is owed: an answer to each of its requests, of the server or, where that fails, of ours.

It is also the way back to the client: over HTTP a message has to find the stream of its request.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from typing import Final

from anywire.bridge.recovery.unanswered import Unanswered
from anywire.bridge.streams import Belonging
from anywire.errors import TransportError
from anywire.transport.contract import Transport
from anywire.transport.stream import StreamTransport
from anywire.wire.limits import Limits
from anywire.wire.message import (
    Batch,
    JsonRpcErrorCode,
    Message,
    Request,
    error_reply,
    id_key,
)

__all__ = ("Owed",)

_NO_BATCHES: Final = "batches are part of revision 2025-03-26 only; send each message alone"
_TOO_MANY: Final = "too many requests are unanswered"


class Owed:
    """The client's end: what it has asked and is not answered, and what is said to it."""

    def __init__(self, face: Transport, limits: Limits) -> None:
        self.unanswered = Unanswered(limits)
        #: Set while there is nothing unanswered.
        self.settled = asyncio.Event()
        self.settled.set()
        self._face = face
        self._stream = face if isinstance(face, StreamTransport) else None
        # A pipe has one stream, so nothing needs to be told apart there.
        self._belonging = None if self._stream is not None else Belonging()
        self._most = limits.requests_in_flight
        self._held = False
        #: Whether what is said to the client has to find the stream of a request.
        self.has_streams = self._belonging is not None

    def has_room_for(self, requests: Sequence[Request]) -> bool:
        """Hold a client that asks faster than the server answers; refuse one that cannot be held."""
        count = len(self.unanswered.asked) + len(requests)
        if count < self._most:
            return True
        if self._stream is not None:
            self._stream.hold_reading(_TOO_MANY)
            self._held = True
            return True
        if count > self._most:
            reason = f"more than {self._most} requests are unanswered; wait for some of them"
            for request in requests:
                self.refuse(request.id, reason)
        return count <= self._most

    def ask(self, key: bytes, request: Request) -> None:
        """The client asks something; `key` is that of the id."""
        unanswered = self.unanswered
        if not unanswered.asked:
            self.settled.clear()
        unanswered.ask(key, request)
        if self._belonging is not None:
            self._belonging.asked(request)

    def settle(self, key: bytes) -> Request | bytes | None:
        """An answer has come, or is wanted no more; return what was asked, None where nothing was."""
        unanswered = self.unanswered
        asked = unanswered.settle(key)
        if self._belonging is not None:
            self._belonging.settled(key)
        if not unanswered.asked:
            self.settled.set()
        if self._held and self._stream is not None and 2 * len(unanswered) <= self._most:
            self._held = False
            self._stream.release_reading(_TOO_MANY)
        return asked

    def stream_of(self, message: Message) -> bytes | None:
        """Return the raw id of the request to whose stream a message of the server belongs."""
        return None if self._belonging is None else self._belonging.of(message)

    def fail(self, id: bytes, reason: str) -> None:
        """There will be no answer to a request, for that reason."""
        if self.settle(id_key(id)) is not None:
            self.refuse(id, reason)

    def fail_all(self, reason: str) -> int:
        """There will be no answer to any request; return how many there were."""
        ids = self.unanswered.ids
        for id in ids:
            self.fail(id, reason)
        return len(ids)

    def refuse(self, id: bytes, reason: str) -> None:
        """Answer what was not even asked."""
        self.post(error_reply(id, JsonRpcErrorCode.InternalError, reason))

    def refuse_batch(self, batch: Batch, nobody: bytes | None) -> None:
        """Answer each request of a batch that must not be one; `nobody` is the id of an error for no request.

        A server refuses it with one error that names none of them, and nobody could tell whose it is.
        """
        ids = [item.id for item in batch.items if isinstance(item, Request)]
        for id in ids or [nobody]:
            self.post(error_reply(id, JsonRpcErrorCode.InvalidRequest, _NO_BATCHES))

    def tell(self, messages: Iterable[Message]) -> None:
        """Say something to the client that the server did not say."""
        for message in messages:
            self.post(message, self.stream_of(message))

    def post(self, message: Message | Batch, related: bytes | None = None) -> None:
        """Pass something on to the client; a client that has left hears nothing."""
        try:
            self._face.post(message, related)
        except TransportError:
            pass  # it has left, or is leaving, as its `on_close` will say
