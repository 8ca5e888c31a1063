"""One side of a control channel: what it asks and what it is asked, matched by request id alone."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TypeAlias

from anywire.errors import AnywireError, DeadlineExceeded, PeerError, RemoteProtocolError, TransportClosed
from anywire.transport.contract import call_back, ignore, loop_here
from anywire.transport.control.channel import Channel
from anywire.wire.control import (
    ControlAnswer,
    ControlCancel,
    ControlFailure,
    ControlRequest,
    OtherLine,
    control_answer,
    control_cancel,
    control_failure,
    control_request,
    decode_control,
    named,
)
from anywire.wire.control_mcp import ACKNOWLEDGED, mcp_answer
from anywire.wire.limits import Limits
from anywire.wire.message import Fault, JsonRpcErrorCode, id_key

__all__ = ("ControlLink", "OnOutcome", "Outcome")

#: What became of a control request of ours.
Outcome: TypeAlias = ControlAnswer | AnywireError

OnOutcome: TypeAlias = Callable[[Outcome], None]


class ControlLink:
    """Speaks over a channel, which it takes over.  Its callbacks are called from the event loop.

    Each request of ours is settled once: by its response, or by the end of what the other side writes.
    """

    def __init__(self, channel: Channel, prefix: str, limits: Limits) -> None:
        self.channel = channel
        #: The other side asks for something.
        self.on_request: Callable[[ControlRequest], None] = ignore
        #: It no longer waits for the request of that raw id.
        self.on_cancel: Callable[[bytes], None] = ignore
        #: A line that is the program's business.
        self.on_other: Callable[[OtherLine], None] = ignore
        #: Something came in that is no line of the protocol, or a part of the channel failed.
        self.on_fault: Callable[[Fault | AnywireError], None] = ignore
        #: The other side writes no more.
        self.on_end: Callable[[], None] = ignore
        #: The channel is closed.
        self.on_close: Callable[[AnywireError | None], None] = ignore
        self._limits = limits
        self._prefix = prefix
        self._last_id = 0
        self._asked: dict[bytes, OnOutcome] = {}
        self._ended = False
        self._told = False  # in this turn of the loop
        self._loop: asyncio.AbstractEventLoop | None = None
        channel.on_line = self._on_line
        channel.callbacks.on_error = self._on_error
        channel.callbacks.on_end = self._on_end
        channel.callbacks.on_close = self._on_close

    def __repr__(self) -> str:
        return f"<ControlLink over {self.channel.name}, {len(self._asked)} asked>"

    async def start(self) -> None:
        """Open the channel.  Raises `ConnectFailed`."""
        self._loop = asyncio.get_running_loop()
        await self.channel.start()

    @property
    def ended(self) -> bool:
        """True when the other side writes no more, so that it answers nothing."""
        return self._ended

    # Out.

    def here(self, name: str) -> asyncio.AbstractEventLoop:
        """Return the event loop.  Raises `LocalProtocolError` where it is not the one that runs."""
        return loop_here(self._loop, name)

    def next_id(self) -> bytes:
        """Return the raw id of a new request."""
        self._last_id += 1
        return b'"%b%d"' % (self._prefix.encode(), self._last_id)

    def ask(self, id: bytes, line: bytes, on_outcome: OnOutcome) -> None:
        """Write a request under an id of `next_id`.  Raises `TransportClosed` where nobody can answer."""
        if self._ended:
            raise TransportClosed(f"{self.channel.name}: the other side has ended, so it cannot answer")
        self.tell(line)
        self._asked[id] = on_outcome

    def tell(self, line: bytes) -> None:
        """Write a line whose response does not matter.  Raises `TransportClosed`, or as `here`.

        The first of a turn of the loop goes out at once, the others of that turn in one write.
        """
        loop = self.here(self.channel.name)
        self.channel.write_line(line, urgent=not self._told)
        if not self._told:
            loop.call_soon(self._next_turn)
            self._told = True

    def _next_turn(self) -> None:
        self._told = False

    async def request(self, subtype: str, members: bytes = b"{}", *, timeout: float) -> bytes | None:
        """Ask for something and return the raw response, None where there is none.

        Raises `PeerError` with the reason of a failure, `DeadlineExceeded`, or `TransportClosed`.
        """
        id, answered = self.next_id(), asyncio.get_running_loop().create_future()

        def settle(outcome: Outcome) -> None:
            if not answered.done():
                answered.set_result(outcome)

        self.ask(id, control_request(id, subtype, members), settle)
        try:
            async with asyncio.timeout(timeout):
                outcome: Outcome = await answered
        except TimeoutError:
            raise DeadlineExceeded(
                f"{self.channel.name}: no answer to {subtype} within {timeout:g} s"
            ) from None
        finally:
            self.cancel(id)
        if isinstance(outcome, AnywireError):
            raise outcome
        return outcome.response

    def forget(self, id: bytes) -> bool:
        """Wait no more for the response to a request of ours; say whether it was awaited."""
        return self._asked.pop(id, None) is not None

    def cancel(self, id: bytes) -> None:
        """As `forget`, and tell the other side."""
        if self.forget(id) and not self.channel.closed:
            self.channel.write_line(control_cancel(id))

    def answer(self, id: bytes, response: bytes | None = None) -> None:
        """Answer a request of the other side; dropped after the end."""
        self._respond(control_answer(id, response))

    def answer_message(self, id: bytes, message: bytes = ACKNOWLEDGED) -> None:
        """Answer an `mcp_message` with a raw message, or that it was taken."""
        self._respond(mcp_answer(id, message))

    def fail(self, id: bytes, reason: str) -> None:
        """Answer a request of the other side with an error."""
        self._respond(control_failure(id, reason))

    def _respond(self, line: bytes) -> None:
        if not self.channel.closed:
            self.channel.write_line(line, urgent=False)

    # In.

    def _on_line(self, line: bytes) -> None:
        found = decode_control(line, self._limits)
        if type(found) is ControlRequest:  # as nearly always: this, or an answer
            self.on_request(found)
            return
        if type(found) is ControlAnswer:
            self._settle(found.id, found)
            return
        match found:
            case ControlFailure():
                self._settle(found.id, PeerError(JsonRpcErrorCode.InternalError, found.error))
            case ControlCancel():
                self.on_cancel(found.id)
            case OtherLine():
                call_back(self.on_other, found)
            case Fault():
                self._take_fault(found)
            case _:
                pass  # a keep-alive

    def _settle(self, id: bytes, outcome: Outcome) -> None:
        on_outcome = self._asked.pop(id, None) or self._asked.pop(id_key(id), None)
        if on_outcome is not None:
            on_outcome(outcome)

    def _on_error(self, error: Fault | AnywireError) -> None:
        self._take_fault(named(error)) if isinstance(error, Fault) else call_back(self.on_fault, error)

    def _take_fault(self, fault: Fault) -> None:
        """What is no line of the protocol: answered where it was a request, else reported."""
        if fault.id is not None and fault.is_reply:
            self._settle(fault.id, RemoteProtocolError(f"{self.channel.name}: {fault.reason}"))
        elif fault.id is not None:
            self.fail(fault.id, fault.reason)
        call_back(self.on_fault, fault)

    def _on_end(self) -> None:
        self._end(TransportClosed(f"{self.channel.name}: the other side has ended"))
        self.on_end()

    def _on_close(self, error: AnywireError | None) -> None:
        self._end(error or TransportClosed(f"{self.channel.name} is closed"))
        self.on_close(error)

    def _end(self, error: AnywireError) -> None:
        self._ended = True
        asked, self._asked = self._asked, {}
        for on_outcome in asked.values():
            on_outcome(error)
