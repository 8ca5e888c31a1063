"""Waiting within a bound for what was begun by hand."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Generator, Iterator
from typing import Any

import pytest

from anywire.testing import in_virtual_time
from anywire.transport.at_once import the_rest


async def begun(awaitable: Awaitable[str], seconds: float = 10.0) -> str:
    """Take the first step by hand, and the rest as it is done."""
    steps: Any = awaitable.__await__()
    try:
        waited_for = next(steps)
    except StopIteration as done:
        return done.value
    return await the_rest(steps, waited_for, seconds)


async def sleeper(times: int) -> str:
    for _ in range(times):
        await asyncio.sleep(3)
    return "slept"


@in_virtual_time
async def test_what_takes_several_steps_is_waited_for_to_its_end() -> None:
    assert [await begun(sleeper(times)) for times in (0, 1, 3)] == ["slept"] * 3


@in_virtual_time
async def test_what_takes_too_long_is_left() -> None:
    loop = asyncio.get_running_loop()
    began = loop.time()
    with pytest.raises(TimeoutError):
        await begun(sleeper(100))

    assert loop.time() - began == pytest.approx(10.0, abs=0.1)


@in_virtual_time
async def test_what_is_left_has_its_chance_to_tidy_up() -> None:
    seen: list[str] = []

    async def tidy() -> str:
        try:
            await asyncio.sleep(100)
        except asyncio.CancelledError:
            await asyncio.sleep(1)
            seen.append("tidied")
            raise
        return ""

    with pytest.raises(TimeoutError):
        await begun(tidy())
    assert seen == ["tidied"]


@in_virtual_time
async def test_what_will_not_be_left_gives_what_it_has() -> None:
    async def stubborn() -> str:
        try:
            await asyncio.sleep(100)
        except asyncio.CancelledError:
            return "mine"
        return ""

    task = asyncio.ensure_future(begun(stubborn()))
    await asyncio.sleep(1)
    task.cancel()

    assert await task == "mine"


@in_virtual_time
async def test_what_fails_fails_as_itself() -> None:
    async def failing() -> str:
        await asyncio.sleep(1)
        raise LookupError("so it is")

    with pytest.raises(LookupError, match="so it is"):
        await begun(failing())


class Foreign:
    """What is awaited in other languages: it can be asked for its next step and nothing else."""

    def __init__(self) -> None:
        self.future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting: Iterator[Any] | None = None

    def __await__(self) -> Generator[Any, Any, str]:
        return self  # pyright: ignore[reportReturnType]

    def __iter__(self) -> Foreign:
        return self

    def __next__(self) -> Any:
        if self._waiting is None:
            self._waiting = iter(self.future)
            return next(self._waiting)
        raise StopIteration("foreign")


@in_virtual_time
async def test_what_cannot_be_told_is_waited_for_as_well() -> None:
    foreign = Foreign()
    asyncio.get_running_loop().call_later(1, foreign.future.set_result, None)
    assert await begun(foreign) == "foreign"

    with pytest.raises(TimeoutError):
        await begun(Foreign())
