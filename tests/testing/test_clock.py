"""Time passes only when nothing else can happen."""

from __future__ import annotations

import asyncio
import os
import threading

import pytest

from anywire.testing import VirtualTimeLoop, in_virtual_time, run_in_virtual_time


def now() -> float:
    return asyncio.get_running_loop().time()


def test_sleeping_takes_no_time_and_the_clock_says_it_did() -> None:
    """An hour, and what it was for comes back."""

    async def main() -> float:
        assert now() == 0.0
        await asyncio.sleep(3600)
        return now()

    assert run_in_virtual_time(main()) == pytest.approx(3600)


@in_virtual_time
async def test_timers_come_in_their_order() -> None:
    """Whatever the order in which they were set."""
    order: list[int] = []

    async def sleep(seconds: int) -> None:
        await asyncio.sleep(seconds)
        order.append(seconds)

    await asyncio.gather(*(sleep(seconds) for seconds in (5, 1, 3, 100_000)))

    assert order == [1, 3, 5, 100_000]
    assert now() == pytest.approx(100_000)


@in_virtual_time
async def test_the_clock_stands_while_anything_can_run() -> None:
    """A thousand turns are no time at all."""
    waiting = asyncio.ensure_future(asyncio.wait_for(asyncio.Event().wait(), 5))
    for _ in range(1000):
        await asyncio.sleep(0)
        assert now() == 0.0
    with pytest.raises(TimeoutError):
        await waiting

    assert now() == pytest.approx(5)


@in_virtual_time
async def test_what_lies_in_a_pipe_comes_before_a_timer() -> None:
    """Descriptors are looked at first."""
    read, write = os.pipe()
    loop = asyncio.get_running_loop()
    came = asyncio.Event()
    loop.add_reader(read, came.set)
    os.write(write, b"x")
    async with asyncio.timeout(1):
        await came.wait()
    loop.remove_reader(read)
    os.close(read)
    os.close(write)

    assert now() == 0.0


@in_virtual_time
async def test_without_a_timer_a_thread_is_waited_for() -> None:
    """There is nothing to jump to."""
    release = threading.Event()
    loop = asyncio.get_running_loop()
    waiting = loop.run_in_executor(None, release.wait, 20)
    release.set()

    assert await waiting is True


@in_virtual_time
async def test_time_can_be_made_to_pass() -> None:
    """As if whatever runs took so long."""
    loop = asyncio.get_running_loop()
    assert isinstance(loop, VirtualTimeLoop)
    loop.advance(2.5)

    assert now() == 2.5


def test_a_decorated_test_keeps_its_name_and_its_result() -> None:
    """And what it raises comes out."""

    @in_virtual_time
    async def named(a: int, *, b: int) -> int:
        """Add."""
        if b == 0:
            raise ValueError("nothing to add")
        return a + b

    assert (named.__name__, named.__doc__) == ("named", "Add.")
    assert named(1, b=2) == 3
    with pytest.raises(ValueError, match="nothing to add"):
        named(1, b=0)
