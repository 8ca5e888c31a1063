"""A recording as a server: each client that comes is given one of its conversations."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Final, TypeAlias

from anywire.errors import AnywireError
from anywire.record.improvising import Improviser
from anywire.record.playback import Play, Playback
from anywire.record.score import Score, Step
from anywire.transport.contract import Transport
from anywire.transport.http_call import HttpCallTransport
from anywire.wire.limits import DEFAULT_LIMITS, Limits
from anywire.wire.message import Batch, ErrorResponse, Fault, Message, Notification, Request

__all__ = ("Player",)

# A client that says nothing for so long waits for a reply.
_STUCK_SECONDS: Final = 1.0

_Playing: TypeAlias = Playback | Improviser


class Player:
    """Plays conversations of a recording.  Whoever makes it closes it.

    Strictly, a request must be the recorded one, and a client gets the first conversation that begins with
    its first request and that no other client has had.  `lenient`: any request gets what the nearest one
    got.  `timing`: not sooner than in the recording.  `report` gets a sentence for each refusal, which
    `refused` counts.
    """

    def __init__(
        self,
        scores: Sequence[Score],
        report: Callable[[str], None],
        *,
        lenient: bool = False,
        timing: bool = False,
        limits: Limits = DEFAULT_LIMITS,
    ) -> None:
        self._scores = scores
        self._report = report
        self._improviser = Improviser(scores) if lenient else None
        self.timing = timing
        self.limits = limits
        self._had: set[int] = set()
        self._calls: _Playing | None = None
        self._lines: dict[_Line, asyncio.Task[None]] = {}
        #: How many requests were not the recorded ones.
        self.refused = 0

    def accept(self, transport: Transport) -> None:
        """Play to a client in the background; what a `Listener` calls."""
        line = _Line(self, transport)
        task = asyncio.get_running_loop().create_task(line.run())
        self._lines[line] = task
        task.add_done_callback(lambda _: self._lines.pop(line, None))

    async def play(self, transport: Transport) -> None:
        """Play to one client until it leaves."""
        await _Line(self, transport).run()

    async def close(self) -> None:
        """Leave all clients."""
        tasks = list(self._lines.values())
        for line in list(self._lines):
            await line.close()
        if tasks:
            await asyncio.wait(tasks)

    def playing_for(self, request: Request, transport: Transport) -> _Playing:
        """Return what a client takes part in that begins with a request."""
        if self._improviser is not None:
            return self._improviser
        if not isinstance(transport, HttpCallTransport):
            return self._choose(request)
        # Requests that stand for themselves, each on a transport of its own, are one conversation.
        if self._calls is None or (isinstance(self._calls, Playback) and self._calls.is_asked):
            self._calls = self._choose(request)
        return self._calls

    def _choose(self, request: Request) -> Playback:
        if len(self._had) == len(self._scores):
            self._had.clear()  # from the beginning again
        free = [index for index in range(len(self._scores)) if index not in self._had]
        fitting = (index for index in free if Playback(self._scores[index]).begins_with(request))
        index = next(fitting, free[0])
        self._had.add(index)
        return Playback(self._scores[index])

    def refuse(self, reply: ErrorResponse) -> None:
        """Tell of a request that is not the recorded one."""
        self.refused += 1
        self.tell(reply.detail().message)

    def tell(self, sentence: str) -> None:
        """Tell something of the playing, in which the client and the recording may write what they like."""
        self._report(sentence)


class _Line:
    """One transport to a client."""

    def __init__(self, player: Player, transport: Transport) -> None:
        self._player = player
        self._transport = transport
        self._playing: _Playing | None = None
        self._due: set[asyncio.TimerHandle] = set()
        self._bound: asyncio.TimerHandle | None = None
        self._stuck: asyncio.TimerHandle | None = None
        self._last = 0.0
        self._ending = False
        self._over = asyncio.Event()
        callbacks = transport.callbacks
        callbacks.on_message = self._receive
        callbacks.on_error = self._receive_fault
        callbacks.on_end = self._end
        callbacks.on_close = self._close

    async def run(self) -> None:
        """Play until the client has left."""
        try:
            await self._transport.start()
            await self._over.wait()
        finally:
            await self.close()

    async def close(self) -> None:
        """Leave the client."""
        for handle in self._due:
            handle.cancel()
        self._due.clear()
        for handle in (self._bound, self._stuck):
            if handle is not None:
                handle.cancel()
        self._over.set()
        await self._transport.close()

    # In.

    def _receive(self, message: Message | Batch) -> None:
        now = asyncio.get_running_loop().time()
        items = message.items if isinstance(message, Batch) else (message,)
        self._play([play for item in items for play in self._take(item, now)])
        self._look_for_what_is_stuck()

    def _look_for_what_is_stuck(self) -> None:
        if self._stuck is not None:
            self._stuck.cancel()
            self._stuck = None
        playing = self._playing
        if isinstance(playing, Playback) and (step := playing.stuck()) is not None:
            loop = asyncio.get_running_loop()
            self._stuck = loop.call_later(_STUCK_SECONDS, self._release, playing, step)

    def _release(self, playing: Playback, step: Step) -> None:
        """Go on where the client asks one after the other what overlapped in the recording."""
        self._stuck = None
        self._player.tell(
            f"the reply in line {step.line} of the recording came after the server had asked something; it "
            "comes now, because the client does not make the requests before that"
        )
        self._play(playing.release(step, asyncio.get_running_loop().time()))
        self._look_for_what_is_stuck()

    def _take(self, item: Message | Fault, now: float) -> list[Play]:
        """Take one thing; return what is due because of it."""
        match item:
            case Fault():
                self._receive_fault(item)
                return []
            case Request():
                return self._ask(item, now)
            case Notification():
                return [] if self._playing is None else self._playing.hear(item, self, now)
            case _:
                return [] if self._playing is None else self._playing.answer(item, self, now)

    def _ask(self, request: Request, now: float) -> list[Play]:
        if self._playing is None:
            self._playing = self._player.playing_for(request, self._transport)
        answer = self._playing.ask(request, self, now)
        if isinstance(answer, ErrorResponse):
            self._player.refuse(answer)
            return [Play(answer, self, request.id, now)]
        return answer

    def _receive_fault(self, error: Fault | AnywireError) -> None:
        reply = error.answer() if isinstance(error, Fault) else None
        if reply is not None:
            self.send(reply, None)

    # Out.

    def _play(self, plays: list[Play]) -> None:
        """Send what is due, that of one batch together, each where it belongs."""
        batch: list[Play] = []
        for play in (*plays, None):
            if batch and (play is None or play.group != batch[0].group or not play.group):
                self._at(batch)
                batch = []
            if play is not None:
                batch.append(play)

    def _at(self, plays: list[Play]) -> None:
        first = plays[0]
        line = first.where if isinstance(first.where, _Line) else self
        message = first.message if len(plays) == 1 else Batch(tuple(play.message for play in plays))
        at = first.at if self._player.timing else asyncio.get_running_loop().time() + first.pause
        line.send_at(at, message, first.related)

    def send_at(self, at: float, message: Message | Batch, related: bytes | None) -> None:
        """Send at a time of the loop, and after whatever is to be sent before."""
        loop = asyncio.get_running_loop()
        if at <= loop.time() and not self._due:
            self.send(message, related)
            return
        at = self._last = max(at, self._last + 1e-6)

        def send() -> None:
            self._due.discard(handle)
            self.send(message, related)
            if self._ending and not self._due:
                self._over.set()

        handle = loop.call_at(at, send)
        self._due.add(handle)

    def send(self, message: Message | Batch, related: bytes | None) -> None:
        """Send, unless the client has gone."""
        if not self._transport.closed:
            self._transport.post(message, related)

    # The end.

    def _end(self) -> None:
        """The client has said all it wanted; what it waits for still comes, within bounds."""
        self._ending = True
        if not self._due:
            self._over.set()
        else:
            loop = asyncio.get_running_loop()
            self._bound = loop.call_later(self._player.limits.request_seconds, self._over.set)

    def _close(self, error: AnywireError | None) -> None:
        self._over.set()
