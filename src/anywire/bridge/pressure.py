"""Back-pressure from one end of a bridge to the other.

Neither end may make the bridge grow: while one of them does not read, the other is not read from.
The calling end of the whole chain never stops reading, so this cannot lock.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, runtime_checkable

__all__ = ("Filling", "Holding", "couple")


@runtime_checkable
class Filling(Protocol):
    """A transport that tells when too much waits to be sent on it."""

    on_full: Callable[[], None]
    on_room: Callable[[], None]


@runtime_checkable
class Holding(Protocol):
    """A transport that can stop receiving."""

    def hold_reading(self, reason: str) -> None:
        """Receive nothing more, for one of several reasons that may hold at once."""
        ...

    def release_reading(self, reason: str) -> None:
        """That reason holds no longer."""
        ...


def couple(one: object, other: object) -> None:
    """Let each of two transports hold the other, as far as they can."""
    _couple(one, other, "the client does not read")
    _couple(other, one, "the server does not read")


def _couple(full: object, held: object, reason: str) -> None:
    if isinstance(full, Filling) and isinstance(held, Holding):
        hold, release = held.hold_reading, held.release_reading
        full.on_full = _both(full.on_full, lambda: hold(reason))
        full.on_room = _both(full.on_room, lambda: release(reason))


def _both(first: Callable[[], None], second: Callable[[], None]) -> Callable[[], None]:
    def call() -> None:
        first()
        second()

    return call
