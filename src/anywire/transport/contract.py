"""What a transport is, and what accepts one.

Everything above (sessions, bridges) speaks to this contract and to no wire in particular;
`anywire.testing.check_transport` proves that an implementation keeps it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Protocol, TypeAlias, runtime_checkable

from anywire.errors import AnywireError, LocalProtocolError, TransportClosed
from anywire.wire.message import Batch, Fault, Message

__all__ = (
    "Accept",
    "Callbacks",
    "Detachable",
    "Filling",
    "Holding",
    "Listener",
    "Transport",
    "Troubled",
    "call_back",
    "ignore",
    "loop_here",
    "refuse_when_closed",
    "report_failure",
)


def ignore(*_: object) -> None:
    """Do nothing: what a callback is before somebody listens."""


class Callbacks:
    """What a transport calls, from the event loop, one call at a time and in order of arrival.

    They are set before `start()` and do not block.  An exception that one raises is a fault of the
    program and goes to the loop's exception handler; it does not stop the transport.
    """

    __slots__ = ("on_close", "on_end", "on_error", "on_failed", "on_message", "on_reopened")

    def __init__(self) -> None:
        #: A message, or a batch of them, has come in.
        self.on_message: Callable[[Message | Batch], None] = ignore
        #: Something came in that is no message (a `Fault`), or a part of the wire failed.
        self.on_error: Callable[[Fault | AnywireError], None] = ignore
        #: The request of that raw id was sent in vain: it cannot have an answer any more.
        self.on_failed: Callable[[bytes, AnywireError], None] = ignore
        #: The peer had lost the conversation, and the handshake was done again: nothing that was set or
        #: asked in it before is known to the peer any more.  What is sent from now on belongs to the new one.
        self.on_reopened: Callable[[], None] = ignore
        #: The peer will send no more; what is owed to it can still be sent.  At most once.
        self.on_end: Callable[[], None] = ignore
        #: The transport is closed; the error says why when it was not in order.  Exactly once.
        self.on_close: Callable[[AnywireError | None], None] = ignore


class Transport(Protocol):
    """One conversation's way to its peer and back."""

    @property
    def callbacks(self) -> Callbacks:
        """What it calls; others may stand in their place for a while."""
        ...

    @callbacks.setter
    def callbacks(self, callbacks: Callbacks) -> None: ...

    @property
    def closed(self) -> bool:
        """True from the moment `close()` was called or the wire ended."""
        ...

    async def start(self) -> None:
        """Open the wire.  Nothing is received before; called once.  Raises `ConnectFailed`."""
        ...

    async def send(self, message: Message | Batch, related: bytes | None = None) -> None:
        """Send a message; return when there is room for the next.

        `related` is the raw id of the peer's request on whose behalf it is sent; a pipe ignores it,
        a wire with several streams picks the stream by it.  Messages go out in the order of the
        calls.  Raises `TransportClosed` after the end.
        """
        ...

    def post(self, message: Message | Batch, related: bytes | None = None) -> None:
        """Send a message without waiting for room: the path of replies.  Otherwise as `send`."""
        ...

    async def close(self) -> None:
        """Write what was sent, end the wire, free everything.

        Idempotent, callable from any task, bounded in time; returns when `on_close` has fired.
        """
        ...


@runtime_checkable
class Detachable(Protocol):
    """A transport on which each request of the peer's keeps a connection waiting for its answer."""

    def detach(self, related: bytes) -> None:
        """Let go of the connection that waits for that answer; the peer comes back for it by itself.

        `related` is the raw id of the request.  Nothing happens where the peer could not.
        """
        ...


@runtime_checkable
class Filling(Protocol):
    """A transport that tells when too much waits to be sent on it, and when there is room again."""

    on_full: Callable[[], None]
    on_room: Callable[[], None]


@runtime_checkable
class Holding(Protocol):
    """A transport that can stop receiving."""

    def hold_reading(self, reason: str) -> None:
        """Stop, for one of several reasons that may hold at once."""
        ...

    def release_reading(self, reason: str) -> None:
        """That reason holds no longer."""
        ...


@runtime_checkable
class Troubled(Protocol):
    """A transport that may know why a reply does not come."""

    def trouble(self, key: bytes) -> str:
        """Say what keeps the reply to our request of that key from coming; empty where nothing is known."""
        ...


#: What takes a new conversation from a listener.
Accept: TypeAlias = Callable[[Transport], None]


class Life(Protocol):
    """What must be set up while a listener serves."""

    @property
    def entered(self) -> bool:
        """Whether it is."""
        ...

    async def enter(self) -> None:
        """Set it up, unless it is.  Raises what goes wrong; then it may be tried again."""
        ...

    async def leave(self) -> None:
        """End what was accepted and take down what was set up.  Idempotent; raises what goes wrong."""
        ...


class Listener(Protocol):
    """Accepts conversations: a pipe has one, an HTTP server many."""

    async def serve(self, accept: Accept) -> None:
        """Hand each new conversation's transport (not started) to `accept`, until closed."""
        ...

    async def close(self) -> None:
        """Accept no more and end what was accepted.  Idempotent."""
        ...


def refuse_when_closed(closed: bool, name: str, reason: AnywireError | None = None) -> None:
    """Raise `TransportClosed` for a send after the end, with the reason where it was not in order."""
    if closed:
        raise TransportClosed(f"{name} is closed" if reason is None else str(reason))


def loop_here(own: asyncio.AbstractEventLoop | None, name: str) -> asyncio.AbstractEventLoop:
    """Return the running event loop.

    Raises `LocalProtocolError` where none runs, as in another thread, or it is not the transport's own
    (None: it has none yet).
    """
    try:
        running = asyncio.get_running_loop()
    except RuntimeError:
        running = None
    if running is None or (own is not None and own is not running and not own.is_closed()):
        raise LocalProtocolError(
            f"{name} is to be used on its event loop; from another thread: loop.call_soon_threadsafe"
        )
    return running


def call_back(callback: Callable[..., None], *arguments: object) -> None:
    """Call a callback; what it raises goes to the loop's exception handler and stops nothing."""
    try:
        callback(*arguments)
    except Exception as error:  # noqa: BLE001 a callback's fault must not stop the wire
        report_failure(callback, error)


def report_failure(callback: Callable[..., None], error: Exception) -> None:
    """Tell the loop's exception handler what a callback raised."""
    context = {"message": f"the callback {callback!r} of a transport failed", "exception": error}
    asyncio.get_running_loop().call_exception_handler(context)
