"""Proof that a transport keeps its contract: `await check_transport(factory)`.

`factory` is called for each check and gives a context manager, `async` or not, that yields a
connected pair of transports which have not been started: the client's end and the server's.  A wire
with several streams adds a function that tells on which of them a message travelled:

    @asynccontextmanager
    async def pair():
        yield memory_pair()

    await check_transport(pair)

The contract is that of `anywire.transport.contract`; each check is named by the sentence of it that
it proves, and fails with an `AssertionError` that begins with that sentence.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Coroutine, Hashable
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from typing import Any, TypeAlias

from anywire.testing.stage import Stage
from anywire.testing.transport_checks import ALL
from anywire.transport.contract import Transport
from anywire.wire.message import Message

__all__ = ("Factory", "Pair", "StreamOf", "check_transport")

#: Tells the stream on which an equal message travelled; for a request, the one that it opened.
StreamOf: TypeAlias = Callable[[Message], Hashable]

#: The client's end and the server's, and where there are several streams the way to tell them.
Pair: TypeAlias = tuple[Transport, Transport] | tuple[Transport, Transport, StreamOf]

#: Makes a new pair for each check.
Factory: TypeAlias = Callable[[], AbstractAsyncContextManager[Pair] | AbstractContextManager[Pair]]

_Proof: TypeAlias = Callable[[Stage], Coroutine[Any, Any, None]]


async def check_transport(factory: Factory, *, patience: float = 10.0) -> None:
    """Prove that the transports of `factory` keep the contract, at both ends.

    Each wait is bounded by `patience` seconds.  Raises `AssertionError` with a sentence that names
    the first promise found broken.
    """
    for promise, proof in ALL:
        try:
            await _run(factory, proof, patience)
        except AssertionError as error:
            raise AssertionError(f"{promise}: {error}") from error
        except Exception as error:
            raise AssertionError(f"{promise}: {type(error).__name__}: {error}") from error


async def _run(factory: Factory, proof: _Proof, patience: float) -> None:
    before = asyncio.all_tasks()
    async with contextlib.AsyncExitStack() as stack:
        opened = factory()
        if isinstance(opened, AbstractAsyncContextManager):
            pair = await stack.enter_async_context(opened)
        else:
            pair = stack.enter_context(opened)
        stage = Stage(pair[0], pair[1], pair[2] if len(pair) == 3 else None, patience)
        await _perform(stage, proof)
    left = asyncio.all_tasks() - before
    if left:
        await asyncio.wait(left, timeout=1.0)
    names = sorted(str(task.get_coro()) for task in left if not task.done())
    assert not names, f"tasks are left behind: {', '.join(names)}"


async def _perform(stage: Stage, proof: _Proof) -> None:
    try:
        await proof(stage)
    except Exception as error:
        with contextlib.suppress(Exception):
            await stage.close_both()
        if stage.broken:  # the cause rather than what came of it
            raise AssertionError(stage.broken[0]) from error
        raise
    await stage.close_both()
    assert not stage.broken, stage.broken[0]
    for witness in (stage.at_client, stage.at_server):
        assert witness.closes == 1, f"on_close of {witness.name} was called {witness.closes} times, not once"
