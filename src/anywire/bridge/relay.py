"""Carry messages between two ends that speak the same era, byte for byte.

The relay reads envelopes and nothing else: each message goes out as the bytes it came in, but for what the
other framing cannot carry.  It remembers what is unanswered, so that a client which leaves gets its answers.

A server that is lost in the midst of a conversation has a successor: it is told what the client had set,
and asked again what only reads; what may have been done fails at once and with the reason.  A server that
is lost before the conversation was opened is an error.

What is no message stops here: the client is told, the server's noise is reported.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable

from anywire.bridge.discretion import BEHIND, plain_sentence
from anywire.bridge.noise import Noise
from anywire.bridge.pressure import Coupling
from anywire.bridge.recovery.owed import Owed
from anywire.bridge.recovery.questions import Questions
from anywire.bridge.recovery.remembered import ACKNOWLEDGED, INITIALIZED, Remembered
from anywire.bridge.recovery.succession import Succession
from anywire.bridge.recovery.waiting import Waiting
from anywire.bridge.streams import Relating
from anywire.errors import (
    AnywireError,
    DeadlineExceeded,
    RemoteProtocolError,
    TransportClosed,
    TransportError,
)
from anywire.protocol.revisions import null_id
from anywire.protocol.rewriting import with_id
from anywire.transport.contract import Callbacks, Transport
from anywire.transport.deadline import first_of
from anywire.wire.event import CANCELLED
from anywire.wire.limits import DEFAULT_LIMITS, Limits
from anywire.wire.message import (
    NULL_ID,
    Batch,
    ErrorResponse,
    Fault,
    Message,
    Request,
    Response,
    id_key,
)
from anywire.wire.peer import read_cancel

__all__ = ("Relay",)


class Relay:
    """One client on the face, one server at a time behind it; `run()` is its whole life.

    `make_target` makes a transport to the server, and another to each that takes over from a lost one.
    `report` gets sentences for people, one for each thing that is worth one.  `discreet`: the client may
    be anybody on the network, so that it is told how the server failed and nothing else of it; `report`
    gets the rest.  `ends_refused`: a client whose `initialize` the server refused has no further use for
    this conversation.  `chance` gives numbers between 0 and 1, which spread the starts of lost servers.
    """

    def __init__(
        self,
        face: Transport,
        make_target: Callable[[], Transport],
        report: Callable[[str], None],
        limits: Limits = DEFAULT_LIMITS,
        *,
        discreet: bool = False,
        ends_refused: bool = False,
        chance: Callable[[], float] = random.random,
    ) -> None:
        self._discreet = discreet
        self._ends_refused = ends_refused
        self._face = face
        self._report = report
        self._limits = limits
        self._name = "the server"
        self._noise: Noise | None = None
        self._target: Transport | None = None
        self._relating: Relating | None = None
        self._up: Transport | None = None  # the target, while what the client says goes to it
        self._opened = False  # the client has had an answer: from now on it has a conversation to lose
        self._served = False  # ... and this server has given one
        self._owed = Owed(face, limits)
        self.answered = self._owed.settled  #: Set while the client waits for no answer.
        self._questions = Questions(limits)
        self._remembered = Remembered(limits, self._owed.unanswered)
        self._waiting = Waiting(face, lambda request, why: self._owed.fail(request.id, why), limits)
        self._pressure = Coupling(face)
        self._succession = Succession(make_target, self, self._remembered, report, limits, chance)
        self._client_left = asyncio.Event()
        self._server_left = asyncio.Event()
        self._server_error: AnywireError | None = None
        self._failed = 0
        self._refused: AnywireError | None = None  # why there was no answer, before the first one
        self._ending = False
        face.callbacks.on_message = self._from_client
        face.callbacks.on_error = self._client_error
        face.callbacks.on_end = self._client_left.set
        face.callbacks.on_close = lambda _: self._client_left.set()

    async def run(self) -> None:
        """Start the server, carry messages until one side ends, end the other.

        Raises `SpawnFailed` when the server cannot be started, and the error with which it ended
        when it left before the client did and has no successor.
        """
        try:
            await self._start()
            await self._until_either_leaves()
        finally:
            self._ending = True
            try:
                await self._succession.stop()
            finally:
                if self._target is not None:
                    await self._target.close()
                self.end(None)  # whoever waits still is told
                await self._face.close()
                if self._noise is not None:
                    self._noise.end()

    async def _start(self) -> None:
        try:
            target = await self._succession.first()
        except AnywireError as error:
            self.end(error)
            await self._face.start()  # what the client has said already is told why
            raise
        self._pressure.attach(target)
        self._up = target
        await self._face.start()

    async def _until_either_leaves(self) -> None:
        await first_of(self._client_left, self._server_left)
        if self._client_left.is_set():
            await self._finish_what_was_asked()
        if self._server_error is not None and (self._failed or not self._client_left.is_set()):
            raise self._server_error
        if self._refused is not None and not self._opened:
            raise self._refused

    async def _finish_what_was_asked(self) -> None:
        """The client has said all it wanted: let the server answer what it was asked, within bounds."""
        if self._face.closed:
            return
        seconds = self._limits.request_seconds
        await first_of(self._owed.settled, self._server_left, seconds=seconds)
        if self._owed.unanswered and not self._server_left.is_set():
            error = DeadlineExceeded(
                f"{self._name} did not answer within {seconds:g} s after the last request"
            )
            self._server_error = error
            self._fail_all()

    # From the client.

    def _from_client(self, message: Message | Batch) -> None:
        if type(message) is Batch:
            self._from_client_together(message)
        elif type(message) is not Request or self._owed.has_room_for((message,)):
            noted = self._note(message)
            if noted is not None:
                self._to_server(noted)

    def _from_client_together(self, batch: Batch) -> None:
        """Pass a batch on as it is where nothing in it is ours to change."""
        if not self._remembered.has_batches:
            self._owed.refuse_batch(batch, null_id(self._remembered.revision))
            return
        if not self._owed.has_room_for([item for item in batch.items if isinstance(item, Request)]):
            return
        noted = [item if isinstance(item, Fault) else self._note(item) for item in batch.items]
        if self._up is not None and all(item is seen for item, seen in zip(batch.items, noted, strict=True)):
            self._to_server(batch)
            return
        for item in noted:
            if isinstance(item, Fault):
                self._client_error(item)
            elif item is not None:
                self._to_server(item)

    def _note(self, message: Message) -> Message | None:
        """Note what has to be noted of it; return it as the server shall see it, None: not at all."""
        if type(message) is Request:
            return self._ask(message)
        if type(message) is Response or type(message) is ErrorResponse:
            return self._questions.answer(message)
        if message.method == INITIALIZED:
            self._remembered.initialized(message)
            return None if self._up is None else message  # its successor is told anyway
        if (cancelled := read_cancel(message)) is not None:
            self._settle(cancelled.key)
            return None if self._up is None else message
        return message

    def _ask(self, request: Request) -> Request | None:
        key = id_key(request.id)
        if key in self._remembered.ours or key in self._owed.unanswered:
            self._owed.refuse(request.id, "that id is in use; take another")
            return None
        self._owed.ask(key, request)
        return request

    def _to_server(self, message: Message | Batch) -> None:
        if self._up is not None and not self._up.closed:
            self._forward(self._up, message)
        elif self._server_left.is_set():
            self._fail_all()
        elif self._target is not None and isinstance(message, Response | ErrorResponse):
            self._forward(self._target, message)  # it may be asking before it takes over
        else:
            for item in message.items if isinstance(message, Batch) else (message,):
                if not isinstance(item, Fault):
                    self._waiting.put(item)
            self._succession.want()

    def _client_error(self, error: Fault | AnywireError) -> None:
        if not isinstance(error, Fault):
            self._report(str(error))
            self._owed.settled.set()  # nobody is there to read them
            return
        if (unusable := self._questions.unusable(error)) is not None:
            self._to_server(unusable)
            return
        reply = error.answer(null_id(self._remembered.revision))
        if reply is not None:
            self._owed.post(reply)

    # From the server.

    def _from_server(self, message: Message | Batch) -> None:
        if type(message) is not Batch:
            self._to_client(message)
            return
        seen = [item if isinstance(item, Fault) else self._hear(item) for item in message.items]
        if all(item is each for item, each in zip(message.items, seen, strict=True)):
            self._owed.post(message)
            return
        for each in seen:
            if each is not None and not isinstance(each, Fault):
                self._owed.post(each)

    def _to_client(self, message: Message) -> None:
        related = None if self._relating is None else self._relating.related
        if related is None:
            related = self._owed.stream_of(message)
        heard = self._hear(message)
        if heard is not None:
            self._owed.post(heard, related)

    def _hear(self, message: Message) -> Message | None:
        """Note what has to be noted of it; return it as the client shall see it, None: not at all."""
        if type(message) is Response or type(message) is ErrorResponse:
            return self._take_reply(message)
        if type(message) is Request:
            asked = self._questions.ask(message)
            if type(asked) is Request or self._target is None:
                return asked
            self._forward(self._target, asked)
            return None
        if message.method == CANCELLED:
            return self._questions.withdraw(message)
        if message.method == ACKNOWLEDGED:
            changes = self._remembered.acknowledged(message)
            if changes is not None:
                self._owed.tell(changes)
                return None
        return message

    def _take_reply(self, reply: Response | ErrorResponse) -> Response | ErrorResponse | None:
        """The server has answered a request; None: it was one of ours, or none that waits for an answer."""
        key = b"" if reply.id is None else id_key(reply.id)
        if key in self._remembered.ours:
            self._succession.settle(key, reply)
            return None
        asked = self._settle(key)
        if asked is None:
            if (id := self._owed.unanswered.meant(reply)) is None:
                return reply if reply.id in (None, NULL_ID) else None  # a second answer, or nobody's
            reply, asked = with_id(reply, id), self._settle(id_key(id))
        self._served = True
        if type(asked) is Request:
            self._remembered.answered(asked, reply)
            if asked.method == "initialize" and isinstance(reply, ErrorResponse):
                if self._ends_refused:
                    self._client_left.set()  # heard of when the reply has been handed on
                return reply
        self._opened = True
        return reply

    def _settle(self, key: bytes) -> Request | bytes | None:
        asked = self._owed.settle(key)
        if type(asked) is Request:
            self._remembered.gone(key)
        return asked

    def _server_noise(self, error: Fault | AnywireError) -> None:
        if not isinstance(error, Fault):
            self._report(str(error))
            return
        key = id_key(error.id) if error.may_settle and error.id is not None else b""
        reason = f"its reply cannot be used: {error.reason}"
        if error.id is not None and key in self._owed.unanswered:
            self._owed.fail(error.id, f"{BEHIND if self._discreet else self._name}: {reason}")
        elif key in self._remembered.ours:
            self._succession.settle(key, RemoteProtocolError(f"{self._name}: {reason}"))
        elif self._noise is not None:
            self._noise.hear(error)

    def _target_failed(self, id: bytes, error: AnywireError) -> None:
        if id_key(id) in self._remembered.ours:
            self._succession.settle(id_key(id), error)
            return
        if self._discreet:
            self._report(str(error))
        else:
            self._refused = self._refused or error
        self._owed.fail(id, self._told(error))

    # When the server is lost.

    def connect(self, target: Transport) -> None:
        """Listen to a server that has not been started."""
        if self._target is not None:
            self._target.callbacks = Callbacks()  # whatever comes of it still
        self._target = target
        self._relating = target if self._owed.has_streams and isinstance(target, Relating) else None
        self._name = getattr(target, "name", self._name)
        self._noise = self._noise or Noise(target, self._name, self._report)
        target.callbacks.on_message = self._from_server
        target.callbacks.on_error = self._server_noise
        target.callbacks.on_close = self._server_closed
        target.callbacks.on_failed = self._target_failed
        target.callbacks.on_reopened = self._reopened

    def _server_closed(self, error: AnywireError | None) -> None:
        if self._succession.failed(error):
            return
        if self._ending or self._client_left.is_set() or not self._opened or self._target is None:
            self.end(error)
            return
        self._up = None
        self._pressure.detach()
        needed = bool(self._owed.unanswered) or self._remembered.is_listening
        served = self._served or bool(self._owed.unanswered)
        again, failed = self._owed.unanswered.lose(self._remembered.listens, self._waiting.keys())
        for id in failed:
            self._owed.fail(id, self._told(error))
        self._owed.tell(self._questions.lose("the server was lost"))
        self._waiting.put_first(again)
        lost = error or TransportClosed(f"{self._name} was ended")
        self._succession.begin(self._target, lost, served=served, needed=needed)

    def carry_on(self, target: Transport) -> None:
        """Go on with a server that knows of the client's handshake."""
        self._pressure.attach(target)
        self._up, self._served = target, False
        for message in self._remembered.settings():
            self._forward(target, message)
        for message in self._waiting.take():
            if not isinstance(message, Request) or id_key(message.id) in self._owed.unanswered:
                self._forward(target, message)
        self._owed.tell(self._remembered.changes())

    def _reopened(self) -> None:
        """The transport has shaken hands again by itself; nothing else is known at the other end."""
        self._owed.tell(self._questions.lose("the session was lost"))
        if self._target is not None:
            for message in self._remembered.asked_anew():
                self._forward(self._target, message)
        self._owed.tell(self._remembered.changes())

    def end(self, error: AnywireError | None) -> None:
        """There will be no server any more."""
        self._server_error = self._server_error or error  # the first says why
        self._up = None
        self._waiting.take()
        self._fail_all()
        self._server_left.set()

    def _fail_all(self) -> None:
        self._failed += self._owed.fail_all(self._told(self._server_error))

    def _told(self, error: AnywireError | None) -> str:
        """Say what the client may know of an error."""
        return plain_sentence(error) if self._discreet else str(error or f"{self._name} was ended")

    def _forward(self, target: Transport, message: Message | Batch) -> None:
        try:
            target.post(message)
        except TransportError as error:
            # A child that reads no more and runs on: nobody else will say what becomes of the request.
            if isinstance(message, Request) and not target.closed:
                self._target_failed(message.id, error)
