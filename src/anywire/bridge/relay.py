"""Carry messages between two ends that speak the same era, byte for byte.

The relay reads envelopes and nothing else: each message goes out as the bytes it came in, but for
what the other framing cannot carry.  It remembers which requests of the client are unanswered, so
that a server which dies settles them at once and with the reason, and a client which has said all
it wanted still gets its answers.

What is no message stops here: the client is told, the server's noise is reported.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import msgspec

from anywire.bridge.discretion import BEHIND, plain_sentence
from anywire.bridge.pressure import couple
from anywire.bridge.streams import Belonging, Relating
from anywire.errors import AnywireError, DeadlineExceeded
from anywire.protocol.revisions import null_id
from anywire.transport.contract import Transport
from anywire.transport.stream import StreamTransport
from anywire.wire.codec import decode_value
from anywire.wire.limits import DEFAULT_LIMITS, Limits
from anywire.wire.message import (
    Batch,
    ErrorResponse,
    Fault,
    JsonRpcErrorCode,
    Message,
    Notification,
    Request,
    Response,
    create_error_response,
    id_key,
)
from anywire.wire.peer import read_cancel

__all__ = ("Relay",)


_TOO_MANY = "too many requests are unanswered"


class _Initialized(msgspec.Struct):
    protocol_version: str | None = msgspec.field(default=None, name="protocolVersion")


class Relay:
    """One client on the face, one server behind it; `run()` is its whole life.

    `report` gets sentences for people, one for each thing that is worth one.  `discreet`: the client may
    be anybody on the network, so that it is told how the server failed and nothing else of it; `report`
    gets the rest.  `ends_refused`: a client whose `initialize` the server refused has no further use for
    this conversation.
    """

    def __init__(
        self,
        face: Transport,
        target: Transport,
        report: Callable[[str], None],
        limits: Limits = DEFAULT_LIMITS,
        *,
        discreet: bool = False,
        ends_refused: bool = False,
    ) -> None:
        self._discreet = discreet
        self._ends_refused = ends_refused
        self._face = face
        self._target = target
        self._name = getattr(target, "name", "the server")
        # Only a child has a stderr where its noise belongs.
        is_child = isinstance(target, StreamTransport)
        self._wrote, self._where = ("wrote", " on stdout") if is_child else ("sent", "")
        self._advice = " (it belongs on stderr)" if is_child else ""
        self._report = report
        self._limits = limits
        self._unanswered: dict[bytes, bytes] = {}
        # A pipe has one stream, so nothing needs to be told apart there.
        self._belonging = None if isinstance(face, StreamTransport) else Belonging()
        self._initialize_key: bytes | None = None
        self._revision: str | None = None
        self._noise = 0
        self._answered = asyncio.Event()
        self._answered.set()
        self._client_left = asyncio.Event()
        self._server_left = asyncio.Event()
        self._server_error: AnywireError | None = None
        self._failed = 0
        self._connect()

    def _connect(self) -> None:
        face, target = self._face, self._target
        self._relating = target if isinstance(target, Relating) else None
        face.callbacks.on_message = self._from_client
        face.callbacks.on_error = self._client_error
        face.callbacks.on_end = self._client_left.set
        face.callbacks.on_close = lambda _: self._client_left.set()
        target.callbacks.on_message = self._from_server
        target.callbacks.on_error = self._server_noise
        target.callbacks.on_close = self._server_closed
        target.callbacks.on_failed = self._target_failed
        couple(face, target)

    async def run(self) -> None:
        """Start the server, carry messages until one side ends, end the other.

        Raises `SpawnFailed` when the server cannot be started, and the error with which it ended
        when it left before the client did.
        """
        try:
            await self._start()
            await self._until_either_leaves()
        finally:
            await self._target.close()
            await self._face.close()
            if self._noise > 1:
                things = f"{self._noise} things{self._where}"
                self._report(f"{self._name} {self._wrote} {things} that are no messages")

    async def _start(self) -> None:
        try:
            await self._target.start()
        except AnywireError as error:
            self._server_closed(error)
            await self._face.start()  # what the client has said already is told why
            raise
        await self._face.start()

    async def _until_either_leaves(self) -> None:
        left = asyncio.create_task(self._client_left.wait()), asyncio.create_task(self._server_left.wait())
        try:
            await asyncio.wait(left, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in left:
                task.cancel()
        if self._client_left.is_set():
            await self._finish_what_was_asked()
        if self._server_error is not None and (self._failed or not self._client_left.is_set()):
            raise self._server_error

    async def _finish_what_was_asked(self) -> None:
        """The client has said all it wanted: let the server answer what it was asked, within bounds."""
        if self._face.closed:
            return
        waits = asyncio.create_task(self._answered.wait()), asyncio.create_task(self._server_left.wait())
        try:
            await asyncio.wait(
                waits, timeout=self._limits.request_seconds, return_when=asyncio.FIRST_COMPLETED
            )
        finally:
            for task in waits:
                task.cancel()
        if self._unanswered and not self._server_left.is_set():
            seconds = self._limits.request_seconds
            error = DeadlineExceeded(
                f"{self._name} did not answer within {seconds:g} s after the last request"
            )
            self._server_error = error
            self._fail_all(self._told(error))

    # From the client.

    def _from_client(self, message: Message | Batch) -> None:
        items = message.items if isinstance(message, Batch) else (message,)
        requests = [item for item in items if isinstance(item, Request)]
        if not self._has_room_for(requests):
            return
        for item in items:
            if isinstance(item, Request):
                self._ask(item)
            elif isinstance(item, Notification) and (cancelled := read_cancel(item)) is not None:
                self._forget(cancelled.key)
        if self._server_left.is_set() or self._target.closed:
            self._fail_all(self._why_server_left())
        else:
            self._forward(self._target, message)

    def _has_room_for(self, requests: list[Request]) -> bool:
        """Hold a client that asks faster than the server answers; refuse one that cannot be held."""
        count, limit = len(self._unanswered) + len(requests), self._limits.requests_in_flight
        if isinstance(self._face, StreamTransport):
            if count >= limit:
                self._face.hold_reading(_TOO_MANY)
            return True
        if count > limit:
            self._refuse(requests)
        return count <= limit

    def _ask(self, request: Request) -> None:
        key = id_key(request.id)
        self._unanswered[key] = request.id
        self._answered.clear()
        if self._belonging is not None:
            self._belonging.asked(request)
        if request.method == "initialize":
            self._initialize_key = key

    def _refuse(self, requests: list[Request]) -> None:
        reason = f"more than {self._limits.requests_in_flight} requests are unanswered; wait for some of them"
        for request in requests:
            self._reply_error(request.id, reason)

    def _client_error(self, error: Fault | AnywireError) -> None:
        if not isinstance(error, Fault):
            self._report(str(error))
            self._answered.set()  # nobody is there to read them
            return
        reply = error.answer(null_id(self._revision))
        if reply is not None:
            self._forward(self._face, reply)

    # From the server.

    def _from_server(self, message: Message | Batch) -> None:
        related = None if self._relating is None else self._relating.related
        if related is None and self._belonging is not None and not isinstance(message, Batch):
            related = self._belonging.of(message)
        for item in message.items if isinstance(message, Batch) else (message,):
            if isinstance(item, Response | ErrorResponse) and item.id is not None:
                self._settle(item)
        self._forward(self._face, message, related)

    def _settle(self, reply: Response | ErrorResponse) -> None:
        assert reply.id is not None
        key = id_key(reply.id)
        if not self._forget(key) or key != self._initialize_key:
            return
        if isinstance(reply, Response):
            self._revision = _revision_of(reply)
        elif self._ends_refused:
            self._client_left.set()  # heard of when the reply has been handed on

    def _forget(self, key: bytes) -> bool:
        """An answer has come, or is wanted no more; say whether one was awaited."""
        awaited = self._unanswered.pop(key, None) is not None
        if self._belonging is not None:
            self._belonging.settled(key)
        if not self._unanswered:
            self._answered.set()
        if (
            isinstance(self._face, StreamTransport)
            and 2 * len(self._unanswered) <= self._limits.requests_in_flight
        ):
            self._face.release_reading(_TOO_MANY)
        return awaited

    def _server_noise(self, error: Fault | AnywireError) -> None:
        if not isinstance(error, Fault):
            self._report(str(error))
            return
        if error.is_reply and error.id is not None and id_key(error.id) in self._unanswered:
            name = BEHIND if self._discreet else self._name
            self._fail(error.id, f"{name}: its reply cannot be used: {error.reason}")
            return
        self._noise += 1
        if self._noise == 1:
            start = error.data[:120].decode("utf-8", "backslashreplace")
            self._report(
                f"{self._name} {self._wrote} something{self._where} that is no message{self._advice}: "
                f"{start!r}: {error.reason}"
            )

    def _server_closed(self, error: AnywireError | None) -> None:
        self._server_error = self._server_error or error  # the first says why
        self._fail_all(self._why_server_left())
        self._server_left.set()

    def _target_failed(self, id: bytes, error: AnywireError) -> None:
        if self._discreet:
            self._report(str(error))
        self._fail(id, self._told(error))

    def _told(self, error: AnywireError | None) -> str:
        """Say what the client may know of an error."""
        if self._discreet:
            return plain_sentence(error)
        return str(error) if error is not None else f"{self._name} was ended"

    def _why_server_left(self) -> str:
        return self._told(self._server_error)

    def _fail_all(self, why: str) -> None:
        self._failed += len(self._unanswered)
        for id in list(self._unanswered.values()):
            self._fail(id, why)

    def _fail(self, id: bytes, reason: str) -> None:
        self._forget(id_key(id))
        self._reply_error(id, reason)

    def _reply_error(self, id: bytes, reason: str) -> None:
        reply = create_error_response(None, JsonRpcErrorCode.InternalError, reason)
        self._forward(self._face, msgspec.structs.replace(reply, id=id))

    def _forward(self, transport: Transport, message: Message | Batch, related: bytes | None = None) -> None:
        if not transport.closed:
            transport.post(message, related)


def _revision_of(reply: Response) -> str | None:
    try:
        return decode_value(reply.result, _Initialized).protocol_version
    except msgspec.MsgspecError:
        return None
