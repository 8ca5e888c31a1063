"""Bound how long something is waited for, at no cost when it need not be waited for at all."""

from __future__ import annotations

import asyncio
from collections.abc import Generator
from types import coroutine
from typing import Any, TypeVar

__all__ = ("the_rest",)

T = TypeVar("T")


async def the_rest(steps: Generator[Any, Any, T], waited_for: object, seconds: float) -> T:
    """Go on with what was begun by hand and has to wait.  Raises `TimeoutError`.

    `steps` is what `__await__()` of an awaitable returned, `waited_for` what its first step gave.
    """
    async with asyncio.timeout(seconds):
        return await _go_on(steps, waited_for)


@coroutine
def _go_on(steps: Generator[Any, Any, T], waited_for: object) -> Generator[Any, Any, T]:
    return (yield from _steps_from(steps, waited_for))


def _steps_from(steps: Generator[Any, Any, T], waited_for: object) -> Generator[Any, Any, T]:
    try:
        yield waited_for
    except BaseException as error:
        # Not all that can be awaited can be told: what is written in other languages is just left.
        if not hasattr(steps, "throw"):
            raise
        try:
            again = steps.throw(error)
        except StopIteration as done:
            return done.value
        return (yield from _steps_from(steps, again))
    return (yield from steps)
