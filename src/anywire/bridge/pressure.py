"""Back-pressure from one end of a bridge to the other.

Neither end may make the bridge grow: while one of them does not read, the other is not read from.
The calling end of the whole chain never stops reading, so this cannot lock.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Protocol, runtime_checkable

__all__ = ("Filling", "Holding", "couple", "pass_on_pressure")


@runtime_checkable
class Filling(Protocol):
    """A transport that tells when too much waits to be sent on it."""

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


def couple(one: object, other: object) -> None:
    """Let each of two transports hold the other, as far as they can."""
    _couple(one, other, "the client does not read")
    _couple(other, one, "the server does not read")


def pass_on_pressure(inner: object, outer: Any) -> None:  # noqa: ANN401 whatever wraps it
    """Let what wraps a transport hold and fill as that does, as far as it does either."""
    if isinstance(inner, Holding):
        outer.hold_reading, outer.release_reading = inner.hold_reading, inner.release_reading
    if isinstance(inner, Filling):
        outer.on_full, outer.on_room = inner.on_full, inner.on_room
        # Looked up when they are called: `couple` puts others in their place.
        inner.on_full, inner.on_room = partial(_call, outer, "on_full"), partial(_call, outer, "on_room")


def _call(owner: object, name: str) -> None:
    getattr(owner, name)()


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
