"""Worker threads: started as they are needed, ended when they idle, never waited for."""

from __future__ import annotations

import asyncio
import contextvars
import threading
from concurrent.futures import CancelledError, Future, wait

import pytest

from anywire.session.threads import DaemonThreads

PATIENCE = 20.0


class Jam:
    """Calls that block until they are let go."""

    def __init__(self) -> None:
        self.threads: list[threading.Thread] = []
        self.most = 0
        self._running = 0
        self._guard = threading.Lock()
        self._started = threading.Semaphore(0)
        self._release = threading.Event()

    def block(self) -> None:
        """Block the thread that calls."""
        with self._guard:
            self.threads.append(threading.current_thread())
            self._running += 1
            self.most = max(self.most, self._running)
        self._started.release()
        assert self._release.wait(PATIENCE)
        with self._guard:
            self._running -= 1

    def wait_for(self, count: int) -> None:
        """Wait until so many are blocked."""
        for _ in range(count):
            assert self._started.acquire(timeout=PATIENCE)

    def release(self) -> None:
        """Let all go."""
        self._release.set()


def done(*futures: Future[None]) -> None:
    """See that these end."""
    assert not wait(futures, PATIENCE).not_done


def test_a_call_gets_its_arguments_and_gives_its_result() -> None:
    """As from any executor."""
    threads = DaemonThreads(2)

    def add(a: int, *, b: int) -> int:
        return a + b

    assert threads.submit(add, 1, b=2).result(PATIENCE) == 3
    threads.shutdown()


def test_threads_are_daemons_with_a_name() -> None:
    """The interpreter does not wait for them, and a dump tells whose they are."""
    threads = DaemonThreads(2)
    thread = threads.submit(threading.current_thread).result(PATIENCE)

    assert thread.daemon
    assert thread.name.startswith("anywire-worker-")
    threads.shutdown()


def test_no_more_threads_run_than_the_limit() -> None:
    """The others wait for their turn, and have it."""
    threads, jam = DaemonThreads(3), Jam()
    futures = [threads.submit(jam.block) for _ in range(10)]
    jam.wait_for(3)
    assert len(jam.threads) == 3
    jam.release()
    done(*futures)

    assert jam.most == 3
    assert len(set(jam.threads)) == 3
    threads.shutdown()


def test_an_idle_thread_is_used_again() -> None:
    """No thread is started while one has nothing to do."""
    threads = DaemonThreads(32)
    used = {threads.submit(threading.current_thread).result(PATIENCE) for _ in range(20)}

    # The last one may still be on its way back when the next call comes.
    assert len(used) < 10
    threads.shutdown()


def test_a_call_sees_a_copy_of_its_callers_context() -> None:
    """And what it sets stays in the copy."""
    threads = DaemonThreads(1)
    variable = contextvars.ContextVar("variable", default="unset")

    def swap(value: str) -> str:
        before = variable.get()
        variable.set(value)
        return before

    variable.set("callers")
    assert threads.submit(swap, "one").result(PATIENCE) == "callers"
    assert threads.submit(swap, "two").result(PATIENCE) == "callers"
    assert variable.get() == "callers"
    threads.shutdown()


def test_an_idle_thread_ends_and_another_begins_when_needed() -> None:
    """A server that did something once does not keep threads for ever."""
    threads = DaemonThreads(2, idle_seconds=0.01)
    first = threads.submit(threading.current_thread).result(PATIENCE)
    first.join(PATIENCE)
    assert not first.is_alive()
    second = threads.submit(threading.current_thread).result(PATIENCE)

    assert second is not first
    threads.shutdown()
    second.join(PATIENCE)
    assert not second.is_alive()


@pytest.mark.parametrize("error", [ValueError("v"), SystemExit(3), KeyboardInterrupt()])
def test_what_a_call_raises_belongs_to_its_caller(error: BaseException) -> None:
    """Whatever it is; the thread goes on."""
    threads = DaemonThreads(1)

    def fail() -> None:
        raise error

    future = threads.submit(fail)
    assert future.exception(PATIENCE) is error
    assert threads.submit(int, "5").result(PATIENCE) == 5
    threads.shutdown()


async def test_a_call_that_raises_stop_iteration_ends_as_well() -> None:
    """An asyncio future does not take it, so it becomes another error."""
    threads = DaemonThreads(1)

    def run_out() -> None:
        next(iter([]))

    with pytest.raises(RuntimeError, match="StopIteration"):
        await asyncio.wait_for(asyncio.get_running_loop().run_in_executor(threads, run_out), PATIENCE)
    threads.shutdown()


def test_a_call_that_is_cancelled_in_time_never_runs() -> None:
    """It waits for a thread, and nobody wants it any more."""
    threads, jam = DaemonThreads(1), Jam()
    ran: list[str] = []
    blocked = threads.submit(jam.block)
    jam.wait_for(1)
    waiting = threads.submit(ran.append, "cancelled")
    last = threads.submit(ran.append, "last")
    assert waiting.cancel()
    jam.release()
    done(blocked, last)

    assert ran == ["last"]
    threads.shutdown()


@pytest.mark.parametrize("wait_for_it", [False, True])
def test_shutting_down_waits_for_nothing(wait_for_it: bool) -> None:
    """What runs is left to end by itself; what waits is still done; nothing more is taken."""
    threads, jam = DaemonThreads(1), Jam()
    blocked = threads.submit(jam.block)
    jam.wait_for(1)
    waiting = threads.submit(str, 5)
    threads.shutdown(wait_for_it)
    threads.shutdown(wait_for_it)
    assert not blocked.done()
    with pytest.raises(RuntimeError, match="stopped"):
        threads.submit(str, 6)
    jam.release()
    done(blocked)

    assert waiting.result(PATIENCE) == "5"
    jam.threads[0].join(PATIENCE)
    assert not jam.threads[0].is_alive()


def test_shutting_down_can_cancel_what_waits() -> None:
    """All of it, however much."""
    threads, jam = DaemonThreads(1), Jam()
    blocked = threads.submit(jam.block)
    jam.wait_for(1)
    waiting = [threads.submit(str, number) for number in range(5)]
    threads.shutdown(cancel_futures=True)
    jam.release()
    done(blocked)

    for future in waiting:
        with pytest.raises(CancelledError):
            future.result(PATIENCE)
    jam.threads[0].join(PATIENCE)
    assert not jam.threads[0].is_alive()


def test_a_thread_that_only_waits_makes_room_for_another() -> None:
    """However few there may be; what is waited for comes from elsewhere."""
    threads, news, ended = DaemonThreads(1), threading.Event(), list[str]()

    def wait() -> str:
        with threads.waiting():
            assert news.wait(10)
        return "waited"

    waiting = [threads.submit(wait) for _ in range(5)]
    quick = threads.submit(lambda: ended.append("quick"))
    quick.result(10)
    news.set()

    assert [future.result(10) for future in waiting] == ["waited"] * 5
    assert ended == ["quick"]
    threads.shutdown()
