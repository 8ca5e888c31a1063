"""Back-pressure from one end of a bridge to the other.

Neither end may make the bridge grow: while one of them does not read, the other is not read from.
The calling end of the whole chain never stops reading, so this cannot lock.
"""

from __future__ import annotations

from collections.abc import Callable

from anywire.transport.stream import StreamTransport

__all__ = ("couple",)


def couple(one: object, other: object) -> None:
    """Let each of two transports hold the other; those that are no streams of bytes hold by themselves."""
    if isinstance(one, StreamTransport) and isinstance(other, StreamTransport):
        _hold(one, other, "the client does not read")
        _hold(other, one, "the server does not read")


def _hold(full: StreamTransport, held: StreamTransport, reason: str) -> None:
    full.on_full = _both(full.on_full, lambda: held.hold_reading(reason))
    full.on_room = _both(full.on_room, lambda: held.release_reading(reason))


def _both(first: Callable[[], None], second: Callable[[], None]) -> Callable[[], None]:
    def call() -> None:
        first()
        second()

    return call
