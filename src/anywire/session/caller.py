"""The requests that one side of a conversation makes: sent, awaited, settled exactly once.

A `Peer` knows which requests are in flight; a `Caller` gives each a future, a clock and a callback for
its progress.  A client has one for its calls, a server for what it asks its client.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from copy import copy
from typing import Any, TypeAlias

import msgspec

from anywire.errors import AnywireError, DeadlineExceeded, TransportError
from anywire.session.holding import weakly
from anywire.transport.contract import Transport, Troubled, call_back
from anywire.wire.codec import decode_value, encode_value
from anywire.wire.limits import Limits
from anywire.wire.message import Message
from anywire.wire.peer import Peer, ProgressReceived, Settled

__all__ = ("Caller", "OnProgress")

#: Gets `progress`, `total` (or None) and `message` (or None) of each report.
OnProgress: TypeAlias = Callable[[float, float | None, str | None], None]


class _ProgressParams(msgspec.Struct):
    progress: float = 0.0
    total: float | None = None
    message: str | None = None


class Caller:
    """Makes requests over a transport.  Its owner hands it what the peer says of them."""

    def __init__(self, transport: Transport, peer: Peer, limits: Limits) -> None:
        self._transport = transport
        self._peer = peer
        self._limits = limits
        self._loop: asyncio.AbstractEventLoop | None = None
        self._waiting: dict[bytes, asyncio.Future[bytes]] = {}
        self._progress: dict[bytes, OnProgress] = {}
        self._timer: asyncio.TimerHandle | None = None
        self._timer_at = 0.0
        self._holders = 0

    async def request(
        self,
        method: str,
        params: bytes | Mapping[str, Any] | None = None,
        *,
        timeout: float | None = None,
        on_progress: OnProgress | None = None,
        related: bytes | None = None,
    ) -> bytes:
        """Send a request and return its raw result (JSON, UTF-8).

        `timeout` is in seconds without answer or progress (None: `Limits.request_seconds`); `related`
        is the raw id of the peer's request on whose behalf it is made.  When the caller is cancelled or
        the time is over, the peer is told to stop.  Raises the peer's `PeerError`, `DeadlineExceeded`,
        or the error with which the wire ended.
        """
        loop = self._loop
        if loop is None:
            loop = self._loop = asyncio.get_running_loop()
        now, total = loop.time(), self._limits.request_total_seconds
        if timeout is None:
            timeout = self._limits.request_seconds
        elif timeout > total:
            total = timeout
        try:
            request = self._peer.request(
                method,
                params if params is None or type(params) is bytes else encode_value(params),
                now,
                timeout=timeout,
                total=total,
                progress=method != "initialize",
            )
        except AnywireError:
            await asyncio.sleep(0)  # who tries again and again must not keep the loop from all others
            raise
        future: asyncio.Future[bytes] = loop.create_future()
        self._waiting[request.id] = future
        if on_progress is not None:
            self._progress[request.id] = on_progress
        try:
            # Not `send`: waiting for room would be waiting without a clock, and the answer is waited for.
            self._transport.post(request, related)
            if self._timer is None or self._timer_at > now + min(timeout, total):
                self._watch_the_clock()
            return await future
        except TransportError as error:
            self._give_up(request.id, error)
            await asyncio.sleep(0)
            raise
        except BaseException as error:
            self._give_up(request.id, error)
            raise
        finally:
            del self._waiting[request.id]
            if on_progress is not None:
                del self._progress[request.id]
            del future  # or its error would hold this frame, and the frame it

    def tell(self, message: Message, related: bytes | None = None) -> None:
        """Send something that nobody waits for; a wire that takes nothing any more is told of elsewhere."""
        try:
            self._transport.post(message, related)
        except TransportError:
            pass

    def settle(self, settled: Settled) -> None:
        """A request has come to its end."""
        outcome, future = settled.outcome, self._waiting.get(settled.key)
        if type(outcome) is bytes:
            if future is not None and not future.done():
                future.set_result(outcome)
            return
        assert isinstance(outcome, AnywireError)
        if isinstance(outcome, DeadlineExceeded) and isinstance(self._transport, Troubled):
            why = self._transport.trouble(settled.key)  # before the wire is told to forget the request
            outcome = DeadlineExceeded(f"{outcome}: {why}") if why else outcome
        if settled.send is not None:
            self.tell(settled.send)
        if future is not None and not future.done():
            future.set_exception(_own(outcome))

    def report(self, event: ProgressReceived) -> None:
        """The peer has made progress on a request."""
        callback = self._progress.get(event.key)
        if callback is not None:
            try:
                params = decode_value(event.params, _ProgressParams)
            except msgspec.MsgspecError:
                return
            call_back(callback, params.progress, params.total, params.message)

    def hold(self) -> None:
        """Let the clocks stand still: the peer may be waiting for an answer of this side's."""
        self._holders += 1
        if self._holders == 1:
            self._peer.pause(self._now())

    def release(self) -> None:
        """Let the clocks go on, when all who held them have released them."""
        self._holders -= 1
        if self._holders == 0:
            self._peer.resume(self._now())
            self._watch_the_clock()

    def end(self, error: AnywireError) -> None:
        """The peer sends no more, for that reason: nothing that waits will be answered."""
        self.stop()
        for settled in self._peer.end(error):
            self.settle(settled)

    def close(self, error: AnywireError) -> None:
        """The wire has ended for that reason."""
        self.stop()
        for settled in self._peer.close(error):
            self.settle(settled)

    def stop(self) -> None:
        """Watch the clock no more."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _give_up(self, id: bytes, error: BaseException) -> None:
        cancelled = self._peer.cancel(id, "cancelled" if isinstance(error, asyncio.CancelledError) else "")
        if cancelled is not None and cancelled.send is not None:
            self.tell(cancelled.send)

    def _now(self) -> float:
        return asyncio.get_running_loop().time()

    def _watch_the_clock(self) -> None:
        deadline = self._peer.deadline()
        if deadline is None or self._loop is None or (self._timer is not None and self._timer_at <= deadline):
            return
        if self._timer is not None:
            self._timer.cancel()
        self._timer_at = deadline
        self._timer = self._loop.call_at(deadline, weakly(self._tick))

    def _tick(self) -> None:
        self._timer = None
        for settled in self._peer.tick(self._now()):
            self.settle(settled)
        self._watch_the_clock()


def _own(error: AnywireError) -> AnywireError:
    """Return a copy, for the one task that raises it: each raise adds to what is raised."""
    own = copy(error)
    own.__cause__ = error.__cause__
    return own
