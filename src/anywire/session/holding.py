"""What a wire holds of its client: enough to reach it, not enough to keep it.

A client that nobody holds any more is dropped with its wire and its child.  So the event loop, which
holds the wire, must not hold the client.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from types import MethodType
from typing import Any, TypeVarTuple
from weakref import ref

from anywire.transport.contract import Transport, ignore

__all__ = ("let_go", "weakly")

Ts = TypeVarTuple("Ts")

_closing: set[asyncio.Task[None]] = set()


def weakly(method: Callable[[*Ts], Any]) -> Callable[[*Ts], None]:
    """Return a function that calls a bound method as long as its object is held by somebody else."""
    assert isinstance(method, MethodType)
    reference, function = ref(method.__self__), method.__func__

    def call(*args: *Ts) -> None:
        owner = reference()
        if owner is not None:
            function(owner, *args)

    return call


def let_go(loop: asyncio.AbstractEventLoop, transport: Transport, stop: Callable[[], None] = ignore) -> None:
    """Close a transport whose user is gone, from whichever thread that is found out in.

    `stop` is called before, on the loop: it ends what runs for that user.
    """

    def close() -> None:
        stop()
        task = loop.create_task(transport.close())
        _closing.add(task)
        task.add_done_callback(_closing.discard)

    try:
        loop.call_soon_threadsafe(close)
    except RuntimeError:
        pass  # the loop is closed, and what ran on it was ended with it
