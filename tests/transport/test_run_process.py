"""A coroutine that is a whole process comes to an end, whatever happens."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading

import pytest

from anywire.transport.run_process import run_process
from anywire.wire.limits import DEFAULT_LIMITS
from tests.transport.child import Child, run

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals are those of POSIX systems")


def words(child: Child) -> list[bytes]:
    """Everything it still says on stderr."""
    return child.read_stderr().splitlines()


def test_a_coroutine_that_returns_is_the_end() -> None:
    """Of the call, not of the process."""
    with run("life.py", "returns", stdout=subprocess.DEVNULL) as child:
        assert words(child) == [b"ready", b"returned"]
        assert child.wait() == 0


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_a_signal_ends_it_in_order(number: signal.Signals, code: int) -> None:
    """The coroutine is cancelled, and the exit code tells the signal."""
    with run("life.py", "waits") as child:
        assert child.read_stderr_line() == b"ready\n"
        child.process.send_signal(number)
        assert words(child) == [b"cancelled"]
        assert child.wait() == code


@pytest.mark.parametrize("second", [signal.SIGTERM, signal.SIGINT])
def test_a_second_signal_ends_it_at_once(second: signal.Signals) -> None:
    """When the first was not enough."""
    with run("life.py", "ignores") as child:
        assert child.read_stderr_line() == b"ready\n"
        child.process.send_signal(signal.SIGTERM)
        assert child.read_stderr_line() == b"ignored\n"
        child.process.send_signal(second)
        assert child.wait() == -second


def test_a_task_that_ignores_its_cancellation_is_left_behind() -> None:
    """`asyncio.run` would wait for it for ever."""
    with run("life.py", "leaves_stubborn_task") as child:
        assert words(child)[:3] == [b"ready", b"ignored", b"returned"]
        assert child.wait() == 0


def test_a_task_that_is_left_may_clean_up() -> None:
    """It has a moment for that."""
    with run("life.py", "leaves_careful_task") as child:
        assert words(child) == [b"cleaned up", b"returned"]
        assert child.wait() == 0


def test_a_generator_that_is_left_is_closed() -> None:
    """As `asyncio.run` does."""
    with run("life.py", "leaves_generator") as child:
        assert words(child) == [b"generator closed", b"returned"]
        assert child.wait() == 0


@pytest.mark.parametrize(
    ("how", "code", "last"),
    [("fails", 1, b"ValueError: it went wrong"), ("cancels_itself", 1, b"asyncio.exceptions.CancelledError")],
)
def test_an_exception_comes_out(how: str, code: int, last: bytes) -> None:
    """With its traceback; a cancellation that no signal brought is one as well."""
    with run("life.py", how) as child:
        assert words(child)[-1] == last
        assert child.wait() == code


def test_an_exit_comes_out() -> None:
    """With its code."""
    with run("life.py", "exits") as child:
        assert words(child) == []
        assert child.wait() == 7


def test_it_runs_beside_the_main_thread_as_well() -> None:
    """Where no signals can be handled."""
    ran: list[str] = []

    async def main() -> None:
        ran.append(threading.current_thread().name)

    thread = threading.Thread(target=run_process, args=(main, DEFAULT_LIMITS), name="beside")
    thread.start()
    thread.join(30)

    assert ran == ["beside"]
