"""One conversation of a client: how it opens and closes, and where each message of the server's goes."""

from __future__ import annotations

import asyncio
import logging
import warnings
from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from anywire._version import __version__
from anywire.client.answering import Answering
from anywire.client.discovery import Discovered, EraChoice
from anywire.client.greeting import NOWHERE, Greeting, Place
from anywire.client.listening import Listeners
from anywire.client.noise import Noise
from anywire.client.stateless import StatelessCaller
from anywire.client.stateless_listening import ACKNOWLEDGED, StatelessSubscriptions
from anywire.client.subscriptions import Subscriptions
from anywire.errors import (
    AnywireError,
    ConnectFailed,
    DeadlineExceeded,
    ProcessExited,
    SessionError,
    TransportBroken,
    TransportClosed,
)
from anywire.protocol.legacy import ClientConversation
from anywire.protocol.types.initialize import ClientCapabilities, Implementation, InitializeResult
from anywire.session.caller import Caller, OnProgress
from anywire.session.holding import let_go, weakly
from anywire.transport.contract import Transport, call_back
from anywire.wire.codec import decode_value, encode_value
from anywire.wire.limits import DEFAULT_LIMITS, Limits
from anywire.wire.message import Batch, Fault, Message, Notification, Request, Response, id_key
from anywire.wire.peer import CancelReceived, Event, Peer, ProgressReceived, Refused, Settled, Unmatched

if TYPE_CHECKING:
    from anywire.client.answers import Answers
    from anywire.client.eliciting import OnElicit
    from anywire.client.roots import RootsSource
    from anywire.client.sampling import OnSample

__all__ = ("ClientSession",)

_log = logging.getLogger("anywire.client")

S = TypeVar("S", bound="ClientSession")


class ClientSession:
    """What a `Client` is beneath its typed calls: requests out and answers in, and the other way round."""

    def __init__(
        self,
        transport: Transport,
        *,
        info: Implementation | None = None,
        limits: Limits = DEFAULT_LIMITS,
        on_log: Callable[[dict[str, Any]], None] | None = None,
        on_notification: Callable[[Notification], None] | None = None,
        on_sample: OnSample | None = None,
        on_elicit: OnElicit | None = None,
        roots: RootsSource | None = None,
        capabilities: ClientCapabilities | None = None,
        era: EraChoice = "auto",
        cache: bool = True,
        place: Place = NOWHERE,
    ) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        self._closing = False
        self._place = place
        self._limits = limits
        self._era: EraChoice = era
        self._cache = cache
        self._answers = _answers(on_sample, on_elicit, roots, capabilities, limits)
        declared = b"{}" if self._answers is None else encode_value(self._answers.capabilities)
        self._conversation = ClientConversation(info or Implementation("anywire", __version__), declared)
        self._stateless: StatelessCaller | None = None
        self._listeners = Listeners(limits.listen_events)
        self._on_log = on_log
        self._on_notification = on_notification
        self._wire(transport)

    def _wire(self, transport: Transport) -> None:
        """Speak over a transport."""
        self._transport = transport
        #: What the server is called in errors and logs.
        self.name: str = getattr(transport, "name", "the server")
        self._peer = Peer(self._limits)
        self._caller = Caller(transport, self._peer, self._limits)
        self._answering = Answering(self.name, self._caller, self._peer, self._limits.input_seconds)
        self._subscriptions: Subscriptions | StatelessSubscriptions = Subscriptions(
            self.name, self._caller.request, self._limits
        )
        # Only a child has a stderr where the noise belongs.
        self._noise = Noise(self.name, "; logs belong on stderr" if hasattr(transport, "child") else "")
        callbacks = transport.callbacks
        callbacks.on_message = weakly(self._on_message)
        callbacks.on_error = weakly(self._on_error)
        callbacks.on_failed = weakly(self._on_failed)
        callbacks.on_reopened = weakly(self._on_reopened)
        callbacks.on_end = weakly(self._on_end)
        callbacks.on_close = weakly(self._on_close)

    def __repr__(self) -> str:
        kind = type(self).__name__
        return f"<{kind} of {self.name}, {self._conversation.revision or 'not open'}, {self._peer!r}>"

    def __del__(self) -> None:
        if self._loop is not None and not self._transport.closed:
            warnings.warn(f"{self!r} was dropped without being closed", ResourceWarning, 1, self)
            # Not a method of its own: nothing may hold it any more.
            stop = partial(_stop, self._answering, self._subscriptions, self._listeners, None)
            let_go(self._loop, self._transport, stop)

    async def __aenter__(self: S) -> S:
        await self.open()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    # Opening and closing.

    async def open(self) -> None:
        """Start the wire and greet the server; on failure everything that was started is ended again.

        Raises `ConnectFailed` with the reason, `ProcessExited` for a child that left, `PeerError` when
        the server refused.  A client is opened once.
        """
        if self._loop is not None or self._transport.closed:
            raise SessionError("a client is opened once; make another with connect()")
        self._loop = asyncio.get_running_loop()
        try:
            await self._transport.start()
            self._subscriptions.begin()
            await self._greet()
        except DeadlineExceeded as error:
            await self.close()
            words = "" if self._place.explain is None else self._place.explain(self._transport)
            reason = f": {words}" if words else ""
            raise ConnectFailed(f"{self.name}: {error}{reason}") from error
        except BaseException:
            await self.close()
            raise

    async def _greet(self) -> None:
        greeting = self._greeting()
        try:
            found = await greeting.greet()
        except (ProcessExited, TransportClosed, TransportBroken):
            if self._place.again is None or self._era != "auto" or not greeting.asking or self._closing:
                raise
            await self._start_again(self._place.again())
            found = await self._greeting().shake_hands(asked=True)
        if found is not None:
            await self._speak_stateless(found)

    def _greeting(self) -> Greeting:
        return Greeting(
            self.name,
            self._transport,
            self._caller,
            self._conversation,
            era=self._era,
            key=self._place.key,
            limits=self._limits,
        )

    async def _start_again(self, transport: Transport) -> None:
        """The server did not survive the question: start it once more, to be greeted otherwise."""
        await self._transport.close()
        if self._closing:
            raise TransportClosed(f"{self.name} was closed while it opened")
        self._wire(transport)
        await transport.start()

    async def _speak_stateless(self, found: Discovered) -> None:
        self._conversation.discovered(found.revision, found.server)
        stateless = StatelessCaller(
            self.name,
            self._caller,
            self._answers,
            self._conversation,
            found.revision,
            self._limits,
            keep=self._cache,
        )
        subscriptions = StatelessSubscriptions(self.name, stateless, self._limits)
        self._stateless, self._subscriptions = stateless, subscriptions
        if self._on_log is not None:
            stateless.log_level = "info"
        if self._on_notification is not None:
            await subscriptions.listen_always()

    async def close(self) -> None:
        """End the conversation and the wire; pending requests fail, callbacks are cancelled.  Idempotent."""
        if self._loop is not None and not self._transport.closed:
            self._check_loop()
        self._closing = True
        _stop(self._answering, self._subscriptions, self._listeners, None)
        try:
            await self._answering.wait(self._limits.shutdown_seconds / 2)
        finally:
            self._caller.stop()
            await self._transport.close()

    @property
    def server(self) -> InitializeResult:
        """What the server said of itself.  Raises `SessionError` before `open()`."""
        if self._conversation.server is None:
            raise SessionError("the client has not been opened")
        return self._conversation.server

    @property
    def revision(self) -> str | None:
        """The revision agreed on, None before `open()`."""
        return self._conversation.revision

    # Out.

    async def request(
        self,
        method: str,
        params: bytes | Mapping[str, Any] | None = None,
        *,
        timeout: float | None = None,
        on_progress: OnProgress | None = None,
    ) -> bytes:
        """Send any request and return its raw result (JSON, UTF-8).

        When the caller is cancelled or the time is over, the server is told to stop.  Time in which a
        request of the server's is being answered does not count.
        """
        self._check_loop()
        caller = self._stateless or self._caller
        return await caller.request(method, params, timeout=timeout, on_progress=on_progress)

    async def notify(self, method: str, params: bytes | Mapping[str, Any] | None = None) -> None:
        """Send any notification."""
        self._check_loop()
        raw = encode_value(params) if isinstance(params, Mapping) else params
        await self._transport.send(Notification(method, raw))

    def _check_loop(self) -> None:
        if self._loop is None:
            raise SessionError("the client has not been opened")
        if self._loop is not asyncio.get_running_loop():
            raise SessionError("the client was opened in another event loop, and works in that one only")

    # In.

    def _on_message(self, message: Message | Batch) -> None:
        assert self._loop is not None
        if type(message) is Response:  # as nearly always
            event = self._peer.receive_reply(message)
            if type(event) is Settled:
                self._caller.settle(event)
            else:
                self._handle(event)
            return
        for item in message.items if isinstance(message, Batch) else (message,):
            if isinstance(item, Fault):
                self._on_error(item)
            else:
                self._handle(self._peer.receive(item, self._loop.time()))

    def _handle(self, event: Event) -> None:
        if type(event) is Settled:
            self._caller.settle(event)
            return
        match event:
            case ProgressReceived():
                self._caller.report(event)
            case Notification():
                self._notified(event)
            case Request():
                self._asked(event)
            case CancelReceived():
                self._answering.cancel(event.key, event.reason)
            case Refused():
                self._caller.tell(event.reply)
            case Unmatched():
                _log.info("%s: a reply that answers nothing: %s", self.name, event.message.frame[:200])
            case _:
                pass

    def _notified(self, message: Notification) -> None:
        if message.method == "notifications/message" and self._on_log is not None:
            try:
                params = decode_value(message.params or b"{}", dict[str, Any])
            except msgspec.MsgspecError:
                _log.info("%s: a log message that cannot be read: %s", self.name, message.frame[:200])
            else:
                call_back(self._on_log, params)
        if self._on_notification is not None:
            call_back(self._on_notification, message)
        if self._stateless is not None and self._stateless.kept is not None:
            self._stateless.kept.hear(message)
        if isinstance(self._subscriptions, StatelessSubscriptions) and message.method == ACKNOWLEDGED:
            self._subscriptions.hear(message)
            return
        self._listeners.hear(message)

    def _asked(self, request: Request) -> None:
        """Answer a request of the server's: `ping` always, else what the program has a callback for."""
        if self._stateless is not None:
            self._refuse(request, "servers send no requests in this revision")
            return
        if request.method == "initialize":
            return  # servers do not initialize: it is our own request, echoed, and an answer would be too
        if request.method == "ping":
            if self._peer.respond(request.id):
                self._caller.tell(Response(request.id, b"{}"), request.id)
            return
        self._answering.begin(request, self._answers, self._conversation.revision)

    def _refuse(self, request: Request, reason: str) -> None:
        if self._peer.respond(request.id):
            _log.info("%s: %s: %s", self.name, request.method, reason)

    def _on_error(self, error: Fault | AnywireError) -> None:
        if not isinstance(error, Fault):
            _log.warning("%s: %s", self.name, error)
            return
        settled = self._peer.receive_fault(error)
        if settled is not None:
            self._caller.settle(settled)
        else:
            self._noise.hear(error)

    def _on_failed(self, id: bytes, error: AnywireError) -> None:
        settled = self._peer.fail(id_key(id), error)
        if settled is not None:
            self._caller.settle(settled)

    def _on_reopened(self) -> None:
        """The server had lost the conversation: what it asked is void, what it was told is told again."""
        self._answering.forget()
        self._subscriptions.restore()

    def _on_end(self) -> None:
        """The server sends no more: nothing that waits will be answered."""
        self._on_close(TransportClosed(f"{self.name} closed the connection"))

    def _on_close(self, error: AnywireError | None) -> None:
        self._noise.end()
        _stop(self._answering, self._subscriptions, self._listeners, error)
        self._caller.close(error or TransportClosed(f"the connection to {self.name} is closed"))


def _answers(
    on_sample: OnSample | None,
    on_elicit: OnElicit | None,
    roots: RootsSource | None,
    capabilities: ClientCapabilities | None,
    limits: Limits,
) -> Answers | None:
    """Return what can be asked; None, and nothing is loaded for it, where there is nothing."""
    if on_sample is None and on_elicit is None and roots is None and capabilities is None:
        return None
    from anywire.client.answers import Answers

    return Answers(on_sample, on_elicit, roots, capabilities, limits)


def _stop(
    answering: Answering,
    subscriptions: Subscriptions | StatelessSubscriptions,
    listeners: Listeners,
    error: AnywireError | None,
) -> None:
    """End what runs beside the requests of a conversation that is over."""
    answering.stop()
    subscriptions.stop()
    listeners.end(error)
