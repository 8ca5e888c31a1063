"""Playing a recording to a client that asks what it likes: each request gets what the nearest one got.

Nearest is, of the recorded requests of that method and name, the one whose params differ least; of those
that differ alike, the one that was played least often.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Final

from anywire.record.comparing import differences_of_params
from anywire.record.exchange import subject_of
from anywire.record.playback import Play, Playback, named, presence
from anywire.record.score import Score, Step
from anywire.wire.message import (
    ErrorResponse,
    JsonRpcErrorCode,
    Notification,
    Request,
    Response,
    error_reply,
    id_key,
)

__all__ = ("Improviser",)

# So many recorded requests are compared with what a client asks, and so many places in each.
_MOST_COMPARED: Final = 200
_MOST_DIFFERENCES: Final = 100
# So many parts that are being played may wait for what the client says.
_MOST_PLAYING: Final = 1_000


class Improviser:
    """Takes what a client says, gives what is due; see `Playback`, which strictly does the same."""

    def __init__(self, scores: Iterable[Score]) -> None:
        self._asked: dict[tuple[str, str], list[tuple[Score, Step]]] = {}
        self._played: dict[int, int] = {}
        self._playing: dict[int, tuple[Hashable, Playback]] = {}
        self._count = 0
        self._methods: set[str] = set()
        for score in scores:
            for index in score.requests:
                step = score.steps[index]
                self._asked.setdefault((step.method, step.subject), []).append((score, step))
                self._methods.add(step.method)

    def ask(self, request: Request, where: Hashable, now: float) -> list[Play] | ErrorResponse:
        """Take a request."""
        nearest = self._nearest(request)
        if nearest is None:
            return self._unknown(request, where, now)
        score, step = nearest
        again = self._played.get(step.index, 0)
        self._played[step.index] = again + 1
        playback = Playback(score.part(step.index), again=again)
        plays = playback.begin(step.index, request, where, now)
        if not playback.is_over:
            self._count += 1
            self._playing[self._count] = where, playback
            if len(self._playing) > _MOST_PLAYING:
                del self._playing[next(iter(self._playing))]
        return plays

    def answer(self, message: Response | ErrorResponse, where: Hashable, now: float) -> list[Play]:
        """Take an answer to something that the server asked there."""
        key = b"" if message.id is None else id_key(message.id)
        for number, (place, playback) in self._playing.items():
            if place == where and playback.asks(key):
                return self._gone_on(number, playback.answer(message, where, now))
        return []

    def hear(self, message: Notification, where: Hashable, now: float) -> list[Play]:
        """Take a notification."""
        for number, (place, playback) in self._playing.items():
            if place == where and (plays := playback.hear(message, where, now)):
                return self._gone_on(number, plays)
        return []

    def stuck(self) -> None:
        """Nothing waits for another request: each is played alone."""

    def _gone_on(self, number: int, plays: list[Play]) -> list[Play]:
        if self._playing[number][1].is_over:
            del self._playing[number]
        return plays

    def _nearest(self, request: Request) -> tuple[Score, Step] | None:
        best: tuple[Score, Step] | None = None
        least = (_MOST_DIFFERENCES + 1, 0)
        for score, step in self._asked.get((request.method, subject_of(request.params)), ())[:_MOST_COMPARED]:
            recorded = step.request
            assert recorded is not None
            differing = differences_of_params(recorded.params, request.params)
            count = sum(1 for _, _ in zip(differing, range(_MOST_DIFFERENCES), strict=False))
            badness = (count, self._played.get(step.index, 0))
            if best is None or badness < least:
                best, least = (score, step), badness
        return best

    def _unknown(self, request: Request, where: Hashable, now: float) -> list[Play] | ErrorResponse:
        """Answer what was never asked."""
        if (answer := presence(request, ())) is not None:
            return [Play(answer, where, request.id, now)]
        code = JsonRpcErrorCode.MethodNotFound
        if request.method in self._methods:
            code = JsonRpcErrorCode.InvalidParams
        return error_reply(request.id, code, f"the recording has no {named(request)}")
