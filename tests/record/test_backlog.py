"""Work that is done at once or in a thread, and always in its order."""

from __future__ import annotations

import threading

from anywire.record.backlog import Backlog

LARGE = 10_000_000


def test_small_work_is_done_at_once_and_in_its_order_behind_large_work() -> None:
    """And by a thread that ends when nothing is left."""
    done: list[tuple[int, bool]] = []
    may_go_on = threading.Event()
    backlog = Backlog()

    def job(number: int) -> None:
        done.append((number, backlog.is_here))

    backlog.do(lambda: job(1))
    backlog.do(lambda: job(2) if may_go_on.wait(10) else None, LARGE)
    backlog.do(lambda: job(3))
    assert done == [(1, False)]
    may_go_on.set()

    assert backlog.close(10)
    assert done == [(1, False), (2, True), (3, True)]
    backlog.do(lambda: job(4))
    assert done[-1] == (4, False)


def test_what_waits_is_bounded_and_so_is_waiting_for_it() -> None:
    """What was not done by then is dropped."""
    begun, may_go_on = threading.Event(), threading.Event()
    done: list[int] = []
    backlog = Backlog()

    def job() -> None:
        begun.set()
        may_go_on.wait(10)
        done.append(1)

    backlog.do(job, LARGE)
    assert begun.wait(10)
    while not backlog.is_full:
        backlog.do(lambda: done.append(2), LARGE)

    assert not backlog.close(0)
    may_go_on.set()
    assert backlog.close(10)
    assert done == [1]
