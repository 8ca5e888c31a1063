"""The watchdog: which processes belong to a child, and what becomes of them when its owner is gone."""

from __future__ import annotations

import contextlib
import os
import secrets
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Generator, Iterator
from pathlib import Path

import pytest

from anywire.transport import guardian as guardian_module
from anywire.transport import watchdog
from anywire.transport.guardian import Guardian
from anywire.transport.watchdog import MARK_VARIABLE, Tree
from tests.transport.children import alive, carrying, program, python

pytestmark = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs a table of processes")

STUBBORN = "for n in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP): signal.signal(n, signal.SIG_IGN)\n"


class Family:
    """Processes that share a mark; all of them are gone when the test ends."""

    def __init__(self) -> None:
        self.mark = secrets.token_hex(8)
        self.started: list[subprocess.Popen[bytes]] = []

    def start(self, code: str, *, marked: bool = True) -> subprocess.Popen[bytes]:
        """Start a program in a session of its own, and wait until it says that it is ready."""
        child = subprocess.Popen(
            program(code),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,
            env={MARK_VARIABLE: self.mark} if marked else {"FAMILY": self.mark},
        )
        assert child.stdout is not None
        self.started.append(child)
        assert child.stdout.readline() == b"ready\n"
        return child

    def end(self) -> None:
        """Kill what is left, and wait for what is ours."""
        for pid in carrying(self.mark):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        for child in self.started:
            child.communicate(timeout=10)


@pytest.fixture
def family() -> Iterator[Family]:
    """A family of processes."""
    together = Family()
    yield together
    together.end()


def eventually(condition: Callable[[], bool], within: float = 10.0) -> None:
    """Wait, within bounds, until a condition holds."""
    until = time.monotonic() + within
    while not condition():
        assert time.monotonic() < until, "it did not come about in time"
        time.sleep(0.01)


def leave(process: subprocess.Popen[bytes], *, wait: bool = True) -> None:
    """End a program's input, which is what it sees when whoever started it goes."""
    assert process.stdin is not None
    process.stdin.close()
    process.stdin = None
    if wait:
        process.wait(timeout=10)


READY = "print('ready', flush=True)\n"
WAIT = READY + "sys.stdin.read()\n"


def beside(code: str, how: str = "") -> str:
    """Code that starts a second program and then waits; the second says that both are ready."""
    return f"subprocess.Popen([sys.executable, '-I', '-S', '-c', {code!r}]{how})\nsys.stdin.read()\n"


SLEEPER = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('ready', flush=True); time.sleep(60)"


# Which processes belong to a child.


def test_tree_holds_a_child_and_what_it_started(family: Family) -> None:
    """In whichever session."""
    child = family.start(beside(SLEEPER, ", start_new_session=True"), marked=False)
    tree = Tree("no such mark")
    tree.started(child.pid)

    assert set(tree.alive()) == set(carrying(family.mark))
    assert len(tree.alive()) == 2
    assert os.getpid() not in tree.alive()


def test_tree_remembers_what_it_saw_once(family: Family) -> None:
    """A grandchild whose parent has gone has nothing to be known by, but by having been seen."""
    child = family.start(beside(SLEEPER, ", start_new_session=True"), marked=False)
    tree = Tree("no such mark", child.pid)
    seen = set(tree.alive())
    leave(child)

    assert set(tree.alive()) == seen - {child.pid}


def test_tree_finds_what_it_never_saw_by_the_mark(family: Family) -> None:
    """A grandchild in a session of its own, first looked for when its parent has gone."""
    child = family.start(beside(SLEEPER, ", start_new_session=True"))
    leave(child)
    tree = Tree(family.mark)

    assert set(tree.alive()) == set(carrying(family.mark))
    assert len(tree.alive()) == 1


def test_process_that_took_the_number_of_another_does_not_belong(family: Family) -> None:
    """A number is used again; the time of the start tells."""
    child = family.start(WAIT, marked=False)
    tree = Tree("no such mark")
    tree._known = {child.pid: 1}

    assert tree.alive() == {}


def test_dead_child_that_nobody_has_waited_for_does_not_count(family: Family) -> None:
    """Some systems never wait for orphans."""
    child = family.start(WAIT)
    tree = Tree(family.mark)
    tree.started(child.pid)
    assert tree.exists()
    leave(child, wait=False)
    eventually(lambda: not alive(child.pid))

    assert Path(f"/proc/{child.pid}").exists()
    assert not tree.exists()


def test_signal_reaches_the_whole_tree_and_nobody_else(family: Family) -> None:
    """Each process once."""
    family.start(beside(SLEEPER, ", start_new_session=True"))
    other = Family()
    bystander = other.start(WAIT)
    tree = Tree(family.mark)
    tree.signal(signal.SIGKILL)
    eventually(lambda: not carrying(family.mark))

    assert bystander.poll() is None
    other.end()


def test_tree_of_nothing_is_empty_and_signals_nobody() -> None:
    """Not even group 0, which is our own."""
    tree = Tree("")
    tree.signal(signal.SIGKILL)

    assert not tree.exists()


# The program.


@contextlib.contextmanager
def watching(owner: int | None = None) -> Generator[subprocess.Popen[bytes]]:
    """A running watchdog; it must end in order."""
    command = [*python(), watchdog.__file__, str(os.getpid() if owner is None else owner)]
    dog = subprocess.Popen(command, stdin=subprocess.PIPE, env={}, start_new_session=True, bufsize=0)
    try:
        yield dog
        assert dog.wait(timeout=10) == 0
    finally:
        dog.kill()
        dog.communicate()


def tell(dog: subprocess.Popen[bytes], *lines: str) -> None:
    """Write lines to a watchdog."""
    assert dog.stdin is not None
    dog.stdin.write("".join(f"{line}\n" for line in lines).encode())


def test_watchdog_without_children_leaves_at_once() -> None:
    """Also one that had some."""
    with watching() as dog:
        leave(dog)
    with watching() as dog:
        tell(dog, "a 0", "a 4000000", "b 0", "a -", "b -")
        leave(dog)


def test_watchdog_lets_a_polite_child_leave_by_itself(family: Family) -> None:
    """No signal disturbs it."""
    child = family.start(WAIT + "time.sleep(0.2)\nsys.exit(7)\n")
    with watching() as dog:
        tell(dog, f"{family.mark} 0", f"{family.mark} {child.pid}")
        leave(child, wait=False)
        leave(dog)

    assert child.wait(timeout=10) == 7


def test_watchdog_ends_a_child_that_stays_with_all_it_started(family: Family) -> None:
    """TERM first, for who can clean up; then KILL, in whichever session."""
    family.start(STUBBORN + READY + "time.sleep(60)")
    family.start(beside(SLEEPER, ", start_new_session=True"))
    polite = family.start(f"signal.signal(signal.SIGTERM, lambda *_: sys.exit(5))\n{READY}time.sleep(60)")
    with watching() as dog:
        tell(dog, f"{family.mark} {polite.pid}")
        leave(dog)

    assert polite.wait(timeout=10) == 5
    assert carrying(family.mark) == {}


def test_watchdog_ends_a_child_of_which_it_was_told_only_that_it_would_start(family: Family) -> None:
    """Its owner was killed between the start and the telling."""
    family.start(STUBBORN + READY + "time.sleep(60)")
    with watching() as dog:
        tell(dog, f"{family.mark} 0")
        leave(dog)

    assert carrying(family.mark) == {}


def test_watchdog_sees_its_owner_go_while_somebody_holds_the_pipe(family: Family) -> None:
    """A fork of the owner inherits it."""
    owner = subprocess.Popen(program("read()"), stdin=subprocess.PIPE)
    family.start(STUBBORN + READY + "time.sleep(60)")
    with watching(owner.pid) as dog:
        tell(dog, f"{family.mark} 0")
        owner.kill()
        owner.communicate()

        assert dog.wait(timeout=10) == 0
    assert carrying(family.mark) == {}


def test_watchdog_is_not_interrupted_and_uses_no_time_while_it_waits(family: Family) -> None:
    """A terminal's signals are not for it."""
    with watching() as dog:
        tell(dog, f"{family.mark} 0", "half a li")
        eventually(lambda: Path(f"/proc/{dog.pid}/wchan").exists() and _ignores(dog.pid, signal.SIGTERM))
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            dog.send_signal(number)
        used = _cpu(dog.pid)
        eventually(lambda: _sleeps(dog.pid))
        assert _cpu(dog.pid) - used <= 1
        assert dog.poll() is None
        leave(dog)


def _ignores(pid: int, number: int) -> bool:
    lines = Path(f"/proc/{pid}/status").read_text(encoding="utf-8").splitlines()
    ignored = int(next(line.split()[1] for line in lines if line.startswith("SigIgn:")), 16)
    return bool(ignored >> (number - 1) & 1)


def _sleeps(pid: int) -> bool:
    return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0] == "S"


def _cpu(pid: int) -> int:
    return sum(
        map(int, Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[11:13])
    )


# The one of this process.


def dog_of(guardian: Guardian) -> subprocess.Popen[bytes]:
    """The watchdog that a guardian has started."""
    dog = guardian._watchdog
    assert dog is not None
    return dog


def test_one_watchdog_is_enough_and_goes_with_the_last_child() -> None:
    """It is started with the first."""
    guardian = Guardian()
    assert guardian._watchdog is None
    guardian.starting("a")
    dog = dog_of(guardian)
    guardian.starting("b")
    guardian.started("a", 4_000_000, -1)
    guardian.forget("a")
    guardian.forget("a")
    assert dog_of(guardian) is dog
    assert alive(dog.pid)
    guardian.forget("b")

    assert guardian._watchdog is None
    eventually(lambda: not alive(dog.pid))
    assert not [thread for thread in threading.enumerate() if "reaper" in thread.name and thread.join(10)]


def test_watchdog_that_somebody_ended_is_started_again_and_told_everything(family: Family) -> None:
    """The next child brings it back."""
    guardian = Guardian()
    guardian.starting(family.mark)
    dog_of(guardian).kill()
    dog_of(guardian).wait(timeout=10)
    family.start(STUBBORN + READY + "time.sleep(60)")
    guardian.starting("another")
    dog, guardian._watchdog = dog_of(guardian), None
    leave(dog)  # as if we had been killed

    assert carrying(family.mark) == {}


@pytest.mark.parametrize("executable", ["", None, "/usr/bin/app", "/opt/uwsgi"])
def test_program_that_is_not_python_is_not_started_as_a_watchdog(
    executable: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A frozen program would run itself again, and again."""
    guardian = Guardian()
    monkeypatch.setattr(sys, "executable", executable)
    guardian.starting("a")
    guardian.forget("a")

    assert guardian._watchdog is None


def test_frozen_program_has_no_watchdog(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever it is called."""
    monkeypatch.setattr(sys, "frozen", True, raising=False)

    assert guardian_module._python() is None


def test_marks_are_chained_so_that_an_outer_owner_finds_everything(monkeypatch: pytest.MonkeyPatch) -> None:
    """A bridge is a child and has children."""
    guardian = Guardian()
    monkeypatch.setenv(MARK_VARIABLE, "outer")
    inner = guardian.new_mark()
    assert inner.startswith("outer:")
    monkeypatch.delenv(MARK_VARIABLE)

    assert ":" not in guardian.new_mark()
    assert guardian.new_mark() != guardian.new_mark()
