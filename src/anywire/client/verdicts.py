"""Which era a server belongs to, remembered for a while by where it is.

Only the handshake era is worth remembering: it saves the question that such a server may not answer.
A server that was brought up to date still shakes hands, so a verdict ends after a time.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Final

__all__ = ("Verdicts",)

_MOST: Final = 1_000
_SECONDS: Final = 600.0


class Verdicts:
    """A bounded table of the servers that shake hands.  Times are of a clock that does not run backwards."""

    def __init__(self) -> None:
        self._until: dict[Hashable, float] = {}

    def shakes_hands(self, where: Hashable, now: float) -> bool:
        """Say whether a server is known to be of the handshake era."""
        return where is not None and self._until.get(where, now) > now

    def learn(self, where: Hashable, now: float) -> None:
        """A server has not understood the question, and has shaken hands."""
        if where is None:
            return
        if len(self._until) >= _MOST:
            del self._until[next(iter(self._until))]
        self._until[where] = now + _SECONDS

    def forget(self, where: Hashable) -> None:
        """A server has contradicted what was known of it."""
        self._until.pop(where, None)
