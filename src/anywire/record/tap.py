"""A transport that writes down what goes through another."""

from __future__ import annotations

from anywire.errors import AnywireError
from anywire.protocol.methods import Direction
from anywire.record.entry import Event
from anywire.record.exchange import other
from anywire.record.recorder import SessionRecorder
from anywire.transport.contract import Transport
from anywire.transport.layer import Layer
from anywire.wire.message import Batch, Fault, Message

__all__ = ("Tap",)


class Tap(Layer):
    """Passes everything on to another transport and from it, and records it.

    `sends` is the direction of what is sent: `Direction.TO_SERVER` at the calling end.  Whatever becomes of
    the recording, the wire does not notice.
    """

    def __init__(self, inner: Transport, record: SessionRecorder, sends: Direction) -> None:
        super().__init__(inner)
        self._record = record
        self._sends = sends
        self._hears = other(sends)
        self._closing = False
        self._has_sessions = hasattr(inner, "session_id")
        self._session_id: str | None = None

    async def start(self) -> None:
        """Open the wire."""
        self._record.happened(Event.OPENED)
        try:
            await self._inner.start()
        except AnywireError as error:
            self._record.happened(Event.REFUSED, error)
            raise

    # Messages.

    def post(self, message: Message | Batch, related: bytes | None = None) -> None:
        """Send without waiting for room."""
        self._sent(message)
        try:
            self._inner.post(message, related)
        except AnywireError as error:
            self._failed(error)
            raise

    async def send(self, message: Message | Batch, related: bytes | None = None) -> None:
        """Send, and wait until there is room for the next message."""
        self._sent(message)
        try:
            await self._inner.send(message, related)
        except AnywireError as error:
            self._failed(error)
            raise

    def _failed(self, error: AnywireError) -> None:
        if not self._closing:  # who says something after the end has no trouble with the wire
            self._record.happened(Event.TROUBLE, error)

    def _sent(self, message: Message | Batch) -> None:
        if not self._inner.closed:
            self._know_session()
            self._record.message(self._sends, message)

    def _know_session(self) -> None:
        """Let the id of the session be left out: who has it can take part."""
        if self._has_sessions:
            id = self._inner_session()
            if id is not None and id != self._session_id:
                self._record.know(id)
            self._session_id = id

    def _inner_session(self) -> str | None:
        id = getattr(self._inner, "session_id", None)
        return id if isinstance(id, str) else None

    def _tell(self, message: Message | Batch) -> None:
        self._know_session()
        self._record.message(self._hears, message)
        super()._tell(message)

    def _tell_error(self, error: Fault | AnywireError) -> None:
        if isinstance(error, Fault):
            self._record.fault(self._hears, error)
        else:
            self._record.happened(Event.TROUBLE, error)
        super()._tell_error(error)

    def _tell_failed(self, id: bytes, error: AnywireError) -> None:
        self._record.failed(id, error)
        super()._tell_failed(id, error)

    def _tell_reopened(self) -> None:
        self._record.happened(Event.REOPENED)
        super()._tell_reopened()

    # The end.

    def _tell_end(self) -> None:
        self._record.happened(Event.ENDED, direction=self._hears)
        super()._tell_end()

    def _tell_close(self, error: AnywireError | None) -> None:
        by_peer = not self._closing
        direction = self._hears if by_peer else None
        self._record.happened(Event.CLOSED, error or "", direction=direction, by_peer=by_peer)
        super()._tell_close(error)

    async def close(self) -> None:
        """End the wire."""
        self._closing = self._closing or not self._inner.closed
        await self._inner.close()
