"""Runs groups: each round takes every case once, so that what else the machine does falls on all alike."""

from __future__ import annotations

import contextlib
import signal
import sys
import time
from collections.abc import Generator, Sequence
from types import FrameType

from bench.case import Case, Group, Surroundings
from bench.child import ChildFailed
from bench.machine import load, machine, our_versions, python_version
from bench.peers import Peers, PeerUnavailable
from bench.results import CaseResult, GroupResult, Results

__all__ = ("run_groups",)

FAILURES = 2
"""Rounds in which a case may fail before it is left out of the rest."""


class TookTooLong(Exception):
    """A round of a case did not end in time."""


@contextlib.contextmanager
def within(seconds: float) -> Generator[None]:
    """Raise `TookTooLong` in the block when it takes longer, whatever it waits for."""

    def late(signum: int, frame: FrameType | None) -> None:
        raise TookTooLong(f"it was given up after {seconds:g} s")

    before = signal.signal(signal.SIGALRM, late)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def run_groups(groups: Sequence[Group], peers: Peers, *, quick: bool, rounds: int | None) -> Results:
    """Run these groups one after the other and return what they found; progress goes to stderr."""
    names = sorted({need for group in groups for case in group.cases for need in case.needs} | {"loop"})
    tell(f"peers: {', '.join(names)}")
    peers.obtain(names)
    results = Results(
        machine(), python_version(), {"anywire": our_versions(), **peers.versions(names)}, quick
    )
    began = time.monotonic()
    for group in groups:
        seconds = min(group.seconds, 0.05) if quick else group.seconds
        around = Surroundings(sys.executable, peers, seconds, quick)
        results.groups[group.name] = run_group(group, around, 1 if quick else rounds or group.rounds)
        results.loads.append(load())
    results.seconds = round(time.monotonic() - began, 1)
    return results


def run_group(group: Group, around: Surroundings, rounds: int) -> GroupResult:
    """Run a group."""
    found = GroupResult(group.title)
    for number in range(rounds):
        for case in group.cases:
            known = found.cases.setdefault(case.name, CaseResult())
            if len(known.failures) < FAILURES:
                run_case(case, around, known, group.within)
                tell(f"{group.name} {number + 1}/{rounds}  {case.name}: {last(known)}")
    return found


def run_case(case: Case, around: Surroundings, known: CaseResult, seconds: float) -> None:
    """Run one round of a case; what goes wrong is that case's failure and nobody else's."""
    try:
        with within(seconds):
            figures = case.measure(around)
    except PeerUnavailable as unavailable:
        known.failures += [str(unavailable)] * FAILURES  # it will not be there in the next round either
        known.rounds += 1
    except (ChildFailed, TookTooLong, OSError, ValueError, KeyError, AssertionError) as error:
        known.fail(f"{type(error).__name__}: {error}")
    else:
        known.add(figures)


def last(known: CaseResult) -> str:
    """Say what the last round found."""
    values = {name: each[-1] for name, each in known.figures.items()}
    if not values or None in values.values():
        return f"failed: {known.failures[-1].splitlines()[-1][-200:]}"
    return ", ".join(f"{name} {value:.4g}" for name, value in values.items())


def tell(text: str) -> None:
    """Say how far it is."""
    print(text, file=sys.stderr, flush=True)
